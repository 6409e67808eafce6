"""Excel workbooks (.xlsx, .xlsm): how one is laid out, and its rows as blocks.

A reader of its own, since a stranger's file must neither end the process nor fill the
memory: the sheet is streamed, nothing grows with its number of rows, and what a file
can do is bounded (see the limits at the top of each ``xlsx_`` module). Macros and
formulas are never run: a formula is what its cell last showed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from batchfx.errors import SourceError
from batchfx.files.xlsx_blocks import Table, blocks, make_fills, records
from batchfx.files.xlsx_cells import CellReader
from batchfx.files.xlsx_formats import read_formats
from batchfx.files.xlsx_header import Header, SeenRow, find_header, stated_header
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_references import column_index, column_letters
from batchfx.files.xlsx_rows import sheet_rows
from batchfx.files.xlsx_sheets import CONTEXT_ROWS, Choice, choose_sheet, seen_rows
from batchfx.files.xlsx_strings import SharedStrings
from batchfx.files.xlsx_survey import Survey, survey_sheet
from batchfx.files.xlsx_warnings import (
    above_warnings,
    hidden_column_warnings,
    hidden_row_warnings,
    merge_warnings,
    sheet_warnings,
)
from batchfx.files.xlsx_workbook import Workbook, read_workbook
from batchfx.model.blocks import Block
from batchfx.model.issues import Issue
from batchfx.model.sources import Layout


class _Opened(NamedTuple):
    package: Package
    workbook: Workbook
    cells: CellReader


class _Table(NamedTuple):
    choice: Choice
    survey: Survey
    seen: Sequence[SeenRow]
    header: Header
    columns: Sequence[int]


def inspect_xlsx(
    source: BinaryIO, *, sheet: str | None = None, header_row: int | None = None
) -> Layout:
    """Find the table in a workbook: its sheet, its column names, its columns.

    Hidden rows and columns are read like the others; cells that are merged downward
    give their content to the rows below. Both are said in the warnings, and so is
    every guess. The settings are ``sheet``, ``part``, ``columns`` (their letters),
    ``header_rows``, ``date1904`` and ``merged``.

    Args:
        source: The file, seekable; it stays open.
        sheet: The sheet's name, for a workbook that has several.
        header_row: The sheet's row with the column names (the last, if several).

    Raises:
        SourceError: ``empty_file``, ``wrong_format``, ``unsupported_format``,
            ``encrypted``, ``corrupt``, ``unsafe_file``, ``too_many_columns``,
            ``no_such_sheet``, ``choose_sheet`` or ``no_header``.

    """
    with _opened(source) as opened:
        table = _find_table(opened, sheet, header_row)
    header, columns = table.header, table.columns
    return Layout(
        format="xlsx",
        header=tuple(header.names.get(column, "") for column in columns),
        header_row=header.rows[-1],
        settings={
            "sheet": table.choice.sheet.name,
            "part": table.choice.part,
            "columns": [column_letters(column) for column in columns],
            "header_rows": list(header.rows),
            "date1904": opened.workbook.date1904,
            "merged": bool(_downward(table)),
        },
        warnings=tuple(_warnings(table, guessed=header_row is None)),
    )


def read_xlsx(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a workbook in blocks of *rows*; the last may be shorter.

    Numbers, dates, times and durations are text as `xlsx_values` makes it. A cell that
    shows an error keeps it as text and has the fault ``error_value``; a formula without
    a result is an empty cell with the fault ``no_cached_value``; content beside the
    table is the fault ``outside_table`` of its row.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_xlsx` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file`` or ``too_many_columns``.

    """
    after = max(layout.header_row, (position or {}).get("row", 0))
    part = layout.settings["part"]
    table = Table([column_index(letters) for letters in layout.settings["columns"]])
    with _opened(source) as (package, _, cells):
        merged = layout.settings["merged"]
        merges = survey_sheet(package, part).merges if merged else ()
        fills = make_fills(merges, table, layout.header_row)
        found = records(sheet_rows(package, part), table, cells, fills, after)
        yield from blocks(found, table, cells, rows, after)


@contextmanager
def _opened(source: BinaryIO) -> Iterator[_Opened]:
    with Package(source) as package:
        workbook = read_workbook(package)
        formats = read_formats(package, workbook.styles)
        with SharedStrings(package, workbook.strings) as strings:
            cells = CellReader(formats, strings, date1904=workbook.date1904)
            yield _Opened(package, workbook, cells)


def _find_table(opened: _Opened, sheet: str | None, header_row: int | None) -> _Table:
    package, workbook, cells = opened
    choice = choose_sheet(package, workbook.sheets, cells, sheet)
    survey = survey_sheet(package, choice.part)
    seen = choice.top
    if seen is None or header_row is not None:
        first = max(1, (header_row or 1) - CONTEXT_ROWS)
        seen = seen_rows(sheet_rows(package, choice.part), cells, first)
    header = _header(choice, seen, survey, header_row)
    return _Table(choice, survey, seen, header, _columns(header, seen))


def _header(
    choice: Choice, seen: Sequence[SeenRow], survey: Survey, header_row: int | None
) -> Header:
    name = choice.sheet.name
    if not seen:
        message = f"Sheet '{name}' has nothing in it{' there' if header_row else ''}."
        raise SourceError("empty_file", message, sheet=name)
    if header_row is not None:
        header = stated_header(seen, survey.merges, header_row)
        problem = f"Row {header_row} of sheet '{name}' is blank"
    else:
        header = find_header(seen, survey.merges)
        problem = f"No row of sheet '{name}' looks like column names"
    if header is None or not header.names:
        message = f"{problem}. Say in which row the column names are."
        raise SourceError("no_header", message, sheet=name)
    return header


def _columns(header: Header, seen: Sequence[SeenRow]) -> list[int]:
    """Return the columns of the table: named ones, and unnamed ones in use among them.

    What has no name belongs to the table where it lies between or next to named
    columns; what stands farther away is beside the table.
    """
    last = header.rows[-1]
    own = {column for row in seen if row.number in header.rows for column in row.cells}
    used = {column for row in seen if row.number > last for column in row.cells}
    named = {column for column in header.names if column in own or column in used}
    left, right = min(named), max(named)
    while left - 1 in used:
        left -= 1
    while right + 1 in used:
        right += 1
    return sorted(named | {column for column in used if left <= column <= right})


def _downward(table: _Table) -> list[str]:
    """Return the merged ranges of the table that reach over several records."""
    columns = set(table.columns)
    return [
        f"{column_letters(merge.first_column)}{merge.first_row}:"
        f"{column_letters(merge.last_column)}{merge.last_row}"
        for merge in table.survey.merges
        if table.header.rows[-1] < merge.first_row < merge.last_row
        and merge.first_column in columns
    ]


def _warnings(table: _Table, *, guessed: bool) -> Iterator[Issue]:
    header, survey = table.header, table.survey
    above = [row.number for row in table.seen if row.number < header.rows[0]]
    hidden_rows = [row for row in survey.hidden_rows if row > header.rows[-1]]
    hidden_columns = [each for each in survey.hidden_columns if each in table.columns]
    names = {column: header.names.get(column, "") for column in hidden_columns}
    yield from sheet_warnings(table.choice.sheet.name, table.choice.others)
    yield from above_warnings(above if guessed else [], header.rows[-1])
    yield from hidden_row_warnings(hidden_rows, filtered=survey.filtered)
    yield from hidden_column_warnings(names)
    yield from merge_warnings(_downward(table))
