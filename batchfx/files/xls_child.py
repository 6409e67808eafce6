"""Excel 97-2003 workbooks (.xls), read by xlrd; this runs in a process of its own.

xlrd is written in Python and never runs a macro or a formula. It takes a sheet into
memory as a whole, which that format bounds to 65,536 rows of 256 columns.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, NoReturn

import xlrd  # type: ignore[import-untyped]

from batchfx.errors import SourceError
from batchfx.files.grids import Grid
from batchfx.files.sheet_options import SheetOptions
from batchfx.files.xls_formulas import Place, unknown_results
from batchfx.files.xlsx import Opened, inspect_sheets, read_sheets
from batchfx.files.xlsx_cells import ERROR, NO_RESULT, FormattedCells
from batchfx.files.xlsx_formats import BUILTIN, GENERAL, NumberFormat, read_format
from batchfx.files.xlsx_references import Range, column_letters
from batchfx.files.xlsx_rows import StoredRow
from batchfx.files.xlsx_survey import Survey
from batchfx.files.xlsx_workbook import Sheet, Workbook
from batchfx.model.blocks import Block, Kind
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

XLS = "an Excel 97-2003 workbook: its content is in Excel's older binary form"
SIZE_LIMIT = 512 * 1024**2  # bytes; Excel's own writing stays far below
EXACT = 10**15  # whole numbers below it are just what their digits say
UNICODE = 80  # the version of the format from which on texts are Unicode
FORMULA = "=…"  # xlrd doesn't give its text

ENCODING_GUESSED = Issue(
    "encoding_guessed",
    "The workbook, of Excel 95 or older, doesn't say how its letters are encoded; they "
    "were taken for Western European ones. Look at letters with accents.",
    Phase.FILE,
    level=Level.WARNING,
)

# What xlrd raises for bytes that are no sound workbook.
FAULTS = (
    xlrd.XLRDError,
    xlrd.compdoc.CompDocError,
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def inspect_inside(source: BinaryIO, **overrides: Any) -> Layout:
    """Find the table in a workbook, as `inspect_xlsx` does."""
    with _opened(source) as opened:
        layout = inspect_sheets(opened, SheetOptions(**overrides), "xls", XLS)
        grid = opened.package
    if isinstance(grid, _XlsGrid) and grid.is_encoding_guessed:
        return replace(layout, warnings=(*layout.warnings, ENCODING_GUESSED))
    return layout


def read_inside(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a workbook in blocks, as `read_xlsx` does."""
    with _opened(source) as opened:
        yield from read_sheets(opened, layout, rows, position)


@contextmanager
def _opened(source: BinaryIO) -> Iterator[Opened]:
    source.seek(0)
    content = source.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        message = f"The workbook is larger than {SIZE_LIMIT // 1024**2} MiB. Split it."
        raise SourceError("unsafe_file", message)
    try:
        book = xlrd.open_workbook(
            file_contents=content,
            logfile=io.StringIO(),
            formatting_info=True,
            on_demand=True,
            ragged_rows=True,
        )
        grid = _XlsGrid(book)
    except FAULTS as error:
        _refuse(error)
    date1904 = book.datemode == 1
    workbook = Workbook(grid.sheets, date1904=date1904, styles=None, strings=None)
    cells = FormattedCells(_formats(book), date1904=date1904)
    yield Opened(grid, workbook, cells)


class _XlsGrid(Grid):
    """The sheets of an open workbook; a part is a position."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self.sheets = tuple(
            Sheet(name, str(index), self._sheet(str(index)).visibility == 0)
            for index, name in enumerate(book.sheet_names())
        )
        self.is_encoding_guessed = book.biff_version < UNICODE and not book.codepage
        self._unknown = unknown_results(book.mem, book.base, book.stream_len)
        self._filtered = {
            each.scope for each in book.name_obj_list if each.name == "_FilterDatabase"
        }

    def rows(self, part: str) -> Iterator[StoredRow]:
        sheet = self._sheet(part)
        unknown = self._unknown.get(self._start(part), frozenset())
        for index in range(sheet.nrows):
            cells = list(_row_cells(sheet, index, unknown))
            if cells:
                yield StoredRow(index + 1, *zip(*cells, strict=True))

    def survey(self, part: str) -> Survey:
        sheet = self._sheet(part)
        rows = [index + 1 for index, row in sheet.rowinfo_map.items() if row.hidden]
        columns = [index for index, info in sheet.colinfo_map.items() if info.hidden]
        merges = [
            Range(first + 1, left, last, right - 1)
            for first, last, left, right in sheet.merged_cells
        ]
        filtered = int(part) in self._filtered
        hidden = (row for row in sorted(rows) if _has_cells(sheet, row - 1))
        return Survey(tuple(merges), tuple(hidden), tuple(sorted(columns)), filtered)

    def _sheet(self, part: str) -> Any:
        try:
            return self._book.sheet_by_index(int(part))
        except FAULTS as error:
            _refuse(error)

    def _start(self, part: str) -> int:
        return int(self._book._sh_abs_posn[int(part)])  # noqa: SLF001 - xlrd tells nowhere else


def _row_cells(
    sheet: Any, index: int, unknown: frozenset[Place]
) -> Iterator[tuple[str, str, str]]:
    """Yield the column, the way to read it and the content of a row's cells."""
    kinds, values = sheet.row_types(index), sheet.row_values(index)
    for column, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        letters = column_letters(column)
        if kind in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
            style = sheet.cell_xf_index(index, column)
            yield letters, f' s="{style}"', _number_text(value)
        elif kind == xlrd.XL_CELL_TEXT and value:
            yield letters, Kind.TEXT, value
        elif kind == xlrd.XL_CELL_TEXT and (index, column) in unknown:
            yield letters, NO_RESULT, FORMULA
        elif kind == xlrd.XL_CELL_BOOLEAN:
            yield letters, Kind.BOOLEAN, "true" if value else "false"
        elif kind == xlrd.XL_CELL_ERROR:
            text = xlrd.error_text_from_code.get(value, f"#ERROR {value}")
            yield letters, ERROR, text


def _has_cells(sheet: Any, index: int) -> bool:
    kinds = sheet.row_types(index) if index < sheet.nrows else ()
    return any(kind not in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK) for kind in kinds)


def _number_text(value: float) -> str:
    whole = value.is_integer() and abs(value) < EXACT
    return str(int(value)) if whole else repr(value)


def _formats(book: Any) -> list[NumberFormat]:
    """Return the number format of every cell style, by the style's number."""
    found = []
    for style in book.xf_list:
        known = book.format_map.get(style.format_key)
        code = known.format_str if known else ""
        builtin = BUILTIN.get(style.format_key, GENERAL)
        found.append(read_format(code) if code else builtin)
    return found


def _refuse(error: Exception) -> NoReturn:
    if "encrypted" in str(error):
        message = "The workbook has a password. Save it without one and try again."
        raise SourceError("encrypted", message) from error
    message = (
        "The workbook (.xls) is damaged. "
        "Get the file again, or open it in Excel and save it as .xlsx."
    )
    raise SourceError("corrupt", message, detail=str(error)[:200]) from error
