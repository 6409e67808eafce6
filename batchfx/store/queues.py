"""Queues: the units that wait and may be claimed, of a batch or in a tenant's lane.

The next one comes first, and what another transaction is at is passed over. Their
parameters are named `for_worker`, `of_tenant` and `of_importer`, and those of
`schema.BOUND_KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from batchfx.model.access import EVERY
from batchfx.model.states import ACTIVE, ChunkState
from batchfx.store import access, switches
from batchfx.store.schema import (
    BATCH,
    BOUND_KEY,
    CHUNK,
    GRANT,
    PREPARATION,
    SWITCH,
    scope,
)

Name = sa.ColumnElement[str]

WORKER = sa.bindparam("for_worker", type_=sa.String)
TENANT = sa.bindparam("of_tenant", type_=sa.String)
IMPORTER = sa.bindparam("of_importer", type_=sa.String)


def of_batch(*, preparation: bool) -> sa.Select[Any]:
    """Return the chunks of a batch that wait, or only its *preparation*."""
    ordinal = CHUNK.c.ordinal
    unit = ordinal == PREPARATION if preparation else ordinal != PREPARATION
    names = {"tenant": CHUNK.c.tenant, "importer": CHUNK.c.importer}
    is_on = ~is_off({"all": switches.EVERYTHING, **names})
    waiting = _waiting().where(CHUNK.c.batch == scope(BOUND_KEY), unit, is_on)
    return waiting.order_by(CHUNK.c.round, ordinal)


def of_lane(*, has_besides: bool = False) -> sa.Select[Any]:
    """Return the units of a tenant and an importer that a worker may claim now.

    With *has_besides* those of the batches `besides` are left out.

    What was switched off or revoked since the lanes were read is none of them.
    """
    waiting = _waiting().where(
        CHUNK.c.tenant == TENANT,
        CHUNK.c.importer == IMPORTER,
        access.is_present(WORKER),
        has_grant("tenant", TENANT),
        has_grant("importer", IMPORTER),
        ~is_off({"all": switches.EVERYTHING, "tenant": TENANT, "importer": IMPORTER}),
    )
    if has_besides:
        besides = sa.bindparam("besides", type_=sa.Integer, expanding=True)
        waiting = waiting.where(CHUNK.c.batch.not_in(besides))
    order = (CHUNK.c[name] for name in ("priority", "batch", "round", "ordinal"))
    return waiting.order_by(*order)


def has_grant(kind: str, name: Name) -> sa.ColumnElement[bool]:
    """Return as SQL whether the worker may work for *name*, a tenant or importer."""
    granted = GRANT.c.name.in_([name, EVERY])
    return sa.exists().where(GRANT.c.worker == WORKER, GRANT.c.kind == kind, granted)


def is_off(places: Mapping[str, Name | str]) -> sa.ColumnElement[bool]:
    """Return as SQL whether a switch is off in one of the *places*, names by scope.

    One look for all of them: this is planned anew with each claim.
    """
    named = (
        sa.and_(SWITCH.c.scope == scope, SWITCH.c.name == name)
        for scope, name in places.items()
    )
    return sa.exists().where(SWITCH.c.is_off, sa.or_(*named))


def _waiting() -> sa.Select[Any]:
    is_active = sa.exists().where(
        BATCH.c.id == CHUNK.c.batch, BATCH.c.state.in_(sorted(ACTIVE))
    )
    return (
        sa.select(CHUNK.c.batch, CHUNK.c.ordinal)
        .where(CHUNK.c.state == ChunkState.QUEUED, is_active)
        .with_for_update(of=CHUNK, skip_locked=True)
    )
