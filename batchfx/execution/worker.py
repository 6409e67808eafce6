"""A worker: one supervisor that claims and watches, and handlers that do the work.

The supervisor runs none of the application's code, so nothing in there can keep it from
renewing its leases and from ending a handler that has lost one. Its loop waits for
nothing but news: what asks the database does so in threads (`worker_threads`).
"""

from __future__ import annotations

import logging
import math
import random
import select
import signal
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from batchfx.errors import AccessError, DeclarationError
from batchfx.execution.availability import Availability
from batchfx.execution.channel import Message
from batchfx.execution.handlers import Handler, Launch, Work
from batchfx.execution.hints import Hints
from batchfx.execution.holdings import Holdings, Timing
from batchfx.execution.process_trees import become_subreaper
from batchfx.execution.quiet import silence_libraries
from batchfx.execution.settlements import Breakdown, Release, told
from batchfx.execution.worker_inbox import (
    Answer,
    Broken,
    Entered,
    Expelled,
    Hinted,
    Inbox,
    Report,
    Settled,
)
from batchfx.execution.worker_pool import Fall, Pool
from batchfx.execution.worker_threads import (
    Claiming,
    Common,
    Door,
    Renewing,
    Tending,
    backoff,
)
from batchfx.model.access import EVERY
from batchfx.store.claims import Claim, Failure

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TICK = 0.25  # seconds that the loop sleeps at most
BUSY_TICK = 0.02  # the same while processes are being ended
FAREWELL = 2.0  # seconds for a handler to end by itself
GOODBYE = 5.0  # seconds for the database to take the last words
SHORT_GOODBYE = 1.0  # the same after the second signal

EXPELLED = (
    "This worker's right to work has ended: its credential was revoked or has expired, "
    "so it stops. Have another one issued ('batchfx credential issue'; 'batchfx "
    "credential list' shows which there are) and start it again with that."
)

