"""Claims: the right to one unit of work, proved by a fence, and how it ends.

Each claim raises the unit's fence, and so does every outcome that somebody else than
its worker decides. Whatever a worker writes names its fence, so one that was stopped,
cancelled or taken over writes nothing. The lease only says when others may go on.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningUpdate

from batchfx.errors import LeaseLostError
from batchfx.model.states import CHUNK_MOVES, ChunkState
from batchfx.store import access, queues, switches, turns
from batchfx.store.bulk import kept
from batchfx.store.engine import now_epoch
from batchfx.store.schema import (
    BOUND_KEY,
    CHUNK,
    PREPARATION,
    BatchKey,
    named,
    scope,
)

TRIES = 5  # failures of the system in one chunk; then it is dead
LOSSES = 3  # workers that vanished with one chunk; then it is poison
BACKOFF = 2.0  # seconds before the second try, doubled for each further one
LONGEST_BACKOFF = 300.0  # seconds
POISON = "poison"


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of *worker* to one unit of work, proved by *fence*."""

    key: BatchKey
    ordinal: int
    worker: str
    fence: int
    first_row: int
    last_row: int
    rows: int
    round: int
    waited_at: int | None
    importer: str
    failures: int
    losses: int
    is_granted: bool = False  # by a credential, which the commit asks for once more

    @property
    def is_preparation(self) -> bool:
        """True for the unit that makes the batch's chunks ready."""
        return self.ordinal == PREPARATION


