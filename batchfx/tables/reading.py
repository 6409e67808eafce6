"""The validated rows of a chunk, as the driver takes them."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from itertools import compress
from types import NoneType
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from batchfx.pipeline.validate import Validated
from batchfx.tables import driver
from batchfx.tables.declaration import TableImporter
from batchfx.tables.ledger import Ledger

TEXT = {str, NoneType}
NUL = "\0"


def read_rows(
    importer: type[TableImporter[Any]],
    validated: Validated,
    mask: pl.Series,
    mapped: Collection[str],
    dialect: Dialect,
) -> tuple[Ledger, dict[int, Exception]]:
    """Return the rows of *mask*, and the error of each that the driver can't take."""
    target = importer.target
    picks = None if mask.all() else mask.to_list()
    cells = {
        name: values if picks is None else list(compress(values, picks))
        for name in target.columns
        for values in [validated.values(name)]
    }
    values: dict[str, list[Any]] = {}
    errors: dict[int, Exception] = {}
    for name, typed in cells.items():
        lookup = target.lookups.get(name)
        column = target.columns[name] if lookup is None else lookup.attribute
        values[name], found = driver.bind(column, dialect, _plain(column, typed))
        errors |= found
    ledger = Ledger(
        target=target,
        columns=importer.columns,
        numbers=validated.numbers.filter(mask).to_list(),
        cells=cells,
        values=values,
        mapped=frozenset(mapped),
        missing={
            name: each.filter(mask).arg_true().to_list()
            for name, each in validated.missing.items()
            if name in target.columns
        },
    )
    return ledger, errors


def require_storable(ledger: Ledger) -> None:
    """Accuse the rows with a NUL in a text, which PostgreSQL can't store.

    A name to look up is only compared: no record has it.
    """
    for name, values in ledger.values.items():
        if name in ledger.target.lookups or not TEXT.issuperset(map(type, values)):
            continue
        if NUL not in "".join(filter(None, values)):
            continue
        message = (
            "It holds the character NUL (U+0000), which PostgreSQL can't store in a "
            "text. Remove it from the file."
        )
        for place in [p for p, value in enumerate(values) if value and NUL in value]:
            ledger.accuse(place, ledger.issue(place, "nul_character", name, message))


def _plain(column: sa.Column[Any], values: list[Any]) -> list[Any]:
    """Return what a text column takes of values that are no text, such as a URL."""
    if not isinstance(column.type, sa.String) or isinstance(column.type, sa.Enum):
        return values
    if TEXT.issuperset(map(type, values)):
        return values
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)
