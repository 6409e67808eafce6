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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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
from batchfx.model.blocks import FAULTS, KINDS, ROW, block_schema, dump_faults
from batchfx.model.stacks import WIDE, unstacked

NONE = pl.Series([None], dtype=pl.String)

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
    frames = [*_fast_frames(table, plan, slow), *slow.frames()]
    frame = pl.concat(frames) if frames else plan.empty
    if not frame[ROW].is_sorted():
        frame = frame.sort(ROW)
    frame = plan.restore(frame)
    whole = slow.end == piece.start.line + len(lines)
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


def _fast_frames(
    table: pl.DataFrame, plan: Plan, slow: _Slow
) -> Iterator[pl.DataFrame]:
    """Yield the records of the lines that go a fast way, if there are some, as one."""
    frames = [
        *_split_exact(table, plan),
        *_split_long(table, plan, slow),
        *_split_quoted(table, plan, slow),
    ]
    if not frames:  # which take long to make of many columns
        return
    frame = pl.concat(frames)
    if table[LINE].str.contains('="', literal=True).any():
        frame = _free_texts(frame, plan, slow)
    frame = _without_notes(frame, plan, slow)
    frame = _without_headers(frame, plan, slow)
    none = NONE.new_from_index(0, frame.height)
    yield frame.hstack([none.alias(FAULTS), none.alias(KINDS)])


def _rows(table: pl.DataFrame, way: Way) -> list[int]:
    return table.filter(pl.col(WAY) == way)[ROW].to_list()


def _split_exact(table: pl.DataFrame, plan: Plan) -> Iterator[pl.DataFrame]:
    """Split the lines that have the right number of cells and quote none."""
    comma, width = plan.dialect.delimiter, plan.shape.width
    lines = table.filter(pl.col(WAY) == Way.EXACT)
    if lines.is_empty():
        return
    if width < WIDE:
        cells = lines[LINE].str.split_exact(comma, width - 1)
        yield _with_nulls(_unnest(lines, cells, plan.names), plan)
    else:
        split = plan.tidied(pl.col(LINE).str.split(comma).explode())
        every = lines.select(split).to_series().replace("", None)
        rows = every.reshape((lines.height, width)).arr.to_struct(fields=plan.names)
        yield _unnest(lines, rows, plan.names)


def _split_long(table: pl.DataFrame, plan: Plan, slow: _Slow) -> Iterator[pl.DataFrame]:
    """Split the lines that have delimiters beyond the columns, but nothing behind."""
    rest = "rest"
    lines = table.filter(pl.col(WAY) == Way.LONG)
    if lines.is_empty():
        return
    cells = lines[LINE].str.splitn(plan.dialect.delimiter, plan.shape.width + 1)
    frame = _unnest(lines, cells, [*plan.names, rest])
    blank = frame[rest].str.contains(
        f"^[{R_BLANKS}{to_rust(plan.dialect.delimiter)}]*$"
    )
    slow.read_each(frame.filter(~blank)[ROW])
    yield _with_nulls(frame.filter(blank).drop(rest), plan)


def _with_nulls(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return *frame* with null for a cell without content."""
    cell = plan.tidied(pl.col(plan.names))
    return frame.with_columns(pl.when(cell != "").then(cell))


def _unnest(
    lines: pl.DataFrame, cells: pl.Series, names: Sequence[str]
) -> pl.DataFrame:
    # Not as an expression: that would split once for each column.
    frame = cells.struct.unnest()
    frame.columns = list(names)
    return frame.insert_column(0, lines[ROW])


def _split_quoted(
    table: pl.DataFrame, plan: Plan, slow: _Slow
) -> Iterator[pl.DataFrame]:
    """Split the well-formed lines in which some cells are quoted."""
    dialect, width = plan.dialect, plan.shape.width
    lines = table.filter(pl.col(WAY) == Way.QUOTED)
    if lines.is_empty():
        return
    split = csv.reader(
        lines[LINE].to_list(),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        skipinitialspace=bool(dialect.spaced),
    )
    cells = list(split)
    fits = pl.Series([len(each) == width for each in cells], dtype=pl.Boolean)
    slow.read_each(lines.filter(~fits)[ROW])
    columns = zip(*(each for each in cells if len(each) == width), strict=True)
    stack = pl.Series(
        [cell or None for cell in chain.from_iterable(columns)], dtype=pl.String
    )
    rows = lines.filter(fits)[ROW]
    yield unstacked(stack, plan.names).insert_column(0, rows)


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
    notes = _maybe_notes(frame, plan)
    rulers = frame.filter(pl.col(plan.names[0]).str.contains(R_RULER))[ROW]
    rows = notes.append(rulers).unique(maintain_order=True)
    slow.read_each(rows)
    return frame.filter(~pl.col(ROW).is_in(rows.to_list())) if len(rows) else frame


def _maybe_notes(frame: pl.DataFrame, plan: Plan) -> pl.Series:
    """Return the rows that are empty by more than half and begin like a note."""
    cells = pl.col(plan.names)
    near = pl.coalesce(plan.names[:WIDE])  # of many columns, which are a price each
    maybe = frame.select(near.is_null() | near.str.contains(R_NOTE)).to_series()
    if not maybe.any():
        return frame[ROW].clear()
    sparse = frame.filter(maybe).filter(pl.coalesce(cells).str.contains(R_NOTE))
    few = 2 * pl.sum_horizontal(cells.is_not_null()) < plan.shape.width
    return sparse.filter(few)[ROW] if sparse.height else sparse[ROW]


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

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the records as a block's frame, if there are some."""
        if self._records:
            schema = block_schema(self._shape.width)
            yield pl.DataFrame(self._records, schema, orient="row")
