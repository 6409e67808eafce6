"""Values as PostgreSQL's driver takes them for a column of another kind.

SQLite stores what it is given. PostgreSQL takes for a whole number no truth value, and
what it gives back compares only with a value of the column's own kind.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from math import isfinite
from types import NoneType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

Adapter = Callable[[Any], Any]
NUMBERS = (int, float, Decimal)


def adapt(kind: TypeEngine[Any], values: list[Any]) -> list[Any]:
    """Return *values* as values of *kind*; the same list where they are that."""
    if isinstance(kind, sa.DateTime):
        moment = partial(_moment, kind.timezone)
        return [moment(v) if isinstance(v, date) else v for v in values]
    for other, own, adapter in ADAPTERS:
        if isinstance(kind, other):
            return _adapted(values, own, adapter)
    return values


def _adapted(values: list[Any], own: set[type], adapter: Adapter) -> list[Any]:
    if own.issuperset(map(type, values)):
        return values
    return [adapter(v) if isinstance(v, NUMBERS) else v for v in values]


def in_utc(values: list[Any]) -> list[Any]:
    """Return *values* with moments that have a zone in UTC, so that equal ones are."""
    return [
        v.astimezone(UTC) if isinstance(v, datetime) and v.tzinfo else v for v in values
    ]


def _moment(zoned: bool, value: date) -> datetime:  # noqa: FBT001 - bound by `partial`
    """Return a moment with its zone, or without one; it is UTC where none is named."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if zoned:
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _whole(value: Any) -> Any:
    """Return a number without a fraction as an int; the database refuses others."""
    return int(value) if isfinite(value) and value == int(value) else value


def _exact(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else int(value)


# The first that fits; float is a kind of Numeric to SQLAlchemy.
ADAPTERS: tuple[tuple[type[TypeEngine[Any]], set[type], Adapter], ...] = (
    (sa.Integer, {int, NoneType}, _whole),
    (sa.Float, {float, NoneType}, float),
    (sa.Numeric, {Decimal, int, NoneType}, _exact),
)
