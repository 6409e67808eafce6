"""Records of JSON into blocks of text columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

import polars as pl

from batchfx.errors import SourceError
from batchfx.files.cell_texts import checked, shown
from batchfx.files.json_records import Step
from batchfx.files.json_text import Place, Text
from batchfx.files.json_values import (
    FLAT,
    NULL,
    Flaw,
    Laid,
    TooDeepError,
    cell,
    fault_of,
    json_text,
    lay_out,
    number_text,
    too_deep,
)
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Block,
    Fault,
    Kind,
    block_schema,
    column_name,
    dump_faults,
)
from batchfx.model.sources import Layout

CELLS = 20_000_000  # of one block: one with very many columns has fewer rows


class Missing:
    """Stands for the cell of a name that a record has not."""


MISSING = Missing()
KIND_OF: Mapping[type, str] = {
    Missing: Kind.MISSING.value,
    str: Kind.TEXT.value,
    bytes: Kind.NUMBER.value,
    bool: Kind.BOOLEAN.value,
    NULL: Kind.EMPTY.value,
}
PLAIN_KINDS = Kind.TEXT + Kind.EMPTY  # of rows that need no kinds
WORDS = {True: "true", False: "false"}
VOID = (None, "")


@dataclass(frozen=True)
class Table:
    """What the records are laid out in.

    *keys* are the names of the cells of an object, or the places of those of a list;
    *required* is how many of these a list must have. Rows are numbered by their line,
    or *by_record*.
    """

    keys: Sequence[Any]
    shape: type
    required: int = 0
    by_record: bool = False

    @classmethod
    def of(cls, layout: Layout) -> Table:
        """Return the table that *layout* says."""
        header, settings = layout.header, layout.settings
        by_record = settings["numbered"] == "record"
        if settings["shape"] == "objects":
            return cls(header, dict, by_record=by_record)
        required = max(place for place, name in enumerate(header, 1) if name)
        return cls(range(len(header)), list, required, by_record)

    def rows(self, wanted: int) -> int:
        """Return how many rows a block has when *wanted* are asked for."""
        return min(wanted, max(CELLS // max(len(self.keys), 1), 1))


class Column(NamedTuple):
    """The cells of one column; *kinds* has one character for each, or one for all."""

    values: pl.Series
    kinds: str
    faults: Sequence[tuple[int, Fault]] = ()


def blocks(
    steps: Iterator[Step], text: Text, table: Table, rows: int, record: int = 0
) -> Iterator[Block]:
    """Cut records into blocks of *rows*; the last may be shorter.

    *record* records came before. What damage the text has is raised behind the records
    before it.
    """
    rows = table.rows(rows)
    batch, damage = _Batch(table), None
    while True:
        try:
            step = next(steps, None)
        except SourceError as error:
            damage, step = error, None
        if step is None:
            break
        line, value, mark = step
        record = mark.record + 1
        if not value and type(value) in {dict, table.shape}:
            batch.blank += 1
            continue
        if len(batch.values) == rows:
            yield batch.block(text.place(mark))
            batch = _Batch(table)
        batch.numbers.append(record if table.by_record else line)
        batch.values.append(value)
    if batch.values or batch.blank:
        yield batch.block(text.kept(record))
    if damage:
        raise damage


@dataclass
class _Batch:
    """Records that are to be a block."""

    table: Table
    numbers: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    blank: int = 0

    def block(self, after: Place) -> Block:
        records, faults = self._laid_out()
        columns = [
            _column([record.get(key, MISSING) for record in records])
            for key in self.table.keys
        ]
        for place, column in enumerate(columns):
            for index, fault in column.faults:
                faults[index].append(replace(fault, column=place))
        texts = {column_name(i): each.values for i, each in enumerate(columns)}
        height = len(records)
        frame = pl.DataFrame(
            {
                ROW: self.numbers,
                **texts,
                FAULTS: [
                    dump_faults(faults[index]) if index in faults else None
                    for index in range(height)
                ],
                KINDS: _row_kinds(columns, height),
            },
            schema=block_schema(len(columns)),
        )
        return Block(frame, self.blank, after.dump())

    def _laid_out(self) -> tuple[list[dict[Any, Any]], dict[int, list[Fault]]]:
        """Return the records as flat cells, and what is wrong with which of them."""
        known = frozenset(self.table.keys)
        places = {key: place for place, key in enumerate(self.table.keys)}
        records = self.values
        faults: dict[int, list[Fault]] = defaultdict(list)
        for index, value in enumerate(records):
            if (
                type(value) is dict
                and known.issuperset(value)
                and FLAT.issuperset(map(type, value.values()))
            ):
                continue
            laid = _lay_out(value, self.table)
            records[index] = laid.cells
            for flaw in laid.flaws:
                faults[index].append(fault_of(flaw, places.get(flaw.name)))
        return records, faults


def _lay_out(value: Any, table: Table) -> Laid:
    if isinstance(value, Flaw):
        return Laid({}, (value,))
    return lay_out(value) if table.shape is dict else lay_out_list(value, table)


def _column(cells: list[Any]) -> Column:
    types = set(map(type, cells))
    kinds = (
        KIND_OF[types.pop()]
        if len(types) == 1
        else "".join(map(KIND_OF.__getitem__, map(type, cells)))
    )
    if Kind.MISSING in kinds:
        cells = [None if each is MISSING else each for each in cells]
    if not set(kinds) & {Kind.NUMBER, Kind.BOOLEAN}:
        return _texts(cells, kinds)
    if not set(kinds) & {Kind.TEXT, Kind.BOOLEAN}:
        return Column(_numbers(cells), kinds)
    texts = [
        number_text(cell.decode()) if isinstance(cell, bytes) else WORDS.get(cell, cell)
        for cell in cells
    ]
    return _texts(texts, kinds)


def _texts(cells: list[str | None], kinds: str) -> Column:
    values, faults = checked(cells)
    return Column(values, kinds, faults)


def _numbers(cells: list[bytes | None]) -> pl.Series:
    numbers = pl.Series(cells, dtype=pl.Binary).cast(pl.String)
    exponents = numbers.str.contains("[eE]").fill_null(value=False)
    if not exponents.any():
        return numbers
    return pl.Series(
        [each and number_text(each) for each in numbers.to_list()], dtype=pl.String
    )


def _row_kinds(columns: Sequence[Column], height: int) -> Sequence[str | None]:
    """Return the kinds of each row's cells, or None where all are text or empty."""
    if all(len(column.kinds) == 1 for column in columns):
        kinds = "".join(column.kinds for column in columns)
        return [kinds if kinds.strip(PLAIN_KINDS) else None] * height
    each = (repeat(c.kinds) if len(c.kinds) == 1 else c.kinds for c in columns)
    rows = map("".join, zip(*each, strict=False))
    return [kinds if kinds.strip(PLAIN_KINDS) else None for kinds in rows]


def lay_out_list(value: Any, table: Table) -> Laid:
    """Return the cells of a record that is a list, by their places."""
    if not isinstance(value, list):
        message = "This record is no list of cells like the others."
        return Laid({}, (Flaw(None, "not_a_list", message),))
    width = len(table.keys)
    flaws: list[Flaw] = []
    try:
        cells = [cell(place, each, flaws) for place, each in enumerate(value)]
    except TooDeepError:
        return Laid({}, (too_deep(),))
    if len(cells) < table.required or any(each not in VOID for each in cells[width:]):
        message = (
            f"This record has {len(cells)} cells where the header has {width} columns."
        )
        return Laid({}, (Flaw(None, "field_count", message, shown(json_text(value))),))
    return Laid(dict(enumerate(cells[:width])), tuple(flaws))
