"""Which sheet of a workbook to read, judged from the first rows of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from batchfx.errors import SourceError
from batchfx.files.grids import Grid, grid_rows, grid_survey
from batchfx.files.xlsx_cells import Cells, Odd
from batchfx.files.xlsx_header import SeenRow, find_header, most_matches
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_references import TwiceError, column_indexes
from batchfx.files.xlsx_rows import StoredRow
from batchfx.files.xlsx_workbook import Sheet

# Names of sheets that explain another one, or hold what its cells may be chosen from.
HELP = frozenset(
    (
        *("about", "codes", "cover", "explanation", "guide", "help", "info"),
        *("instructions", "legend", "lists", "lookup", "lookups", "notes", "read me"),
        *("readme", "anleitung", "deckblatt", "erläuterungen", "hilfe", "hinweise"),
        *("legende", "listen", "aide", "instruction", "listes", "légende", "notice"),
        *("ayuda", "instrucciones", "leyenda", "listas", "notas", "istruzioni"),
        *("legenda", "toelichting", "instrukcja", "инструкция", "说明", "説明"),
    )
)
SEEN_ROWS = 100
SEEN_SIZE = 16 * 1024**2  # characters in them, after which no more are looked at
NUMBER = re.compile(r"[0-9]{1,5}")
CONTEXT_ROWS = 10  # above a stated header, for names of groups of columns


@dataclass(frozen=True, slots=True)
class Choice:
    """The sheet to read, its part, and the other visible sheets with content.

    Where it has a single row, hidden ones with more are among these. *top* are its
    first rows, where they had to be looked at; *reason* says why it is this one.
    """

    sheet: Sheet
    part: str
    reason: str
    others: tuple[str, ...] = ()
    top: Sequence[SeenRow] | None = None


def seen_rows(rows: Iterable[StoredRow], cells: Cells, first: int = 1) -> list[SeenRow]:
    """Return the first `SEEN_ROWS` rows that aren't blank, from row *first* on."""
    seen: list[SeenRow] = []
    size = 0
    for row in rows:
        if row.number < first or cells.is_blank(row.attributes, row.stored):
            continue
        read = [*map(cells.cell, row.attributes, row.stored)]
        _refuse_damage(read if not seen else [])
        try:
            indexed = zip(column_indexes(row.letters), read, strict=True)
        except TwiceError as error:
            raise error.in_row(row.number) from None
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


def _refuse_damage(read: Sequence[Odd]) -> None:
    """Refuse a first row with a cell that refers to nothing: it may be the header."""
    for cell in read:
        if cell.fault and cell.fault.code == "corrupt":
            raise SourceError(cell.fault.code, cell.fault.message)


def choose_sheet(
    package: Package | Grid,
    sheets: Sequence[Sheet],
    cells: Cells,
    name: str | int | None,
    expected: Sequence[str] = (),
) -> Choice:
    """Return the sheet called *name*, or else the one that surely is meant.

    That is the visible one with most of the *expected* column names; without these the
    one with the largest table of several columns, or, where none has one, the first
    with anything in it. Two tables of about the same size are a choice to be made.

    Raises:
        SourceError: ``no_such_sheet``, ``choose_sheet`` (both with the names, as
            ``sheets``) or ``empty_file``.

    """
    if name is not None:
        return _named_sheet(sheets, name)
    tops = {
        sheet: top
        for sheet in sheets
        if sheet.part and (top := seen_rows(grid_rows(package, sheet.part), cells))
    }
    visible = {sheet: top for sheet, top in tops.items() if sheet.visible}
    if not visible:
        _refuse_hidden([sheet.name for sheet in tops])
    likely = _most_expected(visible, expected)
    tables = {
        sheet: names
        for sheet, top in likely.items()
        if len(likely) > 1 and (names := _table_names(package, sheet.part or "", top))
    }
    main = _main_tables(tables, likely)
    if len(main) > 1:
        _refuse_choice(main, tables)
    chosen = next(iter(main or likely))
    others = tuple(sheet.name for sheet in visible if sheet is not chosen)
    reason = _reason(chosen, others, tables, likely)
    if len(visible[chosen]) == 1:  # what is no table gives way to hidden ones
        others += tuple(
            each.name for each, top in tops.items() if not each.visible and len(top) > 1
        )
    return Choice(chosen, chosen.part or "", reason, others, visible[chosen])


