"""Chunks and their blocks: staged once, committed once, and counted.

How they are claimed, and how a claim ends otherwise, is `store.claims`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.blocks import ROW, Block
from batchfx.model.states import CHUNK_MOVES, ChunkState
from batchfx.model.verdicts import Tally, Verdict
from batchfx.store import claims
from batchfx.store.batches import Batch
from batchfx.store.claims import Claim
from batchfx.store.schema import (
    BLOCK,
    BOUND_KEY,
    CHUNK,
    OUTCOME,
    PREPARATION,
    BatchKey,
    named,
    scope,
)


@dataclass(frozen=True, slots=True)
class ChunkTally:
    """A chunk's rows, from the first to the last, and their tally."""

    ordinal: int
    first_row: int
    last_row: int
    tally: Tally


def add(connection: Connection, batch: Batch, ordinal: int, block: Block) -> None:
    """Keep *block* and enter the chunk of its rows, held until the batch begins."""
    numbers = block.frame[ROW]
    buffer = io.BytesIO()
    block.frame.write_parquet(
        buffer, compression="zstd", compression_level=1, statistics=False
    )
    connection.execute(
        sa.insert(BLOCK),
        {"batch": batch.key.number, "ordinal": ordinal, "content": buffer.getvalue()},
    )
    span = {"first_row": numbers[0], "last_row": numbers[-1], "rows": len(numbers)}
    _enter(connection, batch, ordinal, ChunkState.HELD, **span)


def add_preparation(connection: Connection, batch: Batch) -> None:
    """Enter the unit of work that makes the batch's chunks ready."""
    span = {"first_row": 1, "last_row": 0, "rows": 0}
    _enter(connection, batch, PREPARATION, ChunkState.QUEUED, **span)


def _enter(
    connection: Connection, batch: Batch, ordinal: int, state: ChunkState, **span: int
) -> None:
    values = {
        "batch": batch.key.number,
        "ordinal": ordinal,
        "tenant": batch.key.tenant,
        "importer": batch.importer,
        "priority": batch.priority,
        "state": state,
    }
    connection.execute(sa.insert(CHUNK), values | span)


def count(connection: Connection, key: BatchKey) -> int:
    """Return how many chunks the batch has so far."""
    statement = sa.select(sa.func.count()).where(
        CHUNK.c.batch == scope(key), CHUNK.c.ordinal != PREPARATION
    )
    return connection.execute(statement).scalar_one()


def last_row(connection: Connection, key: BatchKey) -> int:
    """Return the number of the batch's last row; 0 when it has none."""
    statement = sa.select(sa.func.max(CHUNK.c.last_row)).where(
        CHUNK.c.batch == scope(key)
    )
    return connection.execute(statement).scalar_one() or 0


def read_block(
    connection: Connection,
    key: BatchKey,
    ordinal: int,
    columns: list[str] | None = None,
) -> pl.DataFrame:
    """Return a block's frame, or only some *columns* of it."""
    statement = sa.select(BLOCK.c.content).where(
        BLOCK.c.batch == scope(key), BLOCK.c.ordinal == ordinal
    )
    return _frame(connection.execute(statement).scalar_one(), columns)


def blocks(
    connection: Connection, key: BatchKey, columns: list[str]
) -> Iterator[pl.DataFrame]:
    """Yield some *columns* of every block, in order, one block in memory at a time."""
    ordinals = (
        sa.select(CHUNK.c.ordinal)
        .where(CHUNK.c.batch == scope(key), CHUNK.c.ordinal != PREPARATION)
        .order_by(CHUNK.c.ordinal)
    )
    for ordinal in connection.execute(ordinals).scalars().all():
        yield read_block(connection, key, ordinal, columns)


def _frame(content: bytes, columns: list[str] | None) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content), columns=columns)


