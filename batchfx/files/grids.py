"""What every workbook is to those who look for tables in it, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from batchfx.files.xlsx_beside import NAMED_CELLS, Beside, find_beside
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_references import column_index, column_letters
from batchfx.files.xlsx_rows import StoredRow, sheet_rows, table_rows
from batchfx.files.xlsx_stretches import MOST_COLUMNS, Stretch, Stretches
from batchfx.files.xlsx_survey import Survey, survey_sheet

KNOWN_ROWS = 1000


class Grid(ABC):
    """The sheets of a workbook, each by the name of its part."""

    @abstractmethod
    def rows(self, part: str) -> Iterator[StoredRow]:
        """Yield the rows of a sheet that have cells, ascending."""

    @abstractmethod
    def survey(self, part: str) -> Survey:
        """Return what lies around the rows of a sheet."""

    def beside(self, part: str, columns: Sequence[int], header_row: int) -> Beside:
        """Return what stands below *header_row* in other columns than *columns*."""
        own = set(map(column_letters, columns))
        known: set[tuple[str, ...]] = set()  # rows in the table's columns alone
        found: set[str] = set()
        cells: list[str] = []
        count = 0
        for row in self.rows(part):
            if row.number <= header_row or row.letters in known:
                continue
            others = [
                letters
                for letters, text in zip(row.letters, row.stored, strict=True)
                if letters not in own and text
            ]
            if not others and len(known) < KNOWN_ROWS:
                known.add(row.letters)
            found.update(others)
            count += len(others)
            cells += [f"{each}{row.number}" for each in others[:NAMED_CELLS]]
            del cells[NAMED_CELLS:]
        indexes = tuple(sorted(map(column_index, found)))
        return Beside(indexes, tuple(cells), count)


def grid_rows(workbook: Package | Grid, part: str) -> Iterator[StoredRow]:
    """Yield the stored rows of the sheet in *part*, ascending."""
    if isinstance(workbook, Grid):
        return workbook.rows(part)
    return sheet_rows(workbook, part)


def grid_table(
    workbook: Package | Grid, part: str, columns: Sequence[int]
) -> Iterator[StoredRow | Stretch]:
    """Yield the stored rows of a sheet, stretches of them with cells in *columns*."""
    if isinstance(workbook, Grid) or len(columns) > MOST_COLUMNS:
        return grid_rows(workbook, part)
    return table_rows(workbook, part, Stretches(columns))


def grid_survey(workbook: Package | Grid, part: str) -> Survey:
    """Return what lies around the rows of the sheet in *part*."""
    if isinstance(workbook, Grid):
        return workbook.survey(part)
    return survey_sheet(workbook, part)


def grid_beside(
    workbook: Package | Grid, part: str, columns: Sequence[int], header_row: int
) -> Beside:
    """Return what stands below *header_row* in other columns than *columns*."""
    if isinstance(workbook, Grid):
        return workbook.beside(part, columns, header_row)
    return find_beside(workbook, part, columns, header_row)
