"""Chunks and their blocks: staged once, claimed with a fence, committed once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.errors import LeaseLostError
from batchfx.model.blocks import ROW, Block
from batchfx.model.states import CHUNK_MOVES, ChunkState
from batchfx.model.verdicts import TERMINAL, Tally, Verdict
from batchfx.store.batches import Hold
from batchfx.store.engine import now_epoch
from batchfx.store.schema import BLOCK, CHUNK, OUTCOME, BatchKey, scope


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of *worker* to one chunk, proved by *fence*."""

    key: BatchKey
    ordinal: int
    worker: str
    fence: int
    first_row: int
    last_row: int
    rows: int
    round: int
    waited_at: int | None


@dataclass(frozen=True, slots=True)
class ChunkTally:
    """A chunk's rows, from the first to the last, and their tally."""

    ordinal: int
    first_row: int
    last_row: int
    tally: Tally


def add(connection: Connection, key: BatchKey, ordinal: int, block: Block) -> None:
    """Keep *block* and enter the chunk of its rows."""
    numbers = block.frame[ROW]
    buffer = io.BytesIO()
    block.frame.write_parquet(
        buffer, compression="zstd", compression_level=1, statistics=False
    )
    connection.execute(
        sa.insert(BLOCK),
        {"batch": key.number, "ordinal": ordinal, "content": buffer.getvalue()},
    )
    connection.execute(
        sa.insert(CHUNK),
        {
            "batch": key.number,
            "ordinal": ordinal,
            "first_row": numbers[0],
            "last_row": numbers[-1],
            "rows": len(numbers),
            "state": ChunkState.QUEUED,
        },
    )


def count(connection: Connection, key: BatchKey) -> int:
    """Return how many chunks the batch has so far."""
    statement = sa.select(sa.func.count()).where(CHUNK.c.batch == scope(key))
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
    statement = (
        sa.select(BLOCK.c.content)
        .where(BLOCK.c.batch == scope(key))
        .order_by(BLOCK.c.ordinal)
        .execution_options(yield_per=1)
    )
    for content in connection.execute(statement).scalars():
        yield _frame(content, columns)


def _frame(content: bytes, columns: list[str] | None) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content), columns=columns)


def examined(connection: Connection, key: BatchKey) -> int:
    """Return how many rows were gone through: of chunks that are done, or decided."""
    decided = sum((CHUNK.c[v.value] for v in Verdict), start=sa.literal(0))
    rows = sa.case((CHUNK.c.state == ChunkState.DONE, CHUNK.c.rows), else_=decided)
    statement = sa.select(sa.func.coalesce(sa.func.sum(rows), 0)).where(
        CHUNK.c.batch == scope(key)
    )
    count: int = connection.execute(statement).scalar_one()
    return count


def find(connection: Connection, key: BatchKey, row: int) -> int | None:
    """Return the ordinal of the chunk that holds *row*."""
    statement = sa.select(CHUNK.c.ordinal).where(
        CHUNK.c.batch == scope(key), CHUNK.c.first_row <= row, CHUNK.c.last_row >= row
    )
    return connection.execute(statement).scalar_one_or_none()


