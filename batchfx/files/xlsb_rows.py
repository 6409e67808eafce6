"""The rows of a sheet of an .xlsb workbook, and what lies around them.

Records of cells are those of [MS-XLSB] 2.5.9 and 2.4, and their short forms, whose
column is the one after that of the cell before. That document doesn't have these, few
programs write them, and many readers overlook them. A record within the rows that isn't
known is no reason to go on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import chain

from batchfx.errors import SourceError
from batchfx.files.xlsb_records import Record, part_records, refuse_part, text_at
from batchfx.files.xlsx_cells import ERROR
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_references import (
    LAST_COLUMN,
    LAST_ROW,
    Range,
    column_letters,
)
from batchfx.files.xlsx_rows import CELL_LIMIT, StoredRow
from batchfx.files.xlsx_survey import MERGE_LIMIT, Survey
from batchfx.files.xlsx_xml import refuse_size
from batchfx.model.blocks import Kind

ROW, RICH = 0, 62  # BrtRowHdr, BrtCellRString
BEGIN, END = 145, 146  # of the rows
COLUMN, MERGE, FILTER = 60, 176, 161
SHORT = range(12, 19)
# Formulas, metadata and what later versions of Excel added.
BESIDES = frozenset({35, 36, 37, 38, 49, 50, 426, 427, 428, 1024})

LONG = struct.Struct("<I")
SIGNED = struct.Struct("<i")
DOUBLE = struct.Struct("<d")
CORNERS = struct.Struct("<IIII")
FLAGS = struct.Struct("<H")
HIDDEN_ROW, HIDDEN_ROW_PLACE = 0x10, 11
HIDDEN_COLUMN, HIDDEN_COLUMN_PLACE = 0x1, 16
CELL_SIZE, SHORT_SIZE = 8, 4  # of what stands before a cell's value
STYLE_MASK = 0xFFFFFF
EXACT = 10**15  # whole numbers below it are just what their digits say
ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}

Stored = tuple[str, str]  # as `FormattedCells` takes it
Reader = Callable[[bytes, int, int, str], Stored]  # data, place, style, part


def xlsb_rows(package: Package, part: str) -> Iterator[StoredRow]:
    """Yield the rows of the sheet in *part* that are stored.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file``, ``too_many_columns``, or
            ``unsupported_format`` for what isn't known.

    """
    number = cells = 0
    row = _RowCells(part)
    for record in _row_records(package, part):
        if record.kind == ROW:
            if row.letters:
                yield row.stored(number)
            row = _RowCells(part)
            number = _row_number(record.data, number, part)
        elif record.kind not in BESIDES:
            row.add(record)
            cells += 1
            if cells > CELL_LIMIT:
                refuse_size(part)
    if row.letters:
        yield row.stored(number)


def xlsb_survey(package: Package, part: str) -> Survey:
    """Look over the whole sheet in *part*.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    merges: list[Range] = []
    rows: set[int] = set()
    columns: set[int] = set()
    filtered = False
    hidden = number = 0
    for kind, data in part_records(package.chunks(part, PART_LIMIT), part):
        if kind == ROW and len(data) > HIDDEN_ROW_PLACE:
            number = LONG.unpack_from(data)[0] + 1
            hidden = data[HIDDEN_ROW_PLACE] & HIDDEN_ROW
        elif hidden and (kind in READERS or kind == RICH):
            rows.add(number)
        elif kind == COLUMN:
            columns.update(_hidden_columns(data, part))
        elif kind == MERGE:
            merges.append(_merge(data, part))
            if len(merges) > MERGE_LIMIT:
                refuse_size(part)
        elif kind == END:
            hidden = 0
        filtered = filtered or kind == FILTER
    return Survey(tuple(merges), tuple(sorted(rows)), tuple(sorted(columns)), filtered)


def _row_records(package: Package, part: str) -> Iterator[Record]:
    inside = False
    for record in part_records(package.chunks(part, PART_LIMIT), part):
        if record.kind == BEGIN:
            inside = True
        elif record.kind == END:
            return
        elif inside:
            yield record
    refuse_part(part)


def _row_number(data: bytes, previous: int, part: str) -> int:
    if len(data) < LONG.size:
        refuse_part(part)
    number = int(LONG.unpack_from(data)[0]) + 1
    if not previous < number <= LAST_ROW:
        message = (
            f"The sheet has row {number} after row {previous}. "
            "The workbook is damaged: open it in Excel and save it."
        )
        raise SourceError("corrupt", message, part=part, row=number)
    return number


