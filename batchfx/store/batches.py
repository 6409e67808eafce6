"""Batches: made, found, and moved from state to state."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from batchfx.errors import IllegalMoveError, NotFoundError
from batchfx.model.sources import Layout
from batchfx.model.states import ACTIVE, BATCH_MOVES, BatchState, ChunkState
from batchfx.model.verdicts import Tally, Verdict
from batchfx.store.bulk import kept
from batchfx.store.engine import now_epoch
from batchfx.store.schema import (
    BATCH,
    BOUND_KEY,
    CHUNK,
    PREPARATION,
    BatchKey,
    named,
    scope,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it is in the database; times are seconds since 1970-01-01 UTC."""

    key: BatchKey
    importer: str
    source_name: str
    digest: str
    layout: Layout
    mapping: Mapping[str, int]
    chunk_size: int
    dry_run: bool
    max_error_rate: float | None
    state: BatchState
    reason: str | None
    attempt: int
    staged: bool
    position: Mapping[str, Any] | None
    blank: int
    priority: int
    created_by: str | None
    event_seq: int  # of the newest event
    created_at: float
    started_at: float
    ended_at: float | None
    seconds_since_start: float
    saved_mapping: Mapping[str, Any] | None = None  # its name and version
    version: Mapping[str, Any] | None = None  # of its importer, as it was dumped
    given: Mapping[str, Any] = field(default_factory=dict)
    notations: Mapping[str, Any] = field(default_factory=dict)  # as they were dumped


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of a tenant's batches a listing is of.

    Attributes:
        states: In one of these; in any where there is none.
        importer: Of the importer of this name.
        text: In the name of the source, whatever its case.
        before: Of a lower number.

    """

    states: Collection[BatchState] = ()
    importer: str | None = None
    text: str | None = None
    before: int | None = None


def create(connection: Connection, tenant: str, **values: Any) -> BatchKey:
    """Enter a batch, to be staged unless *values* name a state; return its key."""
    layout: Layout = values.pop("layout")
    values.setdefault("state", BatchState.STAGING)
    statement = (
        sa.insert(BATCH)
        .returning(BATCH.c.id)
        .values(
            tenant=tenant,
            layout=_dump_layout(layout),
            created_at=now_epoch(),
            started_at=now_epoch(),
            **_kept(connection, values),
        )
    )
    return BatchKey(tenant, connection.execute(statement).scalar_one())


def read(connection: Connection, key: BatchKey) -> Batch:
    """Return the batch; raise `NotFoundError` if the tenant has none of that number."""
    statement = _select().where(BATCH.c.id == scope(key))
    row = connection.execute(statement).one_or_none()
    if row is None:
        message = (
            f"Tenant '{key.tenant}' has no batch {key.number}. "
            "'batchfx status' lists the batches there are."
        )
        raise NotFoundError(message)
    return _batch(row)


def listing(
    connection: Connection, tenant: str, limit: int, wanted: Wanted | None = None
) -> list[Batch]:
    """Return the tenant's latest batches, newest first: all, or those *wanted*."""
    conditions = [] if wanted is None else list(_conditions(wanted))
    statement = (
        _select()
        .where(BATCH.c.tenant == tenant, *conditions)
        .order_by(BATCH.c.id.desc())
        .limit(limit)
    )
    return [_batch(row) for row in connection.execute(statement)]


def _conditions(wanted: Wanted) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.states:
        yield BATCH.c.state.in_(sorted(wanted.states))
    if wanted.importer is not None:
        yield BATCH.c.importer == wanted.importer
    if wanted.text:
        yield BATCH.c.source_name.icontains(wanted.text, autoescape=True)
    if wanted.before is not None:
        yield BATCH.c.id < wanted.before


def tenants(connection: Connection) -> list[str]:
    """Return every tenant that has a batch, for the operator of the database."""
    statement = sa.select(BATCH.c.tenant).distinct().order_by(BATCH.c.tenant)
    return list(connection.execute(statement).scalars())


def owner(connection: Connection, number: int) -> str | None:
    """Return the tenant of a batch, for the operator of the database."""
    statement = sa.select(BATCH.c.tenant).where(BATCH.c.id == number)
    return connection.execute(statement).scalar_one_or_none()


