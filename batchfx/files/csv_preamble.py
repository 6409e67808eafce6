"""Lines above the header that are cut into cells as well: a preamble, or comments.

A first line of names is the header. One with numbers or dates, or that begins with "#",
isn't when a line further down has nothing but different names and the lines below it
show that these are names: a column holds numbers only, and held none above.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from batchfx.files.csv_notes import BLANKS
from batchfx.files.csv_trial import Found, Trial

NUMBER = re.compile(r"[-+(]?\d[\d.,:/ -]*[%)]?")  # or a date
YEAR = re.compile(r"(?:19|20)\d\d")
DATE = re.compile(r"\d+[-/.:]\d+[-/.:]\d.*")

NO_VALUE = {"n/a", "na", "nan", "nil", "none", "null", "unknown", "k.a.", "tbd"}

DEEP = 20  # records at the top that may be a preamble
BELOW = 5  # records that show what the columns hold


def may_be_names(record: Found) -> bool:
    """Tell whether the cells may be names: none is a number, but maybe a year."""
    if record.cut.flaw or record.blank:
        return False
    cells = [record.cut.cells[column].strip(BLANKS) for column in record.filled]
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    return len(numbers) < len(cells) and all(map(YEAR.fullmatch, numbers))


def counts(records: Sequence[Found], column: int) -> bool:
    """Tell whether the column holds nothing but numbers or dates, one at least."""
    cells = _column(records, column)
    return bool(cells) and all(map(NUMBER.fullmatch, cells))


def find_below_preamble(trial: Trial, first: Found) -> Found | None:
    """Return the header below *first* if that isn't one, but a line of a preamble."""
    rest = trial.seen[trial.seen.index(first) :]
    comments = list(takewhile(_is_comment, rest))
    if not comments and may_be_names(first):
        return None
    for at, candidate in enumerate(rest[1 : DEEP + 1], 1):
        below = rest[at + 1 : at + 1 + BELOW]
        if _names_all(candidate, below) and (
            _are_comments(comments, at, candidate)
            or _differs(rest[:at], candidate, below)
        ):
            return candidate
    return None


def _is_comment(record: Found) -> bool:
    return record.cut.cells[:1] != () and record.cut.cells[0].startswith("#")


def _are_comments(comments: Sequence[Found], at: int, candidate: Found) -> bool:
    """Tell whether all above is comments; one may be the header, behind a "#"."""
    if at != len(comments):
        return False
    alike = len(comments[0].cut.cells) == len(candidate.cut.cells)
    return len(comments) > 1 or not alike


def _names_all(record: Found, below: Sequence[Found]) -> bool:
    """Tell whether each cell may name a column of the records *below*."""
    cells = [cell.strip(BLANKS).casefold() for cell in record.cut.cells]
    several = len(set(cells)) == len(cells) > 1
    alike = all(len(each.cut.cells) == len(cells) for each in below)
    worded = all(any(map(str.isalpha, cell)) for cell in cells)
    worded &= NO_VALUE.isdisjoint(cells) and not _is_comment(record)
    return several and worded and may_be_names(record) and bool(below) and alike


def _differs(above: Sequence[Found], candidate: Found, below: Sequence[Found]) -> bool:
    """Tell whether a column holds numbers *below*, and none like them *above*."""
    return any(
        counts(below, column)
        and not NUMBER.fullmatch(candidate.cut.cells[column].strip(BLANKS))
        and not _kinds(above, column) & _kinds(below, column)
        for column in range(len(candidate.cut.cells))
    )


def _kinds(records: Sequence[Found], column: int) -> set[bool]:
    """Return whether the numbers in the column are dates, or not, or both."""
    numbers = filter(NUMBER.fullmatch, _column(records, column))
    return {DATE.fullmatch(cell) is not None for cell in numbers}


def _column(records: Sequence[Found], column: int) -> list[str]:
    cells = (each.cut.cells[column : column + 1] for each in records)
    return [cell.strip(BLANKS) for each in cells for cell in each]
