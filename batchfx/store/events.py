"""A batch's events: written in the transaction that makes them true.

Their numbers come from a counter on the batch's row. Its lock is held from then to the
commit, so numbers are given in the order of commits, without a gap: who reads on from
the last number that was seen misses nothing. It is taken last, to be held briefly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningUpdate

from batchfx.errors import NotFoundError
from batchfx.model.events import ENDINGS, Event, EventKind
from batchfx.model.states import BatchState, ChunkState
from batchfx.store.engine import now_epoch
from batchfx.store.schema import BATCH, BOUND_KEY, CHUNK, EVENT, BatchKey, named, scope

PROGRESS_EVERY = 0.25  # seconds between two of a batch, from whichever worker
CLOCK_STEP = 60.0  # seconds ahead: the clock was set back since


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which of a batch's events are kept, and whether more will come by themselves.

    *first* is the oldest one kept and *newest* the last number given: one less where
    there is none.
    """

    first: int
    newest: int
    has_ended: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """Whether more of a batch waits, and whether its progress may be published."""

    is_queued: bool
    is_due: bool


def add(
    connection: Connection,
    key: BatchKey,
    kind: EventKind,
    content: Mapping[str, Any],
) -> int:
    """Write that *kind* has happened; return its number.

    Call it last in the transaction: from here to its end no other process can write an
    event of the batch. *content* is plain JSON data. Progress is then not due for a
    while.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    counting = _counting(is_progress=kind is EventKind.PROGRESSED)
    counted = connection.execute(counting, named(key))
    seq: int | None = counted.scalar_one_or_none()
    if seq is None:
        _refuse(key)
    values = {"batch": key.number, "seq": seq, "kind": kind, "content": dict(content)}
    connection.execute(_adding(), values)
    return seq


@lru_cache(maxsize=2)
def _counting(*, is_progress: bool) -> ReturningUpdate[Any]:
    this = sa.update(BATCH).where(BATCH.c.id == scope(BOUND_KEY))
    told = {"progress_at": now_epoch()} if is_progress else {}
    counted = this.values(event_seq=BATCH.c.event_seq + 1, **told)
    return counted.returning(BATCH.c.event_seq)


@lru_cache(maxsize=1)
def _adding() -> sa.Insert:
    return sa.insert(EVENT).values(at=now_epoch())


def outlook(connection: Connection, key: BatchKey) -> Outlook:
    """Return what is to be done for the batch now that a unit of it has ended.

    While the batch is locked one statement decides for all processes, by the database's
    clock, whether to write how far it is. What ends a batch is written without asking,
    so the last event always comes.
    """
    return Outlook(*connection.execute(_outlook(), named(key)).one())


@lru_cache(maxsize=1)
def _outlook() -> sa.Select[Any]:
    queued = CHUNK.c.batch == scope(BOUND_KEY), CHUNK.c.state == ChunkState.QUEUED
    due = BATCH.c.id == scope(BOUND_KEY), _is_due()
    found: list[Any] = [sa.exists().where(*queued), sa.exists().where(*due)]
    return sa.select(*found)


def _is_due() -> sa.ColumnElement[bool]:
    now = now_epoch()
    return sa.or_(
        BATCH.c.progress_at <= now - PROGRESS_EVERY,
        BATCH.c.progress_at > now + CLOCK_STEP,
    )


def since(
    connection: Connection, key: BatchKey, seq: int, limit: int
) -> Sequence[Event]:
    """Return the batch's events after number *seq* in their order, *limit* at most."""
    after = (
        sa.select(EVENT.c.seq, EVENT.c.at, EVENT.c.kind, EVENT.c.content)
        .where(EVENT.c.batch == scope(key), EVENT.c.seq > seq)
        .order_by(EVENT.c.seq)
        .limit(limit)
    )
    return [
        Event(row.seq, row.at, EventKind(row.kind), row.content)
        for row in connection.execute(after)
    ]


def bounds(connection: Connection, key: BatchKey) -> Bounds:
    """Return which events of the batch are kept.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    columns = sa.select(BATCH.c.first_seq, BATCH.c.event_seq, BATCH.c.state)
    found = connection.execute(columns.where(BATCH.c.id == scope(key))).one_or_none()
    if found is None:
        _refuse(key)
    return Bounds(found.first_seq, found.event_seq, BatchState(found.state) in ENDINGS)


def expire(connection: Connection, older_than: float, limit: int) -> int:
    """Remove events of batches that ended *older_than* seconds ago; count them.

    The last event of a batch is kept: it says how the batch ended. At most *limit*
    batches are gone through; the transaction must be a writing one.
    """
    ended = (
        sa.select(BATCH.c.id)
        .where(
            BATCH.c.ended_at < now_epoch() - older_than,
            BATCH.c.state.in_(ENDINGS),
            BATCH.c.first_seq < BATCH.c.event_seq,
        )
        .order_by(BATCH.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    numbers = list(connection.execute(ended).scalars())
    connection.execute(
        sa.update(BATCH)
        .where(BATCH.c.id.in_(numbers))
        .values(first_seq=BATCH.c.event_seq)
    )
    kept = (
        sa.select(BATCH.c.first_seq)
        .where(BATCH.c.id == EVENT.c.batch)
        .scalar_subquery()
    )
    removed = connection.execute(
        sa.delete(EVENT).where(EVENT.c.batch.in_(numbers), EVENT.c.seq < kept)
    )
    return removed.rowcount


def _refuse(key: BatchKey) -> NoReturn:
    message = (
        f"Tenant '{key.tenant}' has no batch {key.number}. "
        "'batchfx status' lists the batches there are."
    )
    raise NotFoundError(message)
