"""Where the header of a delimited text stands, and what its columns are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from batchfx.errors import SourceError
from batchfx.files.csv_record import BLANKS, free_text, show
from batchfx.files.csv_trial import Found, Trial

NUMBER = re.compile(r"[-+(]?\d[\d.,:/ -]*[%)]?")  # or a date
YEAR = re.compile(r"(?:19|20)\d\d")


def find_header(trial: Trial, given: int | None) -> Found:
    """Return the header: the record on line *given*, or the first that may be it.

    Titles and notes fill half of the table's columns at most, and names follow; two
    thirds are possible when a blank line sets them off and a fuller record follows it.

    Raises:
        SourceError: ``empty_file``, or ``no_header``: nothing is on line *given*, or it
            can't be read.

    """
    if not trial.seen or (given and trial.seen[0].row != given):
        raise _nothing_there(given)
    top = _sound(trial.seen[0])
    if given:
        return top
    used = len({column for each in trial.usual for column in each.filled})
    wide = [each for each in trial.seen if each.cut.flaw or 2 * len(each.filled) > used]
    first = _sound(wide[0] if wide else top)
    if first is not top and not _may_be_names(first):
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
    return header


def _may_be_names(record: Found) -> bool:
    """Tell whether the cells may be names: none is a number, but maybe a year."""
    cells = [record.cut.cells[column].strip(BLANKS) for column in record.filled]
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    return len(numbers) < len(cells) and all(map(YEAR.fullmatch, numbers))


def _below_gap(trial: Trial, first: Found, used: int) -> Found | None:
    """Return the record after the blank lines below *first* if the header is there."""
    rest = trial.records[trial.records.index(first) :]
    above = list(takewhile(lambda each: not each.blank, rest))
    below = [each for each in rest[len(above) :] if not each.blank]
    most = max(len(each.filled) for each in above)
    fuller = below and _may_be_names(below[0]) and len(below[0].filled) > most
    return below[0] if fuller and 3 * most <= 2 * used else None


def name_columns(header: Found, trial: Trial) -> tuple[tuple[str, ...], list[int]]:
    """Return the name of every column, and which columns have data but no name.

    Columns at the end that have neither are left out.

    Raises:
        SourceError: ``duplicate_header`` or ``no_header``.

    """
    names = [show(free_text(cell)).strip(BLANKS) for cell in header.cut.cells]
    named = [column for column, name in enumerate(names) if name]
    if not named:
        message = f"Line {header.row} should be the header, but it names no column."
        raise SourceError("no_header", message)
    _refuse_duplicates(names)
    data = [each for each in trial.seen if each.row > header.row]
    fitting = [each for each in data if len(each.cut.cells) <= len(names)]
    filled = {column for each in fitting for column in each.filled}
    nameless = sorted(filled - set(named))
    width = max(named[-1], *nameless, 0) + 1
    return tuple(names[:width]), nameless


def _refuse_duplicates(names: Sequence[str]) -> None:
    counts = Counter(name for name in names if name)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        columns = [number for number, name in enumerate(names, 1) if name in twice]
        raise SourceError(
            "duplicate_header",
            f"More than one column is called {', '.join(map(repr, twice))}. "
            "Give every column a name of its own.",
            names=twice,
            columns=columns,
        )
