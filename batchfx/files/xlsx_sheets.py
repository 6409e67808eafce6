"""Which sheet of a workbook to read, judged from the first rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from batchfx.errors import SourceError
from batchfx.files.xlsx_cells import CellReader
from batchfx.files.xlsx_header import SeenRow, find_header
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_references import column_indexes
from batchfx.files.xlsx_rows import StoredRow, sheet_rows
from batchfx.files.xlsx_survey import survey_sheet
from batchfx.files.xlsx_workbook import Sheet

SEEN_ROWS = 100
SEEN_SIZE = 16 * 1024**2  # characters in them, after which no more are looked at
CONTEXT_ROWS = 10  # above a stated header, for names of groups of columns


@dataclass(frozen=True, slots=True)
class Choice:
    """The sheet to read, its part, and the other visible sheets with content.

    *top* are its first rows, where they had to be looked at.
    """

    sheet: Sheet
    part: str
    others: tuple[str, ...] = ()
    top: Sequence[SeenRow] | None = None


def seen_rows(
    rows: Iterable[StoredRow], cells: CellReader, first: int = 1
) -> list[SeenRow]:
    """Return the first `SEEN_ROWS` rows that aren't blank, from row *first* on."""
    seen: list[SeenRow] = []
    size = 0
    for row in rows:
        if row.number < first or cells.is_blank(row.attributes, row.stored):
            continue
        read = map(cells.cell, row.attributes, row.stored)
        indexed = zip(column_indexes(row.letters), read, strict=True)
        texts = {
            index: (cell.text, str(cell.kind))
            for index, cell in indexed
            if cell.text.strip() or cell.fault
        }
        seen.append(SeenRow(row.number, texts))
        size += sum(len(text) for text, _ in texts.values())
        if len(seen) == SEEN_ROWS or size > SEEN_SIZE:
            break
    return seen


def choose_sheet(
    package: Package, sheets: Sequence[Sheet], cells: CellReader, name: str | None
) -> Choice:
    """Return the sheet called *name*, or else the one that surely is meant.

    That is the first visible one with a table of several columns, or, where none has
    one, with anything in it. Two tables with the same header are a choice to be made.

    Raises:
        SourceError: ``no_such_sheet``, ``choose_sheet`` (both with the names, as
            ``sheets``) or ``empty_file``.

    """
    if name is not None:
        return _named_sheet(sheets, name)
    tops = {
        sheet: top
        for sheet in sheets
        if sheet.part and (top := seen_rows(sheet_rows(package, sheet.part), cells))
    }
    visible = {sheet: top for sheet, top in tops.items() if sheet.visible}
    if not visible:
        _refuse_hidden([sheet.name for sheet in tops])
    tables = {
        sheet: names
        for sheet, top in visible.items()
        if len(visible) > 1 and (names := _table_names(package, sheet.part or "", top))
    }
    chosen = next(iter(tables or visible))
    twins = [s.name for s, names in tables.items() if names == tables.get(chosen)]
    if len(twins) > 1:
        message = (
            f"Several sheets have the same columns: {_quoted(twins)}. "
            "Say which one to read."
        )
        raise SourceError("choose_sheet", message, sheets=twins)
    others = tuple(sheet.name for sheet in visible if sheet is not chosen)
    return Choice(chosen, chosen.part or "", others, visible[chosen])


def _table_names(
    package: Package, part: str, top: Sequence[SeenRow]
) -> frozenset[str] | None:
    """Return the names of a table of several columns with a record; None without."""
    header = find_header(top, survey_sheet(package, part).merges)
    if header is None or len(header.names) < 2 or top[-1].number <= header.rows[-1]:  # noqa: PLR2004 - several
        return None
    return frozenset(name.casefold() for name in header.names.values())


def _named_sheet(sheets: Sequence[Sheet], name: str) -> Choice:
    wanted = name.strip().casefold()
    exact = [sheet for sheet in sheets if sheet.name == name]
    alike = [sheet for sheet in sheets if sheet.name.strip().casefold() == wanted]
    found = next(iter(exact or alike), None)
    names = [sheet.name for sheet in sheets]
    if found is None:
        message = f"There is no sheet '{name}'. The workbook has {_quoted(names)}."
        raise SourceError("no_such_sheet", message, sheets=names)
    if found.part is None:
        message = f"Sheet '{found.name}' is a chart or a macro and has no cells."
        raise SourceError("no_such_sheet", message, sheets=names)
    return Choice(found, found.part)


def _refuse_hidden(names: Sequence[str]) -> NoReturn:
    if names:
        message = (
            f"Only hidden sheets have anything in them: {_quoted(names)}. "
            "Say which one to read."
        )
        raise SourceError("choose_sheet", message, sheets=list(names))
    message = "No sheet of the workbook has anything in it."
    raise SourceError("empty_file", message)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