def find_same(
    connection: Connection, tenant: str, importer: str, digest: str
) -> Batch | None:
    """Return the tenant's latest real import of the same content, if there is one."""
    statement = (
        _select()
        .where(
            BATCH.c.tenant == tenant,
            BATCH.c.importer == importer,
            BATCH.c.digest == digest,
            BATCH.c.dry_run.is_(False),
        )
        .order_by(BATCH.c.id.desc())
        .limit(1)
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else _batch(row)


def of_request(connection: Connection, tenant: str, name: str) -> Batch | None:
    """Return the batch that an earlier request of the same idempotency key created.

    Only one transaction at a time decides about such a key.
    """
    _lock(connection, f"batchfx request\0{tenant}\0{name}")
    statement = _select().where(
        BATCH.c.tenant == tenant, BATCH.c.idempotency_key == name
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else _batch(row)


def lock_content(
    connection: Connection, tenant: str, importer: str, digest: str
) -> None:
    """Let only one transaction at a time decide about an import of this content."""
    _lock(connection, f"batchfx\0{tenant}\0{importer}\0{digest}")


def _lock(connection: Connection, text: str) -> None:
    """Let only one transaction at a time decide about what *text* names.

    On SQLite a writing transaction is alone anyway.
    """
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(
            hashlib.sha256(text.encode()).digest()[:8], "big", signed=True
        )
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def move(connection: Connection, key: BatchKey, name: str, **values: Any) -> None:
    """Make the move *name* and set *values* with it.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: The batch is in a state that the move does not start from.

    """
    step = BATCH_MOVES[name]
    is_over = step.target not in ACTIVE and step.target is not BatchState.PAUSED
    statement = (
        sa.update(BATCH)
        .where(BATCH.c.id == scope(key), BATCH.c.state.in_(sorted(step.sources)))
        .values(
            state=step.target,
            ended_at=now_epoch() if is_over else None,
            **_kept(connection, values),
        )
    )
    if connection.execute(statement).rowcount == 1:
        return
    batch = read(connection, key)
    message = f"Batch {key.number} is {batch.state}: it can't {name} from there."
    raise IllegalMoveError(message)


def note(connection: Connection, key: BatchKey, **values: Any) -> None:
    """Set *values* without a move; nothing when it is cancelled meanwhile."""
    if "layout" in values:
        values["layout"] = _dump_layout(values["layout"])
    is_open = BATCH.c.state != BatchState.CANCELLED
    connection.execute(
        sa.update(BATCH).where(BATCH.c.id == scope(key), is_open).values(**values)
    )


def _kept(connection: Connection, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: kept(connection, value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def lock(connection: Connection, key: BatchKey) -> None:
    """Let no other transaction change the batch until this one ends.

    On SQLite a writing transaction is alone anyway.
    """
    if connection.dialect.name == "sqlite":
        return
    connection.execute(_locking(), named(key))


@lru_cache(maxsize=1)
def _locking() -> sa.Select[tuple[int]]:
    this = sa.select(BATCH.c.id).where(BATCH.c.id == scope(BOUND_KEY))
    return this.with_for_update()


def ending(connection: Connection, key: BatchKey) -> str | None:
    """Return the move that ends the batch if nothing of it is left to be done.

    The batch must be locked: then the last two of its chunks, committed at once, can't
    both miss each other.
    """
    if connection.execute(_queued(), named(key)).first():  # by its index: nearly always
        return None
    is_active = sa.select(BATCH.c.dry_run).where(
        BATCH.c.id == scope(key), BATCH.c.state.in_(sorted(ACTIVE))
    )
    dry_run = connection.execute(is_active).scalar_one_or_none()
    states = sa.select(CHUNK.c.state, sa.func.min(CHUNK.c.ordinal)).where(
        CHUNK.c.batch == scope(key), CHUNK.c.state != ChunkState.DONE
    )
    left = dict(connection.execute(states.group_by(CHUNK.c.state)).all())
    if dry_run is None:
        return None
    if left.get(ChunkState.DEAD) == PREPARATION or set(left) == {ChunkState.DEAD}:
        return "fail"
    if left:
        return None
    return "check" if dry_run else "complete"


@lru_cache(maxsize=1)
def _queued() -> sa.Select[tuple[int]]:
    is_queued = CHUNK.c.state == ChunkState.QUEUED
    waiting = sa.select(CHUNK.c.ordinal).where(CHUNK.c.batch == scope(BOUND_KEY))
    return waiting.where(is_queued).limit(1)


def unfinished(connection: Connection, limit: int) -> list[BatchKey]:
    """Return active batches, the oldest first, of which nothing waits or is at work.

    For the sweep, of every tenant.
    """
    going = (ChunkState.QUEUED, ChunkState.LEASED, ChunkState.RETRYING)
    # One after the other: those that wait have an index by batch, so they show at once.
    is_idle = (
        ~sa.exists().where(CHUNK.c.batch == BATCH.c.id, CHUNK.c.state == state)
        for state in going
    )
    statement = (
        sa.select(BATCH.c.tenant, BATCH.c.id)
        .where(BATCH.c.state.in_(sorted(ACTIVE)), *is_idle)
        .order_by(BATCH.c.id)
        .limit(limit)
    )
    return [BatchKey(*row) for row in connection.execute(statement)]


def tally(connection: Connection, key: BatchKey) -> Tally:
    """Return the batch's tally: the sum over its chunks."""
    statement = sa.select(*_sums()).where(CHUNK.c.batch == scope(key))
    counts: list[int] = list(connection.execute(statement).one())
    return Tally(*counts)


def standing(connection: Connection, key: BatchKey) -> tuple[BatchState, Tally, int]:
    """Return the batch's state, its tally, and how many rows were gone through."""
    name, examined, *counts = connection.execute(_standing(), named(key)).one()
    return BatchState(name), Tally(*counts), examined


@lru_cache(maxsize=1)
def _standing() -> sa.Select[Any]:
    own = scope(BOUND_KEY)
    state = sa.select(BATCH.c.state).where(BATCH.c.id == own).scalar_subquery()
    return sa.select(state, _examined(), *_sums()).where(CHUNK.c.batch == own)


def examined(connection: Connection, key: BatchKey) -> int:
    """Return how many rows were gone through: of chunks that are done, or decided."""
    statement = sa.select(_examined()).where(CHUNK.c.batch == scope(key))
    count: int = connection.execute(statement).scalar_one()
    return count


@lru_cache(maxsize=1)
def _sums() -> tuple[sa.ColumnElement[int], ...]:
    """Return as SQL the total of some chunks, then each verdict's count."""
    columns = (CHUNK.c.rows, *(CHUNK.c[verdict.value] for verdict in Verdict))
    return tuple(sa.func.coalesce(sa.func.sum(column), 0) for column in columns)


@lru_cache(maxsize=1)
def _examined() -> sa.ColumnElement[int]:
    decided = sum((CHUNK.c[v.value] for v in Verdict), start=sa.literal(0))
    rows = sa.case((CHUNK.c.state == ChunkState.DONE, CHUNK.c.rows), else_=decided)
    return sa.func.coalesce(sa.func.sum(rows), 0)


def _select() -> sa.Select[Any]:
    return sa.select(
        BATCH,
        (now_epoch() - BATCH.c.started_at).label("seconds_since_start"),
    )


def _batch(row: Row[Any]) -> Batch:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public accessor
    key = BatchKey(values.pop("tenant"), values.pop("id"))
    del values["first_seq"], values["progress_at"], values["idempotency_key"]
    state = BatchState(values.pop("state"))
    layout = _load_layout(values.pop("layout"))
    return Batch(key=key, state=state, layout=layout, **values)


def _dump_layout(layout: Layout) -> dict[str, Any]:
    return {
        "format": layout.format,
        "header": list(layout.header),
        "header_row": layout.header_row,
        "settings": dict(layout.settings),
        "reasons": dict(layout.reasons),
    }


def _load_layout(values: Mapping[str, Any]) -> Layout:
    return Layout(
        format=values["format"],
        header=tuple(values["header"]),
        header_row=values["header_row"],
        settings=values["settings"],
        reasons=values.get("reasons", {}),
    )
