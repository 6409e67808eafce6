"""Effects: claimed under a tenant's key before they run, recorded after.

A claim is committed before anything happens outside, and its end after that; so an
effect that may have happened is never taken for one that has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.effects import Asked, EffectState
from batchfx.model.states import ChunkState
from batchfx.store import switches
from batchfx.store.claims import Claim
from batchfx.store.engine import now_epoch
from batchfx.store.inserts import insert_into
from batchfx.store.schema import CHUNK, EFFECT


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect as it is in the database; *claimed_at* tells its claims apart."""

    state: EffectState
    digest: str
    result: Any
    batch: int
    row: int
    worker: str
    claimed_at: float
    is_held: bool  # whoever claimed it has the chunk of its row still

    def is_of(self, claim: Claim) -> bool:
        """Tell whether it was claimed for a row of *claim*'s chunk."""
        is_in = claim.first_row <= self.row <= claim.last_row
        return self.batch == claim.key.number and is_in


@dataclass(frozen=True, slots=True)
class Doubt:
    """An effect of which nobody knows whether it has happened."""

    tenant: str
    key: str
    state: str
    batch: int
    row: int
    claimed_at: float  # seconds since 1970-01-01 UTC


def find(connection: Connection, tenant: str, key: str) -> Effect | None:
    """Return the tenant's effect of that key."""
    columns = [EFFECT.c[name] for name in COLUMNS]
    statement = sa.select(*columns, _is_held().label("is_held")).where(
        EFFECT.c.tenant == tenant, EFFECT.c.key == key
    )
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    values = row._asdict()
    values["state"] = EffectState(values["state"])
    values["is_held"] = bool(values["is_held"])
    return Effect(**values)


def claim(
    connection: Connection, holder: Claim, row: int, asked: Asked
) -> float | None:
    """Enter the effect as about to run; return what proves it.

    None when there is one of that key already, or a switch is off. The transaction must
    be committed before it runs.
    """
    values: dict[str, sa.ColumnElement[Any]] = {
        "tenant": sa.literal(holder.key.tenant),
        "key": sa.literal(asked.key),
        "name": sa.literal(asked.name),
        "digest": sa.literal(asked.digest),
        "state": sa.literal(EffectState.CLAIMED.value),
        "batch": sa.literal(holder.key.number),
        "row": sa.literal(row),
        "worker": sa.literal(holder.worker),
        "claimed_at": now_epoch(),
    }
    source = sa.select(*values.values()).where(switches.effect_is_on(asked.name))
    statement = (
        insert_into(connection, EFFECT)
        .from_select(list(values), source)
        .on_conflict_do_nothing()
        .returning(EFFECT.c.claimed_at)
    )
    claimed_at: float | None = connection.execute(statement).scalar_one_or_none()
    return claimed_at


def reclaim(
    connection: Connection, holder: Claim, row: int, asked: Asked, found: Effect
) -> float | None:
    """Take over an effect whose end nobody knows, to run it with its key once more.

    None when it has changed since it was *found*, or a switch is off.
    """
    statement = (
        _open(holder.key.tenant, asked.key, found.worker, found.claimed_at)
        .where(switches.effect_is_on(asked.name))
        .values(
            state=EffectState.CLAIMED,
            batch=holder.key.number,
            row=row,
            worker=holder.worker,
            claimed_at=now_epoch(),
        )
        .returning(EFFECT.c.claimed_at)
    )
    claimed_at: float | None = connection.execute(statement).scalar_one_or_none()
    return claimed_at


def finish(
    connection: Connection,
    tenant: str,
    key: str,
    *,
    worker: str,
    claimed_at: float,
    state: EffectState,
    result: Any = None,
) -> bool:
    """Record how the effect ended; return whether the claim was still the last one."""
    statement = _open(tenant, key, worker, claimed_at).values(
        state=state, result=result, ended_at=now_epoch()
    )
    return connection.execute(statement).rowcount == 1


def listing(connection: Connection, tenant: str | None, limit: int) -> list[Doubt]:
    """Return the effects of which nobody knows the end, the oldest first.

    Those of one tenant, or of all for the operator of the database.
    """
    names = ("tenant", "key", "state", "batch", "row", "claimed_at")
    statement = (
        sa.select(*(EFFECT.c[name] for name in names))
        .where(*_in_doubt(), *([] if tenant is None else [EFFECT.c.tenant == tenant]))
        .order_by(EFFECT.c.claimed_at, EFFECT.c.key)
        .limit(limit)
    )
    return [Doubt(*row) for row in connection.execute(statement)]


def abandon(connection: Connection, limit: int) -> int:
    """Mark effects as unknown that dead workers had claimed; return how many."""
    left = (
        sa.select(EFFECT.c.tenant, EFFECT.c.key)
        .where(EFFECT.c.state == EffectState.CLAIMED, *_in_doubt())
        .order_by(EFFECT.c.tenant, EFFECT.c.key)
        .limit(limit)
        .with_for_update(of=EFFECT, skip_locked=True)
        .cte("left_claimed")
    )
    both = sa.tuple_(EFFECT.c.tenant, EFFECT.c.key)
    statement = (
        sa.update(EFFECT)
        .where(both.in_(sa.select(left.c.tenant, left.c.key)), *_in_doubt())
        .values(state=EffectState.UNKNOWN, ended_at=now_epoch())
        .returning(EFFECT.c.key)
    )
    return len(connection.execute(statement).all())


def settle(
    connection: Connection, tenant: str, key: str, *, happened: bool, result: Any = None
) -> bool:
    """Record what a person found out; False when nothing was in doubt.

    What has not happened is forgotten, so that its row's next attempt runs it.
    """
    mine = (EFFECT.c.tenant == tenant, EFFECT.c.key == key, *_in_doubt())
    done = {"state": EffectState.DONE, "result": result, "ended_at": now_epoch()}
    forgotten = sa.delete(EFFECT).where(*mine)
    statement = sa.update(EFFECT).where(*mine).values(**done) if happened else forgotten
    return connection.execute(statement).rowcount == 1


COLUMNS = ("state", "digest", "result", "batch", "row", "worker", "claimed_at")


def _open(tenant: str, key: str, worker: str, claimed_at: float) -> sa.Update:
    return sa.update(EFFECT).where(
        EFFECT.c.tenant == tenant,
        EFFECT.c.key == key,
        EFFECT.c.worker == worker,
        EFFECT.c.claimed_at == claimed_at,
        EFFECT.c.state.in_([EffectState.CLAIMED, EffectState.UNKNOWN]),
    )


def _in_doubt() -> tuple[sa.ColumnElement[bool], ...]:
    is_open = EFFECT.c.state.in_([EffectState.CLAIMED, EffectState.UNKNOWN])
    return is_open, ~_is_held()


def _is_held() -> sa.ColumnElement[bool]:
    return (
        sa.exists()
        .where(
            CHUNK.c.batch == EFFECT.c.batch,
            CHUNK.c.ordinal >= 0,
            CHUNK.c.first_row <= EFFECT.c.row,
            CHUNK.c.last_row >= EFFECT.c.row,
            CHUNK.c.worker == EFFECT.c.worker,
            CHUNK.c.state == ChunkState.LEASED,
            CHUNK.c.lease_until > now_epoch(),
        )
        .correlate_except(CHUNK)
    )
