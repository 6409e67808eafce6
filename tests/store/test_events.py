"""Events are numbered in the order of the commits, whoever writes them."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from batchfx.errors import NotFoundError
from batchfx.execution.follow import cursor_after, follow
from batchfx.model.events import Event, EventKind
from batchfx.model.states import BatchState
from batchfx.store import batches, events
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import BATCH, EVENT, BatchKey
from tests.store.entered import a_batch, change, end
from tests.store.event_writers import write_events

STARTED, PROGRESSED, COMPLETED = (
    EventKind.STARTED,
    EventKind.PROGRESSED,
    EventKind.COMPLETED,
)
WRITERS, EACH = 8, 25


def add(store: Store, key: BatchKey, kind: EventKind = PROGRESSED) -> int:
    with store.write() as connection:
        return events.add(connection, key, kind, {})


def kept(store: Store, key: BatchKey, seq: int = 0, limit: int = 100) -> list[int]:
    with store.read() as connection:
        return [each.seq for each in events.since(connection, key, seq, limit)]


def bounds(store: Store, key: BatchKey) -> tuple[int, int]:
    with store.read() as connection:
        found = events.bounds(connection, key)
    return found.first, found.newest


def test_each_batch_counts_its_events_from_one(store: Store) -> None:
    first, second = a_batch(store), a_batch(store)

    assert [add(store, first), add(store, first), add(store, second)] == [1, 2, 1]
    assert (bounds(store, first), bounds(store, second)) == ((1, 2), (1, 1))


def test_an_event_is_read_back_as_it_was_written(store: Store) -> None:
    key = a_batch(store)
    with store.write() as connection:
        before = connection.execute(sa.select(now_epoch())).scalar_one()
        events.add(connection, key, STARTED, {"attempt": 2, "who": "Zoë"})
    with store.read() as connection:
        (event,) = events.since(connection, key, 0, 10)

    assert (event.seq, event.kind) == (1, EventKind.STARTED)
    assert event.content == {"attempt": 2, "who": "Zoë"}
    assert event.at == pytest.approx(before, abs=1)


def test_events_are_read_on_from_a_number_in_order_and_in_pieces(store: Store) -> None:
    key = a_batch(store)
    for _ in range(5):
        add(store, key)

    assert kept(store, key) == [1, 2, 3, 4, 5]
    assert kept(store, key, seq=2, limit=2) == [3, 4]
    assert kept(store, key, seq=5) == []


def test_a_transaction_that_is_given_up_leaves_no_gap(store: Store) -> None:
    key = a_batch(store)
    add(store, key)
    with store.write() as connection:
        events.add(connection, key, PROGRESSED, {})
        connection.rollback()
    add(store, key)

    assert kept(store, key) == [1, 2]


def test_another_tenants_batch_gets_no_event_and_shows_none(store: Store) -> None:
    key = a_batch(store, "acme")
    add(store, key)
    foreign = BatchKey("zeta", key.number)

    with pytest.raises(NotFoundError, match="Tenant 'zeta' has no batch"):
        add(store, foreign)
    with pytest.raises(NotFoundError, match="Tenant 'zeta' has no batch"):
        bounds(store, foreign)
    assert kept(store, foreign) == []
    assert kept(store, key) == [1]


def published(connection: sa.Connection, key: BatchKey) -> bool:
    """Write how far the batch is if that is due; return whether it was."""
    batches.lock(connection, key)
    is_due = events.outlook(connection, key).is_due
    if is_due:
        events.add(connection, key, PROGRESSED, {})
    return is_due


@pytest.mark.parametrize(
    ("seconds_ago", "expected"),
    [(0.1, False), (0.3, True), (-1.0, False), (-3600.0, True)],
)
def test_progress_is_due_a_quarter_of_a_second_after_the_last(
    store: Store, seconds_ago: float, *, expected: bool
) -> None:
    key = a_batch(store)
    with store.write() as connection:
        change(connection, key, progress_at=now_epoch() - seconds_ago)
        assert published(connection, key) is expected
        assert published(connection, key) is False


def test_progress_of_another_tenants_batch_is_never_due(store: Store) -> None:
    key = a_batch(store, "acme")
    with store.write() as connection:
        assert not published(connection, BatchKey("zeta", key.number))
        assert published(connection, key)


def test_progress_is_limited_over_all_workers_together(store: Store) -> None:
    key, begun = a_batch(store), time.monotonic()

    def ask(worker: int) -> int:
        granted = 0
        while time.monotonic() - begun < 0.8:
            with store.write() as connection:
                granted += published(connection, key)
        return granted

    with ThreadPoolExecutor(4) as pool:
        granted = sum(pool.map(ask, range(4)))
    elapsed = time.monotonic() - begun

    assert 3 <= granted <= elapsed / events.PROGRESS_EVERY + 1


def test_retention_keeps_the_last_event_of_a_batch_and_all_of_those_at_work(
    store: Store,
) -> None:
    old, fresh, running = a_batch(store), a_batch(store), a_batch(store)
    for key in (old, fresh, running):
        for _ in range(3):
            add(store, key)
    end(store, old, BatchState.FAILED, seconds_ago=1000)
    end(store, fresh, BatchState.COMPLETED, seconds_ago=10)
    with store.write() as connection:
        change(connection, running, ended_at=now_epoch() - 1000)

    with store.write() as connection:
        assert events.expire(connection, older_than=500, limit=10) == 2
        assert events.expire(connection, older_than=500, limit=10) == 0
    assert (bounds(store, old), kept(store, old)) == ((3, 3), [3])
    assert (bounds(store, fresh), kept(store, fresh)) == ((1, 3), [1, 2, 3])
    assert (bounds(store, running), kept(store, running)) == ((1, 3), [1, 2, 3])

    with store.write() as connection:
        change(connection, old, state=BatchState.RUNNING, ended_at=None)
    assert add(store, old) == 4
    assert (bounds(store, old), kept(store, old)) == ((3, 4), [3, 4])


def test_retention_goes_through_so_many_batches_at_once(store: Store) -> None:
    keys = [a_batch(store) for _ in range(3)]
    for key in keys:
        add(store, key)
        add(store, key)
        end(store, key, BatchState.CANCELLED, seconds_ago=1000)

    with store.write() as connection:
        removed = [events.expire(connection, 500, limit=2) for _ in range(3)]
    assert removed == [2, 1, 0]


def test_followers_of_eight_writing_processes_see_every_event_once(
    store: Store, database: str
) -> None:
    keys = [a_batch(store) for _ in range(3)]
    spawn = multiprocessing.get_context("spawn")
    seen: dict[int, list[Event]] = {key.number: [] for key in keys}
    followers = [
        threading.Thread(target=_follow, args=(store, key, seen[key.number]))
        for key in keys
    ]
    for follower in followers:
        follower.start()
    try:
        with ProcessPoolExecutor(WRITERS, mp_context=spawn) as pool:
            work = [(database, number, keys, EACH) for number in range(WRITERS)]
            written = pool.map(write_events, *zip(*work, strict=True))
            committed = sorted(mark for each in written for mark in each)
    finally:
        for key in keys:
            _complete(store, key)
        for follower in followers:
            follower.join(10)

    assert [_numbers(seen[key.number]) for key in keys] == [
        list(range(1, bounds(store, key)[1] + 1)) for key in keys
    ]
    assert committed == sorted(
        f"{number}:{event.content['mark']}"
        for number, found in seen.items()
        for event in found[:-1]
    )
    assert {found[-1].kind for found in seen.values()} == {EventKind.COMPLETED}
    assert len(committed) > WRITERS * EACH / 2


def _follow(store: Store, key: BatchKey, seen: list[Event]) -> None:
    """Follow to the end, and begin anew from the last cursor every few events."""
    dice = random.Random(key.number)  # noqa: S311 - repeatable
    while not seen or seen[-1].kind is not EventKind.COMPLETED:
        cursor = cursor_after(key, seen[-1]) if seen else None
        for event in follow(store, key, cursor, poll=0.01):
            seen.append(event)
            if dice.random() < 0.2:
                break


def _complete(store: Store, key: BatchKey) -> None:
    with store.write() as connection:
        change(connection, key, state=BatchState.COMPLETED, ended_at=now_epoch())
        events.add(connection, key, COMPLETED, {})


def _numbers(found: Sequence[Event]) -> list[int]:
    return [event.seq for event in found]


def test_an_events_number_is_given_once(store: Store) -> None:
    key = a_batch(store)
    add(store, key)
    with store.write() as connection:
        connection.execute(
            sa.update(BATCH).where(BATCH.c.id == key.number).values(event_seq=0)
        )
    with pytest.raises(sa.exc.IntegrityError):
        add(store, key)
    with store.read() as connection:
        count = sa.select(sa.func.count()).select_from(EVENT)
        assert connection.execute(count).scalar_one() == 1