def find(connection: Connection, key: BatchKey, row: int) -> int | None:
    """Return the ordinal of the chunk that holds *row*."""
    statement = sa.select(CHUNK.c.ordinal).where(
        CHUNK.c.batch == scope(key), CHUNK.c.first_row <= row, CHUNK.c.last_row >= row
    )
    return connection.execute(statement).scalar_one_or_none()


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows a chunk has."""

    ordinal: int
    first_row: int
    last_row: int


def spans(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> list[Span]:
    """Return the chunks that have some row of the range, in order."""
    statement = (
        sa.select(CHUNK.c.ordinal, CHUNK.c.first_row, CHUNK.c.last_row)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.ordinal != PREPARATION,
            CHUNK.c.last_row >= first_row,
            CHUNK.c.first_row <= last_row,
        )
        .order_by(CHUNK.c.ordinal)
    )
    return [Span(*row) for row in connection.execute(statement)]


def commit(connection: Connection, claim: Claim, waited_at: int | None) -> Tally:
    """Derive the chunk's tally from its outcomes and end the claim.

    A chunk some of whose rows wait for a record of a later row goes back to the queue;
    *waited_at* then says how many rows of the batch were decided.

    Raises:
        LeaseLostError: Another worker has the chunk now; roll everything back.

    """
    tally = recount(connection, claim.key, claim.first_row, claim.last_row, claim.rows)
    values = {
        "to_state": CHUNK_MOVES["commit" if waited_at is None else "defer"].target,
        "to_waited_at": waited_at,
        "to_round": claim.round + (waited_at is not None),
        **{f"to_{verdict}": tally.count(verdict) for verdict in Verdict},
    }
    committing = _committing(is_granted=claim.is_granted)
    done = connection.execute(committing, claims.parameters(claim) | values)
    if done.rowcount != 1:
        raise claims.lost(claim)
    return tally


def commit_preparation(connection: Connection, claim: Claim) -> None:
    """End the claim of the batch's preparation.

    Raises:
        LeaseLostError: Another worker has it now; roll everything back.

    """
    done = (
        sa.update(CHUNK)
        .where(*claims.owned(claim))
        .values(state=CHUNK_MOVES["commit"].target, worker=None, lease_until=None)
    )
    if connection.execute(done).rowcount != 1:
        raise claims.lost(claim)


def recount(
    connection: Connection, key: BatchKey, first_row: int, last_row: int, rows: int
) -> Tally:
    """Return the tally of a range of rows by one aggregate over their outcomes."""
    span = {"from_row": first_row, "to_row": last_row}
    counted = connection.execute(_counting(), named(key) | span)
    return Tally.of(rows, dict(counted.all()))


# To build a statement takes longer than to run it, so these are built once.


@lru_cache(maxsize=1)
def _counting() -> sa.Select[Any]:
    first: sa.BindParameter[int] = sa.bindparam("from_row")
    last: sa.BindParameter[int] = sa.bindparam("to_row")
    return (
        sa.select(OUTCOME.c.verdict, sa.func.count())
        .where(OUTCOME.c.batch == scope(BOUND_KEY), OUTCOME.c.row.between(first, last))
        .group_by(OUTCOME.c.verdict)
    )


@lru_cache(maxsize=2)
def _committing(*, is_granted: bool) -> sa.Update:
    names = ("state", "waited_at", "round", *Verdict)
    return (
        sa.update(CHUNK)
        .where(*claims.owned(claims.bound(is_granted=is_granted)))
        .values(
            worker=None,
            lease_until=None,
            **{n: sa.bindparam(f"to_{n}", type_=CHUNK.c[n].type) for n in names},
        )
    )


def stored_tallies(connection: Connection, key: BatchKey) -> list[ChunkTally]:
    """Return the tally of every chunk as it is stored, in order."""
    columns = [CHUNK.c.ordinal, CHUNK.c.first_row, CHUNK.c.last_row, CHUNK.c.rows]
    statement = (
        sa.select(*columns, *(CHUNK.c[v.value] for v in Verdict))
        .where(CHUNK.c.batch == scope(key), CHUNK.c.ordinal != PREPARATION)
        .order_by(CHUNK.c.ordinal)
    )
    return [
        ChunkTally(ordinal, first, last, Tally(*counts))
        for ordinal, first, last, *counts in connection.execute(statement)
    ]