def claim(
    connection: Connection, key: BatchKey, worker: str, ttl: float
) -> Claim | None:
    """Give *worker* the next chunk that waits, for *ttl* seconds; None if none does."""
    waiting = sa.or_(
        CHUNK.c.state == ChunkState.QUEUED,
        sa.and_(
            CHUNK.c.state == ChunkState.LEASED,
            CHUNK.c.lease_until < now_epoch(),
            CHUNK.c.worker != worker,  # it is still at it, only late
        ),
    )
    chosen = (
        sa.select(CHUNK.c.ordinal)
        .where(CHUNK.c.batch == scope(key), waiting)
        .order_by(CHUNK.c.round, CHUNK.c.ordinal)
        .limit(1)
        .scalar_subquery()
    )
    statement = (
        sa.update(CHUNK)
        .where(CHUNK.c.batch == scope(key), CHUNK.c.ordinal == chosen)
        .values(
            state=CHUNK_MOVES["claim"].target,
            worker=worker,
            fence=CHUNK.c.fence + 1,
            lease_until=now_epoch() + ttl,
        )
        .returning(
            CHUNK.c.ordinal,
            CHUNK.c.worker,
            CHUNK.c.fence,
            CHUNK.c.first_row,
            CHUNK.c.last_row,
            CHUNK.c.rows,
            CHUNK.c.round,
            CHUNK.c.waited_at,
        )
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else Claim(key, *row)


def renew(connection: Connection, worker: str, ttl: float) -> set[tuple[int, int]]:
    """Prolong every claim of *worker*; return (batch, ordinal) of those it has."""
    statement = (
        sa.update(CHUNK)
        .where(CHUNK.c.worker == worker, CHUNK.c.state == ChunkState.LEASED)
        .values(lease_until=now_epoch() + ttl)
        .returning(CHUNK.c.batch, CHUNK.c.ordinal)
    )
    return set(connection.execute(statement))


def commit(connection: Connection, claim: Claim, waited_at: int | None) -> Tally:
    """Derive the chunk's tally from its outcomes and end the claim.

    A chunk some of whose rows wait for a record of a later row goes back to the queue;
    *waited_at* then says how many rows of the batch were decided.

    Raises:
        LeaseLostError: Another worker has the chunk now; roll everything back.

    """
    tally = recount(connection, claim.key, claim.first_row, claim.last_row, claim.rows)
    step = CHUNK_MOVES["commit" if waited_at is None else "defer"]
    statement = (
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(claim.key),
            CHUNK.c.ordinal == claim.ordinal,
            CHUNK.c.worker == claim.worker,
            CHUNK.c.fence == claim.fence,
            CHUNK.c.state.in_(sorted(step.sources)),
        )
        .values(
            state=step.target,
            worker=None,
            lease_until=None,
            waited_at=waited_at,
            round=claim.round + (waited_at is not None),
            **{v.value: tally.count(v) for v in Verdict},
        )
    )
    if connection.execute(statement).rowcount != 1:
        message = (
            f"Chunk {claim.ordinal} of batch {claim.key.number} was taken over by "
            "another process; nothing of it was written here."
        )
        raise LeaseLostError(message)
    return tally


def release(connection: Connection, claim: Claim) -> None:
    """Give the chunk back undone; nothing happens when the claim was lost."""
    step = CHUNK_MOVES["release"]
    connection.execute(
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(claim.key),
            CHUNK.c.ordinal == claim.ordinal,
            CHUNK.c.worker == claim.worker,
            CHUNK.c.fence == claim.fence,
            CHUNK.c.state.in_(sorted(step.sources)),
        )
        .values(state=step.target, worker=None, lease_until=None)
    )


def release_all(connection: Connection, hold: Hold) -> None:
    """Give back every chunk of the batch that was claimed under an earlier hold.

    Raising the fence makes a late commit of such a claim fail.
    """
    step = CHUNK_MOVES["release"]
    connection.execute(
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(hold.key), CHUNK.c.state.in_(sorted(step.sources))
        )
        .values(
            state=step.target, worker=None, lease_until=None, fence=CHUNK.c.fence + 1
        )
    )


def requeue(connection: Connection, key: BatchKey) -> None:
    """Queue every chunk with rows that are not terminal, its tally counted anew."""
    terminal = sum((CHUNK.c[v.value] for v in sorted(TERMINAL)), start=sa.literal(0))
    step = CHUNK_MOVES["requeue"]
    statement = (
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.state.in_(sorted(step.sources)),
            CHUNK.c.rows > terminal,
        )
        .values(
            state=step.target,
            round=0,
            waited_at=None,
            **{v.value: _counted(v) for v in Verdict},
        )
    )
    connection.execute(statement)


def _counted(verdict: Verdict) -> sa.ScalarSelect[int]:
    return (
        sa.select(sa.func.count())
        .where(
            OUTCOME.c.batch == CHUNK.c.batch,
            OUTCOME.c.row.between(CHUNK.c.first_row, CHUNK.c.last_row),
            OUTCOME.c.verdict == verdict,
        )
        .correlate(CHUNK)
        .scalar_subquery()
    )


def recount(
    connection: Connection, key: BatchKey, first_row: int, last_row: int, rows: int
) -> Tally:
    """Return the tally of a range of rows by one aggregate over their outcomes."""
    statement = (
        sa.select(OUTCOME.c.verdict, sa.func.count())
        .where(
            OUTCOME.c.batch == scope(key),
            OUTCOME.c.row.between(first_row, last_row),
        )
        .group_by(OUTCOME.c.verdict)
    )
    return Tally.of(rows, dict(connection.execute(statement).all()))


def stored_tallies(connection: Connection, key: BatchKey) -> list[ChunkTally]:
    """Return the tally of every chunk as it is stored, in order."""
    columns = [CHUNK.c.ordinal, CHUNK.c.first_row, CHUNK.c.last_row, CHUNK.c.rows]
    statement = (
        sa.select(*columns, *(CHUNK.c[v.value] for v in Verdict))
        .where(CHUNK.c.batch == scope(key))
        .order_by(CHUNK.c.ordinal)
    )
    return [
        ChunkTally(ordinal, first, last, Tally(*counts))
        for ordinal, first, last, *counts in connection.execute(statement)
    ]
