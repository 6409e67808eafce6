"""The process of the worker that a page has started along: it ends when the page does.

A page that is killed can end nothing. So the worker's standard input is a pipe that
nobody writes to, whose other end the page alone has: when it ends, the page has.
"""

from __future__ import annotations

import os
import signal
import threading

from batchfx.cli.main import main

STANDARD_INPUT = 0


def run() -> None:
    """Run the command that the arguments name, until the page ends."""
    threading.Thread(target=_end_with_page, daemon=True).start()
    main()


def _end_with_page() -> None:
    os.read(STANDARD_INPUT, 1)
    os.kill(os.getpid(), signal.SIGTERM)  # so that it says that it leaves


if __name__ == "__main__":
    run()
