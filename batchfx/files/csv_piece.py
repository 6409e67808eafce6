"""The records of one piece of delimited text, fast.

Lines go different ways by what can be seen of them at once. Bare lines with the right
number of delimiters are split by Polars, well-formed quoted ones by the `csv` module,
all of a piece in one call. Whatever else a line may be goes the careful way of
`batchfx.files.csv_record`, which defines what a record is; those go first, since only
their records may take lines away from others.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from batchfx.files.csv_judge import AROUND, judge
from batchfx.files.csv_notes import BLANKS, MAYBE, MAYBE_RULER
from batchfx.files.csv_plan import (
    CSV_LIMIT,
    LINE,
    R_BLANK,
    R_BLANKS,
    WAY,
    Plan,
    Way,
    to_rust,
)
from batchfx.files.csv_record import CONTROLS, LEADING, Cutter
from batchfx.files.text import UNDECODABLE, Piece
from batchfx.model.blocks import ROW, block_schema, dump_faults

SPREAD = 64  # lines of a record that may be well-formed as a whole

ENOUGH = 50_000  # records of one piece that may go the careful way: they are large

ODD = re.compile(f"[{CONTROLS}{UNDECODABLE}]")
R_NOTE = MAYBE.format(blanks=R_BLANKS)
R_RULER = MAYBE_RULER.format(blanks=R_BLANKS)
R_FORCED_TEXT = '^="(?:[^"]|"")*"$'


@dataclass(frozen=True, slots=True)
class Parsed:
    """The records of a piece as a block's frame, and the lines of its blank ones.

    *end* is the line to go on from; it is behind the piece when the piece is *whole*.
    """

    frame: pl.DataFrame
    blanks: list[int]
    end: int
    whole: bool


def parse(piece: Piece, plan: Plan) -> Parsed:
    """Return the records of *piece*, up to one that needs lines that come after it."""
    lines = plan.lines(piece)
    table = _sort_out(lines, piece.start.line, plan)
    slow = _Slow(lines, piece, plan)
    slow.read_through(sorted(_rows(table, Way.CAREFUL)))
    table = table.filter((pl.col(ROW) < slow.end) & ~pl.col(ROW).is_in(slow.taken))
    slow.blanks += _rows(table, Way.BLANK)
    table = pl.concat([table, slow.spread(table.schema)])
    frame = pl.concat(
        [
            _split_exact(table, plan),
            _split_long(table, plan, slow),
            _split_quoted(table, plan, slow),
        ]
    ).with_columns(pl.when(pl.col(plan.names) != "").then(pl.col(plan.names)))
    if table[LINE].str.contains('="', literal=True).any():
        frame = _free_texts(frame, plan, slow)
    frame = _without_notes(frame, plan, slow)
    frame = _without_headers(frame, plan, slow)
    frame = pl.concat([frame, slow.frame()], how="diagonal")
    whole = slow.end == piece.start.line + len(lines)
    frame = plan.restore(frame.sort(ROW))
    return Parsed(frame, sorted(slow.blanks), slow.end, whole)


def _sort_out(lines: Sequence[str], first: int, plan: Plan) -> pl.DataFrame:
    """Return the *lines* without their ends, with their numbers and the way they go."""
    table = pl.DataFrame({LINE: pl.Series(lines, dtype=pl.String)}).select(
        pl.int_range(first, first + pl.len(), dtype=pl.UInt32).alias(ROW),
        pl.col(LINE).str.strip_chars_start(LEADING).str.strip_chars_end("\r"),
    )
    quoted = table[LINE].str.contains(plan.dialect.quote, literal=True)
    return pl.concat(
        [
            table.filter(~quoted).with_columns(plan.bare_way),
            table.filter(quoted).with_columns(plan.quoted_way),
        ]
    )


def _rows(table: pl.DataFrame, way: Way) -> list[int]:
    return table.filter(pl.col(WAY) == way)[ROW].to_list()


def _split_exact(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Split the lines that have the right number of cells and quote none."""
    lines = table.filter(pl.col(WAY) == Way.EXACT)
    cells = lines[LINE].str.split_exact(plan.dialect.delimiter, plan.shape.width - 1)
    return _unnest(lines, cells, plan.names)


def _split_long(table: pl.DataFrame, plan: Plan, slow: _Slow) -> pl.DataFrame:
    """Split the lines that have delimiters beyond the columns, but nothing behind."""
    rest = "rest"
    lines = table.filter(pl.col(WAY) == Way.LONG)
    if lines.is_empty():
        return plan.empty.select(ROW, *plan.names)
    cells = lines[LINE].str.splitn(plan.dialect.delimiter, plan.shape.width + 1)
    frame = _unnest(lines, cells, [*plan.names, rest])
    blank = frame[rest].str.contains(
        f"^[{R_BLANKS}{to_rust(plan.dialect.delimiter)}]*$"
    )
    slow.read_each(frame.filter(~blank)[ROW])
    return frame.filter(blank).drop(rest)


def _unnest(
    lines: pl.DataFrame, cells: pl.Series, names: Sequence[str]
) -> pl.DataFrame:
    # Not as an expression: that would split once for each column.
    frame = cells.struct.unnest()
    frame.columns = list(names)
    return frame.insert_column(0, lines[ROW])


