"""Many rows of a table at once, column by column.

Most rows of most sheets have nothing but cells of the table's columns, in the plainest
notation. One regular expression made for these columns takes all such rows of a piece
of text apart; what it finds has a column of texts for every column of the table, so
that from there on little has to be done for each row and each cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from batchfx.files.xlsx_notation import ATTRIBUTES, CELL_ATTRIBUTES, FORMULA, SPACE
from batchfx.files.xlsx_plain import unescape
from batchfx.files.xlsx_references import LAST_ROW, column_letters

MOST_COLUMNS = 256  # of a table; with more, the expression would take long to make
ROWS_ALONE = 500  # at the start, which take no longer than to make the expression
FEW_ROWS = 32  # that were taken at once, so that it may not be worth while
LONGEST_PAUSE = 4096  # rows
LONGEST_ATTRIBUTES = 200  # characters

INLINE = r'<is><t(?: xml:space="preserve")?+>([^<]*+)</t></is>'
# Rows with subtotals are looked at one by one.
VALUE = rf"(?:<v>|(?!<f[^<]*>SUBTOTAL){FORMULA}<v>(?!<))([^<]*+)</v>"
# Of a cell, behind its letters; it may also be empty.
CELL = rf'[0-9]{{1,7}}+"([^>]*+)>(?:(?<=/>)|(?:{VALUE}|{INLINE})</c>)'
ROW = rf'{SPACE}<row r="([0-9]{{1,7}})"([^>]*+)>'
REST = r"((?s:.)++)"
GROUPS = 3  # of a cell: attributes, value, inline text
ROW_CODE = re.compile(ATTRIBUTES)
CELL_CODE = re.compile(f"{CELL_ATTRIBUTES}(?: ?/)?")


class Stretch(NamedTuple):
    """Rows right below one another, of which the number of the *first* is given.

    *attributes* and *stored* have for each of the table's columns what `StoredRow` has
    for each cell; where there is no cell, both are "".
    """

    first: int
    attributes: Sequence[Sequence[str]]
    stored: Sequence[Sequence[str]]

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.stored[0])

    @property
    def last(self) -> int:
        """The number of the last row."""
        return self.first + self.height - 1

    @property
    def filled(self) -> int:
        """How many cells have content."""
        return sum(len(column) - column.count("") for column in self.stored)

    def part(self, start: int, end: int) -> Stretch:
        """Return the rows from *start* up to *end*, counted from 0 in it."""
        attributes = [column[start:end] for column in self.attributes]
        stored = [column[start:end] for column in self.stored]
        return Stretch(self.first + start, attributes, stored)


class Stretches:
    """Takes stretches of rows with cells in some *columns* out of plain text.

    Where few rows are found together, ever more are left to be read one by one before
    it is tried again; so are *alone* rows at the start.
    """

    def __init__(self, columns: Sequence[int], alone: int = ROWS_ALONE) -> None:
        self._columns = columns
        self._alone = alone
        self._pause = 1
        self._pattern: re.Pattern[str] | None = None

    def take(self, text: str, position: int) -> tuple[Sequence[Stretch], int]:
        """Return what is found in *text* from *position* on, and where that ends.

        There begins a row that isn't as plain, if it is not the end of the text.
        """
        if self._alone:
            self._alone -= 1
            return (), position
        pattern = self._pattern = self._pattern or _table_pattern(self._columns)
        found = pattern.findall(text, position)
        rest = found[-1][-1]
        if rest:
            found.pop()
        stretches = list(_stretches(found, text)) if found else []
        end = len(text) - len(rest) if stretches else position
        if end < len(text):
            many = bool(stretches) and len(found) >= FEW_ROWS
            self._pause = 1 if many else min(self._pause * 2, LONGEST_PAUSE)
            self._alone = self._pause
        return stretches, end


def _table_pattern(columns: Iterable[int]) -> re.Pattern[str]:
    letters = map(column_letters, columns)
    cells = "".join(f'(?:<c r="{each}{CELL})?+' for each in letters)
    return re.compile(f"{ROW}{cells}</row>|{REST}")


def _stretches(found: Sequence[Sequence[str]], text: str) -> Iterator[Stretch]:
    """Yield *found* rows as stretches, or nothing if one has odd attributes."""
    names, described, *cells, _ = zip(*found, strict=True)
    attributes, values, inline = (cells[place::GROUPS] for place in range(GROUPS))
    if not (
        all(map(_is_row_code, set(described)))
        and all(map(_is_cell_code, set(chain.from_iterable(map(set, attributes)))))
    ):
        return
    stored = list(map(_either, values, inline)) if "<is>" in text else values
    if "&" in text:
        stored = list(map(_unescaped, stored))
    whole = Stretch(0, attributes, stored)
    numbers = list(map(int, names))
    for start, end in _runs(numbers):
        part = whole if end - start == len(numbers) else whole.part(start, end)
        yield part._replace(first=numbers[start])


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where *numbers* that count up start and end; the last row ends one."""
    first, start = numbers[0], 0
    count = len(numbers)
    if numbers[-1] <= LAST_ROW and numbers == list(range(first, first + count)):
        yield 0, count
        return
    for place in range(1, count):
        if numbers[place] != numbers[place - 1] + 1 or numbers[place] > LAST_ROW:
            yield start, place
            start = place
    yield start, count


def _either(values: Sequence[str], inline: Sequence[str]) -> Sequence[str]:
    """Return one column of the values and inline texts of cells, which have one."""
    if not any(inline):
        return values
    if not any(values):
        return inline
    return tuple(map(str.__add__, values, inline))


def _unescaped(stored: Sequence[str]) -> Sequence[str]:
    # One look at all of them costs less than one at each.
    return tuple(map(unescape, stored)) if "&" in "".join(stored) else stored


def _is_row_code(code: str) -> bool:
    return len(code) <= LONGEST_ATTRIBUTES and _is_known_row_code(code)


def _is_cell_code(code: str) -> bool:
    return len(code) <= LONGEST_ATTRIBUTES and _is_known_cell_code(code)


@lru_cache(maxsize=4096)
def _is_known_row_code(code: str) -> bool:
    return ROW_CODE.fullmatch(code) is not None


@lru_cache(maxsize=4096)
def _is_known_cell_code(code: str) -> bool:
    return CELL_CODE.fullmatch(code) is not None
