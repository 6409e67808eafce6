"""What a worker's loop is told, by its threads and by signals."""

from __future__ import annotations

import os
import queue
from contextlib import suppress
from dataclasses import dataclass

from batchfx.model.access import Identity
from batchfx.store.claims import Claim

PIECE = 4096


@dataclass(frozen=True, slots=True)
class Entered:
    """The worker was let in."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class Answer:
    """Claims that were asked for at *asked_at*; none while the database is down."""

    claims: tuple[Claim, ...]
    asked_at: float
    is_up: bool = True


@dataclass(frozen=True, slots=True)
class Settled:
    """A settlement was written; *text* is what there is to say of it."""

    claim: Claim
    text: str | None


@dataclass(frozen=True, slots=True)
class Hinted:
    """There may be work."""


@dataclass(frozen=True, slots=True)
class Expelled:
    """The worker's right to work has ended."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A thread ended with an error that it can't deal with."""

    error: Exception


Report = Entered | Answer | Settled | Hinted | Expelled | Broken


class Inbox:
    """Reports for the loop, and a descriptor that is readable when there are any."""

    def __init__(self) -> None:
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)

    def fileno(self) -> int:
        """Return the end that becomes readable."""
        return self._read

    def signalled(self) -> int:
        """Return the end that a signal may write to."""
        return self._write

    def wake(self) -> None:
        """Wake the loop."""
        with suppress(BlockingIOError):  # full: it is awake
            os.write(self._write, b"!")

    def put(self, report: Report) -> None:
        """Add a report."""
        self._reports.put(report)
        self.wake()

    def take(self) -> list[Report]:
        """Return what has come."""
        with suppress(BlockingIOError):
            os.read(self._read, PIECE)
        found: list[Report] = []
        with suppress(queue.Empty):
            while True:
                found.append(self._reports.get_nowait())
        return found
