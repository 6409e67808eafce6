"""The sweep on both databases: what dead workers left is mended and counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from batchfx.execution.sweep import Swept, sweep
from batchfx.model.access import FOREVER, Identity
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState, ChunkState
from batchfx.store import access, batches, claims, events, lanes
from batchfx.store.engine import Store, now_epoch, open_store
from batchfx.store.schema import BATCH, CHUNK, EVENT, LANE, WORKER, BatchKey
from tests.store.entered import a_batch, a_chunk, change

HELD, QUEUED, LEASED, RETRYING, DONE, DEAD, CANCELLED = ChunkState

VANISHED = "The process that worked on it vanished (3 of 3 times)."


def leased(
    store: Store, key: BatchKey, ordinal: int, ago: float, losses: int = 0
) -> None:
    """Enter a chunk whose lease ran out so many seconds ago."""
    lease = {"worker": "gone", "lease_until": now_epoch() - ago, "fence": 1}
    a_chunk(store, key, ordinal, state=LEASED, losses=losses, **lease)


def states(store: Store, key: BatchKey) -> list[str]:
    statement = sa.select(CHUNK.c.state).where(CHUNK.c.batch == key.number)
    with store.read() as connection:
        ordered = connection.execute(statement.order_by(CHUNK.c.ordinal))
        return list(ordered.scalars())


def told(store: Store, key: BatchKey) -> list[tuple[str, int | None]]:
    """Return (kind, chunk) of the batch's events, without the progress."""
    with store.read() as connection:
        found = events.since(connection, key, 0, 100)
    return [
        (str(event.kind), event.content.get("chunk"))
        for event in found
        if event.kind is not EventKind.PROGRESSED
    ]


def state(store: Store, key: BatchKey) -> tuple[str, str | None]:
    with store.read() as connection:
        batch = batches.read(connection, key)
    return batch.state.value, batch.reason


def test_where_nothing_is_wrong_nothing_is_done(store: Store) -> None:
    key = a_batch(store)
    leased(store, key, 0, ago=-30)
    a_chunk(store, key, 1)
    a_chunk(store, key, 2, state=RETRYING, due_at=now_epoch() + 30)
    a_chunk(store, key, 3, state=DONE, created=10)
    a_chunk(store, key, 4, state=DEAD)
    with store.write() as connection:
        lanes.wake(connection, "acme")

    assert sweep(store) == Swept()
    assert not Swept().has_work
    assert states(store, key) == ["leased", "queued", "retrying", "done", "dead"]
    assert told(store, key) == []


def broken(store: Store) -> dict[str, BatchKey]:
    """Enter a batch for each thing that a sweep mends."""
    keys = {name: a_batch(store) for name in ("lost", "dying", "paused", "done")}
    keys |= {name: a_batch(store, name) for name in ("zeta", "newcomer")}
    leased(store, keys["lost"], 0, ago=1)
    leased(store, keys["lost"], 1, ago=1)
    leased(store, keys["dying"], 0, ago=1, losses=2)
    a_chunk(store, keys["zeta"], 0, state=RETRYING, due_at=now_epoch() - 1)
    a_chunk(store, keys["paused"], 0)
    a_chunk(store, keys["done"], 0, state=DONE, created=10)
    a_chunk(store, keys["newcomer"], 0)
    with store.write() as connection:
        change(connection, keys["paused"], state=BatchState.PAUSED)
        lanes.set_share(connection, "newcomer", 1.0, None)
    return keys


def test_everything_is_mended_at_once_and_counted(store: Store) -> None:
    keys = broken(store)
    lost, dying, paused, done = (keys[k] for k in ("lost", "dying", "paused", "done"))

    swept = sweep(store)
    assert swept == Swept(lost=3, died=1, due=1, astray=1, ended=1, woken=1)
    assert swept.has_work
    assert states(store, lost) == ["retrying", "retrying"]
    assert states(store, dying) == ["dead"]
    assert states(store, keys["zeta"]) == ["queued"]
    assert states(store, paused) == ["held"]
    assert state(store, done) == ("completed", None)
    assert state(store, dying) == (
        "failed",
        f"1 chunk is dead (poison): {VANISHED}",
    )
    assert told(store, lost) == [("lease_lost", 0), ("lease_lost", 1)]
    assert told(store, dying) == [("chunk_died", 0), ("failed", None)]
    assert told(store, done) == [("completed", None)]
    with store.read() as connection:
        awake = sa.select(LANE.c.tenant).where(LANE.c.has_work).order_by(LANE.c.tenant)
        assert list(connection.execute(awake).scalars()) == ["newcomer", "zeta"]

    assert sweep(store) == Swept()


