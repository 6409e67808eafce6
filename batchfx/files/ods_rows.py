"""The rows of one sheet of an OpenDocument spreadsheet, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from batchfx.errors import SourceError
from batchfx.files.ods_names import (
    CELL,
    CELL_STYLE,
    CELLS,
    COLUMN,
    COLUMNS_REPEATED,
    CONTAINERS,
    COVERED,
    FORMULA,
    ROW,
    ROWS_REPEATED,
    SHEET,
    STYLE_NAME,
    TABLE,
    TEXT,
    read_count,
)
from batchfx.files.ods_survey import CONTENT
from batchfx.files.ods_values import PREFIX, cell_value
from batchfx.files.subtotals import SIGN, is_subtotal
from batchfx.files.xlsx_references import LAST_COLUMN, LAST_ROW, column_letters
from batchfx.files.xlsx_rows import CELL_LIMIT, ROW_TEXT_LIMIT, TEXT_LIMIT, StoredRow
from batchfx.files.xlsx_xml import DEPTH_LIMIT, drive, make_parser, refuse_size

# In a paragraph, what is written as an element stands apart from white space as such,
# which XML may break anywhere; XML itself can't contain these characters.
SPACE, TAB, BREAK = "\0", "\1", "\2"
WRITTEN = str.maketrans({SPACE: " ", TAB: "\t", BREAK: "\n"})
LOOSE = re.compile(r"[ \t\r\n]+")
UNTIDY = re.compile(r"[\t\r\n]|  |\A | \Z")
BESIDES_TEXT = frozenset({f"{TEXT}note", f"{TEXT}ruby-text"})

Filled = tuple[int, StoredRow]  # how often the row is there, and the first of them
Action = Callable[[dict[str, str]], None]


def ods_rows(chunks: Iterator[bytes], durations: frozenset[str]) -> Iterator[StoredRow]:
    """Yield the rows with content of the first sheet that *chunks* come to.

    A row that the file has once for many is given many times; a cell likewise.

    Args:
        chunks: The content part, or its head and then a later sheet.
        durations: The names of styles that show times beyond 24 hours.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file``, ``too_many_columns``.

    """
    handler = _RowHandler(durations)
    parser = make_parser()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    cells = 0
    for _ in drive(parser, chunks, CONTENT):
        handler.check()
        for repeated, row in handler.found:
            cells += repeated * len(row.letters)
            if cells > CELL_LIMIT:
                refuse_size(CONTENT)
            for number in range(row.number, row.number + repeated):
                yield row._replace(number=number)
        handler.found.clear()
        if handler.finished:
            return


class _RowHandler:
    """Collects rows from a parser's events; cells without content are left out."""

    def __init__(self, durations: frozenset[str]) -> None:
        self.found: list[Filled] = []
        self.finished = False
        self._durations = durations
        self._lasting: list[range] = []  # columns whose format is one of *durations*
        self._columns = 0
        self._depth = 0
        self._skipped = 0  # the depth of an element that is passed over
        self._row = 0
        self._pieces: list[str] = []
        self._paragraph = 0  # the depth of the one that is open
        self._written = False  # with elements
        self._shown = ""
        self._paragraphs = 0
        self._attributes: Mapping[str, str] = {}
        self._row_style = ""
        self._start_row({})
        self._opening: dict[str, Action] = {SHEET: self._start_sheet}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._skipped:
            return
        if self._paragraph:
            self._start_in_text(name, attributes)
        elif action := self._opening.get(name):
            action(attributes)
        elif SHEET not in self._opening or name == f"{TABLE}tracked-changes":
            self._skipped = self._depth

    def end(self, name: str) -> None:
        depth = self._depth
        self._depth = depth - 1
        if self._skipped:
            if self._skipped == depth:
                self._skipped = 0
        elif self._paragraph:
            if self._paragraph == depth:
                self._end_paragraph()
        elif name in CELLS:
            self._end_cell(covered=name == COVERED)
        elif name == ROW:
            self._end_row()
        elif name == SHEET:
            self.finished = True
            self._skipped = 1  # the rest

    def text(self, piece: str) -> None:
        if self._paragraph and not self._skipped:
            self._pieces.append(piece)

    def check(self) -> None:
        """Refuse what grows without bound between two ends of rows."""
        text = len(self._shown) + sum(map(len, self._pieces))
        row = sum(map(len, self._stored))
        if self._depth > DEPTH_LIMIT or text > TEXT_LIMIT or row > ROW_TEXT_LIMIT:
            refuse_size(CONTENT)

    def _start_sheet(self, _: dict[str, str]) -> None:
        if self.finished:
            return
        inside: dict[str, Action] = dict.fromkeys(CONTAINERS, _pass)
        inside |= {ROW: self._start_row, COLUMN: self._start_column}
        inside |= {CELL: self._start_cell, COVERED: self._start_cell}
        inside |= {f"{TEXT}p": self._start_paragraph, f"{TEXT}h": self._start_paragraph}
        self._opening = inside

    def _start_column(self, attributes: dict[str, str]) -> None:
        first = self._columns
        self._columns += read_count(attributes.get(COLUMNS_REPEATED))
        if attributes.get(CELL_STYLE) in self._durations:
            self._lasting.append(range(first, self._columns))
        if len(self._lasting) > LAST_COLUMN:
            refuse_size(CONTENT)

    def _start_row(self, attributes: dict[str, str]) -> None:
        self._repeated = read_count(attributes.get(ROWS_REPEATED))
        self._row_style = attributes.get(CELL_STYLE, "")
        self._column = 0
        self._letters: list[str] = []
        self._codes: list[str] = []
        self._stored: list[str] = []

    def _end_row(self) -> None:
        if self._letters:
            self._check_place()
            cells = tuple(self._letters), tuple(self._codes), tuple(self._stored)
            self.found.append((self._repeated, StoredRow(self._row + 1, *cells)))
        self._row += self._repeated

    def _check_place(self) -> None:
        last = self._row + self._repeated
        if last > LAST_ROW:
            message = (
                f"The sheet has content in row {last}, but a sheet has at most "
                f"{LAST_ROW} rows. The file is damaged or was made to do harm."
            )
            raise SourceError("unsafe_file", message, part=CONTENT, row=last)

    def _start_cell(self, attributes: dict[str, str]) -> None:
        self._attributes = attributes
        self._shown = ""
        self._paragraphs = 0

    def _end_cell(self, *, covered: bool) -> None:
        attributes = self._attributes
        first = self._column
        repeated = read_count(attributes.get(COLUMNS_REPEATED))
        self._column = first + repeated
        if covered or not (attributes or self._shown):
            return
        lasting = bool(self._durations) and self._is_lasting(first)
        code, stored = cell_value(attributes, self._shown, duration=lasting)
        if not stored:
            return
        if is_subtotal(PREFIX.sub("", attributes.get(FORMULA, "")), self._row + 1):
            code += SIGN
        if self._column > LAST_COLUMN:
            _refuse_column(self._column)
        for column in range(first, self._column):
            self._letters.append(column_letters(column))
            self._codes.append(code)
            self._stored.append(stored)

    def _is_lasting(self, column: int) -> bool:
        style = self._attributes.get(STYLE_NAME, self._row_style)
        if style:
            return style in self._durations
        return any(column in each for each in self._lasting)

    def _start_paragraph(self, _: dict[str, str]) -> None:
        self._paragraph = self._depth
        self._pieces.clear()

    def _end_paragraph(self) -> None:
        self._paragraph = 0
        text = "".join(self._pieces)
        self._pieces.clear()
        if UNTIDY.search(text):
            text = LOOSE.sub(" ", text).strip(" ")
        if self._written:
            text = text.translate(WRITTEN)
            self._written = False
        self._shown = f"{self._shown}\n{text}" if self._paragraphs else text
        self._paragraphs += 1

    def _start_in_text(self, name: str, attributes: dict[str, str]) -> None:
        """Take an element within a paragraph for the white space that it may be."""
        self._written = True
        if name == f"{TEXT}s":
            count = read_count(attributes.get(f"{TEXT}c"))
            if count > TEXT_LIMIT:
                refuse_size(CONTENT)
            self._pieces.append(SPACE * count)
        elif name == f"{TEXT}tab":
            self._pieces.append(TAB)
        elif name == f"{TEXT}line-break":
            self._pieces.append(BREAK)
        elif not name.startswith(TEXT) or name in BESIDES_TEXT:
            self._skipped = self._depth


def _pass(_: dict[str, str]) -> None:
    """Go on into an element that only holds others."""


def _refuse_column(count: int) -> None:
    letters = column_letters(count - 1)
    message = (
        f"The sheet has a cell in column {letters}, but a sheet has at most "
        f"{LAST_COLUMN} columns (to XFD)."
    )
    raise SourceError("too_many_columns", message, column=letters)
