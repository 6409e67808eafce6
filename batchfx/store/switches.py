"""Kill switches: an operator turns them, every claim and renewal reads them.

They are read in the very statement that claims, so a switch that can't be read lets
nothing be claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.switches import SwitchScope
from batchfx.store.engine import now_epoch
from batchfx.store.inserts import insert_into
from batchfx.store.schema import BATCH, SWITCH

EVERYTHING = ""
"""The name of the one switch whose scope is everything."""

Name = sa.ColumnElement[str] | str


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch as it was turned last; *changed_at* is in seconds since 1970-01-01."""

    scope: SwitchScope
    name: str
    is_off: bool
    reason: str
    changed_by: str
    changed_at: float


def turn(
    connection: Connection,
    scope: SwitchScope,
    name: str,
    *,
    is_off: bool,
    reason: str,
    who: str,
) -> None:
    """Turn the switch *name* of *scope*; every claim from now on reads it so.

    The transaction must be a writing one.
    """
    values = {
        "is_off": is_off,
        "reason": reason,
        "changed_by": who,
        "changed_at": now_epoch(),
    }
    insert = insert_into(connection, SWITCH).values(scope=scope, name=name, **values)
    connection.execute(
        insert.on_conflict_do_update(index_elements=["scope", "name"], set_=values)
    )


def listing(connection: Connection) -> Sequence[Switch]:
    """Return every switch that was ever turned, those that are off first."""
    ordered = sa.select(SWITCH).order_by(
        SWITCH.c.is_off.desc(), SWITCH.c.scope, SWITCH.c.name
    )
    return [
        Switch(**{**row._mapping, "scope": SwitchScope(row.scope)})  # noqa: SLF001 - SQLAlchemy's public accessor
        for row in connection.execute(ordered)
    ]


def holding(connection: Connection, tenant: str, importer: str) -> Switch | None:
    """Return a switch that holds back *importer*'s work for *tenant*, the widest."""
    places = [
        (SwitchScope.ALL, EVERYTHING),
        (SwitchScope.TENANT, tenant),
        (SwitchScope.IMPORTER, importer),
    ]
    off = {(each.scope, each.name): each for each in listing(connection) if each.is_off}
    return next((off[place] for place in places if place in off), None)


def is_known(connection: Connection, scope: SwitchScope, name: str) -> bool:
    """Tell whether a batch is of that tenant or importer; True for other scopes."""
    column = {
        SwitchScope.TENANT: BATCH.c.tenant,
        SwitchScope.IMPORTER: BATCH.c.importer,
    }
    if scope not in column:
        return True
    batch = sa.select(BATCH.c.id).where(column[scope] == name).limit(1)
    return connection.execute(batch).first() is not None


def is_on(tenant: Name, importer: Name) -> sa.ColumnElement[bool]:
    """Return as SQL whether no switch holds back *importer*'s work for *tenant*."""
    return sa.and_(
        _is_on(SwitchScope.ALL, EVERYTHING),
        _is_on(SwitchScope.TENANT, tenant),
        _is_on(SwitchScope.IMPORTER, importer),
    )


def effect_is_on(name: Name) -> sa.ColumnElement[bool]:
    """Return as SQL whether no switch holds back effects called *name*."""
    return sa.and_(
        _is_on(SwitchScope.ALL, EVERYTHING), _is_on(SwitchScope.EFFECT, name)
    )


def _is_on(scope: SwitchScope, name: Name) -> sa.ColumnElement[bool]:
    # One look-up by the whole primary key each, whatever statement it stands in; and
    # where nothing of it depends on a row, the database evaluates it once.
    off = (
        sa.select(sa.literal_column("1", sa.Integer))
        .select_from(SWITCH)
        .where(SWITCH.c.scope == scope, SWITCH.c.name == name, SWITCH.c.is_off)
        .correlate_except(SWITCH)
    )
    return ~off.exists()
