"""Batches and chunks entered straight into the tables, without importing anything."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import BatchState, ChunkState
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import BATCH, CHUNK, BatchKey

BLANK = {
    "source_name": "a.csv",
    "digest": "0" * 64,
    "layout": {"format": "csv", "header": [], "header_row": 1, "settings": {}},
    "mapping": {},
    "chunk_size": 10,
    "dry_run": False,
    "state": BatchState.RUNNING,
}


def a_batch(
    store: Store, tenant: str = "acme", importer: str = "people", **values: Any
) -> BatchKey:
    """Enter a batch that runs; *values* are other values of its row."""
    row = {
        **BLANK,
        "tenant": tenant,
        "importer": importer,
        "created_at": now_epoch(),
        "started_at": now_epoch(),
        **values,
    }
    with store.write() as connection:
        inserted = connection.execute(
            sa.insert(BATCH).values(**row).returning(BATCH.c.id)
        )
        return BatchKey(tenant, inserted.scalar_one())


def end(store: Store, key: BatchKey, state: BatchState, seconds_ago: float = 0) -> None:
    """Move the batch to *state*, in which it ended."""
    with store.write() as connection:
        change(connection, key, state=state, ended_at=now_epoch() - seconds_ago)


def change(connection: Connection, key: BatchKey, **values: Any) -> None:
    """Change the batch's row."""
    connection.execute(
        sa.update(BATCH).where(BATCH.c.id == key.number).values(**values)
    )


def a_chunk(store: Store, key: BatchKey, ordinal: int = 0, **values: Any) -> None:
    """Enter a chunk that waits."""
    row = {
        "batch": key.number,
        "ordinal": ordinal,
        "tenant": key.tenant,
        "importer": "people",
        "first_row": 2 + 10 * ordinal,
        "last_row": 11 + 10 * ordinal,
        "rows": 10,
        "state": ChunkState.QUEUED,
        **values,
    }
    with store.write() as connection:
        connection.execute(sa.insert(CHUNK).values(**row))