def test_all_expired_leases_are_taken_back_the_oldest_first(store: Store) -> None:
    key = a_batch(store)
    with store.write() as connection:
        rows = [
            {
                "batch": key.number,
                "ordinal": ordinal,
                "tenant": "acme",
                "importer": "people",
                "first_row": ordinal,
                "last_row": ordinal,
                "rows": 1,
                "state": LEASED,
                "worker": "gone",
                "lease_until": 1.0 + ordinal,
            }
            for ordinal in range(30)
        ]
        connection.execute(sa.insert(CHUNK), rows)
    assert sweep(store).lost == 30
    assert told(store, key) == [("lease_lost", ordinal) for ordinal in range(30)]
    counted = sa.select(CHUNK.c.losses, sa.func.count()).group_by(CHUNK.c.losses)
    with store.read() as connection:
        assert connection.execute(counted).all() == [(1, 30)]


def test_old_events_go_and_the_last_one_stays(store: Store) -> None:
    key, young = a_batch(store), a_batch(store)
    with store.write() as connection:
        for each, age in ((key, 100), (young, 10)):
            for kind in (EventKind.CREATED, EventKind.STAGED, EventKind.COMPLETED):
                events.add(connection, each, kind, {})
            ended_at = now_epoch() - age
            change(connection, each, state=BatchState.COMPLETED, ended_at=ended_at)

    assert sweep(store, keep_events_for=50.0) == Swept(expired=2)
    assert told(store, key) == [("completed", None)]
    assert len(told(store, young)) == 3
    assert sweep(store, keep_events_for=50.0) == Swept()


def test_a_sweep_that_died_in_the_middle_is_finished_by_the_next(store: Store) -> None:
    key = a_batch(store)
    leased(store, key, 0, ago=1, losses=2)
    with store.write() as connection:  # and here it died
        assert claims.reclaim(connection, 500) == [(key, 0, DEAD)]

    assert sweep(store) == Swept(ended=1)
    assert state(store, key)[0] == "failed"
    assert told(store, key) == [("failed", None)]


@pytest.fixture
def on_postgresql(postgresql: str) -> Iterator[Store]:
    opened = open_store(postgresql)
    yield opened
    opened.close()


def test_many_that_sweep_at_once_mend_everything_once(on_postgresql: Store) -> None:
    store = on_postgresql
    keys = [a_batch(store) for _ in range(10)]
    for key in keys:
        leased(store, key, 0, ago=1, losses=2)
        leased(store, key, 1, ago=1)
        a_chunk(store, key, 2, state=RETRYING, due_at=now_epoch() - 1)
    done = a_batch(store)
    a_chunk(store, done, 0, state=DONE)
    swept: list[Swept] = []
    barrier = threading.Barrier(4)

    def go() -> None:
        barrier.wait()
        swept.append(sweep(store))

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(swept) == 4
    assert sum(each.lost for each in swept) == 20
    assert sum(each.died for each in swept) == 10
    assert sum(each.due for each in swept) == 10
    assert sum(each.ended for each in swept) == 1
    assert [states(store, key) for key in keys] == [["dead", "retrying", "queued"]] * 10
    with store.read() as connection:
        per_batch = sa.select(EVENT.c.batch, sa.func.count()).group_by(EVENT.c.batch)
        counts: dict[int, int] = dict(connection.execute(per_batch).all())
        newest = dict(
            connection.execute(sa.select(BATCH.c.id, BATCH.c.event_seq)).all()
        )
    assert counts == newest
    assert told(store, done) == [("completed", None)]


def test_workers_that_vanished_days_ago_are_forgotten(store: Store) -> None:
    identity = Identity("w", frozenset({"*"}), frozenset({"*"}), FOREVER)
    with store.write() as connection:
        for name in ("gone", "here"):
            access.enter(connection, name, identity, "1")
        gone = sa.update(WORKER).where(WORKER.c.id == "gone")
        connection.execute(gone.values(seen_at=now_epoch() - 90_000))
    assert sweep(store) == Swept(forgotten=1)
    assert not Swept(forgotten=1).has_work
    with store.read() as connection:
        assert list(connection.scalars(sa.select(WORKER.c.id))) == ["here"]
