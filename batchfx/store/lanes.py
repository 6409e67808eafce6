"""Lanes: whose turn it is. One for each tenant, with a virtual time.

The tenant with the lowest virtual time is served next, and its time goes on by the rows
it was given, divided by its weight: so each gets the part of the fleet that its weight
says, whatever the length of its queue, and nobody waits while others are idle.

How claims go along them is `store.turns`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.states import ChunkState
from batchfx.store import access, switches
from batchfx.store.inserts import insert_into
from batchfx.store.queues import TENANT, WORKER, Name, has_grant, is_off
from batchfx.store.schema import CHUNK, LANE

LEAST = 100  # rows that a unit counts for, however few it has
LAG = 1_000_000.0  # rows by weight that a lane catches up at most
READ_AHEAD = 16  # lanes that are read first; they are nearly always enough


@dataclass(frozen=True, slots=True)
class Lane:
    """A tenant's share of the workers, and its units that wait and are at work."""

    tenant: str
    weight: float
    cap: int | None
    waiting: int
    at_work: int


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A lane's place in the order: the lowest one is served next.

    *start* is where its virtual time goes on from: one that could not be served for
    long, as while it was switched off, catches up `LAG` at most, and does not hold the
    others up until it has.
    """

    is_full: bool  # at its cap: served only what would be idle
    vtime: float
    tenant: str
    weight: float
    start: float
    is_again: bool = False  # put off once already

    def after(self, cost: float) -> float:
        """Return the virtual time after units of that cost."""
        return self.start + cost / self.weight


@dataclass(frozen=True, slots=True)
class Top:
    """An importer whose units wait in a lane, and the rows of the first of them."""

    importer: str
    rows: int


def order(connection: Connection, worker: str) -> Iterator[Turn]:
    """Yield the lanes with work that *worker* may serve, whose turn it is first.

    Those at their cap come last: then they get only what would be idle. What is at work
    is counted only where some lane that may be first has a cap.
    """
    of_worker = {"for_worker": worker}
    read = connection.execute(_order(READ_AHEAD, counts=False), of_worker).all()
    if any(lane.cap is not None for lane in read):
        read = connection.execute(_order(READ_AHEAD, counts=True), of_worker).all()
    yield from map(_turn, read)
    if len(read) == READ_AHEAD:
        seen = {lane.tenant for lane in read}
        every = connection.execute(_order(None, counts=True), of_worker).all()
        yield from (_turn(lane) for lane in every if lane.tenant not in seen)


def _turn(lane: sa.Row[Any]) -> Turn:
    start = max(lane.vtime, lane.foremost - LAG)
    return Turn(bool(lane.is_full), lane.vtime, lane.tenant, lane.weight, start)


def tops(
    connection: Connection, worker: str, tenant: str, names: Sequence[str]
) -> list[Top]:
    """Return those of the importers *names* whose units wait, the most urgent first."""
    if not names:
        return []
    named = {f"importer_{number}": name for number, name in enumerate(names)}
    of_lane = {"for_worker": worker, "of_tenant": tenant, **named}
    return [Top(*row) for row in connection.execute(_tops(len(names)), of_lane)]


def promising(connection: Connection, names: Sequence[str]) -> frozenset[str]:
    """Return the lanes noted as having work that have some of the importers *names*.

    And those that have none at all, which is to be noted.
    """
    named = {f"importer_{number}": name for number, name in enumerate(names)}
    return frozenset(connection.scalars(_promising(len(names)), named))


def cost_of(rows: Sequence[int]) -> int:
    """Return what a tenant is charged for units of so many rows each."""
    return sum(max(LEAST, count) for count in rows)


def reserve(connection: Connection, turn: Turn, cost: float) -> bool:
    """Charge the lane, if it is as it was read and nobody is at it; never wait.

    It is held until the transaction ends: whoever comes meanwhile passes it over.
    """
    values = {"of_tenant": turn.tenant, "as_read": turn.vtime, "to": turn.after(cost)}
    return connection.execute(_reserving(), values).rowcount == 1


def correct(connection: Connection, turn: Turn, cost: float) -> None:
    """Let the lane, which was reserved, have been charged *cost*; 0: nothing at all."""
    vtime = turn.after(cost) if cost else turn.vtime
    connection.execute(_correcting(), {"of_tenant": turn.tenant, "to": vtime})


def charge(
    connection: Connection, tenant: str, cost: float, *, waits: bool = True
) -> None:
    """Charge the lane, which was not reserved.

    Without *waits* it is left as it is if somebody is at it.
    """
    values = {"of_tenant": tenant, "cost": cost}
    connection.execute(_charging(waits=waits), values)


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
    """Note that the tenant has no work, if that is so and nobody is at its lane.

    The lane is locked before the units are looked for: whoever queues one notes it in
    the lane afterwards, and so either is seen here or notes it after this. One who is
    at it now is not waited for: another lane may be held here.
    """
    this = {"of_tenant": tenant}
    if connection.execute(_free(), this).first() is not None:
        connection.execute(_resting(), this)


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


def _waits(
    tenant: sa.ColumnElement[str] | str, *which: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    # Ordered, so that it is looked for in the index even where most units are said to
    # be the tenant's.
    first = (
        sa.select(CHUNK.c.batch)
        .where(CHUNK.c.tenant == tenant, CHUNK.c.state == ChunkState.QUEUED, *which)
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


# To build a statement takes longer than to run it, so each is built once.

_FREE = LANE.alias("free")


@lru_cache(maxsize=3)
def _order(limit: int | None, *, counts: bool) -> sa.Select[Any]:
    is_full: sa.ColumnElement[int] = _is_full() if counts else sa.literal_column("0")
    columns = (LANE.c.vtime, LANE.c.tenant, LANE.c.weight, LANE.c.cap)
    return (
        sa.select(is_full.label("is_full"), *columns, _foremost().label("foremost"))
        .where(
            LANE.c.has_work,
            access.is_present(WORKER),
            has_grant("tenant", LANE.c.tenant),
            ~is_off({"all": switches.EVERYTHING, "tenant": LANE.c.tenant}),
        )
        .order_by("is_full", LANE.c.vtime, LANE.c.tenant)
        .limit(limit)
    )


def _is_full() -> sa.ColumnElement[int]:
    at_work = (
        sa.select(CHUNK.c.tenant, sa.func.count().label("number"))
        .where(CHUNK.c.state == ChunkState.LEASED)
        .group_by(CHUNK.c.tenant)
        .cte("at_work")
        .prefix_with("MATERIALIZED")  # counted once for all lanes
    )
    number = sa.select(at_work.c.number).where(at_work.c.tenant == LANE.c.tenant)
    is_at_cap = sa.func.coalesce(number.scalar_subquery(), 0) >= LANE.c.cap
    return sa.case((LANE.c.cap.is_(None), 0), (is_at_cap, 1), else_=0)


@lru_cache(maxsize=64)
def _tops(count: int) -> sa.Select[Any]:
    names = (sa.bindparam(f"importer_{n}", type_=sa.String) for n in range(count))
    found = sa.union_all(*map(_top, names)).subquery()
    columns = sa.select(found.c.importer, found.c.rows)
    return columns.order_by(found.c.priority, found.c.batch)


@lru_cache(maxsize=64)
def _promising(count: int) -> sa.Select[Any]:
    names = (sa.bindparam(f"importer_{n}", type_=sa.String) for n in range(count))
    of_some = [_waits(LANE.c.tenant, CHUNK.c.importer == name) for name in names]
    some = sa.or_(*of_some, ~_waits(LANE.c.tenant))
    return sa.select(LANE.c.tenant).where(LANE.c.has_work, some)


def _top(importer: sa.ColumnElement[str]) -> sa.Select[Any]:
    first = (
        sa.select(CHUNK.c.importer, CHUNK.c.priority, CHUNK.c.batch, CHUNK.c.rows)
        .where(
            CHUNK.c.tenant == TENANT,
            CHUNK.c.importer == importer,
            CHUNK.c.state == ChunkState.QUEUED,
            has_grant("importer", importer),
            ~is_off({"importer": importer}),
        )
        .order_by(CHUNK.c.priority, CHUNK.c.batch, CHUNK.c.round, CHUNK.c.ordinal)
        .limit(1)
        .subquery()
    )
    return sa.select(first)


@lru_cache(maxsize=1)
def _reserving() -> sa.Update:
    as_read = _FREE.c.vtime == sa.bindparam("as_read", type_=sa.Float)
    return _setting(_free(as_read).scalar_subquery())


@lru_cache(maxsize=1)
def _correcting() -> sa.Update:
    return _setting(TENANT)


def _setting(tenant: Name) -> sa.Update:
    to = sa.bindparam("to", type_=sa.Float)
    return sa.update(LANE).where(LANE.c.tenant == tenant).values(vtime=to)


@lru_cache(maxsize=2)
def _charging(*, waits: bool) -> sa.Update:
    earliest = _foremost() - LAG
    start = sa.case((LANE.c.vtime < earliest, earliest), else_=LANE.c.vtime)
    cost = sa.bindparam("cost", type_=sa.Float)
    tenant: Name = TENANT if waits else _free().scalar_subquery()
    lane = sa.update(LANE).where(LANE.c.tenant == tenant)
    return lane.values(vtime=start + cost / LANE.c.weight)


@lru_cache(maxsize=1)
def _resting() -> sa.Update:
    lane = sa.update(LANE).where(LANE.c.tenant == TENANT, ~_waits(TENANT))
    return lane.values(has_work=sa.false())


def _free(*conditions: sa.ColumnElement[bool]) -> sa.Select[tuple[str]]:
    """Return the lane's tenant, locked; nothing where somebody is at it."""
    lane = sa.select(_FREE.c.tenant).where(_FREE.c.tenant == TENANT, *conditions)
    return lane.with_for_update(skip_locked=True)
