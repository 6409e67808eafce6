"""Excel workbooks (.xlsx, .xlsm): how one is laid out, and its rows as blocks.

A reader of its own, since a stranger's file must neither end the process nor fill the
memory: the sheet is streamed, nothing grows with its number of rows, and what a file
can do is bounded (see the limits at the top of each ``xlsx_`` module). Macros and
formulas are never run: a formula is what its cell last showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from batchfx.errors import SourceError
from batchfx.files.grids import Grid, grid_beside, grid_rows, grid_survey, grid_table
from batchfx.files.names import matches
from batchfx.files.sheet_options import SheetOptions
from batchfx.files.xlsx_beside import Beside
from batchfx.files.xlsx_blocks import Table, blocks, make_fills, records
from batchfx.files.xlsx_cells import CellReader, Cells
from batchfx.files.xlsx_formats import read_formats
from batchfx.files.xlsx_header import (
    Header,
    SeenRow,
    counted_header,
    expected_header,
    find_header,
    is_part,
    refuse_repeated,
    stated_header,
)
from batchfx.files.xlsx_notes import Profile, Record, profile_of
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_references import (
    Range,
    column_index,
    column_letters,
    row_ranges,
)
from batchfx.files.xlsx_sheets import (
    CONTEXT_ROWS,
    SEEN_ROWS,
    Choice,
    choose_sheet,
    seen_rows,
)
from batchfx.files.xlsx_stretches import Stretch
from batchfx.files.xlsx_strings import SharedStrings
from batchfx.files.xlsx_survey import Survey
from batchfx.files.xlsx_warnings import (
    above_warnings,
    beside_warnings,
    emptiness_warnings,
    hidden_column_warnings,
    hidden_row_warnings,
    merge_warnings,
    nameless_warnings,
    second_row_warnings,
    second_table_warnings,
    sheet_warnings,
)
from batchfx.files.xlsx_workbook import Workbook, read_workbook
from batchfx.model.blocks import Block
from batchfx.model.issues import Issue
from batchfx.model.sources import Layout

XLSX = "an Excel workbook: a ZIP archive with a workbook part in it"
TABLE_COLUMNS = ("columns", "ignored")  # settings


class Opened(NamedTuple):
    """A workbook of any format, while it is open."""

    package: Package | Grid
    workbook: Workbook
    cells: Cells


class _Table(NamedTuple):
    choice: Choice
    survey: Survey
    seen: Sequence[SeenRow]
    header: Header
    columns: Sequence[int]
    hidden: Sequence[int]  # columns of the table
    beside: Beside
    below: Sequence[SeenRow]  # the first rows below the header
    profile: Profile


def inspect_xlsx(source: BinaryIO, **overrides: Any) -> Layout:
    """Find the table in a workbook: its sheet, its column names, its columns.

    If nothing else is said, hidden rows and columns are read like the others, and cells
    that are merged downward give their content to the rows below. That is said in the
    warnings, and so is every guess, and what stands beside the table and isn't read.

    Args:
        source: The file, seekable; it stays open.
        overrides: What is known of the table, as `SheetOptions` has it.

    Raises:
        SourceError: ``empty_file``, ``wrong_format``, ``unsupported_format``,
            ``encrypted``, ``corrupt``, ``unsafe_file``, ``too_many_columns``,
            ``no_such_sheet``, ``choose_sheet``, ``no_header`` or ``duplicate_header``.
        UsageError: An override is impossible.

    """
    with _opened(source) as opened:
        return inspect_sheets(opened, SheetOptions(**overrides), "xlsx", XLSX)


def inspect_sheets(
    opened: Opened, given: SheetOptions, name: str, reason: str
) -> Layout:
    """Find the table in an open workbook of the format *name*, for that *reason*.

    Raises:
        SourceError: As `inspect_xlsx`.

    """
    table = _find_table(opened, given)
    header, columns = table.header, table.columns
    ignored = sorted({*table.beside.columns, *table.hidden} - set(columns))
    return Layout(
        format=name,
        header=tuple(header.names.get(column, "") for column in columns),
        header_row=header.rows[-1],
        settings={
            "sheet": table.choice.sheet.name,
            "part": table.choice.part,
            "columns": [column_letters(column) for column in columns],
            "ignored": [column_letters(column) for column in ignored],
            "header_rows": list(header.rows),
            "skip_after_header": given.skip_after_header,
            "profile": list(table.profile),
            "date1904": opened.workbook.date1904,
            "merged": bool(_downward(table)) and given.merged == "fill",
            "hidden_rows": given.hidden_rows,
        },
        warnings=tuple(_warnings(table, given)),
        reasons={"format": reason, **_reasons(table, given)},
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
    a result is an empty cell with the fault ``no_cached_value``; a line of totals or a
    note below the table has the fault ``not_a_record``; content beside the table that
    the layout doesn't know of is the fault ``outside_table`` of its row.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_xlsx` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file`` or ``too_many_columns``.

    """
    with _opened(source) as opened:
        yield from read_sheets(opened, layout, rows, position)


