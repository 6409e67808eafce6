"""The threads of a worker that ask the database, each on a connection of its own.

The supervisor's loop never asks it, so that no slow database keeps it from ending what
has lost its lease. It hands out requests and finds the answers in its inbox.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from batchfx.errors import StoreError
from batchfx.execution.availability import Availability
from batchfx.execution.hints import Hints
from batchfx.execution.holdings import Holdings, Name, Timing, name_of
from batchfx.execution.leftovers import end_leftovers
from batchfx.execution.settlements import Release, Settlement, after_outage, settle
from batchfx.execution.sweep import sweep
from batchfx.execution.worker_inbox import (
    Answer,
    Broken,
    Entered,
    Expelled,
    Hinted,
    Inbox,
    Settled,
)
from batchfx.model.access import Identity
from batchfx.store import access, claims, strays
from batchfx.store.access import Installed
from batchfx.store.engine import Store, open_store

_LOG = logging.getLogger("batchfx.worker")

FAULTS = (StoreError, SQLAlchemyError)
FIRST_WAIT = 0.25  # seconds before the second try
MISFIT_FOR = 15.0  # seconds until a batch that the importer didn't fit is tried again


@dataclass(frozen=True, slots=True)
class Door:
    """How a worker gets in.

    Attributes:
        database: Its address.
        worker: The worker's name, new at each start.
        version: Of batchfx.
        show: Identifies the worker, or raises a `BatchfxError`: it is turned away.

    """

    database: str = field(repr=False)
    worker: str
    version: str
    show: Callable[[Store], Identity]


@dataclass(frozen=True, slots=True)
class Common:
    """What the threads of a worker share."""

    door: Door
    inbox: Inbox
    timing: Timing
    availability: Availability


class WorkerThread(threading.Thread, ABC):
    """A thread that ends when it is told to; its end by an error is reported."""

    def __init__(self, common: Common) -> None:
        super().__init__(daemon=True, name=type(self).__name__)
        self.common = common
        self.ended = threading.Event()
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The thread's own store, opened when it is first asked for."""
        if self._store is None:
            self._store = open_store(self.common.door.database)
        return self._store

    @abstractmethod
    def work(self) -> None:
        """Do what the thread is for, until told to end."""

    def run(self) -> None:
        """Work; report the error that ends it."""
        try:
            self.work()
        except Exception as error:  # noqa: BLE001 - the loop deals with it, whatever it is
            self.common.inbox.put(Broken(error))
        finally:
            if self._store is not None:
                self._store.close()

    def failed(self, error: Exception) -> None:
        """Say that the database could not be used."""
        self.common.availability.failed(self.name, error)

    def worked(self) -> None:
        """Say that it could."""
        self.common.availability.worked(self.name)

    def backoff(self, falls: int) -> float:
        """Return the seconds to wait after *falls* failures in a row."""
        return backoff(falls, self.common.timing.longest_backoff)


def backoff(falls: int, longest: float) -> float:
    """Return the seconds to wait after *falls* failures in a row."""
    wait = min(longest, FIRST_WAIT * 2.0 ** min(falls, 16))
    return random.uniform(wait / 2, wait)  # noqa: S311 - nothing to guess


