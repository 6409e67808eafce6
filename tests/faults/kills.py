"""Kill an import with SIGKILL at every transaction, then let it be finished, and judge.

Run as a program; it prints one JSON object of what it did. The work is done in forks of
this process, which itself never uses Polars (a fork after that may hang), so that each
trial costs no start of an interpreter.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from random import Random

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx import Options, import_source, open_store, rerun
from batchfx.errors import AlreadyImportedError
from batchfx.store import batches
from batchfx.store.engine import Store
from tests.oracle import check_batch
from tests.people import Base, Person, PersonImporter

ROWS = 23
CONTENT = "Code,Name,Age\n" + "".join(
    f"A{n},{'boom' if n == 7 else 'Ann'},{'x' if n == 11 else n}\n" for n in range(ROWS)
)
GOOD = {f"A{n}" for n in range(ROWS) if n not in {7, 11}}
PLACES = ("before", "inside", "after")


def fork(work: Callable[[], None]) -> int:
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


def in_fork(work: Callable[[], None]) -> int:
    """Run *work* in a forked process; return how that ended, as waitpid says."""
    return os.waitpid(fork(work), 0)[1]


def run_import(url: str) -> None:
    """Import the content, or go on with it."""
    store = open_store(url)
    source = io.BytesIO(CONTENT.encode())
    options = Options(chunk_size=5)
    import_source(store, PersonImporter, source, name="p.csv", options=options)


def run_unless_done(url: str) -> None:
    """Import the content; one that was killed late may have come to its end."""
    with suppress(AlreadyImportedError):
        run_import(url)


def run_killed(url: str, nth: int, place: str) -> None:
    """Import, and die at a place of the *nth* writing transaction."""
    real = Store.write
    count = 0

    @contextmanager
    def write(self: Store) -> Iterator[Connection]:
        nonlocal count
        count += 1
        die = count == nth
        if die and place == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        with real(self) as connection:
            yield connection
            if die and place == "inside":
                os.kill(os.getpid(), signal.SIGKILL)
        if die and place == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    Store.write = write  # type: ignore[method-assign]  # this fork ends with the trial
    run_import(url)


def finish_and_judge(url: str) -> None:
    """Finish the import as a user would, then hold it to the oracle."""
    store = open_store(url)
    with store.read() as connection:
        started = batches.listing(connection, "default", 10)
    if started:
        (batch,) = started
        report = rerun(store, batch.key)
    else:
        source = io.BytesIO(CONTENT.encode())
        report = import_source(store, PersonImporter, source, name="p.csv")
    assert report.batch.state == "completed", report
    assert report.tally.total == ROWS
    assert report.tally.created == len(GOOD), report.tally
    assert (report.tally.failed, report.tally.invalid) == (1, 1), report.tally
    check_batch(store, report.key)
    with store.read() as connection:
        codes = list(connection.execute(sa.select(Person.code)).scalars())
    assert sorted(codes) == sorted(GOOD)


def new_database(folder: str) -> str:
    """Return the address of a database that has the application's table only."""
    url = f"sqlite:///{tempfile.mkdtemp(dir=folder)}/test.db"
    assert in_fork(lambda: Base.metadata.create_all(sa.create_engine(url))) == 0
    return url


def kill_at_points(folder: str, counts: Counter[str], step: int) -> None:
    """Kill at each place of every *step*-th transaction until the import outlives."""
    for place in PLACES:
        nth = 1
        while True:
            url = new_database(folder)
            status = in_fork(partial(run_killed, url, nth, place))
            if status == 0:
                break
            assert os.WTERMSIG(status) == signal.SIGKILL, status
            counts[f"killed {place}"] += 1
            assert in_fork(partial(finish_and_judge, url)) == 0, (place, nth)
            nth += step


def kill_at_moments(folder: str, counts: Counter[str], times: int, seed: int) -> None:
    """Kill the import, and the one that goes on with it, at random moments."""
    random = Random(seed)  # noqa: S311 - the same moments in every run
    for _ in range(times):
        url = new_database(folder)
        for _ in range(random.randint(1, 3)):
            child = fork(partial(run_unless_done, url))
            time.sleep(random.uniform(0.0, 0.12))
            os.kill(child, signal.SIGKILL)
            killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
            counts["killed at a moment" if killed else "ended before"] += 1
            if not killed:
                break
        assert in_fork(partial(finish_and_judge, url)) == 0


def main(step: int, times: int, seed: int) -> None:
    """Do the trials and print how many there were of each kind."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        kill_at_points(folder, counts, step)
        kill_at_moments(folder, counts, times, seed)
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
