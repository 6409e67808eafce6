"""One run of a benchmark, in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took, in CPU seconds with its start, and what it printed."""

    cpu: float
    said: dict[str, Any]

    @property
    def memory(self) -> float:
        """The most memory that it had at once."""
        most: float = self.said["peak"]
        return most

    @property
    def wall(self) -> float:
        """The seconds that the process measured itself, without its start."""
        seconds: float = self.said["wall"]
        return seconds


def run(module: str, *arguments: str) -> Run:
    """Run a module that prints one JSON object with its ``wall`` seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{module} {' '.join(arguments)} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(cpu, json.loads(output))


def peak_memory(pid: int | None = None) -> float:
    """Return the most memory that this process, or *pid*, has had, in MiB.

    Linux is asked for it where it can be: what ``getrusage`` says of a new process
    includes that of the process which started it.
    """
    status = Path(f"/proc/{pid or 'self'}/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) / 1024
