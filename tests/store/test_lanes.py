"""Lanes on both databases: whose turn it is, and who is known to have work."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from batchfx.model.access import FOREVER, Identity
from batchfx.model.states import ChunkState
from batchfx.model.switches import SwitchScope
from batchfx.store import access, claims, lanes, switches
from batchfx.store.claims import Claim
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import CHUNK, LANE, BatchKey
from tests.store.entered import a_batch, a_chunk

EVERYTHING = Identity("fleet", frozenset({"*"}), frozenset({"*"}), FOREVER, None)


@pytest.fixture(autouse=True)
def worker(store: Store) -> str:
    """A worker that may do everything."""
    with store.write() as connection:
        access.enter(connection, "w1", EVERYTHING, "1.0")
    return "w1"


def queued(
    store: Store, tenant: str, chunks: int, rows: int = 1_000, importer: str = "people"
) -> BatchKey:
    """Enter a batch of so many chunks that wait, and note it in the lane."""
    key = a_batch(store, tenant, importer)
    with store.write() as connection:
        values = [
            {
                "batch": key.number,
                "ordinal": ordinal,
                "tenant": tenant,
                "importer": importer,
                "first_row": 1 + rows * ordinal,
                "last_row": rows * (ordinal + 1),
                "rows": rows,
                "state": ChunkState.QUEUED,
            }
            for ordinal in range(chunks)
        ]
        connection.execute(sa.insert(CHUNK), values)
        lanes.wake(connection, tenant)
    return key


def fair(
    store: Store, importers: tuple[str, ...] = ("people",), count: int = 1
) -> list[Claim]:
    """Claim *count* times in a transaction; each claim stays at work."""
    found = []
    with store.write() as connection:
        for _ in range(count):
            found += claims.fair(connection, "w1", importers, 30.0)
    return found


def served(
    store: Store, count: int, importers: tuple[str, ...] = ("people",)
) -> list[str]:
    return [claim.key.tenant for claim in fair(store, importers, count)]


def share(store: Store, tenant: str, weight: float, cap: int | None = None) -> None:
    with store.write() as connection:
        lanes.set_share(connection, tenant, weight, cap)


def lane(store: Store, tenant: str) -> tuple[float, bool]:
    """Return the virtual time of a lane and whether it is known to have work."""
    statement = sa.select(LANE.c.vtime, LANE.c.has_work)
    with store.read() as connection:
        row = connection.execute(statement.where(LANE.c.tenant == tenant)).one()
    return row.vtime, bool(row.has_work)


def alter(store: Store, tenant: str, **values: float) -> None:
    with store.write() as connection:
        connection.execute(
            sa.update(LANE).where(LANE.c.tenant == tenant).values(**values)
        )


# --- Shares ---------------------------------------------------------------------------


def test_tenants_take_turns_whatever_the_length_of_their_queues(store: Store) -> None:
    queued(store, "hog", 60)
    queued(store, "a", 10)
    queued(store, "b", 10)

    assert Counter(served(store, 30)) == {"hog": 10, "a": 10, "b": 10}
    assert Counter(served(store, 30)) == {"hog": 30}


def test_shares_follow_the_weights(store: Store) -> None:
    for tenant, weight in (("a", 1), ("b", 2), ("c", 4)):
        queued(store, tenant, 45)
        share(store, tenant, weight)

    assert Counter(served(store, 70)) == {"a": 10, "b": 20, "c": 40}


def test_rows_are_charged_and_not_units(store: Store) -> None:
    queued(store, "large", 30, rows=5_000)
    queued(store, "small", 90, rows=1_000)

    assert Counter(served(store, 60)) == {"large": 10, "small": 50}


def test_a_unit_of_few_rows_counts_for_a_hundred(store: Store) -> None:
    queued(store, "a", 2, rows=0)
    served(store, 2)
    assert lane(store, "a") == (200.0, True)
    share(store, "a", 4)
    queued(store, "a", 1, rows=1_000)
    served(store, 1)
    assert lane(store, "a") == (450.0, True)


def test_a_newcomer_is_served_before_who_had_much(store: Store) -> None:
    queued(store, "hog", 50)
    served(store, 20)
    queued(store, "new", 3)

    assert "new" in served(store, 2)
    assert Counter(served(store, 4)) == {"hog": 2, "new": 2}


def test_to_be_idle_earns_no_credit(store: Store) -> None:
    queued(store, "idle", 1)
    queued(store, "busy", 60)
    served(store, 30)
    assert lane(store, "idle") == (1_000.0, False)
    assert lane(store, "busy") == (29_000.0, True)

    queued(store, "idle", 30)
    assert lane(store, "idle") == (29_000.0, True)
    assert Counter(served(store, 20)) == {"idle": 10, "busy": 10}


def test_who_comes_while_nobody_has_work_is_not_ahead_of_who_worked_before(
    store: Store,
) -> None:
    queued(store, "old", 20)
    served(store, 20)
    assert served(store, 1) == []
    assert lane(store, "old") == (20_000.0, False)

    queued(store, "new", 30)
    queued(store, "old", 30)
    assert lane(store, "new") == (20_000.0, True)
    assert Counter(served(store, 20)) == {"new": 10, "old": 10}


def test_who_could_not_be_served_for_long_catches_up_within_bounds(
    store: Store,
) -> None:
    queued(store, "off", 10)
    queued(store, "on", 10)
    alter(store, "on", vtime=50_000_000.0)

    assert served(store, 1) == ["off"]
    assert lane(store, "off") == (50_000_000.0 - lanes.LAG + 1_000, True)


def test_who_waits_already_keeps_its_place_when_more_is_queued(store: Store) -> None:
    queued(store, "a", 1)
    queued(store, "b", 1)
    alter(store, "a", vtime=10.0)
    alter(store, "b", vtime=500.0)
    queued(store, "a", 1)
    assert lane(store, "a") == (10.0, True)


def test_a_share_can_be_set_before_and_after_there_is_work(store: Store) -> None:
    share(store, "a", 2, cap=3)
    assert lane(store, "a") == (0.0, False)
    queued(store, "a", 1)
    served(store, 1)
    assert lane(store, "a") == (500.0, True)
    share(store, "a", 5)
    assert lane(store, "a") == (500.0, True)
    with store.read() as connection:
        assert connection.execute(sa.select(LANE.c.weight, LANE.c.cap)).one() == (
            5.0,
            None,
        )


# --- Caps -----------------------------------------------------------------------------


def test_who_is_at_the_cap_comes_after_all_others_and_leaves_nobody_idle(
    store: Store,
) -> None:
    share(store, "a", 100, cap=2)
    queued(store, "a", 10)
    queued(store, "b", 5)

    assert served(store, 8) == ["a", "b", "a", "b", "b", "b", "b", "a"]
    assert served(store, 3) == ["a", "a", "a"]


def test_whoever_ends_a_unit_makes_room_below_the_cap(store: Store) -> None:
    share(store, "a", 100, cap=1)
    queued(store, "a", 4)
    queued(store, "b", 4)
    first, second = fair(store, count=2)
    assert (first.key.tenant, second.key.tenant) == ("a", "b")
    assert served(store, 1) == ["b"]
    with store.write() as connection:
        claims.release(connection, first)
        lanes.wake(connection, "a")
    assert served(store, 1) == ["a"]


# --- Work known and unknown -----------------------------------------------------------


def test_a_lane_without_work_is_noted_when_somebody_looks(store: Store) -> None:
    queued(store, "a", 1)
    served(store, 1)
    assert lane(store, "a")[1]
    assert served(store, 1) == []
    assert not lane(store, "a")[1]


def test_a_lane_whose_units_others_may_take_keeps_its_note(store: Store) -> None:
    queued(store, "a", 1, importer="orders")
    assert served(store, 1) == []
    assert lane(store, "a")[1]
    assert served(store, 1, ("orders", "people")) == ["a"]


def test_units_that_nobody_knows_of_are_found(store: Store) -> None:
    key = a_batch(store, "a")
    a_chunk(store, key)
    share(store, "a", 1)
    share(store, "b", 1)
    assert served(store, 1) == []

    with store.write() as connection:
        assert lanes.neglected(connection) == ["a"]
        lanes.wake(connection, "a")
        assert lanes.neglected(connection) == []
    assert served(store, 1) == ["a"]


def test_a_turned_off_tenant_is_not_in_the_order(store: Store) -> None:
    queued(store, "a", 2)
    queued(store, "b", 2)

    def order() -> list[str]:
        with store.read() as connection:
            return list(lanes.order(connection, "w1"))

    def turn(scope: SwitchScope, name: str, *, is_off: bool) -> None:
        with store.write() as connection:
            switches.turn(connection, scope, name, is_off=is_off, reason="", who="")

    assert order() == ["a", "b"]
    turn(SwitchScope.TENANT, "a", is_off=True)
    assert order() == ["b"]
    turn(SwitchScope.ALL, "", is_off=True)
    assert order() == []
    turn(SwitchScope.ALL, "", is_off=False)
    turn(SwitchScope.TENANT, "a", is_off=False)
    assert order() == ["a", "b"]


# --- Two at once, on PostgreSQL -------------------------------------------------------


@pytest.fixture
def pair(postgresql: str) -> Iterator[Store]:
    """A store on PostgreSQL in which the worker may do everything."""
    opened = open_store(postgresql)
    with opened.write() as connection:
        access.enter(connection, "w1", EVERYTHING, "1.0")
    yield opened
    opened.close()


class TestTwoAtOnce:
    """What two transactions do to a lane, in each order of theirs."""

    @pytest.fixture(autouse=True)
    def worker(self) -> None:
        """Nothing: `pair` lets the worker in."""

    def test_who_queues_while_the_lane_is_put_to_rest_is_not_forgotten(
        self, pair: Store
    ) -> None:
        key = queued(pair, "a", 1)
        served(pair, 1)
        with pair.write() as queueing:
            self.enter(queueing, key, 1)
            assert served(pair, 1) == []  # sees nothing, and notes that
            assert lane(pair, "a") == (1_000.0, False)
            lanes.wake(queueing, "a")
        assert lane(pair, "a")[1]
        assert served(pair, 1) == ["a"]

    def test_who_rests_a_lane_waits_for_who_queues_and_sees_it(
        self, pair: Store
    ) -> None:
        key = queued(pair, "a", 1)
        served(pair, 1)

        def put_to_rest() -> None:
            with pair.write() as connection:
                lanes.rest(connection, "a")

        resting = threading.Thread(target=put_to_rest)
        with pair.write() as queueing:
            self.enter(queueing, key, 1)
            lanes.wake(queueing, "a")
            resting.start()
            resting.join(0.2)
            assert resting.is_alive()
        resting.join()
        assert lane(pair, "a")[1]

    def test_two_that_take_lanes_in_turn_do_not_wait_for_each_other(
        self, pair: Store
    ) -> None:
        for tenant in "ab":
            share(pair, tenant, 1)

        def go_on(costs: dict[str, list[int]], idle: list[str]) -> None:
            for _ in range(50):
                with pair.write() as connection:
                    lanes.settle(connection, costs, idle)

        ways: list[tuple[dict[str, list[int]], list[str]]] = [
            ({"a": [100]}, ["b"]),
            ({"b": [100]}, ["a"]),
        ]
        threads = [threading.Thread(target=go_on, args=way) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [lane(pair, tenant) for tenant in "ab"] == [(5_000.0, False)] * 2

    def test_the_lanes_row_is_not_locked_while_others_look(self, pair: Store) -> None:
        queued(pair, "a", 3)
        with pair.write() as first:
            found = claims.fair(first, "w1", ["people"], 30.0)
            with pair.read() as second:
                assert list(lanes.order(second, "w1")) == ["a"]
            assert [claim.ordinal for claim in found] == [0]

    @staticmethod
    def enter(connection: sa.Connection, key: BatchKey, ordinal: int) -> None:
        """Enter a chunk in a transaction that goes on."""
        values = {
            "batch": key.number,
            "ordinal": ordinal,
            "tenant": key.tenant,
            "importer": "people",
            "first_row": 1,
            "last_row": 10,
            "rows": 10,
            "state": ChunkState.QUEUED,
        }
        connection.execute(sa.insert(CHUNK).values(**values))
