"""Which rows of a sheet hold the column names, judged from its first rows.

Above them stand titles, notes and pairs of label and value; a row of names is text
only, has a name for most of the columns that the rows below use, and stands at the top
of a run of rows about as wide as the widest. Cells that are merged across name a group
of columns, whose own names stand in the next row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from batchfx.files.xlsx_references import Range
from batchfx.model.blocks import Kind

SEARCHED_ROWS = 30
USUAL_SHARE = 0.75  # of the widest row, that a table's run of rows reaches
FEW_ROWS = 4
FIRST_YEAR, LAST_YEAR = 1900, 2100


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row that isn't blank; the text and kind of its cells, by column from 0."""

    number: int
    cells: Mapping[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Header:
    """The rows that hold the names, and the name of each column that has one."""

    rows: tuple[int, ...]
    names: Mapping[int, str]


def find_header(rows: Sequence[SeenRow], merges: Sequence[Range]) -> Header | None:
    """Return the header of the table that begins in *rows*, or None without a trace."""
    if not rows:
        return None
    widest = max(len(row.cells) for row in rows)
    if widest == 1:
        return _header(rows, merges, rows[0]) if _is_named(rows[0], least=1) else None
    candidates = (
        row
        for index, row in enumerate(rows[:SEARCHED_ROWS])
        if _is_named(row, least=2)
        and _covers(_spread(row, merges), rows[index + 1 : index + 1 + SEARCHED_ROWS])
        and _run_width(rows, index) >= widest * USUAL_SHARE
    )
    found = next(candidates, None)
    return _header(rows, merges, found) if found else None


def stated_header(
    rows: Sequence[SeenRow], merges: Sequence[Range], number: int
) -> Header | None:
    """Return the header whose last row is *number*; None when that row is blank.

    Rows of group names above it belong to it.
    """
    by_number = {row.number: row for row in rows}
    if number not in by_number:
        return None
    first = number
    while first - 1 in by_number and _groups(by_number[first - 1], merges):
        first -= 1
    numbers = tuple(range(first, number + 1))
    return Header(numbers, _names([by_number[each] for each in numbers], merges))


def _header(rows: Sequence[SeenRow], merges: Sequence[Range], first: SeenRow) -> Header:
    by_number = {row.number: row for row in rows}
    last = first
    while _groups(last, merges) and (below := by_number.get(last.number + 1)):
        if not _is_named(below, least=2):
            break
        last = below
    numbers = tuple(range(first.number, last.number + 1))
    return Header(numbers, _names([by_number[each] for each in numbers], merges))


def _is_named(row: SeenRow, least: int) -> bool:
    """Tell whether the row's cells could be names: texts, and years among them."""
    texts = sum(kind == Kind.TEXT for _, kind in row.cells.values())
    years = sum(_is_year(*cell) for cell in row.cells.values())
    return texts >= least and texts + years == len(row.cells)


def _is_year(text: str, kind: str) -> bool:
    numeric = kind == Kind.NUMBER and text.isdigit()
    return numeric and FIRST_YEAR <= int(text) <= LAST_YEAR


def _covers(names: Mapping[int, str], below: Sequence[SeenRow]) -> bool:
    """Tell whether more than half of the columns that rows *below* use have a name."""
    uses = Counter(column for row in below for column in row.cells)
    least = 1 if len(below) < FEW_ROWS else 2
    used = {column for column, count in uses.items() if count >= least}
    return len(used & names.keys()) * 2 > len(used) or not used


def _run_width(rows: Sequence[SeenRow], index: int) -> int:
    """Return the width of the widest of the rows from *index* to the next blank one."""
    width = 0
    expected = rows[index].number
    for row in rows[index:]:
        if row.number != expected:
            break
        width = max(width, len(row.cells))
        expected += 1
    return width


def _groups(row: SeenRow, merges: Iterable[Range]) -> bool:
    """Tell whether the row names groups of columns: some names, one merged across."""
    across = {
        merge.first_column
        for merge in merges
        if merge.first_row == merge.last_row == row.number
        and merge.last_column > merge.first_column
    }
    return len(row.cells) > 1 and not across.isdisjoint(row.cells)


def _spread(row: SeenRow, merges: Iterable[Range]) -> dict[int, str]:
    """Return the row's texts, those of merged cells in all the columns they cover."""
    texts = {column: _tidy(text) for column, (text, _) in row.cells.items()}
    free = 0
    for merge in sorted(merge for merge in merges if merge.first_row == row.number):
        # Ranges that overlap, which Excel never writes, could make this very long.
        if merge.first_column >= free and merge.first_column in texts:
            free = merge.last_column + 1
            covered = range(merge.first_column, free)
            texts |= dict.fromkeys(covered, texts[merge.first_column])
    return texts


def _names(rows: Sequence[SeenRow], merges: Sequence[Range]) -> dict[int, str]:
    spread = [_spread(row, merges) for row in rows]
    columns = sorted(set().union(*spread))
    named = {
        column: " / ".join(texts[column] for texts in spread if texts.get(column))
        for column in columns
    }
    return {column: name for column, name in named.items() if name}


def _tidy(text: str) -> str:
    return " ".join(text.split())