def _split_quoted(table: pl.DataFrame, plan: Plan, slow: _Slow) -> pl.DataFrame:
    """Split the well-formed lines in which some cells are quoted."""
    dialect, width = plan.dialect, plan.shape.width
    lines = table.filter(pl.col(WAY) == Way.QUOTED)
    if lines.is_empty():
        return plan.empty.select(ROW, *plan.names)
    split = csv.reader(
        lines[LINE].to_list(), delimiter=dialect.delimiter, quotechar=dialect.quote
    )
    cells = list(split)
    fits = pl.Series([len(each) == width for each in cells], dtype=pl.Boolean)
    slow.read_each(lines.filter(~fits)[ROW])
    columns = list(zip(*(each for each in cells if len(each) == width), strict=True))
    return pl.DataFrame(
        {
            ROW: lines.filter(fits)[ROW],
            **dict(zip(plan.names, columns or [()] * width, strict=True)),
        },
        schema_overrides=dict.fromkeys(plan.names, pl.String),
    )


def _free_texts(frame: pl.DataFrame, plan: Plan, slow: _Slow) -> pl.DataFrame:
    """Take the ``="…"`` off the cells that it forces to be text."""
    cell = pl.col(plan.names)
    inner = cell.str.slice(2).str.strip_suffix('"')
    inner = inner.str.replace_all('""', '"', literal=True)
    frame = frame.with_columns(
        pl.when(cell.str.contains(R_FORCED_TEXT)).then(inner).otherwise(cell)
    ).with_columns(pl.when(cell != "").then(cell))
    blank = pl.all_horizontal(cell.is_null() | cell.str.contains(R_BLANK))
    slow.blanks += frame.filter(blank)[ROW].to_list()
    return frame.filter(~blank)


def _without_notes(frame: pl.DataFrame, plan: Plan, slow: _Slow) -> pl.DataFrame:
    """Leave out what may be a line of totals or a note; the careful way decides."""
    cells = pl.col(plan.names)
    half = pl.sum_horizontal(cells.is_not_null()) <= (plan.shape.width + 1) // 2
    sparse = frame.filter(half)
    notes = sparse.filter(pl.coalesce(cells).str.contains(R_NOTE))[ROW]
    rulers = frame.filter(pl.col(plan.names[0]).str.contains(R_RULER))[ROW]
    rows = notes.append(rulers).unique(maintain_order=True)
    slow.read_each(rows)
    return frame.filter(~pl.col(ROW).is_in(rows.to_list())) if len(rows) else frame


def _without_headers(frame: pl.DataFrame, plan: Plan, slow: _Slow) -> pl.DataFrame:
    """Leave out what may be the header once more; the careful way decides."""
    if not plan.shape.key:
        return frame
    cells = frame[plan.names[plan.shape.first]].str.strip_chars(AROUND)
    rows = frame[ROW].filter((cells == plan.shape.key).fill_null(value=False))
    slow.read_each(rows)
    return frame.filter(~pl.col(ROW).is_in(rows.to_list())) if len(rows) else frame


class _Slow:
    """The careful way through the lines of a piece, and what is found on it.

    *taken* are the lines that its records take from others; *end* is the line up to
    which it got.
    """

    def __init__(self, lines: Sequence[str], piece: Piece, plan: Plan) -> None:
        self._lines = lines
        self._first = piece.start.line
        self._shape = plan.shape
        self._cutter = Cutter(lines, plan.grammar, piece.last)
        self._records: list[tuple[Any, ...]] = []
        self._spread: list[tuple[int, str, Way]] = []
        self._plan = plan
        self.blanks: list[int] = []
        self.taken: list[int] = []
        self.end = self._first + len(lines)

    def read_through(self, rows: Iterable[int]) -> None:
        """Read the records that start on the lines *rows*, in order."""
        free = self._first
        for row in rows:
            if row < free:
                continue
            enough = len(self._records) >= ENOUGH
            count = 0 if enough else self._read_spread(row) or self._read(row)
            if not count:
                self.end = row
                return
            free = row + count
            self.taken += range(row + 1, free)

    def read_each(self, rows: Iterable[int]) -> None:
        """Read the records of the lines *rows*, each of which is whole."""
        for row in rows:
            self._read(row)

    def _read_spread(self, row: int) -> int:
        """Set a record aside that is odd for nothing but its lines; return how many.

        It is none when the record has to go the careful way after all.
        """
        mark, newline = self._plan.dialect.quote, self._plan.dialect.newline
        index = row - self._first
        text, count = self._lines[index].lstrip(LEADING), 1
        while text.count(mark) % 2 and count < SPREAD:
            if index + count == len(self._lines):
                return 0
            text += newline + self._lines[index + count]
            count += 1
        is_plain = len(text) <= CSV_LIMIT and not ODD.search(text)
        is_plain &= self._plan.dialect.escape not in text
        is_plain &= bool(text.strip(BLANKS + mark + self._plan.dialect.delimiter))
        if count == 1 or not is_plain or not self._plan.spread.fullmatch(text):
            return 0
        self._spread.append((row, text.rstrip("\r"), Way.QUOTED))
        return count

    def _read(self, row: int) -> int:
        """Read the record that starts on line *row*; return how many lines it takes.

        It is none when the record may go on after the piece.
        """
        index = row - self._first
        if not (cut := self._cutter.cut(index)):
            return 0
        if record := judge(cut, row, self._lines[index], self._shape):
            faults = dump_faults(record.faults) if record.faults else None
            self._records.append((record.row, *record.cells, faults, None))
        else:
            self.blanks.append(row)
        return cut.lines

    def spread(self, schema: pl.Schema) -> pl.DataFrame:
        """Return the records that were set aside, as lines that are quoted."""
        return pl.DataFrame(self._spread, schema, orient="row")

    def frame(self) -> pl.DataFrame:
        """Return the records as a block's frame."""
        if not self._records:
            return self._plan.empty
        schema = block_schema(self._shape.width)
        return pl.DataFrame(self._records, schema, orient="row")
