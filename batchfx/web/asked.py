"""What a file that can't be taken asks: an option that would say how to read it.

Where the file leaves few answers, they are given; where it may be any, such as the
number of the row of names, there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from batchfx.errors import SourceError

WHOLE = "."  # of JSON, as a list of records
NO_HEADER = "0"

SHEETS = ("sheet", "sheets")
RECORDS = ("records", "records")
MEMBERS = ("member", "members")
# For a code of an error: the option, and the parameter that has what it may be.
OPTIONS = {
    "choose_sheet": SHEETS,
    "no_such_sheet": SHEETS,
    "choose_records": RECORDS,
    "no_such_records": RECORDS,
    "choose_member": MEMBERS,
    "no_such_member": MEMBERS,
    "duplicate_header": ("header_row", None),
    "no_header": ("header_row", "line"),
    "encoding": ("encoding", None),
}


@dataclass(frozen=True, slots=True)
class Question:
    """The *option* that is asked for, and what it may be: if empty, anything."""

    option: str
    choices: tuple[str, ...]


def question_of(error: SourceError) -> Question | None:
    """Return what has to be said for the file to be read; None: nothing helps."""
    if error.code not in OPTIONS:
        return None
    option, parameter = OPTIONS[error.code]
    found = error.parameters.get(parameter) if parameter else None
    if found is None:
        return Question(option, ())
    if option == "header_row":
        return Question(option, (NO_HEADER, str(found)))
    return Question(option, _with_whole(found) if option == "records" else tuple(found))


def _with_whole(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, WHOLE)))