def _reason(
    chosen: Sheet,
    others: Sequence[str],
    tables: Mapping[Sheet, object],
    likely: Mapping[Sheet, object],
) -> str:
    if not others:
        return "no other visible sheet has anything in it"
    if len(likely) <= len(others):
        return "it has most of the expected columns"
    return "its table is the largest" if chosen in tables else "the first in use"


def _main_tables(
    tables: Mapping[Sheet, frozenset[str]], tops: Mapping[Sheet, Sequence[SeenRow]]
) -> list[Sheet]:
    """Return the sheets with a table that may be meant: large ones, and no help.

    A table is large when it has half as many cells as the largest, as far as seen; and
    one with the same columns may be another part of it.
    """
    data = [sheet for sheet in tables if sheet.name.strip().casefold() not in HELP]
    sizes = {sheet: len(tables[sheet]) * len(tops[sheet]) for sheet in data or tables}
    most = max(sizes.values(), default=0)
    large = {tables[sheet] for sheet, size in sizes.items() if 2 * size >= most}
    return [sheet for sheet in sizes if tables[sheet] in large]


def _refuse_choice(
    sheets: Sequence[Sheet], tables: Mapping[Sheet, frozenset[str]]
) -> NoReturn:
    names = [sheet.name for sheet in sheets]
    same = len({tables[sheet] for sheet in sheets}) == 1
    message = (
        f"Several sheets have {'the same columns' if same else 'a table'}: "
        f"{_quoted(names)}. Say which one to read: --set sheet=NAME"
    )
    raise SourceError("choose_sheet", message, sheets=names)


def _most_expected(
    tops: Mapping[Sheet, Sequence[SeenRow]], expected: Sequence[str]
) -> Mapping[Sheet, Sequence[SeenRow]]:
    """Return the sheets that have most of the *expected* names, of all sheets."""
    counts = {sheet: most_matches(top, expected) for sheet, top in tops.items()}
    most = max(counts.values())
    return {sheet: top for sheet, top in tops.items() if counts[sheet] == most}


def _table_names(
    package: Package | Grid, part: str, top: Sequence[SeenRow]
) -> frozenset[str] | None:
    """Return the names of a table of several columns with a record; None without."""
    header = find_header(top, grid_survey(package, part).merges)
    if header is None or len(header.names) < 2 or top[-1].number <= header.rows[-1]:  # noqa: PLR2004 - several
        return None
    return frozenset(name.casefold() for name in header.names.values())


def _named_sheet(sheets: Sequence[Sheet], given: str | int) -> Choice:
    name = str(given)
    wanted = name.strip().casefold()
    exact = [sheet for sheet in sheets if sheet.name == name]
    alike = [sheet for sheet in sheets if sheet.name.strip().casefold() == wanted]
    number = int(wanted) if NUMBER.fullmatch(wanted) else 0
    counted = sheets[number - 1 : number] if number else ()
    named = exact or alike
    by_number = isinstance(given, int) and counted
    found = next(iter(by_number or named or counted), None)
    names = [sheet.name for sheet in sheets]
    if found is None:
        message = f"There is no sheet '{name}'. The workbook has {_quoted(names)}."
        raise SourceError("no_such_sheet", message, sheets=names)
    if found.part is None:
        message = f"Sheet '{found.name}' is a chart or a macro and has no cells."
        raise SourceError("no_such_sheet", message, sheets=names)
    return Choice(found, found.part, "as was stated")


def _refuse_hidden(names: Sequence[str]) -> NoReturn:
    if names:
        message = (
            f"Only hidden sheets have anything in them: {_quoted(names)}. "
            "Say which one to read: --set sheet=NAME"
        )
        raise SourceError("choose_sheet", message, sheets=list(names))
    message = "No sheet of the workbook has anything in it."
    raise SourceError("empty_file", message)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
