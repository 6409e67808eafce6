"""Batches: made, found, moved from state to state, and held by one worker at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from batchfx.errors import IllegalMoveError, LeaseLostError, NotFoundError
from batchfx.model.sources import Layout
from batchfx.model.states import ACTIVE, BATCH_MOVES, BatchState
from batchfx.model.verdicts import Tally, Verdict
from batchfx.store.engine import now_epoch
from batchfx.store.schema import BATCH, CHUNK, BatchKey, scope


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
    fence: int
    worker: str | None
    lease_ends_in: float | None
    created_at: float
    started_at: float
    ended_at: float | None
    seconds_since_start: float
    saved_mapping: Mapping[str, Any] | None = None  # its name and version
    given: Mapping[str, Any] = field(default_factory=dict)
    notations: Mapping[str, Any] = field(default_factory=dict)  # as they were dumped

    @property
    def is_held(self) -> bool:
        """True while a worker's right to the batch has not run out."""
        return self.lease_ends_in is not None and self.lease_ends_in > 0


@dataclass(frozen=True, slots=True)
class Hold:
    """The right of *worker* to a batch, proved by *fence*."""

    key: BatchKey
    worker: str
    fence: int


def create(connection: Connection, tenant: str, **values: Any) -> BatchKey:
    """Enter a batch that is about to be staged; return its key."""
    layout: Layout = values.pop("layout")
    statement = (
        sa.insert(BATCH)
        .returning(BATCH.c.id)
        .values(
            tenant=tenant,
            layout=_dump_layout(layout),
            state=BatchState.STAGING,
            created_at=now_epoch(),
            started_at=now_epoch(),
            **values,
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


def listing(connection: Connection, tenant: str, limit: int) -> list[Batch]:
    """Return the tenant's latest batches, newest first."""
    statement = (
        _select()
        .where(BATCH.c.tenant == tenant)
        .order_by(BATCH.c.id.desc())
        .limit(limit)
    )
    return [_batch(row) for row in connection.execute(statement)]


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


def take(
    connection: Connection,
    key: BatchKey,
    worker: str,
    ttl: float,
    dead: Collection[str],
) -> Hold:
    """Give *worker* the batch for *ttl* seconds if nobody holds it.

    Args:
        connection: In a writing transaction.
        key: The batch.
        worker: Who asks.
        ttl: Seconds until the right runs out unless it is renewed.
        dead: Workers known to be dead, whose holds count for nothing.

    Raises:
        IllegalMoveError: A living worker holds the batch.

    """
    is_free = sa.or_(
        BATCH.c.lease_until.is_(None),
        BATCH.c.lease_until < now_epoch(),
        BATCH.c.worker.in_(sorted(dead)),
    )
    statement = (
        sa.update(BATCH)
        .where(BATCH.c.id == scope(key), is_free)
        .values(
            worker=worker,
            fence=BATCH.c.fence + 1,
            lease_until=now_epoch() + ttl,
        )
        .returning(BATCH.c.fence)
    )
    fence = connection.execute(statement).scalar_one_or_none()
    if fence is None:
        raise held(read(connection, key))
    return Hold(key, worker, fence)


def held(batch: Batch) -> IllegalMoveError:
    """Return the error for a batch that a living worker holds."""
    number = batch.key.number
    return IllegalMoveError(
        f"Batch {number} is being worked on by {batch.worker}; "
        f"'batchfx status {number}' shows how far it is."
    )


def give_back(connection: Connection, hold: Hold) -> None:
    """End the hold; nothing happens when it was lost."""
    statement = (
        sa.update(BATCH).where(*_owned(hold)).values(worker=None, lease_until=None)
    )
    connection.execute(statement)


def renew(connection: Connection, worker: str, ttl: float) -> set[int]:
    """Prolong every hold of *worker*; return the numbers of the batches it has."""
    statement = (
        sa.update(BATCH)
        .where(BATCH.c.worker == worker, BATCH.c.lease_until.is_not(None))
        .values(lease_until=now_epoch() + ttl)
        .returning(BATCH.c.id)
    )
    return set(connection.execute(statement).scalars())


def move(connection: Connection, hold: Hold, name: str, **values: Any) -> None:
    """Make the move *name* and set *values* with it.

    Raises:
        LeaseLostError: The hold is somebody else's now.
        IllegalMoveError: The batch is in a state that the move does not start from.

    """
    step = BATCH_MOVES[name]
    ended = None if step.target in ACTIVE else now_epoch()
    statement = (
        sa.update(BATCH)
        .where(*_owned(hold), BATCH.c.state.in_(sorted(step.sources)))
        .values(state=step.target, ended_at=ended, **values)
    )
    if connection.execute(statement).rowcount == 1:
        return
    batch = read(connection, hold.key)
    if (batch.fence, batch.worker) != (hold.fence, hold.worker):
        raise lost(hold)
    message = f"Batch {hold.key.number} is {batch.state}: it can't {name} from there."
    raise IllegalMoveError(message)


def note(connection: Connection, hold: Hold, **values: Any) -> None:
    """Set *values* without a move; raise `LeaseLostError` when the hold was lost."""
    statement = sa.update(BATCH).where(*_owned(hold)).values(**values)
    if connection.execute(statement).rowcount != 1:
        raise lost(hold)


def require(connection: Connection, hold: Hold) -> None:
    """Raise `LeaseLostError` when the hold was lost; for a writing transaction."""
    statement = sa.select(BATCH.c.id).where(*_owned(hold))
    if connection.execute(statement).one_or_none() is None:
        raise lost(hold)


def lost(hold: Hold) -> LeaseLostError:
    """Return the error for a hold that another worker has taken over."""
    return LeaseLostError(
        f"Batch {hold.key.number} was taken over by another process; this one stops."
    )


def tally(connection: Connection, key: BatchKey) -> Tally:
    """Return the batch's tally: the sum over its chunks."""
    sums = [sa.func.coalesce(sa.func.sum(CHUNK.c[v.value]), 0) for v in Verdict]
    total = sa.func.coalesce(sa.func.sum(CHUNK.c.rows), 0)
    statement = sa.select(total, *sums).where(CHUNK.c.batch == scope(key))
    return Tally(*connection.execute(statement).one())


def _owned(hold: Hold) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        BATCH.c.id == scope(hold.key),
        BATCH.c.worker == hold.worker,
        BATCH.c.fence == hold.fence,
    )


def _select() -> sa.Select[Any]:
    return sa.select(
        BATCH,
        (BATCH.c.lease_until - now_epoch()).label("lease_ends_in"),
        (now_epoch() - BATCH.c.started_at).label("seconds_since_start"),
    )


def _batch(row: Row[Any]) -> Batch:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public accessor
    key = BatchKey(values.pop("tenant"), values.pop("id"))
    del values["lease_until"]
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
