"""Units of a batch moved together, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from batchfx.model.states import BatchState, ChunkState
from batchfx.model.verdicts import Outcome, Verdict
from batchfx.store import batches, outcomes, units
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import CHUNK, LANE, PREPARATION, BatchKey
from tests.store.entered import a_batch, a_chunk, change

HELD, QUEUED, LEASED, RETRYING, DONE, DEAD, CANCELLED = ChunkState
AT = dict(enumerate(ChunkState))  # the chunk of each state has its number


def full(store: Store, tenant: str = "acme", **prepared: Any) -> BatchKey:
    """Enter a batch with a chunk in every state, and a preparation that is done."""
    key = a_batch(store, tenant)
    prepared = {"rows": 0, "state": DONE, "fence": 100} | prepared
    a_chunk(store, key, PREPARATION, **prepared)
    for ordinal, state in AT.items():
        values: dict[str, Any] = {"state": state, "fence": 10}
        if state is LEASED:
            values |= {"worker": "w1", "lease_until": now_epoch() + 30}
        if state is RETRYING:
            values |= {"due_at": now_epoch() - 1, "failures": 2}
        if state is DEAD:
            values |= {"ended_at": now_epoch() - 60, "failures": 5, "losses": 1}
        if state in {DEAD, RETRYING}:
            values |= {"reason": "disk_full", "place": "commit", "error": "It's full."}
        if state is DONE:
            values |= {"created": 10}
        a_chunk(store, key, ordinal, **values)
    return key


def states(store: Store, key: BatchKey) -> dict[int, tuple[str, int]]:
    """Return (state, fence) of each unit."""
    statement = sa.select(CHUNK.c.ordinal, CHUNK.c.state, CHUNK.c.fence).where(
        CHUNK.c.batch == key.number
    )
    with store.read() as connection:
        return {
            row.ordinal: (row.state, row.fence) for row in connection.execute(statement)
        }


AS_ENTERED = {
    PREPARATION: ("done", 100),
    **{ordinal: (state.value, 10) for ordinal, state in AT.items()},
}


def moved(**targets: ChunkState) -> dict[int, tuple[str, int]]:
    """Return the states as they were entered, but for those that move, by state."""
    of_state = {state.name.lower(): ordinal for ordinal, state in AT.items()}
    return AS_ENTERED | {
        of_state[name]: (state.value, 11) for name, state in targets.items()
    }


def column(store: Store, key: BatchKey, ordinal: int, *names: str) -> tuple[Any, ...]:
    statement = sa.select(*(CHUNK.c[name] for name in names)).where(
        CHUNK.c.batch == key.number, CHUNK.c.ordinal == ordinal
    )
    with store.read() as connection:
        return tuple(connection.execute(statement).one())


def ordinal_of(state: ChunkState) -> int:
    return next(ordinal for ordinal, each in AT.items() if each is state)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("queue", moved(held=QUEUED)),
        ("hold", moved(queued=HELD, retrying=HELD)),
        ("take_back", moved(queued=HELD, retrying=HELD, leased=HELD)),
        (
            "cancel",
            moved(
                held=CANCELLED,
                queued=CANCELLED,
                leased=CANCELLED,
                retrying=CANCELLED,
                dead=CANCELLED,
            ),
        ),
        ("revive", moved(dead=QUEUED)),
    ],
)
def test_units_move_with_a_raised_fence_and_those_of_other_batches_stay(
    store: Store, name: str, expected: dict[int, tuple[str, int]]
) -> None:
    key, other = full(store), full(store)
    with store.write() as connection:
        getattr(units, name)(connection, key)

    assert states(store, key) == expected
    assert states(store, other) == AS_ENTERED
    with (
        store.write() as connection
    ):  # in another tenant's scope there is no such batch
        getattr(units, name)(connection, BatchKey("zeta", other.number))
    assert states(store, other) == AS_ENTERED
    if name in {"take_back", "cancel"}:
        leased = ordinal_of(LEASED)
        assert column(store, key, leased, "worker", "lease_until") == (None, None)


def test_before_the_preparation_is_done_only_it_is_queued(store: Store) -> None:
    key = full(store, state=HELD)
    with store.write() as connection:
        units.queue(connection, key)
    assert states(store, key) == AS_ENTERED | {PREPARATION: ("queued", 101)}


def test_what_dead_workers_had_is_given_back_with_nothing_charged(store: Store) -> None:
    key = full(store)
    with store.write() as connection:
        units.release_all(connection, key, {"w2"})
        units.release_all(connection, key, set())
    assert states(store, key) == AS_ENTERED
    with store.write() as connection:
        units.release_all(connection, key, {"w1", "w2"})
    assert states(store, key) == moved(leased=QUEUED)
    assert column(store, key, ordinal_of(LEASED), "failures", "losses") == (0, 0)


def test_what_is_revived_starts_afresh(store: Store) -> None:
    key, dead = full(store), ordinal_of(DEAD)
    a_chunk(store, key, 20, state=DEAD, failures=5, reason="disk_full")
    with store.write() as connection:
        assert units.revive(connection, key, 3) == 0
        assert units.revive(connection, key, 20) == 1
        assert units.revive(connection, key) == 1
        assert units.revive(connection, key) == 0

    assert states(store, key) == moved(dead=QUEUED) | {20: ("queued", 1)}
    names = ("failures", "losses", "reason", "place", "error", "due_at", "ended_at")
    assert column(store, key, dead, *names) == (0, 0, None, None, None, None, None)


def test_the_dead_are_listed_the_longest_dead_first(store: Store) -> None:
    key, other = full(store), full(store, "zeta")
    why = {"reason": "poison", "place": "handler", "error": "It vanished."}
    a_chunk(store, key, 20, state=DEAD, ended_at=now_epoch() - 90, losses=3, **why)
    with store.read() as connection:
        found = units.dead(connection, None)
        ours = units.dead(connection, "acme")
        none = units.dead(connection, "nobody")

    dead = ordinal_of(DEAD)
    whose = [(key, 20), (key, dead), (other, dead)]
    assert [(unit.key, unit.ordinal) for unit in found] == whose
    assert [(unit.key, unit.ordinal) for unit in ours] == whose[:2]
    assert none == []
    assert [unit.age for unit in found] == pytest.approx([90, 60, 60], abs=5)
    first, second = ours
    assert (first.rows, first.reason, first.place, first.error) == (
        10,
        "poison",
        "handler",
        "It vanished.",
    )
    assert (first.failures, first.losses) == (0, 3)
    assert (second.reason, second.place, second.error) == (
        "disk_full",
        "commit",
        "It's full.",
    )
    assert (second.failures, second.losses) == (5, 1)


def test_what_is_due_is_queued_and_its_lane_is_told(store: Store) -> None:
    key, other = full(store), full(store, "zeta")
    retrying = ordinal_of(RETRYING)
    with store.write() as connection:
        connection.execute(
            sa.update(CHUNK)
            .where(CHUNK.c.batch == other.number, CHUNK.c.ordinal == retrying)
            .values(due_at=now_epoch() + 60)
        )
        assert units.make_due(connection, 10) == 1
        assert units.make_due(connection, 10) == 0

    assert states(store, key) == moved(retrying=QUEUED)
    assert states(store, other) == AS_ENTERED
    assert column(store, key, retrying, "failures", "due_at") == (2, None)
    with store.read() as connection:
        known = connection.execute(sa.select(LANE.c.tenant, LANE.c.has_work)).all()
    assert [tuple(row) for row in known] == [("acme", True)]


def test_at_most_so_many_are_made_due_at_once(store: Store) -> None:
    key = a_batch(store)
    for ordinal in range(5):
        a_chunk(store, key, ordinal, state=RETRYING, due_at=now_epoch() - 1)
    with store.write() as connection:
        assert [units.make_due(connection, 2) for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize(
    ("state", "seconds", "expected"),
    [
        ("paused", None, moved(queued=HELD, retrying=HELD)),
        ("stopped", 10, moved(queued=HELD, retrying=HELD)),
        ("failed", 10, moved(queued=HELD, retrying=HELD)),
        ("stopped", 86_400, moved(queued=HELD, retrying=HELD)),
        ("completed", 86_400, moved(queued=HELD, retrying=HELD)),
        ("running", None, AS_ENTERED),
        (
            "cancelled",
            10,
            moved(queued=CANCELLED, leased=CANCELLED, retrying=CANCELLED),
        ),
    ],
)
def test_units_that_missed_their_batchs_move_are_brought_after_it(
    store: Store,
    state: str,
    seconds: float | None,
    expected: dict[int, tuple[str, int]],
) -> None:
    key, other = full(store), full(store)
    with store.write() as connection:
        ended = None if seconds is None else now_epoch() - seconds
        change(connection, key, state=state, ended_at=ended)
    changed = sum(expected[n] != AS_ENTERED[n] for n in expected)

    with store.write() as connection:
        assert units.bring_back(connection, 100) == changed
        assert units.bring_back(connection, 100) == 0
    assert states(store, key) == expected
    assert states(store, other) == AS_ENTERED


def test_what_waits_of_an_ended_batch_is_found_among_many_that_wait(
    store: Store,
) -> None:
    keys = [a_batch(store) for _ in range(30)]
    for key in keys:
        for ordinal in range(3):
            a_chunk(store, key, ordinal)
    with store.write() as connection:
        for key in keys[4::10]:
            change(connection, key, state="failed", ended_at=now_epoch() - 1e7)
        assert [units.bring_back(connection, 4) for _ in range(4)] == [4, 4, 1, 0]
    held = {key.number for key in keys if "held" in str(states(store, key))}
    assert held == {key.number for key in keys[4::10]}


def test_an_attempt_holds_what_is_not_terminal_and_counts_it_anew(store: Store) -> None:
    key = full(store)
    done = 20
    a_chunk(store, key, done, state=DONE, fence=10, created=9, invalid=1, round=3)
    rows = [Outcome(2 + 10 * done + n, Verdict.CREATED) for n in range(9)]
    with store.write() as connection:
        outcomes.add(connection, key, 1, rows)
        connection.execute(
            sa.update(CHUNK)
            .where(CHUNK.c.batch == key.number, CHUNK.c.state == LEASED)
            .values(state=HELD, worker=None, lease_until=None)
        )
        units.requeue(connection, key)

    assert {n: state for n, (state, _) in states(store, key).items()} == {
        PREPARATION: "queued",
        **dict.fromkeys(AT, "held"),
        ordinal_of(DONE): "done",
        ordinal_of(CANCELLED): "cancelled",
        done: "held",
    }
    assert states(store, key)[PREPARATION] == ("queued", 101)
    counted = column(store, key, done, "created", "invalid", "round", "waited_at")
    assert counted == (9, 0, 0, None)
    dead = column(store, key, ordinal_of(DEAD), "failures", "losses", "reason")
    assert dead == (0, 0, None)


def test_something_is_queued_while_it_waits_or_will_be_tried_again(
    store: Store,
) -> None:
    key = a_batch(store)
    found = {}
    with store.write() as connection:
        for state in ChunkState:
            connection.execute(sa.delete(CHUNK).where(CHUNK.c.batch == key.number))
            values = {"batch": key.number, "ordinal": 0, "tenant": "acme"}
            span = {"importer": "p", "first_row": 1, "last_row": 1, "rows": 1}
            connection.execute(sa.insert(CHUNK).values(state=state, **values, **span))
            found[state] = units.is_queued(connection, key)
            if state is CANCELLED:
                break
    assert {state for state, is_queued in found.items() if is_queued} == {
        QUEUED,
        RETRYING,
    }


@pytest.mark.parametrize(
    ("dead", "sentence"),
    [
        ([PREPARATION], "Its preparation is dead (poison): It vanished."),
        ([4], "1 chunk is dead (poison): It vanished."),
        ([1, 2, 3], "3 of its chunks are dead (poison): It vanished."),
    ],
)
def test_a_sentence_says_what_is_dead_and_why(
    store: Store, dead: list[int], sentence: str
) -> None:
    key = a_batch(store)
    a_chunk(store, key, 0, state=DONE)
    for ordinal in dead:
        cause = {"reason": "poison", "place": "handler", "error": "It vanished."}
        a_chunk(store, key, ordinal, state=DEAD, **cause)
    with store.read() as connection:
        assert units.causes_of_death(connection, key) == sentence


def test_different_causes_of_death_are_all_named(store: Store) -> None:
    key = a_batch(store)
    for ordinal, reason in enumerate(["poison", "exception", "poison"]):
        cause = {"reason": reason, "place": "handler", "error": f"So it was: {reason}."}
        a_chunk(store, key, ordinal, state=DEAD, **cause)
    with store.read() as connection:
        assert units.causes_of_death(connection, key) == (
            "3 of its chunks are dead (exception, poison). 'batchfx dead' shows why "
            "each of them is. The first one (poison): So it was: poison."
        )


# --- The end of a batch ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "ending"),
    [
        ([DONE, DONE], "complete"),
        ([DONE, HELD], None),
        ([DONE, QUEUED], None),
        ([DONE, LEASED], None),
        ([DONE, RETRYING], None),
        ([DEAD, RETRYING], None),
        ([DEAD, HELD], None),
        ([DONE, DEAD], "fail"),
        ([DEAD, DEAD], "fail"),
    ],
)
def test_a_batch_ends_when_nothing_of_it_is_left_to_be_done(
    store: Store, left: list[ChunkState], ending: str | None
) -> None:
    key = a_batch(store)
    a_chunk(store, key, PREPARATION, rows=0, state=DONE)
    for ordinal, state in enumerate(left):
        a_chunk(store, key, ordinal, state=state)
    with store.write() as connection:
        batches.lock(connection, key)
        assert batches.ending(connection, key) == ending
        change(connection, key, state=BatchState.PAUSED)
        assert batches.ending(connection, key) is None


def test_a_batch_whose_preparation_is_dead_fails_whatever_is_held(store: Store) -> None:
    key = a_batch(store, state=BatchState.STAGING)
    a_chunk(store, key, PREPARATION, rows=0, state=DEAD)
    a_chunk(store, key, 0, state=HELD)
    with store.write() as connection:
        assert batches.ending(connection, key) == "fail"


def test_a_dry_run_is_checked_and_not_complete(store: Store) -> None:
    key = a_batch(store, dry_run=True)
    a_chunk(store, key, 0, state=DONE)
    with store.write() as connection:
        assert batches.ending(connection, key) == "check"


def test_batches_that_nobody_can_go_on_with_are_found(store: Store) -> None:
    unfinished = a_batch(store)
    a_chunk(store, unfinished, 0, state=DONE)
    with_dead = a_batch(store, "zeta")
    a_chunk(store, with_dead, 0, state=DEAD)
    for state in (QUEUED, LEASED, RETRYING):
        going = a_batch(store)
        a_chunk(store, going, 0, state=state)
        a_chunk(store, going, 1, state=DONE)
    ended = a_batch(store, state=BatchState.COMPLETED)
    a_chunk(store, ended, 0, state=DONE)

    with store.read() as connection:
        assert batches.unfinished(connection, 10) == [unfinished, with_dead]
        assert batches.unfinished(connection, 1) == [unfinished]
