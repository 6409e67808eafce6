"""The handlers of a worker: kept at their number, whatever becomes of each."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from batchfx.execution.channel import Message
from batchfx.execution.handlers import Handler, Launch, Work, end_told
from batchfx.execution.holdings import Timing
from batchfx.execution.process_trees import children
from batchfx.execution.settlements import Loss, Settlement

_LOG = logging.getLogger("batchfx.worker")

FIRST_BACKOFF = 0.1  # seconds
LAST_BREATH = 1.0  # seconds from the end of a handler's socket to that of its process


@dataclass(slots=True)
class Place:
    """Where a handler is or will be; *falls* are those since one finished any work."""

    handler: Handler | None = None
    falls: int = 0
    due_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Fall:
    """A handler that ended by itself: in words how, and what it was at."""

    how: str
    work: Work | None
    pid: int


class Pool:
    """*size* handlers, each started again after a moment when it has ended."""

    def __init__(self, launch: Launch, size: int, timing: Timing) -> None:
        self._launch = launch
        self._timing = timing
        self._places = [Place() for _ in range(size)]
        self._doomed: list[tuple[Handler, Settlement | None]] = []
        self._others = children()  # of this process, which are not ours to end

    def handlers(self) -> list[Handler]:
        """Return the handlers that are meant to live."""
        return [place.handler for place in self._places if place.handler]

    def free(self) -> list[Handler]:
        """Return the handlers that wait for work."""
        return [h for h in self.handlers() if h.is_ready and h.work is None]

    def busy(self) -> list[tuple[Handler, Work]]:
        """Return the handlers at work, and what they are at."""
        return [(h, h.work) for h in self.handlers() if h.work is not None]

    def fill(self) -> None:
        """Start what is missing and due."""
        for place in self._places:
            if place.handler is None and time.monotonic() >= place.due_at:
                self._start(place)

    def hear(self) -> Iterator[tuple[Handler, Message]]:
        """Yield what the handlers have said, without waiting."""
        for handler in self.handlers():
            handler.look()  # before: what it said until then comes before its end
            for message in handler.hear():
                yield handler, message

    def fallen(self) -> list[Fall]:
        """Take out the handlers that have ended by themselves, or hang in their start.

        Call `hear` first: a handler's last word counts more than its end.
        """
        found = []
        for handler in self.handlers():
            how = self._ended(handler)
            if how is not None:
                found.append(Fall(how, handler.work, handler.pid))
                loss = Loss(handler.work.claim, how) if handler.work else None
                self.doom(handler, loss, is_fault=True)
        return found

    def worked(self, handler: Handler) -> None:
        """Enter that a handler has finished a piece of work."""
        handler.work = None
        for place in self._places:
            if place.handler is handler:
                place.falls = 0

    def doom(
        self,
        handler: Handler,
        settlement: Settlement | None = None,
        *,
        is_fault: bool = False,
    ) -> None:
        """End a handler with all that it started; another takes its place.

        Args:
            handler: It is not heard any more.
            settlement: What is to become of its claim once nothing of it is left.
            is_fault: The other one starts after a moment, which doubles each time.

        """
        for place in self._places:
            if place.handler is handler:
                place.handler = None
                place.falls += is_fault
                place.due_at = time.monotonic() + (self._wait(place) if is_fault else 0)
        self._doomed.append((handler, settlement))

    def strike(self) -> list[Settlement]:
        """Go on ending what is doomed; return the settlements that may be made now."""
        left, ready = [], []
        for handler, settlement in self._doomed:
            if not handler.tree.strike():
                left.append((handler, settlement))
                continue
            handler.close()
            if settlement is not None:
                ready.append(settlement)
        self._doomed = left
        return ready

    def is_striking(self) -> bool:
        """Tell whether something doomed is still there."""
        return bool(self._doomed)

    def _start(self, place: Place) -> None:
        try:
            place.handler = Handler(self._launch, self._living)
        except OSError as error:  # no memory, or too many processes
            _LOG.error("A handler can't be started: %s.", error)
            place.falls += 1
            place.due_at = time.monotonic() + self._wait(place)

    def _ended(self, handler: Handler) -> str | None:
        if handler.code is not None:
            return end_told(handler.code)
        now = time.monotonic()
        if handler.silent_at is not None and now > handler.silent_at + LAST_BREATH:
            return "its process has closed its socket"
        if not handler.is_ready and now > handler.since + self._timing.boot:
            return "it took too long to import the importers"
        return None

    def _wait(self, place: Place) -> float:
        longest = self._timing.longest_backoff
        return min(longest, FIRST_BACKOFF * 2.0 ** min(place.falls, 16))

    def _living(self) -> set[int]:
        return {*self._others, *(handler.pid for handler in self.handlers())}
