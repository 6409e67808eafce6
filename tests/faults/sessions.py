"""Two sessions on one database, of which a test decides who makes the next step.

Each operation runs in a thread of its own, on a connection of its own, and stops before
each statement and each COMMIT, but for those of the application's own code. On
PostgreSQL a step that waits for a lock is left waiting, and is gone on with when the
other session has let go of it. On SQLite, where writers are one after the other, a step
is a whole transaction.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from typing import Any, Self

import psycopg

from batchfx.errors import BatchfxError, StoreError
from batchfx.store.engine import Store
from tests.faults.points import AFTER, ROLLBACK, Point, watched

PATIENCE = 20.0  # seconds in which a step must end or be seen to wait for a lock
LOOK = 0.004  # seconds between two looks at whether it waits
WRITES = ("INSERT", "UPDATE", "DELETE")
OF_THE_APPLICATION = ("person", "ledger", "SAVEPOINT", "RELEASE")
WAITS = "SELECT cardinality(pg_blocking_pids(%s)) > 0"

Begin = Callable[[Store], Callable[[], object]]
"""Makes what is needed for an operation, without steps, and returns it."""


class StuckError(Exception):
    """A step neither ended nor waits for a lock."""


class Session:
    """An operation in a thread, which stops before each of its steps.

    Attributes:
        result: What it returned, or the error of batchfx that it ended with.
        steps: How many steps it has made, and
        looked: how many of these before the first that writes.
        waited: How often it was seen waiting for a lock.

    """

    def __init__(self, store: Store, begin: Begin) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self.steps = self.waited = 0
        self.looked = 0
        self.has_ended = False
        self._begin, self._store = begin, store
        self._is_sqlite = store.engine.dialect.name == "sqlite"
        self._pid = 0
        self._may_go = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._is_stepping = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._has_stopped.acquire()
        self._is_stepping = False

    def step(self, monitor: psycopg.Connection[Any] | None) -> bool:
        """Make the next step, or wait for the one at work; False if it is blocked."""
        if self.has_ended:
            return True
        if not self._is_stepping:
            self._is_stepping = True
            self.steps += 1
            self._may_go.release()
        until = time.monotonic() + PATIENCE
        while not self._has_stopped.acquire(timeout=LOOK):
            if monitor is not None and self._is_blocked(monitor):
                self.waited += 1
                return False
            if time.monotonic() > until:
                raise StuckError
        self._is_stepping = False
        return True

    def close(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join(PATIENCE)

    def _is_blocked(self, monitor: psycopg.Connection[Any]) -> bool:
        row = monitor.execute(WAITS, [self._pid]).fetchone()
        return row is not None and bool(row[0])

    def _at(self, point: Point) -> None:
        if not self._is_step(point):
            return
        if not self.looked and point.what.startswith(WRITES):
            self.looked = self.steps
        if not self._is_sqlite:
            self._pid = point.driver.info.backend_pid
        self._has_stopped.release()
        self._may_go.acquire()

    def _is_step(self, point: Point) -> bool:
        if point.when == AFTER or point.what == ROLLBACK:
            return False
        if self._is_sqlite:
            return point.what.startswith("BEGIN")
        return not any(word in point.what for word in OF_THE_APPLICATION)

    def _run(self) -> None:
        try:
            work = self._begin(self._store)
            with watched(self._at):
                self.result = work()
        except BatchfxError as error:
            self.result = error
        except BaseException as error:
            self.error = error
        self.has_ended = True
        self._has_stopped.release()


@dataclass
class Duel:
    """Two sessions, by the number 0 and 1."""

    sessions: Sequence[Session]
    monitor: psycopg.Connection[Any] | None
    made: list[int] = field(default_factory=list)  # who made each step

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for session in self.sessions:
            session.close()

    def play(self, order: Sequence[int]) -> None:
        """Make steps in *order*, then whatever is left of both."""
        for number in itertools.chain(order, self._rest()):
            if not self.sessions[number].has_ended:
                self.made.append(number)
                self.sessions[number].step(self.monitor)
        for session in self.sessions:
            if session.error is not None:
                raise session.error
            if isinstance(session.result, StoreError):
                raise session.result  # a deadlock, or worse

    def _rest(self) -> Iterator[int]:
        until = time.monotonic() + PATIENCE
        while not all(session.has_ended for session in self.sessions):
            if time.monotonic() > until:
                raise StuckError
            yield from range(len(self.sessions))


def orders(
    first: int, second: int, wanted: int, looked: tuple[int, int] = (1, 1)
) -> list[tuple[int, ...]]:
    """Return orders of so many steps of the session 0 and of 1, *wanted* at most.

    All of them if there are no more. Otherwise first those in which one is interrupted
    once by the whole of the other: when it has *looked*, which takes so many steps,
    before it commits, and then anywhere; most faults show in these. The rest is drawn
    evenly from all, and is the same in each run.
    """
    count = paths(first, second)
    if count <= wanted:
        return [nth_order(first, second, number) for number in range(count)]
    found = dict.fromkeys(
        itertools.islice(interruptions((first, second), looked), wanted)
    )
    dice = Random(wanted)  # noqa: S311 - the same in every run
    while len(found) < wanted:
        found[nth_order(first, second, dice.randrange(count))] = None
    return list(found)


def interruptions(
    lengths: tuple[int, int], looked: tuple[int, int]
) -> Iterator[tuple[int, ...]]:
    """Yield the orders in which one session is interrupted once, the telling first."""
    places = [
        (place, number)
        for number, length in enumerate(lengths)
        for place in range(1, length)
    ]
    ends = [(length - 1, number) for number, length in enumerate(lengths)]
    telling = [*zip(looked, (0, 1), strict=True), *ends]
    for place, number in dict.fromkeys([*(t for t in telling if t in places), *places]):
        rest = lengths[number] - place
        other = 1 - number
        yield (number,) * place + (other,) * lengths[other] + (number,) * rest


def paths(first: int, second: int) -> int:
    """Return how many orders there are of so many steps of one and of the other."""
    count = 1
    for number in range(1, second + 1):
        count = count * (first + number) // number
    return count


def nth_order(first: int, second: int, number: int) -> tuple[int, ...]:
    """Return one of all the orders, by its number in their alphabetical order."""
    order: list[int] = []
    while first or second:
        with_first = paths(first - 1, second) if first else 0
        takes_first = number < with_first
        order.append(0 if takes_first else 1)
        if takes_first:
            first -= 1
        else:
            second -= 1
            number -= with_first
    return tuple(order)
