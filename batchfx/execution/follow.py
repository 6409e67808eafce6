"""Follow a batch from event to event: first what was, then what comes.

Whoever wants to be woken listens first and follows then. Between an answer and the next
question nothing can be missed: it asks for what comes after the last number it has.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, Self

from batchfx.errors import CursorExpiredError, CursorUnknownError
from batchfx.model.events import Event
from batchfx.store import events
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

POLL = 2.0  # seconds, when nothing wakes the follower
JITTER = 0.5  # of it, to either side, so that followers don't ask all at once
PAGE = 500  # events read at once

CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9a-f]{1,16})")

Wait = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a follower is: just after an event, which its text names.

    The time of the event tells it from one of the same number in a database that was
    made anew or restored since.
    """

    batch: int
    seq: int
    stamp: int  # microseconds since 1970-01-01 UTC

    @classmethod
    def after(cls, key: BatchKey, event: Event) -> Self:
        """Return the place just after *event*."""
        return cls(key.number, event.seq, _stamp(event))

    @classmethod
    def before_all(cls, key: BatchKey, seq: int = 0) -> Self:
        """Return the place after number *seq* where that event is not kept."""
        return cls(key.number, seq, 0)

    @classmethod
    def parse(cls, key: BatchKey, text: str) -> Self:
        """Read it from its text.

        Raises:
            CursorUnknownError: It is no cursor of this batch.

        """
        written = CURSOR.fullmatch(text)
        if written is None or int(written[1]) != key.number:
            _refuse(key)
        return cls(key.number, int(written[2]), int(written[3], 16))

    def __str__(self) -> str:
        return f"{self.batch}.{self.seq}.{self.stamp:x}"


def follow(
    store: Store,
    key: BatchKey,
    cursor: str | None = None,
    *,
    wait: Wait = time.sleep,
    poll: float = POLL,
) -> Iterator[Event]:
    """Return the batch's events after *cursor*, without a gap or a repeat.

    It ends with the event that ended the batch. Without a cursor it begins with the
    oldest event that is kept.

    Args:
        store: Where the batch is.
        key: The batch, in its tenant's scope.
        cursor: What `cursor_after` gave for the last event that was seen.
        wait: Waits so many seconds, or less when something may have happened.
        poll: Seconds between two questions when nothing wakes the follower.

    Raises:
        CursorExpiredError: Events after the cursor are no longer kept.
        CursorUnknownError: It is no cursor of this batch.
        NotFoundError: The tenant has no such batch.

    """
    place = place_of(store, key, cursor)
    return _follow(store, place, key, lambda: wait(_jittered(poll)))


def cursor_after(key: BatchKey, event: Event) -> str:
    """Return the text from which `follow` goes on after *event*."""
    return str(Cursor.after(key, event))


def place_of(store: Store, key: BatchKey, cursor: str | None) -> Cursor:
    """Return the place to follow from, which is in the batch's history.

    Raises:
        CursorExpiredError: Events after the cursor are no longer kept.
        CursorUnknownError: It is no cursor of this batch.
        NotFoundError: The tenant has no such batch.

    """
    with store.read() as connection:
        bounds = events.bounds(connection, key)
        if cursor is None:
            return Cursor.before_all(key, bounds.first - 1)
        place = Cursor.parse(key, cursor)
        _require_kept(key, place.seq, bounds)
        if place.seq > bounds.newest:
            _refuse(key)
        at_it = events.since(connection, key, place.seq - 1, 1)
    if place.seq >= bounds.first and _stamp(at_it[0]) != place.stamp:
        _refuse(key)
    return place


def newest_of(store: Store, key: BatchKey) -> tuple[str, bool]:
    """Return the cursor after the newest event, and whether that ended the batch.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    with store.read() as connection:
        bounds = events.bounds(connection, key)
        for event in events.since(connection, key, bounds.newest - 1, 1):
            return cursor_after(key, event), bounds.has_ended
    return str(Cursor.before_all(key, bounds.newest)), bounds.has_ended


def _follow(
    store: Store, place: Cursor, key: BatchKey, pause: Callable[[], object]
) -> Iterator[Event]:
    seq = place.seq
    while True:
        with store.read() as connection:
            bounds = events.bounds(connection, key)
            _require_kept(key, seq, bounds)
            page = events.since(connection, key, seq, PAGE)
        yield from page
        seq = page[-1].seq if page else seq
        if seq < bounds.newest:
            continue
        if bounds.has_ended:
            return
        pause()


def _require_kept(key: BatchKey, seq: int, bounds: events.Bounds) -> None:
    if seq >= bounds.first - 1:
        return
    earliest = str(Cursor.before_all(key, bounds.first - 1))
    message = (
        f"The events of batch {key.number} after that cursor are no longer kept. "
        f"Go on from {earliest}, the earliest one, and take what was before it from "
        f"'batchfx status {key.number}'."
    )
    raise CursorExpiredError(message, earliest)


def _refuse(key: BatchKey) -> NoReturn:
    message = (
        f"That is no cursor of batch {key.number} in this database. Follow it without "
        "a cursor, which begins with the earliest event that is kept."
    )
    raise CursorUnknownError(message)


def _stamp(event: Event) -> int:
    return round(event.at * 1e6)


def _jittered(poll: float) -> float:
    return poll * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
