"""Lanes: whose turn it is. One for each tenant, with a virtual time.

The tenant with the lowest virtual time is served next, and its time goes on by the rows
it was given, divided by its weight: so each gets the part of the fleet that its weight
says, whatever the length of its queue, and nobody waits while others are idle. The
lane's row is read without a lock; to lock it would send other workers away empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import ChunkState
from batchfx.store import access, switches
from batchfx.store.inserts import insert_into
from batchfx.store.schema import CHUNK, GRANT, LANE, SWITCH

LEAST = 100  # rows that a unit counts for, however few it has
LAG = 1_000_000.0  # rows by weight that a lane catches up at most


@dataclass(frozen=True, slots=True)
class Lane:
    """A tenant's share of the workers, and its units that wait and are at work."""

    tenant: str
    weight: float
    cap: int | None
    waiting: int
    at_work: int


def order(connection: Connection, worker: str) -> Iterator[str]:
    """Yield the tenants with work that *worker* may serve, whose turn it is first.

    Those at their cap come last: then they get only what would be idle.
    """
    yield from connection.execute(_order(worker)).scalars().all()


def importers(
    connection: Connection, worker: str, tenant: str, names: Collection[str]
) -> list[str]:
    """Return those of the importers *names* whose units wait, the most urgent first."""
    if not names:
        return []
    tops = _tops(worker, tenant, tuple(sorted(names)))
    return list(connection.execute(tops).scalars())


def settle(
    connection: Connection,
    costs: Mapping[str, Sequence[int]],
    idle: Collection[str],
) -> None:
    """Charge the lanes of *costs* for units of so many rows, and rest those *idle*.

    The lanes are locked in the order of their tenants, so that two who do this at once
    can't wait for each other.
    """
    for tenant in sorted({*costs, *idle}):
        if tenant in costs:
            charge(connection, tenant, costs[tenant])
        else:
            rest(connection, tenant)


def charge(connection: Connection, tenant: str, rows: Sequence[int]) -> None:
    """Let the tenant's virtual time go on by units of so many rows each.

    One that could not be served for long, as while it was switched off, goes on from
    `LAG` behind the others: it does not hold them up until it has caught up.
    """
    cost = sum(max(LEAST, count) for count in rows)
    earliest = _foremost() - LAG
    start = sa.case((LANE.c.vtime < earliest, earliest), else_=LANE.c.vtime)
    connection.execute(
        sa.update(LANE)
        .where(LANE.c.tenant == tenant)
        .values(vtime=start + cost / LANE.c.weight)
    )


def wake(connection: Connection, tenant: str) -> None:
    """Note that the tenant has work, after its units were queued.

    One that had none starts where the others are: to be idle earns no credit. Where
    nobody has work, that is where the last one was served.
    """
    busy = LANE.alias("busy")
    hindmost = sa.select(sa.func.min(busy.c.vtime)).where(busy.c.has_work)
    earliest = sa.func.coalesce(hindmost.scalar_subquery(), _foremost(), 0.0)
    upsert = insert_into(connection, LANE)
    is_behind = sa.and_(~LANE.c.has_work, LANE.c.vtime < earliest)
    connection.execute(
        upsert.values(
            tenant=tenant, vtime=earliest, weight=1.0, has_work=sa.true()
        ).on_conflict_do_update(
            index_elements=["tenant"],
            set_={
                "has_work": sa.true(),
                "vtime": sa.case((is_behind, earliest), else_=LANE.c.vtime),
            },
        )
    )


def empty(connection: Connection, tenants: Collection[str]) -> list[str]:
    """Return those of *tenants* that have no unit waiting, as it seems."""
    if not tenants:
        return []
    statement = sa.select(LANE.c.tenant).where(
        LANE.c.tenant.in_(sorted(tenants)), ~_waits(LANE.c.tenant)
    )
    return list(connection.execute(statement).scalars())


def rest(connection: Connection, tenant: str) -> None:
    """Note that the tenant has no work, if that is so.

    The lane is locked before the units are looked for: whoever queues one notes it in
    the lane afterwards, and so either is seen here or notes it after this.
    """
    lane = sa.select(LANE.c.tenant).where(LANE.c.tenant == tenant).with_for_update()
    connection.execute(lane)
    connection.execute(
        sa.update(LANE)
        .where(LANE.c.tenant == tenant, ~_waits(tenant))
        .values(has_work=sa.false())
    )