def read_sheets(
    opened: Opened,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of an open workbook, as `read_xlsx` does.

    Raises:
        SourceError: As `read_xlsx`.

    """
    package, _, cells = opened
    settings = layout.settings
    reached = position or {}
    start = layout.header_row + settings["skip_after_header"]
    after = max(start, reached.get("row", 0))
    noted = bool(reached.get("noted"))
    part, merged = settings["part"], settings["merged"]
    skips = settings["hidden_rows"] == "skip"
    columns, ignored = (
        [column_index(letters) for letters in settings[name]] for name in TABLE_COLUMNS
    )
    table = Table(columns, ignored)
    survey = grid_survey(package, part) if merged or skips else Survey()
    fills = make_fills(survey.merges if merged else (), table, layout.header_row)
    skipped = sorted(survey.hidden_rows) if skips else []
    even = not (ignored or fills.merges or skipped)  # as stretches have to be
    stored = grid_table(package, part, columns) if even else grid_rows(package, part)
    found = records(stored, table, cells, fills, after)
    shown = _without(found, skipped)
    profile = Profile(*settings.get("profile", ()))
    yield from blocks(
        shown,
        table,
        cells,
        rows,
        after,
        profile=profile,
        noted=noted,
        skipped=skipped,
    )


@contextmanager
def _opened(source: BinaryIO) -> Iterator[Opened]:
    with Package(source) as package:
        workbook = read_workbook(package)
        formats = read_formats(package, workbook.styles)
        with SharedStrings(package, workbook.strings) as strings:
            cells = CellReader(formats, strings, date1904=workbook.date1904)
            yield Opened(package, workbook, cells)


def _without(
    found: Iterable[Record | Stretch], skipped: Sequence[int]
) -> Iterable[Record | Stretch]:
    if not skipped:
        return found
    numbers = set(skipped)
    return (
        each
        for each in found
        if isinstance(each, Stretch) or each.number not in numbers
    )


def _find_table(opened: Opened, given: SheetOptions) -> _Table:
    package, workbook, cells = opened
    choice = choose_sheet(
        package, workbook.sheets, cells, given.sheet, given.expected_columns
    )
    survey = grid_survey(package, choice.part)
    seen = choice.top
    if seen is None or given.header_row is not None:
        context = max(CONTEXT_ROWS, given.header_rows or 0)
        first = max(1, (given.header_row or 1) - context)
        seen = seen_rows(grid_rows(package, choice.part), cells, first)
    header = _header(choice, seen, survey, given)
    last = header.rows[-1] + given.skip_after_header
    columns = _columns(
        header, [row for row in seen if not header.rows[-1] < row.number <= last]
    )
    beside = grid_beside(package, choice.part, columns, last)
    hidden = [column for column in columns if column in survey.hidden_columns]
    if given.hidden_columns == "skip":
        columns = [column for column in columns if column not in hidden]
        _refuse_none(columns, choice.sheet.name)
    own = _own_cells(header, seen) & header.names.keys()
    refuse_repeated({c: header.names[c] for c in columns if c in own})
    below = [row for row in seen if row.number > last]
    profile = profile_of(below, columns)
    return _Table(choice, survey, seen, header, columns, hidden, beside, below, profile)


def _header(
    choice: Choice, seen: Sequence[SeenRow], survey: Survey, given: SheetOptions
) -> Header:
    name = choice.sheet.name
    row, count, merges = given.header_row, given.header_rows, survey.merges
    if not seen:
        message = f"Sheet '{name}' has nothing in it{' there' if row else ''}."
        raise SourceError("empty_file", message, sheet=name)
    if row is not None:
        header = stated_header(seen, merges, row, count)
        problem = f"Row {row} of sheet '{name}' is blank"
    else:
        header = _found_header(seen, merges, given)
        problem = f"No row of sheet '{name}' looks like column names"
    if header is None or not header.names:
        message = f"{problem}. Say in which row the column names are."
        raise SourceError("no_header", message, sheet=name)
    return header


def _found_header(
    seen: Sequence[SeenRow], merges: Sequence[Range], given: SheetOptions
) -> Header | None:
    if given.header_rows:
        found = counted_header(seen, merges, given.header_rows)
    else:
        found = find_header(seen, merges)
    wanted = given.expected_columns
    header = expected_header(seen, merges, wanted, given.header_rows)
    if header is None or (found and is_part(header, found, wanted)):
        return found
    return header


def _columns(header: Header, seen: Sequence[SeenRow]) -> list[int]:
    """Return the columns of the table: named ones, and unnamed ones in use among them.

    What has no name belongs to the table where it lies between or next to named
    columns; what stands farther away is beside the table.
    """
    last = header.rows[-1]
    own = _own_cells(header, seen)
    used = {column for row in seen if row.number > last for column in row.cells}
    named = {column for column in header.names if column in own or column in used}
    left, right = min(named), max(named)
    while left - 1 in used:
        left -= 1
    while right + 1 in used:
        right += 1
    return sorted(named | {column for column in used if left <= column <= right})


def _refuse_none(columns: Sequence[int], name: str) -> None:
    if not columns:
        message = f"All columns of sheet '{name}' are hidden, so nothing is to be read."
        raise SourceError("no_header", message, sheet=name)


def _own_cells(header: Header, seen: Sequence[SeenRow]) -> set[int]:
    """Return the columns with a cell of their own in the header, unlike merged ones."""
    return {column for row in seen if row.number in header.rows for column in row.cells}


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


def _warnings(table: _Table, given: SheetOptions) -> Iterator[Issue]:
    header, survey = table.header, table.survey
    above = [row.number for row in table.seen if row.number < header.rows[0]]
    guessed = given.header_row is None
    hidden_rows = [row for row in survey.hidden_rows if row > header.rows[-1]]
    names = {column: header.names.get(column, "") for column in table.hidden}
    yield from sheet_warnings(table.choice.sheet.name, table.choice.others)
    yield from above_warnings(above if guessed else [], header.rows[-1])
    nameless = [column for column in table.columns if column not in header.names]
    empty = not table.below and len(table.seen) < SEEN_ROWS
    yield from nameless_warnings(nameless)
    yield from emptiness_warnings(table.choice.sheet.name, empty=empty)
    if guessed and not given.header_rows:
        natural = find_header(table.seen, survey.merges)
        yield from second_row_warnings(header.rows, natural.rows if natural else ())
    yield from second_table_warnings(table.below, table.columns, table.profile)
    yield from hidden_row_warnings(
        hidden_rows, given.hidden_rows, filtered=survey.filtered
    )
    yield from hidden_column_warnings(names, given.hidden_columns)
    yield from merge_warnings(_downward(table), filled=given.merged == "fill")
    yield from beside_warnings(table.beside.cells, table.beside.count)


def _reasons(table: _Table, given: SheetOptions) -> dict[str, str]:
    rows = table.header.rows
    letters = [column_letters(column) for column in table.columns]
    return {
        "sheet": f"'{table.choice.sheet.name}': {table.choice.reason}",
        "header_row": f"{row_ranges(rows)}: {_header_reason(table, given)}",
        "columns": f"{letters[0]} to {letters[-1]}, with {len(letters)} in use",
    }


def _header_reason(table: _Table, given: SheetOptions) -> str:
    if given.header_row is not None:
        return "as was stated"
    expected = given.expected_columns
    if found := matches(table.header.names.values(), expected):
        return f"{found} of {len(expected)} expected columns are there"
    return "the first with a name for most columns that are in use below"
