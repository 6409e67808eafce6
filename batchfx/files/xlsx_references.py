"""Cell references: the letters of columns, the corners of ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from batchfx.errors import SourceError

LAST_COLUMN = 16_384
LAST_ROW = 1_048_576
CELL = re.compile(r"\$?([A-Za-z]{1,8})\$?([0-9]{1,9})")


class TwiceError(Exception):
    """A row has two cells of one column."""

    def __init__(self, letters: tuple[str, ...]) -> None:
        super().__init__(letters)
        self.letters = letters

    def in_row(self, number: int) -> SourceError:
        """Return the error that says so of row *number*."""
        twice = next(each for each in self.letters if self.letters.count(each) > 1)
        cell = f"{twice}{number}"
        message = (
            f"The sheet has cell {cell} twice. "
            "The workbook is damaged: open it in Excel and save it."
        )
        return SourceError("corrupt", message, cell=cell)


class Range(NamedTuple):
    """A rectangle of cells; rows count from 1, columns from 0, both ends belong."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


@lru_cache(maxsize=LAST_COLUMN)
def column_index(letters: str) -> int:
    """Return the position, from 0, of the column called *letters*.

    Raises:
        SourceError: ``too_many_columns``: it lies beyond XFD, the last one.

    """
    index = 0
    for letter in letters:
        index = index * 26 + ord(letter) - ord("A") + 1
    if index > LAST_COLUMN:
        message = (
            f"The sheet has a cell in column {letters}, but a sheet has at most "
            f"{LAST_COLUMN} columns (to XFD)."
        )
        raise SourceError("too_many_columns", message, column=letters)
    return index - 1


@lru_cache(maxsize=LAST_COLUMN)
def column_letters(index: int) -> str:
    """Return the letters of the column at *index*, from 0."""
    letters = ""
    rest = index + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def cell_letters(reference: str, part: str) -> str:
    """Return the column letters of a cell's *reference*, such as ``B7``.

    Raises:
        SourceError: ``corrupt``: it is no reference.

    """
    match = CELL.fullmatch(reference)
    if match is None:
        message = (
            f"Part '{part}' of the workbook has a cell called '{reference[:40]}', "
            "which is no cell's name. Open the file in Excel and save it."
        )
        raise SourceError("corrupt", message, part=part)
    return match[1].upper()


@lru_cache(maxsize=4096)
def column_indexes(letters: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of a row's cells.

    Raises:
        SourceError: ``too_many_columns``.
        TwiceError: A cell is there twice.

    """
    indexes = tuple(map(column_index, letters))
    if len(set(indexes)) != len(indexes):
        raise TwiceError(letters)
    return indexes


def read_range(reference: str) -> Range | None:
    """Return the range that ``A2:B4`` or ``A2`` names; None for anything else."""
    first, _, last = reference.partition(":")
    corners = [CELL.fullmatch(corner) for corner in (first, last or first)]
    if corners[0] is None or corners[1] is None:
        return None
    rows = sorted(int(corner[2]) for corner in corners if corner)
    columns = sorted(column_index(corner[1].upper()) for corner in corners if corner)
    return Range(rows[0], columns[0], rows[1], columns[1])


def row_ranges(rows: Sequence[int]) -> str:
    """Return ascending row numbers as a person writes them: ``3, 7 to 9``."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][-1] + 1:
            runs[-1][1:] = [row]
        else:
            runs.append([row])
    return ", ".join(" to ".join(map(str, run)) for run in runs)
