"""Units of work moved together: with their batch, or because their time has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import ACTIVE, CHUNK_MOVES, BatchState, ChunkState
from batchfx.model.verdicts import TERMINAL, Verdict
from batchfx.store import lanes
from batchfx.store.engine import now_epoch
from batchfx.store.schema import (
    BATCH,
    CHUNK,
    OUTCOME,
    PREPARATION,
    BatchKey,
    scope,
)


@dataclass(frozen=True, slots=True)
class DeadUnit:
    """A unit that broke too often: why, where, and for how many seconds it is dead."""

    key: BatchKey
    ordinal: int
    rows: int
    reason: str
    place: str
    error: str
    failures: int
    losses: int
    age: float


# States that a unit comes to while its batch is moved by somebody else.
MOVING = frozenset({ChunkState.QUEUED, ChunkState.LEASED, ChunkState.RETRYING})

# A unit that a person lets be tried again is none the worse for what broke before.
_FRESH = {
    "failures": 0,
    "losses": 0,
    "due_at": None,
    "reason": None,
    "place": None,
    "error": None,
    "ended_at": None,
}


def queue(connection: Connection, key: BatchKey) -> None:
    """Queue what was held of the batch: its preparation, or when that is done, all."""
    first = CHUNK.alias("first")
    is_prepared = sa.exists().where(
        first.c.batch == CHUNK.c.batch,
        first.c.ordinal == PREPARATION,
        first.c.state == ChunkState.DONE,
    )
    is_next = sa.or_(CHUNK.c.ordinal == PREPARATION, is_prepared)
    _move_all(connection, key, "queue", is_next)


def hold(connection: Connection, key: BatchKey) -> None:
    """Let nothing more of the batch be claimed; what is at work is finished."""
    _move_all(connection, key, "hold")


def take_back(connection: Connection, key: BatchKey) -> None:
    """Let nothing more of the batch be claimed or committed."""
    hold(connection, key)
    _move_all(connection, key, "recall")


def cancel(connection: Connection, key: BatchKey) -> None:
    """End everything of the batch that isn't done, for good."""
    _move_all(connection, key, "cancel")


def release_all(connection: Connection, key: BatchKey, workers: set[str]) -> None:
    """Give back what is claimed by *workers*, which are known to be dead."""
    if workers:
        is_theirs = CHUNK.c.worker.in_(sorted(workers))
        _move_all(connection, key, "release", is_theirs)


def revive(connection: Connection, key: BatchKey, ordinal: int | None = None) -> int:
    """Queue the batch's dead units, or one of them, again; return how many."""
    which = [] if ordinal is None else [CHUNK.c.ordinal == ordinal]
    return _move_all(connection, key, "revive", *which)


def lock_units(connection: Connection, key: BatchKey) -> None:
    """Let only one transaction at a time move several units of the batch.

    First of all in it: two of them, each with some of the units, would wait for each
    other.
    """
    preparation = sa.select(CHUNK.c.ordinal).where(
        CHUNK.c.batch == scope(key), CHUNK.c.ordinal == PREPARATION
    )
    connection.execute(preparation.with_for_update())


def dead(connection: Connection, tenant: str | None) -> list[DeadUnit]:
    """Return the dead units of a tenant, or of all of them, the longest dead first."""
    age = (now_epoch() - CHUNK.c.ended_at).label("age")
    columns = (CHUNK.c[name] for name in ("ordinal", "rows", "reason", "place"))
    more = (CHUNK.c[name] for name in ("error", "failures", "losses"))
    statement = (
        sa.select(CHUNK.c.tenant, CHUNK.c.batch, *columns, *more, age)
        .where(CHUNK.c.state == ChunkState.DEAD)
        .order_by(CHUNK.c.ended_at, CHUNK.c.batch, CHUNK.c.ordinal)
    )
    if tenant is not None:
        statement = statement.where(CHUNK.c.tenant == tenant)
    return [
        DeadUnit(BatchKey(tenant, number), *rest)
        for tenant, number, *rest in connection.execute(statement)
    ]


def is_queued(connection: Connection, key: BatchKey) -> bool:
    """Tell whether some unit of the batch waits for a worker."""
    waiting = (ChunkState.QUEUED, ChunkState.RETRYING)
    statement = sa.select(CHUNK.c.ordinal).where(
        CHUNK.c.batch == scope(key), CHUNK.c.state.in_(waiting)
    )
    return connection.execute(statement.limit(1)).first() is not None


def causes_of_death(connection: Connection, key: BatchKey) -> str:
    """Return the sentence that says what of the batch is dead, and why."""
    statement = (
        sa.select(CHUNK.c.ordinal, CHUNK.c.reason, CHUNK.c.error)
        .where(CHUNK.c.batch == scope(key), CHUNK.c.state == ChunkState.DEAD)
        .order_by(CHUNK.c.ordinal)
    )
    dead = connection.execute(statement).all()
    first = dead[0]
    what = "Its preparation is" if first.ordinal == PREPARATION else "1 chunk is"
    if len(dead) > 1:
        what = f"{len(dead)} of its chunks are"
    reasons = ", ".join(sorted({unit.reason for unit in dead}))
    if len({(unit.reason, unit.error) for unit in dead}) == 1:
        return f"{what} dead ({reasons}): {first.error}"
    # One says nothing of the others.
    told = "'batchfx dead' shows why each of them is. The first one"
    return f"{what} dead ({reasons}). {told} ({first.reason}): {first.error}"


