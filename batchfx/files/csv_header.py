"""Where the header of a delimited text stands, and what its columns are called.

A header of several rows is as in a workbook: the upper ones name groups of columns.
What a spreadsheet merges is one cell and empty ones behind it in a text, so a name of a
group counts for the columns on its right that have none there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from batchfx.errors import SourceError
from batchfx.files.csv_headless import sureness
from batchfx.files.csv_judge import name_of, show
from batchfx.files.csv_notes import is_ruler
from batchfx.files.csv_preamble import counts, find_below_preamble, may_be_names
from batchfx.files.csv_trial import Found, Trial
from batchfx.files.names import has_expected
from batchfx.files.text import UNDECODABLE

FIRST = "it is the first line that may name the columns"
SEVERAL = 2
SEARCHED = 50  # records at the top, for names that are expected


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of the header: its (last) line, its rows, names that are in it."""

    row: int | None = None
    rows: int = 1
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The records that hold the names, from the upmost on, and how they were found."""

    records: tuple[Found, ...]
    why: str
    doubtful: bool = False  # it may be a record

    @property
    def row(self) -> int:
        """The number of the line of the last of them; 0 when there is no header."""
        return self.records[-1].row if self.records else 0

    @property
    def top(self) -> int:
        """The number of the line of the first of them; 0 when there is no header."""
        return self.records[0].row if self.records else 0


def find_header(trial: Trial, wanted: Wanted) -> Header:
    """Return the header: on the line that is wanted, or what may be one.

    Raises:
        SourceError: ``empty_file``, or ``no_header``: nothing is on the line wanted, or
            it can't be read.

    """
    if wanted.row == 0:
        return Header((), "it was said that there is none")
    if not trial.seen:
        raise _nothing_there(wanted.row)
    if wanted.row:
        return _stated(trial, wanted.row, wanted.rows)
    found = _expected(trial, wanted.expected)
    if found:
        why = "it has most of the names that are expected"
    else:
        found = _likely(trial)
        why = FIRST
    records = _rows_around(trial, found, wanted.rows)
    doubtful = why == FIRST and len(records) == 1 and _may_be_record(trial, found)
    return Header(records, why, doubtful)


def _may_be_record(trial: Trial, found: Found) -> bool:
    sure = sureness(found, [each for each in trial.seen if each.row > found.row])
    if sure > 1:
        message = (
            f"Line {found.row} looks like a record, not like the names of columns. If "
            "the columns have no names, say --set header_row=0; if these are their "
            f"names, --set header_row={found.row}"
        )
        raise SourceError("no_header", message, line=found.row)
    return sure > 0


def _stated(trial: Trial, row: int, rows: int) -> Header:
    records = [each for each in trial.records if each.row <= row][-rows:]
    if not records or records[-1].row != row or records[-1].blank:
        raise _nothing_there(row)
    return Header(tuple(map(_sound, records)), "it was given")


def _expected(trial: Trial, names: Sequence[str]) -> Found | None:
    """Return the first record near the top that has the *names*, if any has."""
    near = (each for each in trial.seen[:SEARCHED] if names and not each.cut.flaw)
    return next((each for each in near if has_expected(each.cut.cells, names)), None)


def _rows_around(trial: Trial, found: Found, rows: int) -> tuple[Found, ...]:
    """Return the *rows* records of the header that *found* belongs to.

    It is the first of them, unless one below it can't be names, or names of several
    groups stand above it.
    """
    at = trial.records.index(found)
    first = at
    while at - first < rows - 1 and first and _is_above(trial, first, rows):
        first -= 1
    return tuple(map(_sound, trial.records[first : first + rows]))


def _is_above(trial: Trial, first: int, rows: int) -> bool:
    above = trial.records[first - 1]
    if above.blank or above.cut.flaw or len(above.cut.cells) < trial.width:
        return False
    below = trial.records[first + 1 : first + rows]
    groups = len(above.filled) > 1
    return may_be_names(above) and (groups or not all(map(may_be_names, below)))


def _likely(trial: Trial) -> Found:
    """Return the first record that may be the header.

    Titles and notes fill half of the table's columns at most, and names follow; two
    thirds are possible when a blank line sets them off and a fuller record follows it.
    """
    seen = [each for each in trial.seen if not is_ruler(each.cut.cells, trial.width)]
    seen = seen or list(trial.seen)
    top = _sound(seen[0])
    used = len({column for each in trial.usual for column in each.filled})
    wide = [each for each in seen if each.cut.flaw or 2 * len(each.filled) > used]
    first = _sound(wide[0] if wide else top)
    if found := find_below_preamble(trial, first):
        return found
    if first is not top and not may_be_names(first):
        return top
    return _below_gap(trial, first, used) or first


def _nothing_there(header_row: int | None) -> SourceError:
    if header_row:
        message = f"Line {header_row} can't be the header: nothing is there."
        return SourceError("no_header", message)
    return SourceError("empty_file", "The file is empty: there is nothing to import.")


def _sound(header: Found) -> Found:
    if header.cut.flaw:
        message = (
            f"Line {header.row} can't be read as the header: its quotation marks are "
            "amiss."
        )
        raise SourceError("no_header", message)
    for column, cell in enumerate(header.cut.cells, 1):
        if UNDECODABLE in cell:
            raise _undecodable(header.row, column, cell)
    return header


def _undecodable(row: int, column: int, cell: str) -> SourceError:
    message = (
        f"The name of column {column} on line {row} ({show(cell)!r}) has bytes that "
        "are no text in the file's encoding. Save the whole file in one encoding, or "
        "say which encoding it has."
    )
    return SourceError("encoding", message, line=row, column=column)


def _below_gap(trial: Trial, first: Found, used: int) -> Found | None:
    """Return the record after the blank lines below *first* if the header is there."""
    rest = trial.records[trial.records.index(first) :]
    above = list(takewhile(lambda each: not each.blank, rest))
    below = [each for each in rest[len(above) :] if not each.blank]
    most = max(len(each.filled) for each in above)
    fuller = below and may_be_names(below[0]) and len(below[0].filled) > most
    return below[0] if fuller and 3 * most <= 2 * used else None


def name_columns(
    header: Header, trial: Trial, after: int
) -> tuple[tuple[str, ...], list[int]]:
    """Return the name of every column, and which columns have data but no name.

    The data begins on line *after*. Columns at the end that have neither a name nor
    data are left out; without a header the names are numbers.

    Raises:
        SourceError: ``duplicate_header`` or ``no_header``.

    """
    if not header.records:
        return tuple(map(str, range(1, trial.width + 1))), []
    names = _joined([list(map(name_of, each.cut.cells)) for each in header.records])
    named = [column for column, name in enumerate(names) if name]
    if not named:
        message = f"Line {header.row} should be the header, but it names no column."
        raise SourceError("no_header", message)
    _refuse_duplicates(names)
    data = [each for each in trial.seen if each.row >= after]
    fitting = [each for each in data if len(each.cut.cells) <= len(names)]
    filled = {column for each in fitting for column in each.filled}
    nameless = sorted(filled - set(named))
    width = max(named[-1], *nameless, 0) + 1
    return tuple(names[:width]), nameless


def find_second_row(
    header: Header, trial: Trial, nameless: Sequence[int]
) -> Found | None:
    """Return the record below a header of one row if it plainly goes on there.

    It names the columns that have no name, and has a text where the others have numbers
    only.
    """
    below = [each for each in trial.seen if each.row > header.row and not each.cut.flaw]
    if len(header.records) != 1 or not nameless or len(below) < SEVERAL:
        return None
    first, *rest = below
    names = set(nameless) <= set(first.filled) and may_be_names(first)
    return first if names and any(counts(rest, each) for each in first.filled) else None


def _joined(rows: Sequence[list[str]]) -> list[str]:
    """Return the name of each column, those of its groups before its own."""
    width = max(map(len, rows))
    own = [row + [""] * (width - len(row)) for row in rows]
    spread = [_spread(own, level) for level in range(len(own))]
    return [" / ".join(filter(None, names)) for names in zip(*spread, strict=True)]


def _spread(rows: Sequence[Sequence[str]], level: int) -> list[str]:
    """Return a row's names, those of groups for all of their columns.

    A group ends where a name stands in this row or above it. A column that has no name
    of its own below isn't the first of a group.
    """
    names: list[str] = []
    group = ""
    for column, name in enumerate(rows[level]):
        below = any(row[column] for row in rows[level + 1 :])
        if any(row[column] for row in rows[: level + 1]):
            group = name if below else ""
        names.append(name or (group if below else ""))
    return names


def _refuse_duplicates(names: Sequence[str]) -> None:
    numbers = Counter(name for name in names if name)
    twice = [name for name, count in numbers.items() if count > 1]
    if twice:
        columns = [number for number, name in enumerate(names, 1) if name in twice]
        raise SourceError(
            "duplicate_header",
            f"More than one column is called {', '.join(map(repr, twice))}. "
            "Give every column a name of its own.",
            names=twice,
            columns=columns,
        )
