"""Stop a worker in the middle of its chunk, let another finish it, then let it go on.

    python -m tests.faults.zombies --spread 20

A stopped process is one whose machine froze: when it wakes it knows nothing of what
happened meanwhile. Prints how often it was too late, and how often its commit had been
in time. On SQLite a process that is stopped inside a writing transaction keeps all
others out until it goes on or dies, so there it is stopped before one.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import click

from batchfx.errors import LeaseLostError, StoreError
from batchfx.execution.reports import report
from batchfx.model.states import ACTIVE
from batchfx.store.engine import open_store
from tests.faults import worlds
from tests.faults.forks import ended, fork, in_fork, points_of
from tests.faults.kills import Killing, places, spread_over
from tests.faults.operations import commit, finish
from tests.faults.points import BEFORE, BEGIN_TO_WRITE, COMMIT, watched
from tests.faults.worlds import OTHER

TOO_LATE, CUT_OFF = 7, 8  # exit codes
FROZEN = 1.0  # seconds until PostgreSQL ends the transaction of a frozen process
LONGEST = 60.0  # seconds that the other worker may take
SAID = {0: "in time", TOO_LATE: "lease lost", CUT_OFF: "cut off"}


def begin_commit(url: str) -> Callable[[], object]:
    """Return the commit of the first chunk, by a process that may freeze."""
    return partial(commit, open_store(url, lock_timeout=20.0, idle_timeout=FROZEN))


def late_commit(url: str, number: int) -> None:
    """Run the first chunk, and stop at point *number*; say how it ended."""
    work, counter = begin_commit(url), itertools.count()

    def stop(_: object) -> None:
        if next(counter) == number:
            os.kill(os.getpid(), signal.SIGSTOP)

    try:
        with watched(stop):
            work()
    except LeaseLostError:
        os._exit(TOO_LATE)
    except StoreError:
        os._exit(CUT_OFF)


def finish_for(url: str) -> None:
    """Bring the batch to its end as another worker, once the frozen one is cut off."""
    store = worlds.opened(url)
    deadline = time.monotonic() + LONGEST
    while report(store, worlds.the_batch(store)).batch.state in ACTIVE:
        assert time.monotonic() < deadline
        worlds.drain(store, OTHER)
        time.sleep(FROZEN / 20)


def may_stop(killing: Killing, points: list[str]) -> list[int]:
    """Return the points at which the process may be stopped."""
    if killing.place.server is not None:
        return list(range(len(points)))
    first = points.index(f"{BEFORE} {BEGIN_TO_WRITE}")
    return list(range(first + 1))


def haunt(killing: Killing, spread: int) -> None:
    """Stop the commit at so many of its points."""
    url = killing.copy("leased")
    points = points_of(partial(begin_commit, url))
    killing.place.drop(url)
    allowed = may_stop(killing, points)
    landed = len(points) - points[::-1].index(f"{BEFORE} {COMMIT}")
    for each in spread_over(len(allowed), spread, 1):
        url = killing.copy("leased")
        code = _haunt_once(url, allowed[each])
        assert code in SAID, code
        assert (code == 0) == (allowed[each] >= landed), (points[allowed[each]], code)
        assert in_fork(partial(finish, "commit", url)) == 0, points[allowed[each]]
        killing.place.drop(url)
        killing.counts[f"{killing.place.name}: {SAID[code]}"] += 1


def _haunt_once(url: str, number: int) -> int:
    child = fork(partial(late_commit, url, number))
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    try:
        assert in_fork(partial(finish_for, url)) == 0
    finally:
        os.kill(child, signal.SIGCONT)
        code = ended(child)
    return code


@click.command()
@click.option("--spread", default=0, help="Points of each operation; 0: all.")
@click.option("--database", "kinds", multiple=True, default=["sqlite", "postgresql"])
def main(*, spread: int, kinds: tuple[str, ...]) -> None:
    """Stop, finish, wake, judge; print what was done."""
    gc.freeze()
    with places(kinds) as found:
        killings = [Killing(place) for place in found]
        for killing in killings:
            haunt(killing, spread)
    json.dump(sum((each.counts for each in killings), Counter[str]()), sys.stdout)
    print()


if __name__ == "__main__":
    main()