def _move_all(
    connection: Connection,
    key: BatchKey,
    name: str,
    *conditions: sa.ColumnElement[bool],
) -> int:
    """Move all units of the batch that may; whoever has one loses it by its fence."""
    lock_units(connection, key)
    step = CHUNK_MOVES[name]
    statement = (
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.state.in_(sorted(step.sources)),
            *conditions,
        )
        .values(
            state=step.target,
            worker=None,
            lease_until=None,
            fence=CHUNK.c.fence + 1,
            **(_FRESH if name in {"revive", "prepare"} else {"due_at": None}),
        )
    )
    return connection.execute(statement).rowcount


def make_due(connection: Connection, limit: int) -> int:
    """Queue the units, of any batch, whose time to be tried again has come; count them.

    Those of a batch that was paused or has ended meanwhile are brought back after it.
    """
    due = (
        sa.select(CHUNK.c.tenant, CHUNK.c.batch, CHUNK.c.ordinal)
        .where(CHUNK.c.state == ChunkState.RETRYING, CHUNK.c.due_at <= now_epoch())
        .order_by(CHUNK.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    found = connection.execute(due).all()
    _set_state(connection, "due", found)
    for tenant in sorted({row.tenant for row in found}):
        lanes.wake(connection, tenant)
    return len(found)


def bring_back(connection: Connection, limit: int) -> int:
    """Bring units after the batch they belong to, and count them.

    They were moved at the same moment as their batch was paused or ended, and missed
    its move.
    """
    cancelled = {BatchState.CANCELLED}
    moved = 0
    for name, states in (
        ("cancel", cancelled),
        ("hold", set(BatchState) - ACTIVE - cancelled),
    ):
        sources = CHUNK_MOVES[name].sources & MOVING
        for source in sorted(sources):
            astray = _astray(source, sorted(states)).limit(limit)
            found = connection.execute(astray).all()
            _set_state(connection, name, found)
            moved += len(found)
    return moved


def _astray(state: ChunkState, batch_states: Sequence[BatchState]) -> sa.Select[Any]:
    """Return the units in *state* of batches in one of *batch_states*.

    Those that wait are many, so they are looked for by their batch; of the others there
    are few, and each state of theirs has an index.
    """
    is_theirs: sa.ColumnElement[bool]
    if state is ChunkState.QUEUED:
        waiting = _with_queued()
        ended = sa.select(BATCH.c.id).join(waiting, waiting.c.batch == BATCH.c.id)
        is_theirs = CHUNK.c.batch.in_(ended.where(BATCH.c.state.in_(batch_states)))
    else:
        is_theirs = sa.exists().where(
            BATCH.c.id == CHUNK.c.batch + 0, BATCH.c.state.in_(batch_states)
        )
    return (
        sa.select(CHUNK.c.tenant, CHUNK.c.batch, CHUNK.c.ordinal)
        .where(CHUNK.c.state == state, is_theirs)
        .with_for_update(of=CHUNK, skip_locked=True)
    )


def _with_queued() -> sa.CTE:
    """Return as SQL the batches that have units waiting.

    From one to the next by their index, so that it doesn't matter how many units wait.
    """
    first = sa.select(sa.func.min(CHUNK.c.batch).label("batch")).where(
        CHUNK.c.state == ChunkState.QUEUED
    )
    found = first.cte("waiting_batch", recursive=True)
    unit = CHUNK.alias("further_unit")
    following = (
        sa.select(sa.func.min(unit.c.batch))
        .where(unit.c.state == ChunkState.QUEUED, unit.c.batch > found.c.batch)
        .correlate(found)
        .scalar_subquery()
    )
    return found.union_all(sa.select(following).where(found.c.batch.is_not(None)))


def _set_state(connection: Connection, name: str, units: Sequence[Any]) -> None:
    if not units:
        return
    both = sa.tuple_(CHUNK.c.batch, CHUNK.c.ordinal)
    step = CHUNK_MOVES[name]
    connection.execute(
        sa.update(CHUNK)
        .where(
            both.in_([(unit.batch, unit.ordinal) for unit in units]),
            CHUNK.c.state.in_(sorted(step.sources)),
        )
        .values(
            state=step.target,
            worker=None,
            lease_until=None,
            due_at=None,
            fence=CHUNK.c.fence + 1,
        )
    )


def requeue(connection: Connection, key: BatchKey) -> None:
    """Hold every chunk with rows that are not terminal, its tally counted anew.

    They are queued when the preparation, which is queued here, has been done again.
    """
    lock_units(connection, key)
    terminal = sum((CHUNK.c[v.value] for v in sorted(TERMINAL)), start=sa.literal(0))
    step = CHUNK_MOVES["requeue"]
    statement = (
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.ordinal != PREPARATION,
            CHUNK.c.state.in_(sorted(step.sources)),
            CHUNK.c.rows > terminal,
        )
        .values(
            state=step.target,
            round=0,
            waited_at=None,
            **_FRESH,
            **{v.value: _counted(v) for v in Verdict},
        )
    )
    connection.execute(statement)
    prepare_again(connection, key)


def prepare_again(connection: Connection, key: BatchKey) -> None:
    """Queue the batch's preparation."""
    _move_all(connection, key, "prepare", CHUNK.c.ordinal == PREPARATION)


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
