"""Values of a column as the database's driver takes them, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

FEW = (sa.Boolean, sa.Date)
"""Types whose values come again and again, and are the same when they are equal."""

REMEMBERED = 1 << 15  # days of 90 years


def bind(
    column: sa.Column[Any], dialect: Dialect, values: list[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    """Return *values* as the driver takes them, and the error of each that it can't."""
    process = _binder(column.type, dialect)
    if process is None:
        return values, {}
    try:
        return list(map(process, values)), {}
    except Exception:  # noqa: BLE001 - the application's type: found again below, by place
        return _bind_each(process, values)


def reader(column: sa.Column[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return what makes Python values of the driver's; None where they are the same."""
    return column.type.dialect_impl(dialect).result_processor(dialect, None)


def same(column: sa.Column[Any], dialect: Dialect) -> Callable[[Any, Any], bool]:
    """Return the test whether two values, as the driver has them, mean the same.

    Another program may have stored the value in another form ("2024-01-01 00:00").
    """
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
