"""The rows of the tables in a web page, as a browser lays them out.

The page is parsed in pieces by the standard library's tolerant parser, which runs and
loads nothing. A cell's text is what is seen: white space is one space, a line break is
kept, styles and scripts are nothing. A table within a cell is a table of its own, and
what it says is a part of the cell's text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import BinaryIO, NamedTuple

from batchfx.errors import SourceError
from batchfx.files.csv_record import BLANKS
from batchfx.files.text import ERRORS, PIECE, read_up_to
from batchfx.files.unicode_text import Codec

PENDING_LIMIT = 4 << 20  # characters without the end of a tag, a comment or a script
CELL_LIMIT = 4 << 20  # characters
INNER_LIMIT = 32_767  # characters of tables in a cell, as many as a sheet's cell has
COLUMNS = 16_384
COPIES = 3_000_000  # of cells that reach over several places of a table
TABLES = 10_000
DEPTH = 100  # of tables within tables
DIGITS = 9  # of a span that is read
COLSPAN_LIMIT, ROWSPAN_LIMIT = 1_000, 65_534  # the HTML standard's

LEFT, ABOVE = "left", "above"

BREAK = "\ufdd1"  # a noncharacter, which no page holds by right
SPACES = re.compile("[ \t\n\r\f]+")
BREAKS = re.compile(f" *{BREAK} *")
INNER_BREAKS = re.compile(f" *{BREAK}[ {BREAK}]*")
SILENT = frozenset({"script", "style", "template", "title", "noframes"})
BLOCKS = frozenset({"p", "div", "li", "ul", "ol", "pre", "h1", "h2", "h3", "h4"})
SECTIONS = frozenset({"thead", "tbody", "tfoot"})
CELL_TAGS = frozenset({"td", "th"})


class Cell(NamedTuple):
    """What is in a place of a row. *copied* says from where it reaches there, if so.

    *holds_table* is there when the text is that of a table too, which *is_cut* when it
    is too long.
    """

    text: str
    is_name: bool
    copied: str = ""
    holds_table: bool = False
    is_cut: bool = False


NOTHING = Cell("", is_name=False)


class Row(NamedTuple):
    """A row of the table *table*; both count from 1, rows from the table's first.

    *section* is "thead", "tbody", "tfoot" or "".
    """

    table: int
    number: int
    section: str
    cells: tuple[Cell, ...]

    def own(self) -> int:
        """Return how many cells have something of their own in them."""
        return sum(bool(cell.text) and not cell.copied for cell in self.cells)

    def beside_tables(self) -> int:
        """Return how many of them there are without those that hold a table."""
        return self.own() - sum(
            bool(cell.text) and not cell.copied
            for cell in self.cells
            if cell.holds_table
        )


class Span(NamedTuple):
    """A cell that reaches down to the row *last*, as it is in the rows below."""

    last: int
    cell: Cell


@dataclass(slots=True)
class OpenCell:
    """A cell that is being read."""

    is_name: bool
    columns: int
    rows: int
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    holds_table: bool = False
    inner_size: int = 0

    def add_inner(self, text: str) -> None:
        """Add text of a table in the cell, as far as there is room for it."""
        self.holds_table = True
        if self.inner_size <= INNER_LIMIT:
            self.pieces.append(text)
            self.inner_size += len(text)

    def content(self) -> Cell:
        """Return what the cell holds."""
        is_cut = self.inner_size > INNER_LIMIT
        return Cell(self.text(), self.is_name, "", self.holds_table, is_cut)

    def text(self) -> str:
        """Return the text as it is seen."""
        text = SPACES.sub(" ", "".join(self.pieces))
        breaks = INNER_BREAKS if self.holds_table else BREAKS
        return breaks.sub("\n", text).strip(BLANKS)


@dataclass(slots=True)
class Table:
    """A table that was begun. *encloses*: another is within it."""

    number: int
    name: str = ""
    encloses: bool = False
    is_whole: bool = False
    section: str = ""
    rows: int = 0
    row: list[Cell] | None = None
    cell: OpenCell | None = None
    caption: list[str] | None = None
    spans: dict[int, Span] = field(default_factory=dict)
    copies: int = 0

    def close_cell(self) -> None:
        """Put the open cell, if any, where it belongs in the row."""
        if self.cell is None or self.row is None:
            return
        self._fill()
        cell = self.cell.content()
        self.copies += self.cell.columns - 1
        last = self.rows + self.cell.rows - 1
        beside = cell._replace(copied=LEFT)
        placed = [cell] + [beside] * (self.cell.columns - 1)
        if last > self.rows:
            below = [cell._replace(copied=ABOVE), *placed[1:]]
            for place, each in enumerate(below, len(self.row)):
                self.spans[place] = Span(last, each)
        self.row += placed
        self.cell = None
        if len(self.row) > COLUMNS:
            message = (
                f"Row {self.rows} of table {self.number} has more than {COLUMNS:,} "
                "cells, which no table of records has."
            )
            raise SourceError("too_many_columns", message, row=self.rows)

    def close_row(self) -> Row | None:
        """Return the open row, if any, with what reaches into it from above."""
        self.close_cell()
        if self.row is None:
            return None
        self._fill()
        alive = [place for place, span in self.spans.items() if span.last >= self.rows]
        for place in sorted(alive):
            self.row += [NOTHING] * (place - len(self.row))
            self._fill()
        if self.copies > COPIES:
            message = (
                f"The cells of table {self.number} reach over more than {COPIES:,} "
                "places, which those of no table of records do."
            )
            raise SourceError("unsafe_file", message, row=self.rows)
        row = Row(self.number, self.rows, self.section, tuple(self.row))
        self.row = None
        return row

    def open_row(self) -> None:
        """Begin a row."""
        self.rows += 1
        self.row = []

    def open_section(self, name: str) -> None:
        """Begin a section, into which nothing reaches from above."""
        self.section = name
        self.spans.clear()

    def _fill(self) -> None:
        """Add the cells that reach down to the place that is next."""
        row = self.row
        while row is not None and (span := self.spans.get(len(row))):
            if span.last < self.rows:
                del self.spans[len(row)]
                return
            self.copies += 1
            row.append(span.cell)


class TableParser(HTMLParser):
    """Collects the rows of all tables.

    Attributes:
        rows: The rows that were read and not taken yet.
        tables: All tables, in the order in which they begin.
        ended: The page's end was seen.

    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[Row] = []
        self.tables: list[Table] = []
        self.ended = False
        self._open: list[Table] = []
        self._silent = ""

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Pass over ``<![if …]>``; the parser itself breaks at strange ones."""
        return self.parse_bogus_comment(i, report=bool(report))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of the start of what matters in tables."""
        if tag in SILENT:
            self._silent = tag
        elif tag == "table":
            self._begin_table(dict(attrs))
        elif self._open:
            self._begin_part(self._open[-1], tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        """Take note of the end of what matters in tables."""
        if tag == self._silent:
            self._silent = ""
        elif tag in {"body", "html"}:
            self.ended = True
        elif self._open:
            self._end_part(self._open[-1], tag)

    def handle_data(self, data: str) -> None:
        """Add text to the cell or the caption that is open."""
        table = self._open[-1] if self._open and not self._silent else None
        self._tell_outer(data)
        if table and table.caption is not None:
            table.caption.append(data[:CELL_LIMIT])
        elif table and table.cell:
            table.cell.size += len(data)
            table.cell.pieces.append(data)
            if table.cell.size > CELL_LIMIT:
                message = (
                    f"A cell in row {table.rows} of table {table.number} has more than "
                    f"{CELL_LIMIT:,} characters. The page is damaged there."
                )
                raise SourceError("unsafe_file", message, row=table.rows)

    def _tell_outer(self, text: str) -> None:
        """Add what the innermost table has to the cells that it is in."""
        if len(self._open) > 1 and not self._silent:
            for outer in self._open[:-1]:
                if outer.cell:
                    outer.cell.add_inner(text)

    def _begin_table(self, attributes: dict[str, str | None]) -> None:
        if self._open:
            self._open[-1].encloses = True
        name = attributes.get("id") or attributes.get("name") or ""
        table = Table(len(self.tables) + 1, name.strip())
        self.tables.append(table)
        self._open.append(table)
        self._tell_outer(BREAK)
        if len(self._open) > DEPTH or len(self.tables) > TABLES:
            message = "The web page has more tables, or tables in tables, than any has."
            raise SourceError("unsafe_file", message)

    def _begin_part(
        self, table: Table, tag: str, attributes: dict[str, str | None]
    ) -> None:
        if tag in CELL_TAGS:
            self._tell_outer(" ")
            table.close_cell()
            if table.row is None:
                table.open_row()
            columns = _span(attributes.get("colspan"), COLSPAN_LIMIT)
            rows = _span(attributes.get("rowspan"), ROWSPAN_LIMIT)
            table.cell = OpenCell(tag == "th", columns, rows)
        elif tag == "tr" or tag in SECTIONS:
            self._close_row(table)
            if tag == "tr":
                self._tell_outer(BREAK)
                table.open_row()
            else:
                table.open_section(tag)
        elif tag == "caption":
            table.caption = []
        elif table.cell and (tag == "br" or (tag in BLOCKS and table.cell.pieces)):
            table.cell.pieces.append(BREAK)

    def _end_part(self, table: Table, tag: str) -> None:
        if tag in CELL_TAGS:
            table.close_cell()
        elif tag == "caption" and table.caption is not None:
            table.name = " ".join("".join(table.caption).split()) or table.name
            table.caption = None
        elif tag in {"tr", "table"} or tag in SECTIONS:
            self._close_row(table)
            if tag in SECTIONS:
                table.open_section("")
            if tag == "table":
                self._tell_outer(BREAK)
                table.is_whole = True
                self._open.pop()

    def _close_row(self, table: Table) -> None:
        table.caption = None
        if row := table.close_row():
            self.rows.append(row)


def _span(stated: str | None, limit: int) -> int:
    text = (stated or "").strip()
    if not re.fullmatch("[0-9]+", text):
        return 1
    if len(text.lstrip("0")) > DIGITS:
        return limit
    # A span of 0 reaches to the end of the section.
    return min(int(text[-DIGITS:]) or (limit if limit == ROWSPAN_LIMIT else 1), limit)


def parsed(source: BinaryIO, codec: Codec, size: int = PIECE) -> Iterator[TableParser]:
    """Parse a page; yield the parser after each piece, for what it found to be taken.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file`` or ``too_many_columns``.

    """
    source.seek(codec.mark)
    decoder = codecs.getincrementaldecoder(codec.name)(ERRORS)
    parser = TableParser()
    last = False
    while not last:
        raw = read_up_to(source, size)
        last = len(raw) < size
        _feed(parser, decoder.decode(raw, last))
        if len(parser.rawdata) > PENDING_LIMIT:
            line = parser.getpos()[0]
            message = f"A tag on line {line} of the web page isn't closed."
            raise SourceError("corrupt", message, line=line)
        yield parser


def _feed(parser: TableParser, text: str) -> None:
    try:
        parser.feed(text)
    except (AssertionError, ValueError) as error:
        line = parser.getpos()[0]
        message = f"The web page is damaged: line {line} is no HTML. Save it again."
        raise SourceError("corrupt", message, line=line) from error
