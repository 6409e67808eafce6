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


def test_more_lanes_than_are_read_at_first_have_their_turns(store: Store) -> None:
    names = [f"t{number:02}" for number in range(lanes.READ_AHEAD + 4)]
    for number, name in enumerate(reversed(names)):
        queued(store, name, 2)
        alter(store, name, vtime=float(number))

    assert served(store, len(names)) == names[::-1]
    with store.read() as connection:
        turns = list(lanes.order(connection, "w1"))
    assert [turn.tenant for turn in turns] == names[::-1]
    assert [turn.vtime for turn in turns] == [1_000.0 + n for n in range(len(names))]


@pytest.mark.parametrize(
    ("rows", "limit", "charged"),
    [([500], 1, 500), ([1_000, 250, 20], 3, 1_350), ([1_000], 5, 1_000), ([7], 1, 100)],
)
def test_the_charge_is_for_the_rows_that_were_taken(
    store: Store, rows: list[int], limit: int, charged: float
) -> None:
    share(store, "a", 2)
    for priority, count in enumerate(rows):
        a_chunk(store, a_batch(store, "a"), rows=count, priority=priority)
    with store.write() as connection:
        lanes.wake(connection, "a")
    with store.write() as connection:
        found = claims.fair(connection, "w1", ["people"], 30.0, limit)
    assert [claim.rows for claim in found] == rows
    assert lane(store, "a") == (charged / 2, True)


def test_what_is_taken_of_another_importer_is_charged_as_it_is(store: Store) -> None:
    for importer, rows in (("orders", 300), ("people", 700)):
        a_chunk(store, a_batch(store, "a", importer), importer=importer, rows=rows)
    with store.write() as connection:
        lanes.wake(connection, "a")
        tops = lanes.tops(connection, "w1", "a", ["orders", "people"])
    assert tops == [lanes.Top("orders", 300), lanes.Top("people", 700)]
    assert served(store, 1, ("people",)) == ["a"]
    assert lane(store, "a") == (700.0, True)


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
            return [turn.tenant for turn in lanes.order(connection, "w1")]

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
    """A store on PostgreSQL in which the worker may do everything.

    To wait for what another transaction holds is a failure soon.
    """
    opened = open_store(postgresql, lock_timeout=10.0)
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

    def test_who_rests_a_lane_leaves_it_alone_while_somebody_queues(
        self, pair: Store
    ) -> None:
        key = queued(pair, "a", 1)
        served(pair, 1)
        with pair.write() as queueing:
            self.enter(queueing, key, 1)
            lanes.wake(queueing, "a")
            with pair.write() as resting:
                lanes.rest(resting, "a")
        assert lane(pair, "a")[1]

    def test_those_who_claim_at_one_moment_take_from_lanes_in_their_turn(
        self, pair: Store
    ) -> None:
        for vtime, tenant in enumerate("cab"):
            queued(pair, tenant, 2)
            alter(pair, tenant, vtime=float(vtime))
        with pair.write() as first, pair.write() as second, pair.write() as third:
            found = [self.claim(each) for each in (first, second, third)]
        assert found == ["c", "a", "b"]
        assert [lane(pair, tenant)[0] for tenant in "cab"] == [1_000, 1_001, 1_002]

    def test_a_lane_that_was_served_since_it_was_read_is_put_off(
        self, pair: Store
    ) -> None:
        queued(pair, "a", 2)
        queued(pair, "b", 2)
        alter(pair, "b", vtime=1.0)
        with pair.write() as late:
            turn = next(lanes.order(late, "w1"))
            assert served(pair, 1) == [turn.tenant] == ["a"]
            assert not lanes.reserve(late, turn, 1_000)
            assert self.claim(late) == "b"
        assert [lane(pair, tenant)[0] for tenant in "ab"] == [1_000, 1_001]

    def test_a_heavy_lane_serves_two_at_once_while_it_is_its_turn(
        self, pair: Store
    ) -> None:
        share(pair, "heavy", 100)
        queued(pair, "heavy", 3)
        queued(pair, "light", 3)
        alter(pair, "light", vtime=15.0)
        found: list[str] = []
        others = [
            threading.Thread(target=lambda: found.extend(served(pair, 1)))
            for _ in range(2)
        ]
        with pair.write() as first:
            assert self.claim(first) == "heavy"  # to 10
            for other in others:
                other.start()
                other.join(0.5)
            # Theirs is charged when the first has ended; they took it meanwhile.
        for other in others:
            other.join()
        assert sorted(found) == ["heavy", "heavy"]
        assert lane(pair, "heavy") == (30.0, True)

    def test_of_one_lane_alone_many_take_and_nobody_waits(self, pair: Store) -> None:
        queued(pair, "a", 4)
        with pair.write() as first, pair.write() as second, pair.write() as third:
            found = [self.claim(each) for each in (first, second, third)]
        assert found == ["a"] * 3
        assert served(pair, 1) == ["a"]
        assert lane(pair, "a") == (2_000.0, True)  # nobody else was there to be wronged

    def test_who_has_one_lane_never_waits_for_another(self, pair: Store) -> None:
        for tenant in "ab":
            queued(pair, tenant, 1)
        with pair.write() as first, pair.write() as second:
            assert [self.claim(first), self.claim(second)] == ["a", "b"]
            lanes.rest(first, "b")
            lanes.rest(second, "a")
            lanes.charge(first, "b", 500, waits=False)
            lanes.charge(second, "a", 500, waits=False)
        assert [lane(pair, tenant) for tenant in "ab"] == [(1_000.0, True)] * 2
        with pair.write() as alone:
            lanes.charge(alone, "a", 500, waits=False)
            lanes.rest(alone, "b")
        assert lane(pair, "a") == (1_500.0, True)
        assert lane(pair, "b") == (1_000.0, False)

    def test_a_lane_that_gave_nothing_is_charged_nothing(self, pair: Store) -> None:
        key = queued(pair, "a", 1)
        queued(pair, "b", 1)
        alter(pair, "a", vtime=5.0)
        alter(pair, "b", vtime=6.0)
        with pair.write() as holding:
            assert claims.of_batch(holding, key, "w2", 30.0) is not None
            assert served(pair, 1) == ["b"]
        assert lane(pair, "a") == (5.0, True)
        assert lane(pair, "b") == (1_006.0, True)

    def test_the_lanes_row_is_not_locked_while_others_look(self, pair: Store) -> None:
        queued(pair, "a", 3)
        with pair.write() as first:
            found = claims.fair(first, "w1", ["people"], 30.0)
            with pair.read() as second:
                assert [turn.tenant for turn in lanes.order(second, "w1")] == ["a"]
            assert [claim.ordinal for claim in found] == [0]

    @staticmethod
    def claim(connection: sa.Connection) -> str:
        """Claim in a transaction that goes on; return whose unit it is."""
        (found,) = claims.fair(connection, "w1", ["people"], 30.0)
        return found.key.tenant

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
