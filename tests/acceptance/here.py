"""The command line run in this process, on a database of the test's own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from batchfx.cli.application import run_command_line
from tests.acceptance.shell import Ran


@dataclass(frozen=True)
class Here:
    """Runs commands as `batchfx` does, but for the start of a process."""

    database: str
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Ran:
        """Run a command to its end."""
        self.capsys.readouterr()
        code = run_command_line([*arguments, "--database", self.database])
        out, err = self.capsys.readouterr()
        return Ran(code, out, err)
