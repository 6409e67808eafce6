"""A batch is followed from event to event, without a gap or a repeat."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from batchfx.errors import CursorExpiredError, CursorUnknownError, NotFoundError
from batchfx.execution.follow import PAGE, POLL, cursor_after, follow
from batchfx.model.events import Event, EventKind
from batchfx.model.states import BatchState
from batchfx.store import events
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import EVENT, BatchKey
from tests.store.entered import a_batch, change, end

PROGRESSED, STOPPED, STARTED = (
    EventKind.PROGRESSED,
    EventKind.STOPPED,
    EventKind.STARTED,
)


def add(store: Store, key: BatchKey, *kinds: EventKind) -> None:
    for kind in kinds:
        with store.write() as connection:
            events.add(connection, key, kind, {})


def stopped(store: Store, count: int) -> BatchKey:
    """Enter a batch that was stopped after *count* events."""
    key = a_batch(store)
    add(store, key, *[PROGRESSED] * (count - 1), STOPPED)
    end(store, key, BatchState.STOPPED, seconds_ago=1000)
    return key


def expire(store: Store) -> None:
    with store.write() as connection:
        events.expire(connection, older_than=500, limit=10)


def numbers(found: Iterator[Event]) -> list[int]:
    return [event.seq for event in found]


def never(seconds: float) -> None:
    message = f"waited {seconds} seconds"
    raise AssertionError(message)


def test_a_batch_that_has_ended_is_replayed_to_its_last_event(store: Store) -> None:
    key = stopped(store, 3)
    found = list(follow(store, key, wait=never))

    assert [event.seq for event in found] == [1, 2, 3]
    assert [event.kind for event in found] == [PROGRESSED, PROGRESSED, STOPPED]


def test_from_each_cursor_the_rest_follows(store: Store) -> None:
    key = stopped(store, 3)
    found = list(follow(store, key, wait=never))

    rest = [
        numbers(follow(store, key, cursor_after(key, e), wait=never)) for e in found
    ]
    assert rest == [[2, 3], [3], []]


def test_what_comes_is_told_until_the_batch_ends(store: Store) -> None:
    key = a_batch(store)
    add(store, key, PROGRESSED)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            add(store, key, PROGRESSED, PROGRESSED)
        if len(waited) == 4:
            end(store, key, BatchState.STOPPED)
            add(store, key, STOPPED)

    assert numbers(follow(store, key, wait=wait)) == [1, 2, 3, 4]
    assert len(waited) == 4
    assert all(POLL / 2 <= seconds <= POLL * 1.5 for seconds in waited)
    assert len(set(waited)) == 4


def test_more_events_than_one_page_are_told_without_waiting(store: Store) -> None:
    key, count = a_batch(store), 2 * PAGE + 1
    rows = [
        {"batch": key.number, "seq": seq, "at": 1.0, "kind": PROGRESSED, "content": {}}
        for seq in range(1, count + 1)
    ]
    with store.write() as connection:
        connection.execute(sa.insert(EVENT), rows)
        change(connection, key, event_seq=count, state=BatchState.STOPPED)

    assert numbers(follow(store, key, wait=never)) == list(range(1, count + 1))


def test_an_ending_that_was_not_the_last_is_passed_over(store: Store) -> None:
    key = stopped(store, 2)
    with store.write() as connection:
        change(connection, key, state=BatchState.RUNNING, ended_at=None)
    add(store, key, STARTED)

    def wait(seconds: float) -> None:
        end(store, key, BatchState.CHECKED)
        add(store, key, EventKind.CHECKED)

    assert numbers(follow(store, key, wait=wait)) == [1, 2, 3, 4]


def test_a_paused_batch_is_followed_on(store: Store) -> None:
    key = a_batch(store, state=BatchState.PAUSED)
    add(store, key, EventKind.PAUSED)
    followed = follow(store, key, wait=lambda seconds: add(store, key, PROGRESSED))

    assert numbers(itertools.islice(followed, 3)) == [1, 2, 3]


def test_an_expired_cursor_is_told_so_with_the_earliest_one(store: Store) -> None:
    key = stopped(store, 4)
    found = list(follow(store, key))
    expire(store)

    with pytest.raises(CursorExpiredError, match="are no longer kept") as told:
        follow(store, key, cursor_after(key, found[0]))
    assert numbers(follow(store, key, told.value.earliest, wait=never)) == [4]
    assert told.value.earliest in str(told.value)
    assert numbers(follow(store, key, cursor_after(key, found[2]), wait=never)) == [4]
    assert numbers(follow(store, key, cursor_after(key, found[3]), wait=never)) == []
    assert numbers(follow(store, key, wait=never)) == [4]


def test_a_follower_that_retention_overtakes_is_told_so(store: Store) -> None:
    key = a_batch(store)
    add(store, key, PROGRESSED)

    def wait(seconds: float) -> None:
        add(store, key, PROGRESSED, STOPPED)
        end(store, key, BatchState.STOPPED, seconds_ago=1000)
        expire(store)

    followed = follow(store, key, wait=wait)
    assert next(followed).seq == 1
    with pytest.raises(CursorExpiredError):
        next(followed)


def _garbage(store: Store, key: BatchKey, event: Event) -> str:
    return "\N{BELL}'; DROP TABLE batchfx_event; --"


def _empty(store: Store, key: BatchKey, event: Event) -> str:
    return ""


def _of_another_batch(store: Store, key: BatchKey, event: Event) -> str:
    return cursor_after(a_batch(store), event)


def _beyond_the_newest(store: Store, key: BatchKey, event: Event) -> str:
    return cursor_after(key, Event(event.seq + 1, event.at, event.kind, {}))


def _beyond_every_number(store: Store, key: BatchKey, event: Event) -> str:
    return cursor_after(key, Event(10**18 - 1, event.at, event.kind, {}))


def _of_a_database_made_anew(store: Store, key: BatchKey, event: Event) -> str:
    return cursor_after(key, Event(event.seq, event.at - 0.01, event.kind, {}))


@pytest.mark.parametrize(
    "cursor",
    [
        _garbage,
        _empty,
        _of_another_batch,
        _beyond_the_newest,
        _beyond_every_number,
        _of_a_database_made_anew,
    ],
)
def test_what_is_no_cursor_of_the_batch_is_refused(
    store: Store, cursor: Callable[[Store, BatchKey, Event], str]
) -> None:
    key = stopped(store, 2)
    last = list(follow(store, key))[-1]

    with pytest.raises(CursorUnknownError, match="That is no cursor of batch"):
        follow(store, key, cursor(store, key, last))


def test_a_batch_that_the_tenant_has_not_cant_be_followed(store: Store) -> None:
    key = stopped(store, 2)
    last = list(follow(store, key))[-1]
    foreign = BatchKey("zeta", key.number)

    for cursor in (None, cursor_after(key, last)):
        with pytest.raises(NotFoundError, match="Tenant 'zeta' has no batch"):
            follow(store, foreign, cursor)


def test_a_clock_that_was_set_back_costs_no_event(store: Store) -> None:
    key = a_batch(store)
    values = {"batch": key.number, "seq": 1, "kind": PROGRESSED, "content": {}}
    with store.write() as connection:
        connection.execute(sa.insert(EVENT).values(at=now_epoch() + 3600, **values))
        change(connection, key, event_seq=1)
    add(store, key, PROGRESSED)
    end(store, key, BatchState.STOPPED)
    add(store, key, STOPPED)

    assert numbers(follow(store, key, wait=never)) == [1, 2, 3]
