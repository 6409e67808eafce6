"""What must hold of a batch after whatever happened to it."""

from __future__ import annotations

import sqlalchemy as sa

from batchfx import BatchKey, Store, recount
from batchfx.store.schema import BATCH, CHUNK, OUTCOME


def check_batch(store: Store, key: BatchKey) -> None:
    """Assert that rows, outcomes and tallies of *key* agree, and nobody holds it."""
    tally, differences = recount(store, key)
    assert differences == []
    with store.read() as connection:
        numbers = list(
            connection.execute(
                sa.select(OUTCOME.c.row).where(OUTCOME.c.batch == key.number)
            ).scalars()
        )
        leased = connection.execute(
            sa.select(sa.func.count())
            .select_from(CHUNK)
            .where(CHUNK.c.batch == key.number, CHUNK.c.state == "leased")
        ).scalar_one()
        batch = connection.execute(
            sa.select(BATCH).where(BATCH.c.id == key.number)
        ).one()
    assert len(numbers) == len(set(numbers)) == tally.decided
    assert leased == 0
    assert batch.worker is None
