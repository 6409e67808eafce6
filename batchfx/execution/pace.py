"""How fast a batch goes lately, from its latest events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from batchfx.model.events import Event, EventKind, Standing
from batchfx.model.progress import Progress
from batchfx.model.states import ACTIVE, BatchState

SECONDS = 10.0  # that are looked back on
EVENTS = 48  # at most four a second are published
# What came before one of these is no part of the pace after it.
BREAKS = frozenset(
    {EventKind.STAGED, EventKind.STARTED, EventKind.RESUMED, EventKind.REVIVED}
)
FINISHED = frozenset({BatchState.COMPLETED, BatchState.CHECKED})
ALMOST = 0.999


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a batch is: the *share* of its rows, 1 only when it is finished.

    *rate* is in rows a second; None where nothing is at work, or it isn't known yet.
    """

    examined: int
    share: float
    rate: float | None
    seconds_left: float | None


class Pacer:
    """The latest events of one batch, as they are taken."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=EVENTS)
        for event in events:
            self.take(event)

    def take(self, event: Event) -> Pace | None:
        """Return how far the batch was at the event, if that says so."""
        standing = Standing.of(event.content)
        if event.kind in BREAKS:
            self._seen.clear()
        if standing is None:
            return None
        self._seen.append((event.at, standing.examined))
        while self._seen[0][0] < event.at - SECONDS:
            self._seen.popleft()
        return self.pace(standing)

    def pace(self, standing: Standing) -> Pace:
        """Return how far the batch is, at the rate of the events taken last."""
        progress = self._progress(standing)
        rate = None if progress is None else progress.rate
        left = None if progress is None else progress.seconds_left
        return Pace(standing.examined, share_of(standing), rate, left)

    def _progress(self, standing: Standing) -> Progress | None:
        if standing.state not in ACTIVE or len(self._seen) < 2:  # noqa: PLR2004 - the ends of a span
            return None
        (since, before), (until, _) = self._seen[0], self._seen[-1]
        seconds = max(until - since, 1e-3)
        return Progress(
            standing.state, standing.tally, standing.examined, before, seconds
        )


def share_of(standing: Standing) -> float:
    """Return what part of the rows was gone through: 1 only when it is finished."""
    if standing.state in FINISHED:
        return 1.0
    is_counted = standing.state not in {BatchState.DRAFT, BatchState.STAGING}
    total = standing.tally.total
    return min(standing.examined / total, ALMOST) if total and is_counted else 0.0
