"""What a worker that was killed left behind on this machine, ended by the next one.

A supervisor ends everything below its handlers; killed itself, it can't. So what its
handlers start carries its name in the environment, and a process that carries the name
of a worker that certainly runs no more belongs to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from batchfx.execution.lease import is_dead, new_worker

MARK = "BATCHFX_SUPERVISOR"


def end_leftovers() -> int:
    """Kill what dead supervisors of this user left on this machine; count it.

    Nothing is killed in another namespace of processes: there the numbers are others.
    """
    count = 0
    for process in _marked():
        with suppress(psutil.Error):
            process.kill()
            count += 1
    return count


def _marked() -> Iterator[psutil.Process]:
    own, user, here = _process(new_worker()), os.getuid(), _namespace("self")
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.uids().real != user:
                continue
            mark = process.environ().get(MARK)
            if mark is None or _process(mark) == own or not is_dead(mark):
                continue
            if _namespace(str(process.pid)) == here:
                yield process


def _process(worker: str) -> str:
    """Return which process *worker* is: its name without what is new at each start."""
    return worker.rpartition("/")[0]


def _namespace(process: str) -> str | None:
    """Return in which namespace of processes one is; None where there are none."""
    path = Path("/proc") / process / "ns" / "pid"
    return str(path.readlink()) if Path("/proc/self/ns").exists() else None