def neglected(connection: Connection) -> list[str]:
    """Return the tenants that have units waiting and no note of it in their lane."""
    statement = sa.select(LANE.c.tenant).where(~LANE.c.has_work, _waits(LANE.c.tenant))
    return list(connection.execute(statement.order_by(LANE.c.tenant)).scalars())


def set_share(
    connection: Connection, tenant: str, weight: float, cap: int | None
) -> None:
    """Give the tenant's lane a weight, and a cap of chunks at work at once."""
    upsert = insert_into(connection, LANE)
    connection.execute(
        upsert.values(
            tenant=tenant, weight=weight, cap=cap, vtime=0.0, has_work=sa.false()
        ).on_conflict_do_update(
            index_elements=["tenant"], set_={"weight": weight, "cap": cap}
        )
    )


def _waits(tenant: sa.ColumnElement[str] | str) -> sa.ColumnElement[bool]:
    # Ordered, so that it is looked for in the index even where most units are said to
    # be the tenant's.
    first = (
        sa.select(CHUNK.c.batch)
        .where(CHUNK.c.tenant == tenant, CHUNK.c.state == ChunkState.QUEUED)
        .order_by(CHUNK.c.importer, CHUNK.c.priority)
        .limit(1)
    )
    return first.scalar_subquery().is_not(None)


def _foremost() -> sa.ScalarSelect[float | None]:
    """Return the highest virtual time of all."""
    every = LANE.alias("every")
    return sa.select(sa.func.max(every.c.vtime)).scalar_subquery()


def listing(connection: Connection) -> list[Lane]:
    """Return every tenant's lane, by tenant."""

    def count(state: ChunkState) -> sa.ScalarSelect[int]:
        return (
            sa.select(sa.func.count())
            .where(CHUNK.c.tenant == LANE.c.tenant, CHUNK.c.state == state)
            .correlate(LANE)
            .scalar_subquery()
        )

    statement = sa.select(
        LANE.c.tenant,
        LANE.c.weight,
        LANE.c.cap,
        count(ChunkState.QUEUED),
        count(ChunkState.LEASED),
    ).order_by(LANE.c.tenant)
    return [Lane(*row) for row in connection.execute(statement)]


# To build these takes longer than to run them.
@lru_cache(maxsize=16)
def _order(worker: str) -> sa.Select[Any]:
    at_work = (
        sa.select(CHUNK.c.tenant, sa.func.count().label("number"))
        .where(CHUNK.c.state == ChunkState.LEASED)
        .group_by(CHUNK.c.tenant)
        .subquery()
    )
    is_full = sa.case((sa.func.coalesce(at_work.c.number, 0) >= LANE.c.cap, 1), else_=0)
    return (
        sa.select(LANE.c.tenant)
        .outerjoin(at_work, at_work.c.tenant == LANE.c.tenant)
        .where(LANE.c.has_work, _may_serve(worker), _is_on())
        .order_by(is_full, LANE.c.vtime, LANE.c.tenant)
    )


@lru_cache(maxsize=4_096)
def _tops(worker: str, tenant: str, names: tuple[str, ...]) -> sa.Select[Any]:
    found = sa.union_all(*(_top(worker, tenant, name) for name in names)).subquery()
    return sa.select(found.c.importer).order_by(found.c.priority, found.c.batch)


def _top(worker: str, tenant: str, importer: str) -> sa.Select[Any]:
    first = (
        sa.select(CHUNK.c.importer, CHUNK.c.priority, CHUNK.c.batch)
        .where(
            CHUNK.c.tenant == tenant,
            CHUNK.c.importer == importer,
            CHUNK.c.state == ChunkState.QUEUED,
            access.is_allowed(worker, sa.literal(tenant), sa.literal(importer)),
            switches.is_on(sa.literal(tenant), sa.literal(importer)),
        )
        .order_by(CHUNK.c.priority, CHUNK.c.batch)
        .limit(1)
        .subquery()
    )
    return sa.select(first)


def _may_serve(worker: str) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        GRANT.c.worker == worker,
        GRANT.c.kind == "tenant",
        GRANT.c.name.in_([LANE.c.tenant, "*"]),
    )


def _is_on() -> sa.ColumnElement[bool]:
    """Return whether neither everything nor the lane's tenant is switched off."""
    is_about = sa.or_(
        SWITCH.c.scope == "all",
        sa.and_(SWITCH.c.scope == "tenant", SWITCH.c.name == LANE.c.tenant),
    )
    return ~sa.exists().where(SWITCH.c.is_off, is_about)
