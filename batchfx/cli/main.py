"""Where the console script begins."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Until a run says how it is to be interrupted, Ctrl-C ends the process quietly;
    # that holds for the imports below as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from batchfx.cli.application import run_command_line  # noqa: PLC0415 - see above

    sys.exit(run_command_line(sys.argv[1:]))
