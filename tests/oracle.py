"""What must hold of a batch after whatever happened to it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx import BatchKey, Store, recount
from batchfx.model.events import ENDINGS, EventKind, Standing
from batchfx.model.states import BatchState
from batchfx.model.verdicts import TERMINAL
from batchfx.store import batches
from batchfx.store.claims import LOSSES, TRIES
from batchfx.store.schema import BATCH, CHUNK, EVENT, OUTCOME
from tests.faults.ledgers import FEED, LEDGER, outcomes_now

# What may come after an ending: a new beginning, or an edit and the ending once more.
BEGINNINGS = {EventKind.STARTED, EventKind.REVIVED, EventKind.EDITED}
KEEP_FENCE = {
    ("leased", "done"),  # by the fence itself
    ("leased", "queued"),  # the same, when rows wait for later ones
    ("leased", "leased"),  # renewed
    *((state, "held") for state in ("held", "queued", "retrying", "done", "dead")),
}
"""Moves of a unit that nobody is at, or that its own worker makes by its fence."""
OLD_TRANSACTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND xact_start < clock_timestamp() - interval '5 seconds'"
)


def check_batch(store: Store, key: BatchKey) -> None:
    """Assert that rows, outcomes, tallies and events of *key* agree; nobody has it."""
    tally, differences = recount(store, key)
    assert differences == []
    with store.read() as connection:
        numbers = list(
            connection.execute(
                sa.select(OUTCOME.c.row).where(OUTCOME.c.batch == key.number)
            ).scalars()
        )
        states = states_of(connection, key)
        batch = connection.execute(
            sa.select(BATCH).where(BATCH.c.id == key.number)
        ).one()
        check_events(connection, key, batch.event_seq, BatchState(batch.state))
        check_bounds(connection, key)
    assert len(numbers) == len(set(numbers)) == tally.decided
    assert "leased" not in states
    if batch.state == "completed":
        assert set(states) == {"done"}
        assert tally.pending == 0
    if batch.state == "cancelled":
        assert set(states) <= {"done", "cancelled"}


def states_of(connection: Connection, key: BatchKey) -> dict[str, int]:
    """Return how many units of the batch are in each state."""
    counted = (
        sa.select(CHUNK.c.state, sa.func.count())
        .where(CHUNK.c.batch == key.number)
        .group_by(CHUNK.c.state)
    )
    return dict(connection.execute(counted).all())


def check_events(
    connection: Connection, key: BatchKey, newest: int, state: BatchState
) -> None:
    """Assert that the batch's events are numbered without a gap, and end as it did."""
    statement = (
        sa.select(EVENT.c.seq, EVENT.c.kind, EVENT.c.content, EVENT.c.at)
        .where(EVENT.c.batch == key.number)
        .order_by(EVENT.c.seq)
    )
    events = connection.execute(statement).all()
    assert [event.seq for event in events] == list(range(1, newest + 1))
    assert events[0].kind == "created"
    check_order(events)
    if state in ENDINGS:
        assert events[-1].kind == ENDINGS[state]
        told = Standing.of(events[-1].content)
        assert told is not None
        assert (told.state, told.tally) == (state, batches.tally(connection, key))


def check_order(events: Sequence[Any]) -> None:
    """Assert that nothing is told after an ending but a new beginning, or a cancel."""
    kinds = [EventKind(event.kind) for event in events]
    assert Counter(kinds)[EventKind.CREATED] == 1, kinds
    assert Counter(kinds)[EventKind.STAGED] <= 1, kinds
    endings = set(ENDINGS.values())
    for earlier, later in itertools.pairwise(kinds):
        if earlier in endings:
            assert later in BEGINNINGS | {EventKind.CANCELLED}, kinds
        if earlier is EventKind.CANCELLED:
            raise AssertionError(kinds)


def check_bounds(connection: Connection, key: BatchKey) -> None:
    """Assert that nothing was tried too often, and that what is dead says why."""
    units = sa.select(CHUNK).where(CHUNK.c.batch == key.number)
    for unit in connection.execute(units):
        assert unit.failures <= TRIES, unit
        assert unit.losses <= LOSSES, unit
        if unit.state == "dead":
            assert unit.reason, unit
            assert unit.place, unit
            assert unit.ended_at is not None, unit


def check_history(store: Store, key: BatchKey) -> None:
    """Assert that the change feed of the batch has only what may happen."""
    with store.read() as connection:
        statement = sa.select(FEED).where(FEED.c.batch == key.number)
        feed = connection.execute(statement.order_by(FEED.c.id)).all()
        now = outcomes_now(connection, key.number)
    check_fences([entry for entry in feed if entry.what == "chunk"])
    check_outcomes([entry for entry in feed if entry.what == "outcome"], now)


def check_fences(feed: Sequence[Any]) -> None:
    """Assert that fences never fall, and rise with each claim and each taking back."""
    fences: dict[int, int] = {}
    for entry in feed:
        before = fences.get(entry.number)
        fences[entry.number] = entry.fence
        if entry.verb == "INSERT" or before is None:
            continue
        assert entry.fence_before == before, entry
        if (entry.before, entry.state) in KEEP_FENCE:
            assert before <= entry.fence <= before + 1, entry
        elif entry.before != entry.state:
            assert entry.fence == before + 1, entry


def check_outcomes(feed: Sequence[Any], now: set[str]) -> None:
    """Assert that a final outcome stayed as it was first written."""
    terminal = [entry for entry in feed if entry.state in TERMINAL]
    assert {entry.verb for entry in terminal} <= {"INSERT"}, terminal
    contents = [entry.content for entry in terminal]
    assert len(contents) == len(set(contents))
    assert len({entry.number for entry in terminal}) == len(terminal)
    assert set(contents) <= now
    final = {text for text in now if text.split("/")[2] in TERMINAL}
    assert final == set(contents)


def check_ledger(store: Store, key: BatchKey) -> None:
    """Assert that each row with a record was processed once, and no other one."""
    applied = sa.select(OUTCOME.c.row).where(
        OUTCOME.c.batch == key.number, OUTCOME.c.verdict.in_(sorted(TERMINAL))
    )
    written = sa.select(LEDGER.c.row).where(LEDGER.c.batch == key.number)
    with store.read() as connection:
        rows = sorted(connection.scalars(applied))
        assert sorted(connection.scalars(written)) == rows


def check_quiet(store: Store) -> None:
    """Assert that nobody is at anything, and that no transaction was left open."""
    with store.read() as connection:
        leased = sa.select(CHUNK).where(CHUNK.c.state == "leased")
        assert connection.execute(leased).all() == []
        if connection.dialect.name == "postgresql":
            assert connection.scalar(sa.text(OLD_TRANSACTIONS)) == 0
