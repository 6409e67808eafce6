"""Claims that nobody works on: their answer was lost, or their worker leaves."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import ChunkState
from batchfx.store import claims, lanes
from batchfx.store.claims import CLAIMED, Claim
from batchfx.store.schema import CHUNK, BatchKey


def give_back(
    connection: Connection,
    worker: str,
    names: Collection[tuple[int, int, int]] | None = None,
) -> int:
    """Release the claims of *worker*, or those with these (batch, ordinal, fence).

    Nothing is charged. Returns how many there were.
    """
    statement = (
        sa.select(CHUNK.c.tenant, CHUNK.c.batch, *(CHUNK.c[name] for name in CLAIMED))
        .where(CHUNK.c.state == ChunkState.LEASED, CHUNK.c.worker == worker)
        .order_by(CHUNK.c.batch, CHUNK.c.ordinal)
    )
    released: set[str] = set()
    count = 0
    for row in connection.execute(statement).all():
        if names is None or (row.batch, row.ordinal, row.fence) in names:
            key = BatchKey(row.tenant, row.batch)
            count += claims.release(connection, Claim(key, *row[2:]))
            released.add(row.tenant)
    for tenant in sorted(released):
        lanes.wake(connection, tenant)
    return count
