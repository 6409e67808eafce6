"""Work in forked processes, which may be killed.

The process that forks must never have used Polars: a fork after that may hang.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from tests.faults.points import watched


def die() -> NoReturn:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def fork(work: Callable[[], object]) -> int:
    """Begin *work* in a forked process, which ends with it; return its number."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def ended(child: int) -> int:
    """Return how a forked process ended: 0, or the number of its signal, negative."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_fork(work: Callable[[], object]) -> int:
    """Run *work* in a forked process; return how that ended."""
    return ended(fork(work))


def told_by_fork(work: Callable[[], Any]) -> Any:
    """Run *work* in a forked process; return what it returns, which must be JSON."""
    reader, writer = os.pipe()

    def tell() -> None:
        with os.fdopen(writer, "w") as pipe:
            json.dump(work(), pipe)

    child = fork(tell)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    assert ended(child) == 0
    return json.loads(text)


def points_of(begin: Callable[[], Callable[[], object]]) -> list[str]:
    """Return the names of the points that some work comes to, as it goes by itself.

    *begin* makes what is needed for it and returns the work; both are done in a fork.
    """

    def note() -> list[str]:
        names: list[str] = []
        work = begin()
        with watched(lambda point: names.append(point.name)):
            work()
        return names

    found: list[str] = told_by_fork(note)
    return found


def killed_at(begin: Callable[[], Callable[[], object]], number: int) -> bool:
    """Do some work in a fork that dies at point *number*; False if it never came there.

    *begin* makes what is needed for it and returns the work.
    """

    def run() -> None:
        work, counter = begin(), itertools.count()
        with watched(lambda point: die() if next(counter) == number else None):
            work()

    code = in_fork(run)
    assert code in {0, -signal.SIGKILL}, code
    return code != 0
