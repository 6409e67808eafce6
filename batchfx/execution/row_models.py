"""Row models for files that no class describes: columns of plain types, by name."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, create_model
from pydantic_core import PydanticCustomError

from batchfx.columns import Column
from batchfx.errors import SourceError, UsageError
from batchfx.model.blocks import Kind, column_name
from batchfx.model.names import folded
from batchfx.pipeline.headers import shorten
from batchfx.pipeline.kinds import reader_of
from batchfx.pipeline.plan import RowPlan, plan_of
from batchfx.pipeline.reading import Complaint

TEXT = "text"
TYPES: Mapping[str, Any] = {
    TEXT: str,
    "integer": int,
    "decimal": Decimal,
    "boolean": bool,
    "date": date,
    "time": time,
    "datetime": datetime,
    "duration": timedelta,
}
LEAVES = {  # what Pydantic calls the types that there are choices of
    "integer": "int",
    "decimal": "decimal",
    "boolean": "bool",
    "date": "date",
    "time": "time",
    "duration": "timedelta",
}
NAMES_SHOWN = 12
FREE = "free"  # the field for every column of which nothing is said


def stated_columns(written: str) -> dict[str, str]:
    """Return the type of each column of ``sku:text,qty:integer``.

    A name with a comma stands in quotes; a JSON object says the same.

    Raises:
        UsageError: A column has no type, a type is unknown, or a name comes twice.

    """
    pairs = _of_json(written) if written.lstrip().startswith("{") else _of_list(written)
    stated: dict[str, str] = {}
    for name, type_name in pairs:
        if not name or type_name not in TYPES:
            raise UsageError(_refused(name, type_name))
        if name in stated:
            message = f"The column '{name}' is given a type twice; say it once."
            raise UsageError(message)
        stated[name] = type_name
    return stated


def titles_of(header: Sequence[str]) -> tuple[str, ...]:
    """Return what each column is called; one without a name by its place, from 1."""
    return tuple(name or f"column {place}" for place, name in enumerate(header, 1))


def find_columns(names: Iterable[str], titles: Sequence[str]) -> dict[str, int]:
    """Return the place of each of the columns called *names*.

    By the exact name, else by one that differs in case, accents, blanks and punctuation
    only.

    Raises:
        SourceError: ``missing_column``, with all that the file doesn't have;
            ``duplicate_column`` when two of the file's could be meant.

    """
    exact, alike = _places(titles, str), _places(titles, folded)
    found: dict[str, int] = {}
    missing: list[str] = []
    for name in names:
        places = exact.get(name) or alike.get(folded(name), [])
        if len(places) > 1:
            raise _doubled(name, [titles[place] for place in places])
        if places:
            found[name] = places[0]
        else:
            missing.append(name)
    if missing:
        raise _missing(missing, titles)
    return found


def row_model(
    titles: Sequence[str],
    types: Mapping[int, str],
    required: Iterable[int] = (),
    choices: Mapping[int, tuple[str, ...]] | None = None,
) -> type[BaseModel]:
    """Return the model of rows with a field for each column of which something is said.

    Fields are named as in blocks. A column that isn't required may be empty.

    Raises:
        UsageError: There are choices for a column that is not text.

    """
    needed = set(required)
    choices = choices or {}
    fields: dict[str, Any] = {}
    for place in sorted({*types, *needed, *choices}):
        kind = _kind(titles[place], types.get(place, TEXT), choices.get(place))
        fields[column_name(place)] = (
            Annotated[kind if place in needed else kind | None, _column(titles[place])],
            ... if place in needed else None,
        )
    return create_model("Record", **fields)


def row_plan(titles: Sequence[str], model: type[BaseModel]) -> RowPlan:
    """Return the plan of rows with a field for each column, as *model* says, or text.

    Columns of text of which nothing is said share all that a plan consists of: a file
    may have thousands.
    """
    extended = create_model("Record", __base__=model, free=(str | None, None))
    return _spread(plan_of(extended), titles)


def _spread(plan: RowPlan, titles: Sequence[str]) -> RowPlan:
    """Return the plan with the one free field in the place of each column left."""
    free, schemas = plan.fields[FREE], plan.schema.fields
    names = [column_name(place) for place in range(len(titles))]
    shape = replace(
        plan.schema, fields={name: schemas.get(name, schemas[FREE]) for name in names}
    )
    fields = {
        name: plan.fields.get(name)
        or replace(free, name=name, column=_column(title), shape=shape)
        for name, title in zip(names, titles, strict=True)
    }
    return replace(plan, fields=fields, schema=shape)


def _column(title: str) -> Column:
    return Column(name=title if title.strip() else None)


def _kind(title: str, type_name: str, allowed: tuple[str, ...] | None) -> Any:
    if not allowed:
        return TYPES[type_name]
    if type_name == TEXT:
        return Literal[allowed]
    values = tuple(_value(title, type_name, each) for each in allowed)
    expected = (
        f"{', '.join(allowed[:-1])} or {allowed[-1]}" if allowed[1:] else allowed[0]
    )

    def chosen(value: Any) -> Any:
        if value in values:
            return value
        raise PydanticCustomError(
            "literal_error", "Input should be {expected}", {"expected": expected}
        )

    return Annotated[TYPES[type_name], AfterValidator(chosen)]


def _value(title: str, type_name: str, text: str) -> Any:
    """Return the value that a choice is, in the notation that needs no saying."""
    leaf = LEAVES.get(type_name)
    reader = leaf and reader_of({"type": leaf}, Column(), {})
    value = reader.read(text, Kind.TEXT) if reader else Complaint("", "")
    if not isinstance(value, Complaint):
        return value
    message = (
        f"The column '{title}' can't have the choice '{text}': its type is {type_name}."
    )
    if not leaf:
        message += " There are no choices of this type."
    raise UsageError(message)


def _of_json(written: str) -> list[tuple[str, str]]:
    try:
        stated = json.loads(written)
    except ValueError as error:
        message = f"The columns are no JSON: {error}."
        raise UsageError(message) from error
    return [(name, str(type_name)) for name, type_name in stated.items()]


def _of_list(written: str) -> list[tuple[str, str]]:
    entries = next(csv.reader([written], skipinitialspace=True), [])
    parts = (entry.rpartition(":") for entry in entries if entry.strip())
    return [(name.strip(), type_name.strip()) for name, _, type_name in parts]


def _refused(name: str, type_name: str) -> str:
    possible = ", ".join(TYPES)
    if not name:
        return (
            f"'{type_name}' is no column with a type: write NAME:TYPE, with one of the "
            f"types {possible}."
        )
    near = difflib.get_close_matches(type_name, TYPES, n=1)
    meant = f" Is '{near[0]}' meant?" if near else ""
    return (
        f"'{type_name}' of the column '{name}' is no type.{meant} There are: "
        f"{possible}."
    )


def _places(titles: Sequence[str], fold: Any) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        places.setdefault(fold(title), []).append(place)
    return places


def _missing(names: Sequence[str], titles: Sequence[str]) -> SourceError:
    listed = ", ".join(f"'{shorten(name)}'" for name in names)
    shown = ", ".join(f"'{shorten(title)}'" for title in titles[:NAMES_SHOWN])
    more = len(titles) - NAMES_SHOWN
    rest = f" and {more:,} more" if more > 0 else ""
    noun = "column" if len(names) == 1 else "columns"
    message = f"The file has no {noun} {listed}. It has: {shown}{rest}."
    return SourceError("missing_column", message, names=list(names))


def _doubled(name: str, found: Sequence[str]) -> SourceError:
    listed = " and ".join(f"'{shorten(title)}'" for title in found)
    message = (
        f"The columns {listed} could both be '{shorten(name)}'. Rename or remove all "
        "but one of them."
    )
    return SourceError("duplicate_column", message, names=list(found))
