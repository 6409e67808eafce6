"""Stored rows of a sheet into blocks of text columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import polars as pl

from batchfx.files.subtotals import SIGN
from batchfx.files.xlsx_batches import (
    BLOCK_TEXT_LIMIT,
    Batch,
    batches,
    refuse_block,
)
from batchfx.files.xlsx_cells import Cells, Column
from batchfx.files.xlsx_faults import row_faults
from batchfx.files.xlsx_notes import Profile, Record, judged, records_of
from batchfx.files.xlsx_references import (
    Range,
    TwiceError,
    column_indexes,
    column_letters,
)
from batchfx.files.xlsx_rows import StoredRow
from batchfx.files.xlsx_stretches import Stretch
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Block,
    Kind,
    block_schema,
    column_name,
    dump_faults,
)
from batchfx.model.garbage import uncollected

CACHED_PLACES = 4096
IGNORED = -1  # the place of a cell that is no matter
UNKNOWN = Profile()
PLAIN_KINDS = Kind.TEXT + Kind.EMPTY  # of rows that need no kinds


class Table:
    """The columns of a sheet that are read, by index from 0, ascending.

    What stands in an *ignored* column is no matter at all.
    """

    def __init__(self, columns: Sequence[int], ignored: Iterable[int] = ()) -> None:
        self.width = len(columns)
        self._letters = tuple(map(column_letters, columns))
        self._place = dict.fromkeys(ignored, IGNORED)
        self.ignores = bool(self._place)
        self._place |= {column: place for place, column in enumerate(columns)}
        self.places = lru_cache(CACHED_PLACES)(self._places)

    def place(self, column: int) -> int | None:
        """Return the position in a block of the sheet's *column*."""
        place = self._place.get(column)
        return None if place == IGNORED else place

    def _places(self, letters: tuple[str, ...]) -> tuple[int | None, ...] | None:
        """Return the place of each cell of a row; None if they are just the table's."""
        if letters == self._letters:
            return None
        return tuple(map(self._place.get, column_indexes(letters)))


class Fill(NamedTuple):
    """A cell that is merged downward, as long as its rows last."""

    last_row: int
    attributes: str
    stored: str


@dataclass(slots=True)
class Fills:
    """Gives the cells below the top of a vertical merge the top's content."""

    merges: list[tuple[int, int, int]]  # first row, place, last row; ascending
    _next: int = 0
    _active: dict[int, Fill] = field(default_factory=dict)

    def apply(self, record: Record) -> Record:
        """Return *record* with its merged cells filled; records must be ascending."""
        attributes, stored = list(record.attributes), list(record.stored)
        for place, fill in list(self._active.items()):
            if record.number > fill.last_row:
                del self._active[place]
            elif not stored[place]:
                attributes[place] = fill.attributes.removesuffix(SIGN)
                stored[place] = fill.stored
        while (
            self._next < len(self.merges)
            and self.merges[self._next][0] <= record.number
        ):
            first, place, last = self.merges[self._next]
            self._next += 1
            if first == record.number:
                self._active[place] = Fill(last, attributes[place], stored[place])
        return record._replace(attributes=attributes, stored=stored)


def make_fills(merges: Iterable[Range], table: Table, header_row: int) -> Fills:
    """Return the fills of the *merges* that reach downward below the header."""
    down = (
        (merge.first_row, table.place(merge.first_column), merge.last_row)
        for merge in merges
        if header_row < merge.first_row < merge.last_row
    )
    return Fills(sorted((a, place, b) for a, place, b in down if place is not None))


def records(
    rows: Iterable[StoredRow | Stretch],
    table: Table,
    cells: Cells,
    fills: Fills,
    after: int,
) -> Iterator[Record | Stretch]:
    """Yield the records of *rows* beyond row *after*; blank ones are left out.

    Stretches must have the columns of the table, and nothing is filled in them.
    """
    for row in rows:
        if isinstance(row, Stretch):
            yield from _shown(row, cells, after)
        elif row.number > after or fills.merges:
            record = _record(row, table, cells)
            if record and fills.merges:
                record = fills.apply(record)
            if record and row.number > after:
                yield record


def _shown(stretch: Stretch, cells: Cells, after: int) -> Iterator[Record | Stretch]:
    """Yield a stretch as it is, if surely no row of it is blank, or its records."""
    if stretch.last <= after:
        return
    columns = zip(stretch.attributes, stretch.stored, strict=True)
    if stretch.first > after and any(cells.is_full(*column) for column in columns):
        yield stretch
        return
    for record in records_of(stretch):
        blank = record.number <= after or cells.is_blank(*record[1:3])
        if not blank:
            yield record