_LOG = logging.getLogger("batchfx.worker")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is made of.

    Attributes:
        door: How it gets in.
        launch: How its handlers are started.
        processes: How many there are of them.
        timing: How long things may take.

    """

    door: Door
    launch: Launch
    processes: int = 1
    timing: Timing = field(default_factory=Timing)


class Worker:
    """A worker that runs in this process, which it has to itself, in the main thread.

    Without *hints* it looks for work by itself every two seconds or so.
    """

    def __init__(self, plan: Plan, hints: Hints | None = None) -> None:
        self._plan, self._hints = plan, hints
        self._timing = plan.timing
        self._inbox = Inbox()
        self._holdings = Holdings(plan.timing)
        common = Common(plan.door, self._inbox, plan.timing, Availability())
        self._claiming = Claiming(common)
        self._renewing = Renewing(common, self._holdings)
        self._tending = Tending(common, hints)
        self._pool = Pool(plan.launch, plan.processes, plan.timing)
        self._waiting: deque[Claim] = deque()
        self._importers: Mapping[str, Any] | None = None
        self._wanted: frozenset[str] = frozenset()
        self._is_in = self._is_asking = self._is_hinted = False
        self._falls = 0
        self._next_ask = 0.0
        self._signals: list[int] = []
        self._stopped_at: float | None = None
        self._error: BaseException | None = None

    def run(self) -> int:
        """Work until a signal says to stop; return the exit code.

        Raises:
            AccessError: The worker was not let in, or its right to work has ended.
            BatchfxError: It can't start; the message says why.

        """
        become_subreaper()
        silence_libraries()
        with self._listening():
            self._claiming.start()
            try:
                while not self._is_over():
                    self._turn()
            finally:
                self._close()
        if self._error is not None:
            raise self._error
        _LOG.info("The worker has ended.")
        return 128 + self._signals[1] if len(self._signals) > 1 else 0

    @contextmanager
    def _listening(self) -> Iterator[None]:
        def note(number: int, frame: FrameType | None) -> None:
            del frame
            self._signals.append(number)

        def wake(number: int, frame: FrameType | None) -> None:
            del number, frame  # that it came is enough: a child has ended

        before = {number: signal.signal(number, note) for number in SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, wake)
        written = signal.set_wakeup_fd(
            self._inbox.signalled(), warn_on_full_buffer=False
        )
        try:
            yield
        finally:
            signal.set_wakeup_fd(written)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _is_over(self) -> bool:
        if len(self._signals) > 1:
            return True
        is_idle = not (self._pool.handlers() or self._pool.is_striking())
        return self._stopped_at is not None and is_idle

    def _turn(self) -> None:
        """Deal with everything that is new; wait for it first."""
        self._wait()
        if (self._signals or self._error) and self._stopped_at is None:
            self._stop()
        for report in self._inbox.take():
            self._take(report)
        for handler, message in self._pool.hear():
            self._hear(handler, message)
        for fall in self._pool.fallen():
            self._tell_of(fall)
        self._enforce()
        for settlement in self._pool.strike():
            self._claiming.settle(settlement)
        if self._is_in and self._stopped_at is None:
            self._pool.fill()
            self._dispatch()
            self._ask()
        if self._stopped_at is not None:
            self._dismiss()

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._inbox, select.POLLIN)
        for handler in self._pool.handlers():
            if handler.silent_at is None:
                poll.register(handler, select.POLLIN)
        poll.poll(max(0.0, self._rest()) * 1000)

    def _rest(self) -> float:
        """Return the seconds that the loop may sleep if nothing comes."""
        if self._pool.is_striking():
            return BUSY_TICK
        now = time.monotonic()
        held = (self._holdings.left(work.claim, now) for _, work in self._pool.busy())
        return min([TICK, *held])

    # What the threads report.

    def _take(self, report: Report) -> None:
        match report:
            case Entered():
                self._enter(report)
            case Answer():
                self._take_claims(report)
            case Settled():
                self._holdings.drop(report.claim)
                if report.text is not None:
                    _LOG.warning("%s", report.text)
            case Hinted():
                self._is_hinted = True
                self._ask_now()
            case Expelled():
                self._error = self._error or AccessError(EXPELLED)
            case Broken():
                self._error = self._error or report.error

    def _enter(self, entered: Entered) -> None:
        identity = entered.identity
        _LOG.info("Worker %s, let in as '%s'.", self._plan.door.worker, identity.name)
        self._is_in = True
        self._wanted = identity.importers
        self._renewing.start()
        self._tending.start()
        if self._hints is not None:
            self._hints.listen(lambda: self._inbox.put(Hinted()))

    def _take_claims(self, answer: Answer) -> None:
        self._is_asking = False
        for claim in answer.claims:
            self._holdings.add(claim, answer.asked_at)
        self._waiting.extend(answer.claims)
        self._falls = 0 if answer.is_up else self._falls + 1
        if self._stopped_at is not None:
            self._give_back()
        elif answer.claims:
            self._ask_now()
            self._tending.hint()  # there may be more, for others
        elif answer.is_up and self._is_hinted:  # while it was asked
            self._ask_now()
        elif answer.is_up:
            wait = random.uniform(0.75, 1.25) * self._timing.poll  # noqa: S311 - keeps workers apart
            self._next_ask = time.monotonic() + wait
        else:
            wait = backoff(self._falls, self._timing.longest_backoff)
            self._next_ask = time.monotonic() + wait

    # What the handlers say.

    def _hear(self, handler: Handler, message: Message) -> None:
        match message["kind"]:
            case "ready":
                self._begin(handler, message["importers"])
            case "refused":
                self._refuse(message["error"])
            case "started":
                handler.time_limit = message["time_limit"]
            case "ended" if handler.work is not None:
                self._end(handler, handler.work.claim, message)

    def _begin(self, handler: Handler, importers: Mapping[str, Any]) -> None:
        handler.is_ready = True
        if importers != self._importers:
            _LOG.info("Importers here: %s.", ", ".join(importers) or "none")
            self._warn_of_missing(importers)
            self._renewing.tell(importers)
        self._importers = importers
        self._ask_now()

    def _warn_of_missing(self, importers: Mapping[str, Any]) -> None:
        missing = sorted(self._wanted - {EVERY, *importers})
        if missing:
            _LOG.warning(
                "Not installed here, though this worker is to run them: %s. "
                "BATCHFX_IMPORTERS says where it looks.",
                ", ".join(missing),
            )

    def _refuse(self, error: str) -> None:
        if self._importers is None:  # it has never worked: somebody is at the start
            self._error = self._error or DeclarationError(error)
        else:
            _LOG.error("%s", error)

    def _end(self, handler: Handler, claim: Claim, message: Message) -> None:
        self._pool.worked(handler)
        self._ask_now()
        match message["ending"]:
            case "failed":
                failure = Failure(*(message[n] for n in ("reason", "place", "error")))
                self._claiming.settle(Breakdown(claim, failure, message["since"]))
            case "unavailable":
                self._claiming.settle(Release(claim))
            case "misfit":
                self._claiming.settle(Release(claim, misfit=message["error"]))
            case ending:
                self._holdings.drop(claim)
                if ending == "lost":
                    _LOG.warning("lease lost: %s; nothing was charged.", told(claim))
                elif claim.is_preparation:
                    self._tending.hint()  # its chunks wait now

    def _tell_of(self, fall: Fall) -> None:
        if self._stopped_at is None and fall.work is None:
            _LOG.warning("A handler (process %d): %s.", fall.pid, fall.how)

    # What the supervisor does.

    def _enforce(self) -> None:
        """End the handlers whose leases or time limits have run out."""
        now = time.monotonic()
        is_late = self._stopped_at is not None and now > (
            self._stopped_at + self._timing.grace
        )
        for handler, work in self._pool.busy():
            if self._holdings.left(work.claim, now) <= 0:
                _LOG.warning("lease lost: %s; its handler was ended.", told(work.claim))
                self._pool.doom(handler, Release(work.claim, is_lost=True))
            elif is_late:
                _LOG.info("Given back, not finished: %s.", told(work.claim))
                self._pool.doom(handler, Release(work.claim))
            elif handler.time_limit and now > work.since + handler.time_limit:
                self._pool.doom(handler, _too_long(work, handler.time_limit))

    def _dispatch(self) -> None:
        """Give each claim to a handler; back if none is free or it was lost."""
        free, now, kept = deque(self._pool.free()), time.monotonic(), deque[Claim]()
        while self._waiting:
            claim = self._waiting.popleft()
            left = self._holdings.left(claim, now)
            if left <= 0 or not free:
                self._claiming.settle(Release(claim))
            elif left < self._timing.renewal:
                kept.append(claim)
                self._renewing.hurry()
            else:
                free.popleft().begin(claim)
        self._waiting = kept

    def _ask(self) -> None:
        limit = len(self._pool.free()) - len(self._waiting)
        is_due = time.monotonic() >= self._next_ask
        if limit > 0 and is_due and self._importers and not self._is_asking:
            self._is_asking, self._is_hinted = True, False
            self._next_ask = time.monotonic() + self._timing.poll
            self._claiming.ask(self._importers, limit)

    def _ask_now(self) -> None:
        if self._falls == 0:  # the database answers
            self._next_ask = 0.0

    def _stop(self) -> None:
        """Begin no more; what runs may finish."""
        self._stopped_at = time.monotonic()
        count = len(self._pool.busy())
        if self._signals and count:
            _LOG.info(
                "Stopping: %d at work may finish within %g seconds.",
                *(count, self._timing.grace),
            )
        self._give_back()

    def _give_back(self) -> None:
        while self._waiting:
            self._claiming.settle(Release(self._waiting.popleft()))

    def _dismiss(self) -> None:
        """Let the handlers go that have nothing to do any more."""
        for handler in self._pool.handlers():
            if handler.dismissed_at is None and handler.work is None:
                handler.dismiss()
            elif (handler.dismissed_at or math.inf) < time.monotonic() - FAREWELL:
                self._pool.doom(handler)

    def _close(self) -> None:
        """End everything: handlers first, then what is held is given back."""
        is_at_once = len(self._signals) > 1
        until = time.monotonic() + (SHORT_GOODBYE if is_at_once else GOODBYE)
        for handler in self._pool.handlers():
            work = handler.work
            self._pool.doom(handler, None if work is None else Release(work.claim))
        while self._pool.is_striking() and time.monotonic() < until:
            for settlement in self._pool.strike():
                self._claiming.settle(settlement)
            time.sleep(BUSY_TICK)
        for thread in (self._renewing, self._tending, self._claiming):
            thread.end()
        for thread in (self._claiming, self._renewing, self._tending):
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        if self._hints is not None and not is_at_once:
            self._hints.close()


def _too_long(work: Work, limit: float) -> Breakdown:
    text = f"It took longer than the {limit:g} seconds that its importer allows."
    failure = Failure("time_limit", f"importer {work.claim.importer}", text)
    return Breakdown(work.claim, failure)
