"""Values of a column as the database's driver takes them, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from batchfx.tables.adapting import adapt, in_utc

FEW = (sa.Boolean, sa.Date)
"""Types whose values come again and again, and are the same when they are equal."""

REMEMBERED = 1 << 15  # days of 90 years
NUMERIC = 1700
"""The number of PostgreSQL's type numeric, whose values its driver gives as Decimal."""


def bind(
    column: sa.Column[Any], dialect: Dialect, values: list[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    """Return *values* as the driver takes them, and the error of each that it can't."""
    if isinstance(column.type, sa.DateTime):
        values = in_utc(values)  # a column without zones, as all of SQLite, drops them
    bound, errors = _processed(_binder(column.type, dialect), values)
    if dialect.name == "postgresql":
        bound = adapt(_below(column.type.dialect_impl(dialect)), bound)
    return bound, errors


def reader(column: sa.Column[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return what makes Python values of the driver's; None where they are the same."""
    number = NUMERIC if dialect.name == "postgresql" else None
    return column.type.dialect_impl(dialect).result_processor(dialect, number)


def same(column: sa.Column[Any], dialect: Dialect) -> Callable[[Any, Any], bool]:
    """Return the test whether two values, as the driver has them, mean the same.

    Another program may have stored the value in another form ("2024-01-01 00:00").
    """
    if dialect.name == "postgresql":
        if isinstance(column.type, sa.CHAR):
            return lambda one, other: _bare(one) == _bare(other)
        return _same_there(_below(column.type.dialect_impl(dialect)))
    read = reader(column, dialect)
    if read is None or isinstance(column.type, sa.Numeric):
        return lambda one, other: bool(one == other)
    return lambda one, other: bool(one == other or read(one) == read(other))


def record_ids(
    key: Sequence[sa.Column[Any]], dialect: Dialect, keys: Sequence[tuple[Any, ...]]
) -> list[str]:
    """Return each primary key, values as the driver has them, as text."""
    readers = [reader(column, dialect) for column in key]
    if len(key) == 1 and readers[0] is None:
        return [str(value) for (value,) in keys]
    return [
        ",".join(
            str(value if read is None else read(value))
            for value, read in zip(values, readers, strict=True)
        )
        for values in keys
    ]


@lru_cache(maxsize=256)
def _binder(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    process = kind.dialect_impl(dialect).bind_processor(dialect)
    if process is None or not isinstance(kind, FEW):
        return process
    return lru_cache(maxsize=REMEMBERED)(process)


def _below(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type that an application's own type is made from."""
    return kind.impl_instance if isinstance(kind, sa.TypeDecorator) else kind


def _same_there(kind: TypeEngine[Any]) -> Callable[[Any, Any], bool]:
    """Return the test whether a value is the same as one that PostgreSQL gave.

    It rounds numbers, and the driver makes objects of some values, such as UUIDs and
    addresses, that it takes as text.
    """
    if isinstance(kind, sa.Numeric) and kind.scale is not None:
        step = Decimal(1).scaleb(-kind.scale)

        def same_number(one: Any, other: Any) -> bool:
            if not isinstance(one, Decimal) or not one.is_finite():
                return bool(one == other)
            return bool(one == other or one.quantize(step, ROUND_HALF_UP) == other)

        return same_number
    return lambda one, other: bool(
        # The driver's wrappers, as of JSON, have the value itself as their obj.
        getattr(one, "obj", one) == other
        or (isinstance(one, str) and other is not None and str(other) == one)
    )


def _bare(text: str | None) -> str | None:
    """Return a text of a fixed length without what PostgreSQL fills it up with."""
    return None if text is None else text.rstrip(" ")


def _processed(
    process: Callable[[Any], Any] | None, values: list[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    if process is None:
        return values, {}
    try:
        return list(map(process, values)), {}
    except Exception:  # noqa: BLE001 - the application's type: found again below, by place
        return _bind_each(process, values)


def _bind_each(
    process: Callable[[Any], Any], values: list[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    bound: list[Any] = []
    errors: dict[int, Exception] = {}
    for place, value in enumerate(values):
        try:
            bound.append(process(value))
        except Exception as error:  # noqa: BLE001 - the application's type: this row's error
            bound.append(None)
            errors[place] = error
    return bound, errors
