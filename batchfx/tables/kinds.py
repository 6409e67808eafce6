"""Whether a field's type and its column's type can hold the same values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
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

# What a text is read into that may be written in several ways.
READ = (*NAMES, timedelta, bytes)

# Which other kinds of field a column of a kind takes unchanged.
ALSO = {
    "a number": {"true or false"},
    "a date with a time": {"a date"},
}

UNSOUGHT = {sa.LargeBinary: "bytes", sa.JSON: "JSON", sa.ARRAY: "arrays"}


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


def misread(annotation: Any, column: sa.Column[Any]) -> tuple[str, str] | None:
    """Return the types of a look-up's field and of its *column* where they differ.

    007 and 7 are one number but two texts: a name must be read as exactly what the
    column holds, in every choice of the field's type.
    """
    held = _python_type(column)
    if held not in NAMES:
        return None
    for leaf in _leaves(annotation):
        is_known = isinstance(leaf, type) and not issubclass(leaf, Enum)
        if is_known and leaf is not held and any(map(leaf.__mro__.count, READ)):
            return leaf.__name__, held.__name__
    return None


def is_name(column: sa.Column[Any]) -> bool:
    """Tell whether a cell's text can be compared with the values of *column*."""
    if isinstance(column.type, sa.Enum | sa.Uuid):
        return False
    return isinstance(column.type, sa.String | sa.Integer | sa.TypeDecorator)


def unsought(column: sa.Column[Any]) -> str | None:
    """Return what *column* holds when no record can be found by its values."""
    found = (name for kind, name in UNSOUGHT.items() if isinstance(column.type, kind))
    return next(found, None)


def _held(column: sa.Column[Any]) -> str | None:
    if isinstance(column.type, sa.Enum):
        return None
    return NAMES.get(_python_type(column))


def _python_type(column: sa.Column[Any]) -> Any:
    try:
        return column.type.python_type
    except NotImplementedError:
        return None


def _leaves(annotation: Any) -> Iterator[Any]:
    """Yield the classes that *annotation* is made of, `None` left out."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    annotation = getattr(annotation, "__value__", annotation)  # of a type alias
    annotation = getattr(annotation, "__supertype__", annotation)  # of a NewType
    arguments = get_args(annotation)
    if not arguments:
        if annotation is not NoneType:
            yield annotation
        return
    for argument in arguments:
        yield from _leaves(argument)
