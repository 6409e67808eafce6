"""What the database refused, as an issue of the row that it refused."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import DBAPIError

from batchfx.model.issues import Issue, Phase
from batchfx.pipeline.failures import issue_of
from batchfx.tables.ledger import HIDDEN, Ledger

# SQLite: "UNIQUE constraint failed: customers.email", "CHECK constraint failed: name".
CONSTRAINT = re.compile(r"(?P<kind>[A-Z ]+) constraint failed(?:: (?P<what>.+))?")

# PostgreSQL, in the server's language: "Key (email)=(a@b.c) already exists." and
# "COPY customers, line 1, column email: ...".
KEY = re.compile(r"\((?P<columns>[^=]+)\)=\(")
COPIED = re.compile(r"^COPY .*?, \S+ \d+, \S+ (?P<column>[^:]+)", re.MULTILINE)
UNIQUE_VIOLATION = "23505"


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why, at which column of the importer's table, and the whole of the error."""

    reason: str
    column: str | None
    is_unique: bool
    detail: str


def refusal(ledger: Ledger, place: int, error: Exception) -> Issue:
    """Return *error* as the issue of the row; its detail is the traceback."""
    number = ledger.numbers[place]
    if not isinstance(error, DBAPIError | OverflowError):
        return issue_of(error, Phase.PROCESS, row=number)
    found = _read(ledger, place, error)
    field = None if found.column is None else ledger.target.field_of(found.column)
    return Issue(
        code="unique_violation" if found.is_unique else "constraint_violation",
        message=f"The database refused the row: {found.reason}.",
        phase=Phase.PROCESS,
        row=number,
        field=field,
        value=_shown(ledger, place, field),
        parameters={"reason": found.reason, "cause": found.reason},
        detail=found.detail,
    )


def _read(ledger: Ledger, place: int, error: DBAPIError | OverflowError) -> _Refusal:
    diagnosis = getattr(getattr(error, "orig", None), "diag", None)
    if diagnosis is not None and diagnosis.sqlstate is not None:
        return _of_postgresql(ledger, place, error, diagnosis)
    reason = str(error)
    if isinstance(error, DBAPIError):
        reason = str(error.orig)
        error.hide_parameters = True  # they are of all the rows that were sent
    found = CONSTRAINT.search(reason)
    return _Refusal(
        reason,
        _column(ledger, found["what"] or "") if found else None,
        is_unique=found is not None and found["kind"] == "UNIQUE",
        detail="".join(traceback.format_exception(error)),
    )


def _column(ledger: Ledger, what: str) -> str | None:
    table, _, column = what.partition(",")[0].rpartition(".")
    return column if table == ledger.target.table.name else None


def _of_postgresql(
    ledger: Ledger, place: int, error: Exception, diagnosis: Any
) -> _Refusal:
    """Read PostgreSQL's error, of whose parts some show the whole row."""
    reason = _without_secrets(ledger, place, diagnosis.message_primary)
    frames = traceback.format_tb(error.__traceback__)
    name = type(getattr(error, "orig", error)).__name__
    return _Refusal(
        reason,
        _column_there(ledger, diagnosis),
        is_unique=diagnosis.sqlstate == UNIQUE_VIOLATION,
        detail="".join(
            ["Traceback (most recent call last):\n", *frames, f"{name}: {reason}\n"]
        ),
    )


def _column_there(ledger: Ledger, diagnosis: Any) -> str | None:
    if diagnosis.table_name not in {None, ledger.target.table.name}:
        return None  # of another table, which a trigger writes to
    if diagnosis.column_name is not None:
        return str(diagnosis.column_name)
    if diagnosis.constraint_name is not None:
        found = KEY.search(diagnosis.message_detail or "")
        return found["columns"].partition(", ")[0].strip('"') if found else None
    copied = COPIED.search(diagnosis.context or "")
    return copied["column"] if copied else None


def _without_secrets(ledger: Ledger, place: int, text: str) -> str:
    for name, cells in ledger.cells.items():
        cell = cells[place]
        if cell is not None and ledger.columns[name].sensitive:
            for shown in (str(cell), str(ledger.values[name][place])):
                text = text.replace(shown, HIDDEN) if shown else text
    return text


def _shown(ledger: Ledger, place: int, field: str | None) -> str | None:
    if field is None or ledger.cells[field][place] is None:
        return None
    return ledger.shown(place, field)
