"""What an importer expects in a file: its columns, for a person and for machines."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import enum
import io
import types
import typing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pydantic

from batchfx.importer import Importer

KINDS: dict[Any, str] = {
    bool: "yes or no",
    int: "whole number",
    float: "number",
    decimal.Decimal: "decimal number",
    dt.datetime: "date and time",
    dt.date: "date",
    dt.time: "time of day",
    dt.timedelta: "duration",
    uuid.UUID: "UUID",
    str: "text",
    pydantic.EmailStr: "e-mail address",
    pydantic.AnyUrl: "URL",
    pydantic.PastDate: "date in the past",
    pydantic.FutureDate: "date in the future",
    pydantic.PastDatetime: "date and time in the past",
    pydantic.FutureDatetime: "date and time in the future",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """A field as a file must have it."""

    field: str
    header: str
    aliases: tuple[str, ...]
    type: str
    required: bool
    unique: bool
    format: str | None
    example: str | None


def expected(importer: type[Importer[Any]]) -> list[Expected]:
    """Return the fields of *importer* in the order of its row model."""
    found: list[Expected] = []
    for name, field in importer.row_model.model_fields.items():
        column = importer.columns[name]
        kind = kind_of(field.annotation)
        lookup = column.lookup
        found.append(
            Expected(
                field=name,
                header=column.header(name),
                aliases=tuple(column.aliases),
                type=kind if lookup is None else f"existing {lookup}",
                required=field.is_required(),
                unique=column.unique,
                format=column.format,
                example=column.example,
            )
        )
    return found


def kind_of(annotation: Any) -> str:
    """Return what a value of the type is called."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return kind_of(arguments[0])
    if origin is typing.Literal:
        return _one_of(arguments)
    if origin in {typing.Union, types.UnionType}:
        kinds = [kind_of(each) for each in arguments if each is not types.NoneType]
        return " or ".join(dict.fromkeys(kinds))
    if isinstance(annotation, type):
        return _kind_of_class(annotation)
    return str(annotation)


def _kind_of_class(kind: type[Any]) -> str:
    if kind in KINDS:
        return KINDS[kind]
    if issubclass(kind, enum.Enum):
        return _one_of([member.value for member in kind])
    known = next((name for base, name in KINDS.items() if issubclass(kind, base)), None)
    return known or kind.__name__


def _one_of(values: typing.Iterable[Any]) -> str:
    return "one of " + ", ".join(str(value) for value in values)


def template(
    importer: type[Importer[Any]], headers: Mapping[str, str] | None = None
) -> str:
    """Return CSV with the headers and, where columns have examples, one row of them.

    With *headers*, columns by field, the file has those columns and no others.
    """
    fields = expected(importer)
    if headers is not None:
        fields = [
            replace(each, header=headers[each.field])
            for each in fields
            if each.field in headers
        ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([each.header for each in fields])
    if any(each.example for each in fields):
        writer.writerow([each.example or "" for each in fields])
    return text.getvalue()


def summary_of(importer: type[Importer[Any]]) -> str:
    """Return the first line of the importer's docstring."""
    return next(iter((importer.__doc__ or "").strip().splitlines()), "")
