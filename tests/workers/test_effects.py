"""Handlers that die in the middle of an effect, by a real signal."""

from __future__ import annotations

import sqlalchemy as sa

from batchfx import BatchKey, report
from batchfx.store.schema import EFFECT
from tests.oracle import check_batch
from tests.workers.fleet import Fleet
from tests.workers.payers import AskingImporter, PayingImporter, paid

MODULE = "tests.workers.payers"
ACTS = ("nothing", "die_before", "die_after")


def effects_of(fleet: Fleet, key: BatchKey) -> list[tuple[str, str | None]]:
    """Return the state and the result of each effect, by row."""
    statement = sa.select(EFFECT.c.key, EFFECT.c.state, EFFECT.c.result).where(
        EFFECT.c.batch == key.number
    )
    with fleet.store.read() as connection:
        rows = connection.execute(statement.order_by(EFFECT.c.row)).all()
    assert [row.result for row in rows if row.state == "done"] == [
        f"receipt of {row.key}" for row in rows if row.state == "done"
    ]
    return [(row.key, row.state) for row in rows]


def test_a_far_side_that_can_be_asked_leaves_nothing_unknown(fleet: Fleet) -> None:
    key = fleet.submit(*ACTS, importer=AskingImporter)
    fleet.start(importers=MODULE)
    fleet.wait(key, seconds=60)
    check_batch(fleet.store, key)
    found = effects_of(fleet, key)
    assert [state for _, state in found] == ["done"] * 3
    assert paid(fleet.folder) == {name: 1 for name, _ in found}
    assert report(fleet.store, key).tally.created == 3
    assert [chunk.losses for chunk in fleet.chunks(key)] == [0, 1, 1]


def test_one_that_can_not_is_paid_once_at_most_and_the_row_says_so(
    fleet: Fleet,
) -> None:
    key = fleet.submit(*ACTS, importer=PayingImporter)
    fleet.start(importers=MODULE)
    fleet.wait(key, seconds=60)
    check_batch(fleet.store, key)
    found = effects_of(fleet, key)
    assert [state for _, state in found] == ["done", "unknown", "unknown"]
    (first, _), (before, _), (after, _) = found
    assert paid(fleet.folder) == {first: 1, after: 1}
    assert paid(fleet.folder)[before] == 0
    tally = report(fleet.store, key).tally
    assert (tally.created, tally.unknown) == (1, 2)
