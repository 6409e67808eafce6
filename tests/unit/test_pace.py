"""How far a batch is and how fast, from its events."""

from __future__ import annotations

import pytest

from batchfx.execution.pace import Pacer, share_of
from batchfx.model.events import Event, EventKind, Standing
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally


def event(
    at: float, examined: int, kind: EventKind = EventKind.PROGRESSED, total: int = 1000
) -> Event:
    state = BatchState.STAGING if kind is EventKind.CREATED else BatchState.RUNNING
    standing = Standing(state, Tally(total, created=examined), examined)
    return Event(round(at * 10), at, kind, standing.content())


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    pacer = Pacer([event(0, 0), event(5, 50), event(12, 100)])
    pace = pacer.take(event(14, 140))
    assert pace is not None
    assert pace.rate == pytest.approx(10)  # 90 rows since second 5
    assert pace.seconds_left == pytest.approx(86)
    assert pace.share == 0.14


def test_what_was_before_an_attempt_says_nothing_of_its_rate() -> None:
    pacer = Pacer([event(0, 0), event(1, 900)])
    begun = pacer.take(event(2, 900, EventKind.STARTED))
    assert begun is not None
    assert (begun.rate, begun.seconds_left) == (None, None)
    later = pacer.take(event(4, 920))
    assert later is not None
    assert later.rate == pytest.approx(10)


def test_an_event_that_does_not_tell_how_far_it_is_has_no_pace() -> None:
    assert Pacer().take(Event(1, 0.0, EventKind.LEASE_LOST, {"chunk": 1})) is None


@pytest.mark.parametrize(
    ("state", "examined", "share"),
    [
        (BatchState.DRAFT, 0, 0.0),
        (BatchState.STAGING, 0, 0.0),
        (BatchState.RUNNING, 500, 0.5),
        (BatchState.RUNNING, 1000, 0.999),
        (BatchState.PAUSED, 1000, 0.999),
        (BatchState.CANCELLED, 1000, 0.999),
        (BatchState.CHECKED, 1000, 1.0),
        (BatchState.COMPLETED, 1000, 1.0),
    ],
)
def test_all_of_it_is_done_only_when_the_batch_is(
    state: BatchState, examined: int, share: float
) -> None:
    assert share_of(Standing(state, Tally(1000), examined)) == share


def test_a_file_without_rows_is_done_when_its_batch_is() -> None:
    assert share_of(Standing(BatchState.COMPLETED, Tally(), 0)) == 1.0
    assert share_of(Standing(BatchState.RUNNING, Tally(), 0)) == 0.0
