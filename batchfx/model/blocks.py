"""Rows as they were read: text, in columns, with what is wrong with the record itself.

A block's frame has one text column for each column of the file, named by position
(``c0``, ``c1`` …, since names in files repeat and may be empty), and beside them

``row``
    the number a person sees: the sheet's row, or the physical line of the text file
    on which the record starts (UInt32).
``faults``
    null for a sound record, else a JSON list of `Fault`.
``kinds``
    null when every cell was text; else one character for each cell, as in `Kind`.

A null cell is a cell without content; blank records are not in blocks, only counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

import polars as pl

ROW = "row"
FAULTS = "faults"
KINDS = "kinds"

WARNINGS = frozenset({"possible_total"})  # codes of faults that spoil no record


class Kind(StrEnum):
    """What a typed source (a workbook, JSON) says a cell is."""

    TEXT = "t"
    NUMBER = "n"
    CODE = "c"  # a number that its sheet shows with more than its own digits
    PERCENT = "p"  # a number that is shown times 100, with a per cent sign
    DATE = "d"  # ISO 8601 text of a date, a time or both
    DURATION = "s"  # ISO 8601 text of a duration
    BOOLEAN = "b"  # "true" or "false"
    EMPTY = "-"
    MISSING = "~"  # the record says nothing of it: not even that it is empty


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a record, or with the cell *column* (by position) of it.

    *fields* keeps the record's cells as they were read when they don't fit the columns.
    """

    code: str
    message: str
    column: int | None = None
    value: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fields: tuple[str, ...] = ()


ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one each time
FAULT_FIELDS = tuple(each.name for each in fields(Fault))


def column_name(position: int) -> str:
    """Return a block's name for the file's column at *position*, counted from 0."""
    return f"c{position}"


def dump_faults(faults: Sequence[Fault]) -> str:
    """Return *faults* as the text that a block keeps; what is empty is left out."""
    entries = [
        {
            name: dict(value) if name == "parameters" else value
            for name in FAULT_FIELDS
            if (value := getattr(fault, name)) not in (None, (), {})
        }
        for fault in faults
    ]
    return ENCODER.encode(entries)


def load_faults(text: str) -> list[Fault]:
    """Return the faults that `dump_faults` wrote."""
    return [
        Fault(**{**entry, "fields": tuple(entry.get("fields", ()))})
        for entry in json.loads(text)
    ]


def block_schema(width: int) -> dict[str, pl.DataType]:
    """Return the names and types of the frame of a block with *width* columns."""
    cells: dict[str, pl.DataType] = {column_name(i): pl.String() for i in range(width)}
    return {ROW: pl.UInt32(), **cells, FAULTS: pl.String(), KINDS: pl.String()}


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of a source.

    *frame* follows `block_schema`. *blank* counts the blank records met on the way.
    *position* is where the reader stands after the block, as plain data: a reader that
    is given it goes on from there.
    """

    frame: pl.DataFrame
    blank: int
    position: Mapping[str, Any]