class Claiming(WorkerThread):
    """Lets the worker in, claims for it, and settles what its handlers did not."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._unsettled: list[Settlement] = []
        self._misfits: dict[int, float] = {}  # batches, and since when
        self._falls = 0

    def ask(self, importers: Collection[str], limit: int) -> None:
        """Ask for up to *limit* claims on work of *importers*; an `Answer` comes."""
        self._requests.put((tuple(importers), limit))

    def settle(self, settlement: Settlement) -> None:
        """Have a settlement written, however long that takes; `Settled` comes."""
        self._requests.put(settlement)

    def end(self) -> None:
        """Write the settlements that there are, say goodbye, and end.

        Nothing may be worked on any more.
        """
        self.ended.set()
        self._requests.put(None)

    def work(self) -> None:
        """Let the worker in, then do what is asked."""
        if not self._enter():
            return
        while not self.ended.is_set() or not self._requests.empty():
            request = self._next()
            if isinstance(request, Settlement):
                self._unsettled.append(request)
            if isinstance(request, Release) and request.misfit:
                self._misfits[request.claim.key.number] = time.monotonic()
            self._settle()
            if isinstance(request, tuple):
                self._claim(*request)
        self._leave()

    def _leave(self) -> None:
        """Give back what is left, of which nothing is worked on any more, and go."""
        worker = self.common.door.worker
        with suppress(*FAULTS), self.store.write() as connection:
            access.leave(connection, worker)
            strays.give_back(connection, worker)

    def _next(self) -> Any:
        with suppress(queue.Empty):
            wait = self.backoff(self._falls) if self._unsettled else None
            return self._requests.get(timeout=wait)
        return None

    def _enter(self) -> bool:
        door, falls = self.common.door, 0
        while not self.ended.is_set():
            try:
                identity = door.show(self.store)
                with self.store.write() as connection:
                    access.enter(connection, door.worker, identity, door.version)
            except FAULTS as error:
                self.failed(error)
                falls += 1
                self.ended.wait(self.backoff(falls))
                continue
            self.worked()
            self.common.inbox.put(Entered(identity))
            return True
        return False

    def _claim(self, importers: tuple[str, ...], limit: int) -> None:
        asked_at = time.monotonic()
        if self._unsettled:  # the database is down: nothing new meanwhile
            self.common.inbox.put(Answer((), asked_at, is_up=False))
            return
        worker, ttl = self.common.door.worker, self.common.timing.ttl
        try:
            with self.store.write() as connection:
                found = claims.fair(
                    connection, worker, importers, ttl, limit, besides=self._besides()
                )
        except FAULTS as error:
            self.failed(error)
            self.common.inbox.put(Answer((), asked_at, is_up=False))
            return
        self.worked()
        self.common.inbox.put(Answer(tuple(found), asked_at))

    def _besides(self) -> frozenset[int]:
        """Return the batches that are left to workers of other versions for now."""
        old = time.monotonic() - MISFIT_FOR
        self._misfits = {n: since for n, since in self._misfits.items() if since > old}
        return frozenset(self._misfits)

    def _settle(self) -> None:
        while self._unsettled:
            try:
                with self.store.write() as connection:
                    text = settle(connection, self._unsettled[0])
            except FAULTS as error:
                self.failed(error)
                self._falls += 1
                self._unsettled = [after_outage(each) for each in self._unsettled]
                return
            self.worked()
            self._falls = 0
            settled = self._unsettled.pop(0)
            self.common.inbox.put(Settled(settled.claim, text))


class Renewing(WorkerThread):
    """Renews every lease of the worker, three times in the time of one."""

    def __init__(self, common: Common, holdings: Holdings) -> None:
        super().__init__(common)
        self._holdings = holdings
        self._due = threading.Event()
        self._unknown: dict[Name, float] = {}
        self._installed: Installed | None = None

    def tell(self, importers: Installed) -> None:
        """Have it written which importers are installed here."""
        self._installed = importers
        self.hurry()

    def hurry(self) -> None:
        """Renew now."""
        self._due.set()

    def end(self) -> None:
        """Renew no more."""
        self.ended.set()
        self._due.set()

    def work(self) -> None:
        """Renew until told to end."""
        timing, is_renewed = self.common.timing, True
        while not self.ended.is_set():
            self._due.wait(timing.renewal if is_renewed else timing.ttl / 20)
            self._due.clear()
            is_renewed = self._renew()

    def _renew(self) -> bool:
        worker, ttl = self.common.door.worker, self.common.timing.ttl
        asked, asked_at = self._holdings.leased(), time.monotonic()
        try:
            with self.store.write() as connection:
                renewed = claims.renew(connection, worker, ttl, is_granted=True)
                missing = [claim for claim in asked if name_of(claim) not in renewed]
                landed = {
                    name_of(claim)
                    for claim in missing
                    if claims.has_landed(connection, claim)
                }
                access.seen(connection, worker, self._installed)
                is_present = connection.scalar(sa.select(access.is_present(worker)))
                unknown = self._strays(renewed)
                if unknown:
                    strays.give_back(connection, worker, unknown)
        except FAULTS as error:
            self.failed(error)
            return False
        self.worked()
        self._holdings.confirm(asked, renewed, landed, asked_at)
        self.common.inbox.wake()
        if not is_present:
            self.common.inbox.put(Expelled())
        return True

    def _strays(self, renewed: Collection[Name]) -> set[Name]:
        """Return the claims that nobody here knows: their answer was lost.

        Not at once: the answer may be on its way.
        """
        now, known = time.monotonic(), self._holdings.names()
        self._unknown = {
            name: self._unknown.get(name, now) for name in set(renewed) - known
        }
        old = now - self.common.timing.ttl / 2
        return {name for name, since in self._unknown.items() if since < old}


class Tending(WorkerThread):
    """Sweeps every few seconds, this machine too, and sends hints."""

    def __init__(self, common: Common, hints: Hints | None) -> None:
        super().__init__(common)
        self._hints = hints
        self._due = threading.Event()

    def hint(self) -> None:
        """Tell other workers that there may be work."""
        if self._hints is not None:
            self._due.set()

    def end(self) -> None:
        """Sweep no more."""
        self.ended.set()
        self._due.set()

    def work(self) -> None:
        """Sweep until told to end."""
        next_at = time.monotonic()
        while not self.ended.is_set():
            if self._due.wait(max(0.0, next_at - time.monotonic())):
                self._due.clear()
                self._send()
                continue
            self._sweep()
            if self._hints is not None:
                self._hints.tend()
            wait = random.uniform(0.75, 1.25) * self.common.timing.sweep  # noqa: S311 - keeps workers apart
            next_at = time.monotonic() + wait

    def _send(self) -> None:
        if self._hints is not None:
            self._hints.send()

    def _sweep(self) -> None:
        count = end_leftovers()
        if count:
            _LOG.warning("Ended what a killed worker left here: %d processes.", count)
        try:
            swept = sweep(self.store)
        except FAULTS as error:
            self.failed(error)
            return
        self.worked()
        if swept.has_work:
            self.common.inbox.put(Hinted())
            self._send()