@dataclass(frozen=True, slots=True)
class Failure:
    """What broke under a chunk: a stable *reason*, where, and the sentence about it."""

    reason: str
    place: str
    error: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A worker at a unit of work, and the seconds that are left of its lease."""

    ordinal: int
    worker: str
    ends_in: float


SPAN = ("first_row", "last_row", "rows", "round", "waited_at")
CLAIMED = ("ordinal", "worker", "fence", *SPAN, "importer", "failures", "losses")


def of_batch(
    connection: Connection,
    key: BatchKey,
    worker: str,
    ttl: float,
    *,
    preparation: bool = False,
) -> Claim | None:
    """Give *worker* the batch's next unit that waits, for *ttl* seconds.

    Its preparation, or else a chunk. None when there is none, or a switch is off.
    """
    taking = _taking_of_batch(preparation=preparation)
    taken = connection.execute(taking, named(key) | _given(worker, ttl, 1)).all()
    return _claim(taken[0], is_granted=False) if taken else None


def fair(
    connection: Connection,
    worker: str,
    importers: Collection[str],
    ttl: float,
    limit: int = 1,
    *,
    besides: frozenset[int] = frozenset(),
) -> list[Claim]:
    """Give *worker* up to *limit* units of the tenant whose turn it is.

    Args:
        connection: In a writing transaction.
        worker: A worker that was let in; what it may do is read from its grants.
        importers: The importers that it has.
        ttl: Seconds until the claims run out unless they are renewed.
        limit: How many units it can take.
        besides: Numbers of batches that it can't take.

    """
    given = _given(worker, ttl, limit)
    given |= {"besides": sorted(besides)} if besides else {}
    taking = _taking_of_lane(has_besides=bool(besides))

    def take(tenant: str, importer: str) -> turns.Rows:
        names = {"of_tenant": tenant, "of_importer": importer}
        return connection.execute(taking, given | names).all()

    taken = turns.serve(connection, worker, importers, limit, take)
    return [_claim(row, is_granted=True) for row in taken]


def renew(
    connection: Connection, worker: str, ttl: float, *, is_granted: bool = False
) -> set[tuple[int, int, int]]:
    """Prolong every claim of *worker*; return (batch, ordinal, fence) of what it has.

    What was cancelled or taken over is missing, and so is what a switch is off for or,
    of a worker that *is_granted* its right, what it may not do any more.
    """
    mine = (
        sa.select(CHUNK.c.batch, CHUNK.c.ordinal)
        .where(
            CHUNK.c.state == ChunkState.LEASED,
            CHUNK.c.worker == worker,
            switches.is_on(CHUNK.c.tenant, CHUNK.c.importer),
            *_allowed(worker, is_granted=is_granted),
        )
        # Not in the order of an index: SQLite would go through the whole table for it.
        .order_by(CHUNK.c.batch + 0, CHUNK.c.ordinal)
        .with_for_update(of=CHUNK)
        .cte("mine")
    )
    statement = (
        sa.update(CHUNK)
        .where(_in(mine))
        .values(lease_until=now_epoch() + ttl)
        .returning(CHUNK.c.batch, CHUNK.c.ordinal, CHUNK.c.fence)
    )
    return {(row[0], row[1], row[2]) for row in connection.execute(statement)}


def require(connection: Connection, claim: Claim) -> None:
    """Make sure of the claim until the transaction ends.

    Raises:
        LeaseLostError: It was taken over, cancelled or taken back.

    """
    statement = sa.select(CHUNK.c.ordinal).where(*owned(claim)).with_for_update()
    if connection.execute(statement).one_or_none() is None:
        raise lost(claim)


def release(connection: Connection, claim: Claim) -> bool:
    """Give the unit back undone, with nothing charged; False when it was lost.

    Wake the tenant's lane afterwards, last in the transaction.
    """
    return _end(connection, claim, state=CHUNK_MOVES["release"].target)


def fail(connection: Connection, claim: Claim, failure: Failure) -> ChunkState:
    """Charge a failure: the unit is tried again later, or is dead after `TRIES`.

    Raises:
        LeaseLostError: It is not ours any more; nothing was charged.

    """
    failures = claim.failures + 1
    target = _after(failures, TRIES)
    values = _broken(connection, target, failure, backoff(failures))
    if not _end(connection, claim, failures=failures, **values):
        raise lost(claim)
    return target


def lose(connection: Connection, claim: Claim, place: str) -> ChunkState:
    """Charge a loss: the process that had the unit vanished with it.

    Raises:
        LeaseLostError: It is not ours any more; nothing was charged.

    """
    losses = claim.losses + 1
    target = _after(losses, LOSSES)
    values = _broken(connection, target, _loss(losses, place), backoff(losses))
    if not _end(connection, claim, losses=losses, **values):
        raise lost(claim)
    return target


def reclaim(
    connection: Connection, limit: int
) -> list[tuple[BatchKey, int, ChunkState]]:
    """Charge a loss to every unit whose lease ran out; return what was done.

    Returns:
        (batch, ordinal, state now) of each. Unit after unit is named with its fence, so
        what is renewed or ended meanwhile is left alone.

    """
    expired = (
        sa.select(CHUNK.c.tenant, CHUNK.c.batch, *(CHUNK.c[name] for name in CLAIMED))
        .where(CHUNK.c.state == ChunkState.LEASED, CHUNK.c.lease_until < now_epoch())
        .order_by(CHUNK.c.lease_until)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(expired).all()
    found: list[tuple[BatchKey, int, ChunkState]] = []
    for row in sorted(rows, key=attrgetter("batch", "ordinal")):
        claim = _claim(row, is_granted=False)
        state = lose(connection, claim, "its worker was not heard of any more")
        found.append((claim.key, claim.ordinal, state))
    return found


def has_landed(connection: Connection, claim: Claim) -> bool:
    """Tell whether the commit of *claim* took effect, after its answer was lost."""
    is_done = CHUNK.c.state == ChunkState.DONE
    is_deferred = CHUNK.c.round == claim.round + 1
    statement = sa.select(CHUNK.c.ordinal).where(
        CHUNK.c.batch == scope(claim.key),
        CHUNK.c.ordinal == claim.ordinal,
        CHUNK.c.fence == claim.fence,
        sa.or_(is_done, is_deferred),
    )
    return connection.execute(statement).one_or_none() is not None


def holders(connection: Connection, key: BatchKey) -> list[Holder]:
    """Return who is at work on the batch."""
    statement = (
        sa.select(CHUNK.c.ordinal, CHUNK.c.worker, CHUNK.c.lease_until - now_epoch())
        .where(CHUNK.c.batch == scope(key), CHUNK.c.state == ChunkState.LEASED)
        .order_by(CHUNK.c.ordinal)
    )
    return [Holder(*row) for row in connection.execute(statement)]


def owned(claim: Claim) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions under which a chunk is still the claim's."""
    return (
        CHUNK.c.batch == scope(claim.key),
        CHUNK.c.ordinal == claim.ordinal,
        CHUNK.c.worker == claim.worker,
        CHUNK.c.fence == claim.fence,
        CHUNK.c.state == ChunkState.LEASED,
        *_allowed(claim.worker, is_granted=claim.is_granted),
    )


@lru_cache(maxsize=2)
def bound(*, is_granted: bool) -> Claim:
    """Return a claim of parameters in place of values, for a statement built once."""
    values: dict[str, Any] = {
        each.name: sa.bindparam(f"its_{each.name}") for each in fields(Claim)
    }
    return Claim(**values | {"key": BOUND_KEY, "is_granted": is_granted})


