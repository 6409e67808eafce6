"""What stands in a sheet beside its table: notes and sums that belong to no record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_references import LAST_COLUMN, column_index, column_letters

SCANNED_COLUMNS = 256  # of the table; with more, it would take too long
NAMED_CELLS = 5
CELL_START = b"<c "
CELL_HEAD = 512  # bytes that the start of a cell takes, at most


@dataclass(frozen=True, slots=True)
class Beside:
    """The columns (from 0) with content beside the table, some cells, and their count.

    Cells in an unusual notation are not seen here: their rows get a fault.
    """

    columns: tuple[int, ...] = ()
    cells: tuple[str, ...] = ()
    count: int = 0


def find_beside(
    package: Package, part: str, columns: Sequence[int], header_row: int
) -> Beside:
    """Look for content below *header_row* in other columns than *columns*.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    if len(columns) > SCANNED_COLUMNS:
        return Beside()
    pattern = _foreign_cell(columns)
    found: set[bytes] = set()
    cells: list[str] = []
    count = 0
    for piece in _whole_cells(package.chunks(part, PART_LIMIT)):
        for letters, row in pattern.findall(piece):
            if int(row) > header_row:
                found.add(letters)
                count += 1
                if len(cells) < NAMED_CELLS:
                    cells.append(f"{letters.decode()}{int(row)}")
    indexes = sorted(column_index(letters.decode()) for letters in found)
    return Beside(tuple(i for i in indexes if i < LAST_COLUMN), tuple(cells), count)


def _foreign_cell(columns: Sequence[int]) -> re.Pattern[bytes]:
    own = "|".join(map(column_letters, columns))
    pattern = (
        rf'<c r="(?!(?:{own})[0-9])([A-Z]{{1,3}})([0-9]{{1,7}})"[^>]*+(?<!/)>'
        r"\s*+(?:<v>[^<]|<is>|<f)"
    )
    return re.compile(pattern.encode())


def _whole_cells(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield *chunks* anew, cut where a cell starts."""
    rest = b""
    for chunk in chunks:
        piece = rest + chunk
        cut = max(piece.rfind(CELL_START), len(piece) - CELL_HEAD)
        yield piece[:cut]
        rest = piece[cut:]
    yield rest
