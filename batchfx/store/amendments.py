"""What a person's edit writes: new outcomes of rows, and their chunks counted anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import CHUNK_MOVES, ChunkState
from batchfx.model.verdicts import Verdict
from batchfx.store import bulk, chunks
from batchfx.store.schema import (
    CHUNK,
    DUPLICATE,
    ISSUE,
    OUTCOME,
    PREPARATION,
    BatchKey,
    scope,
)

Repeated = tuple[int, str, int]  # row, its fields, the first row that has the values


def is_prepared(connection: Connection, key: BatchKey) -> bool:
    """Tell whether the batch's preparation is done: all is known of the whole file."""
    statement = sa.select(CHUNK.c.state).where(
        CHUNK.c.batch == scope(key), CHUNK.c.ordinal == PREPARATION
    )
    return connection.execute(statement).scalar() == ChunkState.DONE


def lock_chunk(connection: Connection, key: BatchKey, ordinal: int) -> bool:
    """Let nobody else touch the chunk; return False where somebody is at it."""
    free = (
        sa.select(CHUNK.c.ordinal)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.ordinal == ordinal,
            CHUNK.c.state != ChunkState.LEASED,
        )
        .with_for_update(skip_locked=True)
    )
    return connection.execute(free).first() is not None


def clear(connection: Connection, key: BatchKey, rows: Collection[int]) -> None:
    """Delete the outcomes and the issues of *rows*, none of which may be terminal."""
    for part in bulk.slices(rows):
        for table in (OUTCOME, ISSUE):
            connection.execute(
                sa.delete(table).where(
                    table.c.batch == scope(key), table.c.row.in_(part)
                )
            )


def clear_outcomes(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> None:
    """Delete the outcomes of *rows*, none of which may be terminal; issues stay."""
    for part in bulk.slices(rows):
        connection.execute(
            sa.delete(OUTCOME).where(
                OUTCOME.c.batch == scope(key), OUTCOME.c.row.in_(part)
            )
        )


def count_again(
    connection: Connection, key: BatchKey, ordinal: int, move: str | None
) -> None:
    """Derive the chunk's tally from its outcomes.

    With a *move*, the chunk makes it if a row of it is pending now and it was done.
    """
    this = sa.and_(CHUNK.c.batch == scope(key), CHUNK.c.ordinal == ordinal)
    columns = (CHUNK.c.first_row, CHUNK.c.last_row, CHUNK.c.rows, CHUNK.c.state)
    first, last, rows, state = connection.execute(sa.select(*columns).where(this)).one()
    tally = chunks.recount(connection, key, first, last, rows)
    values: dict[str, Any] = {v.value: tally.count(v) for v in Verdict}
    if move is not None and state == ChunkState.DONE and tally.pending:
        values |= {
            "state": CHUNK_MOVES[move].target,
            "fence": CHUNK.c.fence + 1,
            "round": 0,
            "waited_at": None,
        }
    connection.execute(sa.update(CHUNK).where(this).values(**values))


def rows_with(
    connection: Connection, key: BatchKey, code: str, field: str
) -> Sequence[int]:
    """Return the rows that have an issue of that *code* in *field*, in order."""
    statement = (
        sa.select(ISSUE.c.row)
        .where(
            ISSUE.c.batch == scope(key),
            ISSUE.c.code == code,
            ISSUE.c.field == field,
            ISSUE.c.row.is_not(None),
        )
        .distinct()
        .order_by(ISSUE.c.row)
    )
    return connection.execute(statement).scalars().all()


def replace_repeated(
    connection: Connection,
    key: BatchKey,
    fields: str,
    rows: Collection[int],
    found: Collection[Repeated],
) -> set[int]:
    """Keep what was *found* of *rows* as to *fields*; return the rows it is new for."""
    before: dict[int, int] = {}
    for part in bulk.slices(rows):
        these = sa.and_(
            DUPLICATE.c.batch == scope(key),
            DUPLICATE.c.field == fields,
            DUPLICATE.c.row.in_(part),
        )
        kept = sa.select(DUPLICATE.c.row, DUPLICATE.c.first_row).where(these)
        before.update(connection.execute(kept).all())
        connection.execute(sa.delete(DUPLICATE).where(these))
    now = {row: first for row, _, first in found}
    bulk.insert_rows(
        connection,
        DUPLICATE,
        ("batch", "row", "field", "first_row"),
        [(key.number, row, fields, first) for row, first in sorted(now.items())],
    )
    return {row for row in before.keys() | now if before.get(row) != now.get(row)}
