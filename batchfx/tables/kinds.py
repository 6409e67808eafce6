"""Whether a field's type and its column's type can hold the same values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

import sqlalchemy as sa

NAMES = {
    str: "text",
    int: "a number",
    float: "a number",
    Decimal: "a number",
    bool: "true or false",
    date: "a date",
    datetime: "a date with a time",
    time: "a time",
    UUID: "a UUID",
}

# Which other kinds of field a column of a kind takes unchanged.
ALSO = {
    "a number": {"true or false"},
    "a date with a time": {"a date"},
}


def mismatch(annotation: Any, column: sa.Column[Any]) -> tuple[str, str] | None:
    """Return what the field and the column hold when these are surely different.

    Types that an application made itself are taken on trust.
    """
    wanted = None if isinstance(column.type, sa.TypeDecorator) else _held(column)
    found = {NAMES[leaf] for leaf in _leaves(annotation) if leaf in NAMES}
    if wanted is None or len(found) != 1:
        return None
    (given,) = found
    if given == wanted or given in ALSO.get(wanted, set()):
        return None
    return given, wanted


def is_name(column: sa.Column[Any]) -> bool:
    """Tell whether a cell's text can be compared with the values of *column*."""
    if isinstance(column.type, sa.Enum | sa.Uuid):
        return False
    return isinstance(column.type, sa.String | sa.Integer | sa.TypeDecorator)


def is_bytes(column: sa.Column[Any]) -> bool:
    """Tell whether *column* holds bytes."""
    return isinstance(column.type, sa.LargeBinary)


def _held(column: sa.Column[Any]) -> str | None:
    if isinstance(column.type, sa.Enum):
        return None
    try:
        held = column.type.python_type
    except NotImplementedError:
        return None
    return NAMES.get(held)


def _leaves(annotation: Any) -> Iterator[Any]:
    """Yield the classes that *annotation* is made of, `None` left out."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    arguments = get_args(annotation)
    if not arguments:
        if annotation is not NoneType:
            yield annotation
        return
    for argument in arguments:
        yield from _leaves(argument)