class _RowCells:
    """The cells of one row, as they come."""

    def __init__(self, part: str) -> None:
        self.letters: list[str] = []
        self._codes: list[str] = []
        self._stored: list[str] = []
        self._part = part
        self._column = -1

    def add(self, record: Record) -> None:
        """Take a cell; one without content only has its place."""
        kind, data = record
        reader = READERS.get(kind)
        if reader is None and kind not in BLANK:
            _refuse_unknown(kind, self._part)
        try:
            place, style = self._place(data, short=kind in SHORT)
            code, stored = (
                reader(data, place, style, self._part) if reader else ("", "")
            )
        except (struct.error, IndexError):
            refuse_part(self._part)
        if stored:
            self.letters.append(column_letters(self._column))
            self._codes.append(code)
            self._stored.append(stored)

    def stored(self, number: int) -> StoredRow:
        """Return the row."""
        cells = tuple(self.letters), tuple(self._codes), tuple(self._stored)
        return StoredRow(number, *cells)

    def _place(self, data: bytes, *, short: bool) -> tuple[int, int]:
        """Return where the cell's value is and the number of its style."""
        if short:
            self._column += 1
            place = SHORT_SIZE
        else:
            (self._column,) = LONG.unpack_from(data)
            place = CELL_SIZE
        if self._column >= LAST_COLUMN:
            message = (
                f"The sheet has a cell in column {self._column + 1}, but a sheet has "
                f"at most {LAST_COLUMN} columns (to XFD)."
            )
            raise SourceError("too_many_columns", message)
        (style,) = LONG.unpack_from(data, place - LONG.size)
        return place, style & STYLE_MASK


def _rk(data: bytes, place: int, style: int, _: str) -> Stored:
    """Read a number of four bytes ([MS-XLSB] 2.5.123)."""
    (packed,) = SIGNED.unpack_from(data, place)
    if packed & 2:
        value = float(packed >> 2)
    else:
        (value,) = DOUBLE.unpack(bytes(4) + SIGNED.pack(packed & ~3))
    return _number(value / 100 if packed & 1 else value, style)


def _real(data: bytes, place: int, style: int, _: str) -> Stored:
    return _number(DOUBLE.unpack_from(data, place)[0], style)


def _number(value: float, style: int) -> Stored:
    whole = value.is_integer() and abs(value) < EXACT
    return f' s="{style}"', str(int(value)) if whole else repr(value)


def _boolean(data: bytes, place: int, *_: object) -> Stored:
    return Kind.BOOLEAN, "true" if data[place] else "false"


def _error(data: bytes, place: int, *_: object) -> Stored:
    return ERROR, ERRORS.get(data[place], f"#ERROR {data[place]}")


def _text(data: bytes, place: int, _: int, part: str) -> Stored:
    return Kind.TEXT, text_at(data, place, part)[0]


def _rich(data: bytes, place: int, _: int, part: str) -> Stored:
    return Kind.TEXT, text_at(data, place + 1, part)[0]


def _shared(data: bytes, place: int, *_: object) -> Stored:
    return ' t="s"', str(LONG.unpack_from(data, place)[0])


def _hidden_columns(data: bytes, part: str) -> range:
    try:
        first, last, _, _ = CORNERS.unpack_from(data)
        (flags,) = FLAGS.unpack_from(data, HIDDEN_COLUMN_PLACE)
    except struct.error:
        refuse_part(part)
    return (
        range(first, min(last + 1, LAST_COLUMN)) if flags & HIDDEN_COLUMN else range(0)
    )


def _merge(data: bytes, part: str) -> Range:
    try:
        first, last, left, right = CORNERS.unpack_from(data)
    except struct.error:
        refuse_part(part)
    return Range(first + 1, left, min(last + 1, LAST_ROW), min(right, LAST_COLUMN - 1))


def _refuse_unknown(kind: int, part: str) -> None:
    message = (
        f"The binary workbook (.xlsb) has cells of a kind that isn't known ({kind}), "
        "and could be read wrongly. Open it in Excel and save it as .xlsx."
    )
    raise SourceError("unsupported_format", message, found="xlsb", part=part)


BLANK = frozenset({1, 12})
READERS: dict[int, Reader] = dict(
    chain.from_iterable(
        zip(kinds, (reader,) * len(kinds), strict=True)
        for kinds, reader in (
            ((2, 13), _rk),
            ((3, 11, 14), _error),
            ((4, 10, 15), _boolean),
            ((5, 9, 16), _real),
            ((6, 8, 17), _text),
            ((7, 18), _shared),
            ((RICH,), _rich),
        )
    )
)