def _record(row: StoredRow, table: Table, cells: Cells) -> Record | None:
    number, letters, attributes, stored = row
    if cells.is_blank(attributes, stored):
        return None
    try:
        places = table.places(letters)
    except TwiceError as error:
        raise error.in_row(number) from None
    if places is None:
        return Record(number, attributes, stored)
    record = _laid_out(row, places, table.width)
    return None if table.ignores and _is_beside(record, cells) else record


def blocks(
    found: Iterable[Record | Stretch],
    table: Table,
    cells: Cells,
    rows: int,
    after: int,
    *,
    profile: Profile = UNKNOWN,
    noted: bool = False,
    skipped: Sequence[int] = (),
) -> Iterator[Block]:
    """Cut records into blocks of *rows*; the last may be shorter.

    The sheet's rows between records count as blank, stored or not; those after the
    last record don't. Totals and notes below the table are no records (`judged`).

    Args:
        found: The records beyond row *after*.
        table: Their columns.
        cells: Reads them.
        rows: Records in a block.
        after: The row that was read last, or that of the header.
        profile: What the table's first records are like.
        noted: That row was a note below the table, says its position.
        skipped: Rows that are left out and not counted, ascending.

    """
    source = judged(found, profile, cells, after, noted=noted)
    gathered = batches(source, table.width, rows)
    while True:
        with uncollected():
            batch = next(gathered, None)
            if batch is None:
                return
            block = _block(batch, table, cells, _between(batch, after, skipped))
        after = batch.numbers[-1]
        yield block


def _between(batch: Batch, after: int, skipped: Sequence[int]) -> int:
    """Return how many rows between those of *batch* are blank."""
    last = batch.numbers[-1]
    left_out = bisect_right(skipped, last) - bisect_right(skipped, after)
    return last - after - batch.height - left_out


def _is_beside(record: Record, cells: Cells) -> bool:
    """Tell whether a row has content in ignored columns only."""
    return not record.outside and cells.is_blank(record.attributes, record.stored)


def _laid_out(row: StoredRow, places: Sequence[int | None], width: int) -> Record:
    attributes, stored = [""] * width, [""] * width
    outside: list[tuple[str, str, str]] = []
    _, letters, own_attributes, texts = row
    for place, name, attribute, text in zip(
        places, letters, own_attributes, texts, strict=True
    ):
        if place is None:
            outside.append((name, attribute, text))
        elif place != IGNORED:
            attributes[place] = attribute
            stored[place] = text
    return Record(row.number, attributes, stored, tuple(outside))


def _block(batch: Batch, table: Table, cells: Cells, blank: int) -> Block:
    pairs = zip(batch.attributes, batch.stored, strict=True)
    columns = [cells.column(*pair) for pair in pairs]
    _check_size(columns)
    texts = {
        column_name(place): pl.Series(column.values, dtype=pl.String)
        for place, column in enumerate(columns)
    }
    faults = row_faults(batch.odd, columns, texts, cells)
    dumped: list[str | None] = [None] * batch.height
    for index, found in faults.items():
        dumped[index] = dump_faults(found)
    kinds = _row_kinds(columns, batch.height)
    frame = pl.DataFrame(
        {ROW: batch.numbers, **texts, FAULTS: dumped, KINDS: kinds},
        schema=block_schema(table.width),
    )
    noted = {"noted": True} if batch.ends_noted else {}
    return Block(frame, blank=blank, position={"row": batch.numbers[-1], **noted})


def _check_size(columns: Sequence[Column]) -> None:
    """Refuse a block that a short file with one long shared text could make huge."""
    filled = (filter(None, column.values) for column in columns)
    if sum(sum(map(len, values)) for values in filled) > BLOCK_TEXT_LIMIT:
        refuse_block()


def _row_kinds(columns: Sequence[Column], height: int) -> Sequence[str | None]:
    """Return the kinds of each row's cells, or None where all are text or empty."""
    if all(len(column.kinds) == 1 for column in columns):
        kinds = "".join(column.kinds for column in columns)
        return [kinds if kinds.strip(PLAIN_KINDS) else None] * height
    each = (repeat(c.kinds) if len(c.kinds) == 1 else c.kinds for c in columns)
    rows = map("".join, zip(*each, strict=False))
    return [kinds if kinds.strip(PLAIN_KINDS) else None for kinds in rows]