def parameters(claim: Claim) -> dict[str, Any]:
    """Return the values of what `bound` has in their place."""
    own = {name: getattr(claim, name) for name in ("ordinal", "worker", "fence")}
    return named(claim.key) | {f"its_{name}": value for name, value in own.items()}


def lost(claim: Claim) -> LeaseLostError:
    """Return the error for a claim that is not its worker's any more."""
    what = "The preparation" if claim.is_preparation else f"Chunk {claim.ordinal}"
    return LeaseLostError(
        f"{what} of batch {claim.key.number} was taken over by another process, or "
        "taken back; nothing of it was written here."
    )


def backoff(count: int) -> float:
    """Return the seconds until the next try after *count* that failed.

    What chance adds keeps the tries of many chunks apart; it never shortens the wait.
    """
    wait = min(LONGEST_BACKOFF, BACKOFF * 2.0 ** (count - 1))
    return wait + random.uniform(0.0, wait / 4)  # noqa: S311 - nothing to guess


# To build a statement takes longer than to run it, so these are built once.


@lru_cache(maxsize=2)
def _taking_of_batch(*, preparation: bool) -> ReturningUpdate[Any]:
    return _taking(queues.of_batch(preparation=preparation))


@lru_cache(maxsize=2)
def _taking_of_lane(*, has_besides: bool) -> ReturningUpdate[Any]:
    return _taking(queues.of_lane(has_besides=has_besides))


def _taking(queue: sa.Select[Any]) -> ReturningUpdate[Any]:
    picked = queue.limit(sa.bindparam("at_most", type_=sa.Integer))
    return (
        sa.update(CHUNK)
        .where(_in(picked.cte("picked")), CHUNK.c.state == ChunkState.QUEUED)
        .values(
            state=CHUNK_MOVES["claim"].target,
            worker=queues.WORKER,
            fence=CHUNK.c.fence + 1,
            lease_until=now_epoch() + sa.bindparam("for_seconds", type_=sa.Float),
        )
        .returning(CHUNK.c.tenant, CHUNK.c.batch, *(CHUNK.c[name] for name in CLAIMED))
    )


def _given(worker: str, ttl: float, limit: int) -> dict[str, Any]:
    return {"for_worker": worker, "for_seconds": ttl, "at_most": limit}


def _in(units: sa.CTE) -> sa.ColumnElement[bool]:
    both = sa.tuple_(CHUNK.c.batch, CHUNK.c.ordinal)
    return both.in_(sa.select(units.c.batch, units.c.ordinal))


def _claim(row: sa.Row[Any], *, is_granted: bool) -> Claim:
    values = {name: getattr(row, name) for name in CLAIMED}
    return Claim(BatchKey(row.tenant, row.batch), **values, is_granted=is_granted)


def _allowed(worker: str, *, is_granted: bool) -> list[sa.ColumnElement[bool]]:
    if not is_granted:
        return []
    return [access.is_allowed(worker, CHUNK.c.tenant, CHUNK.c.importer)]


def _end(connection: Connection, claim: Claim, **values: Any) -> bool:
    """End the claim with a raised fence; return whether it was still ours."""
    statement = (
        sa.update(CHUNK)
        .where(
            CHUNK.c.batch == scope(claim.key),
            CHUNK.c.ordinal == claim.ordinal,
            CHUNK.c.worker == claim.worker,
            CHUNK.c.fence == claim.fence,
            CHUNK.c.state == ChunkState.LEASED,
        )
        .values(worker=None, lease_until=None, fence=CHUNK.c.fence + 1, **values)
    )
    return connection.execute(statement).rowcount == 1


def _after(count: int, most: int) -> ChunkState:
    return CHUNK_MOVES["bury" if count >= most else "retry"].target


def _broken(
    connection: Connection, target: ChunkState, failure: Failure, wait: float
) -> dict[str, Any]:
    is_dead = target is ChunkState.DEAD
    return {
        "state": target,
        "due_at": None if is_dead else now_epoch() + wait,
        "ended_at": now_epoch() if is_dead else None,
        "reason": failure.reason,
        "place": kept(connection, failure.place),
        "error": kept(connection, failure.error),
    }


def _loss(losses: int, place: str) -> Failure:
    text = f"The process that worked on it vanished ({losses} of {LOSSES} times)."
    reason = POISON if losses >= LOSSES else "lost"
    return Failure(reason, place, text)
