"""Row models for files that no class describes: columns of plain types, by name."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, create_model

from batchfx.columns import Column
from batchfx.errors import SourceError, UsageError
from batchfx.model.blocks import column_name
from batchfx.pipeline.headers import shorten
from batchfx.pipeline.likeness import folded

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
NAMES_SHOWN = 12


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
    """Return the model of rows with a field for each column, named as in blocks.

    A column without a type is text; one that isn't required may be empty.

    Raises:
        UsageError: There are choices for a column that is not text.

    """
    needed = set(required)
    choices = choices or {}
    fields: dict[str, Any] = {}
    for place, title in enumerate(titles):
        kind = _kind(title, types.get(place, TEXT), choices.get(place))
        column = Column(name=title if title.strip() else None)
        is_needed = place in needed
        fields[column_name(place)] = (
            Annotated[kind if is_needed else kind | None, column],
            ... if is_needed else None,
        )
    return create_model("Record", **fields)


def _kind(title: str, type_name: str, allowed: tuple[str, ...] | None) -> Any:
    if not allowed:
        return TYPES[type_name]
    if type_name != TEXT:
        message = (
            f"The column '{title}' has choices, which are texts, but its type is "
            f"{type_name}. Leave one of the two out."
        )
        raise UsageError(message)
    return Literal[allowed]


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
