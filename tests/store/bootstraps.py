"""Processes that make batchfx's tables, many at once or ended in the middle.

A program of its own, since a process with threads may not fork.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from multiprocessing.synchronize import Barrier

import alembic.command  # noqa: F401 - once, and not in each process
import psycopg  # noqa: F401 - the same
import sqlalchemy as sa

from batchfx.store import migrations
from batchfx.store.engine import connect, open_store


def open_at_once(url: str, processes: int) -> list[int | None]:
    """Open the database from so many processes at once; return how they ended."""
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(processes)
    started = [
        fork.Process(target=_open, args=(url, barrier)) for _ in range(processes)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    return [process.exitcode for process in started]


def _open(url: str, barrier: Barrier) -> None:
    barrier.wait()
    open_store(url).close()


def die_at(url: str, statement: int) -> None:
    """Die as by a power cut before the statement of that number, or the commit."""
    store = connect(url)
    left = statement

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGKILL)

    with store.write() as connection:
        sa.event.listen(connection, "before_cursor_execute", count)
        migrations.bootstrap(connection)
        signal.raise_signal(signal.SIGKILL)


if __name__ == "__main__":
    what, place, number = sys.argv[1:]
    if what == "die":
        die_at(place, int(number))
    codes = open_at_once(place, int(number))
    print(codes.count(0))  # noqa: T201 - for the test
