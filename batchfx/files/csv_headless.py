"""Whether the first line of a delimited text is a record: the file has no names.

It is when what the columns hold is no text, and the first line has the same there.
Names may be numbers too: years, or numbers that count up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from batchfx.files.csv_notes import BLANKS
from batchfx.files.csv_trial import Found

SEEN = 20  # records below that show what the columns hold
SURE = 2  # of these at least, to be sure

KINDS = {
    "number": re.compile(r"[-+(]?[€$£]?\d[\d.,' \u00a0]*%?\)?"),
    "date": re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ]\d.*)?"),
    "time": re.compile(r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"),
    "address": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|https?://\S+"),
    "identifier": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
YEAR = re.compile(r"(?:19|20)\d\d")


def sureness(first: Found, below: Sequence[Found]) -> int:
    """Return how sure it is that *first* is a record like those *below*.

    One column at least holds the same kind of values in all of them, and none that
    does so has something else in the first: that is 1. Where several records show it
    and the values are no numbers that count up, it is 2; else 0.
    """
    shown = below[:SEEN]
    if first.cut.flaw or not shown or not _fits(first, shown):
        return 0
    alike: list[str] = []
    for column, cell in enumerate(_cells(first)):
        values = [text for each in shown for text in _cells(each)[column : column + 1]]
        kinds = {_kind(text) for text in values if text}
        if not cell or len(kinds) != 1 or kinds == {None}:
            continue
        if {_kind(cell)} != kinds or _is_year_name(cell, values):
            return 0
        alike.append(cell)
    if not alike:
        return 0
    return 2 if len(shown) >= SURE and not _counts_up(alike) else 1


def _fits(first: Found, below: Sequence[Found]) -> bool:
    widths = [len(each.cut.cells) for each in below if not each.cut.flaw]
    return widths.count(len(first.cut.cells)) * 2 > len(below)


def _cells(record: Found) -> list[str]:
    return [cell.strip(BLANKS) for cell in record.cut.cells]


def _kind(text: str) -> str | None:
    # A date with points is one before it is a number.
    order = ("date", "time", "number", "address", "identifier")
    return next((kind for kind in order if KINDS[kind].fullmatch(text)), None)


def _is_year_name(cell: str, values: Sequence[str]) -> bool:
    return bool(YEAR.fullmatch(cell)) and not all(map(YEAR.fullmatch, values))


def _counts_up(cells: Sequence[str]) -> bool:
    """Tell whether *cells* may be names in order: whole numbers, each one more."""
    if len(cells) == 1 or not all(cell.isdecimal() for cell in cells):
        return False
    numbers = list(map(int, cells))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
