"""What the database refused, as an issue of the row that it refused."""

from __future__ import annotations

import re
import traceback

from sqlalchemy.exc import DBAPIError

from batchfx.model.issues import Issue, Phase
from batchfx.pipeline.failures import issue_of
from batchfx.tables.ledger import Ledger

# SQLite: "UNIQUE constraint failed: customers.email", "CHECK constraint failed: name".
CONSTRAINT = re.compile(r"(?P<kind>[A-Z ]+) constraint failed(?:: (?P<what>.+))?")


def refusal(ledger: Ledger, place: int, error: Exception) -> Issue:
    """Return *error* as the issue of the row; its detail is the traceback."""
    number = ledger.numbers[place]
    if not isinstance(error, DBAPIError | OverflowError):
        return issue_of(error, Phase.PROCESS, row=number)
    reason = str(error)
    if isinstance(error, DBAPIError):
        reason = str(error.orig)
        error.hide_parameters = True  # they are of all the rows that were sent
    found = CONSTRAINT.search(reason)
    is_unique = found is not None and found["kind"] == "UNIQUE"
    field = _field(ledger, found["what"] or "") if found else None
    return Issue(
        code="unique_violation" if is_unique else "constraint_violation",
        message=f"The database refused the row: {reason}.",
        phase=Phase.PROCESS,
        row=number,
        field=field,
        value=_shown(ledger, place, field),
        parameters={"reason": reason, "cause": reason},
        detail="".join(traceback.format_exception(error)),
    )


def _field(ledger: Ledger, what: str) -> str | None:
    table, _, column = what.partition(",")[0].rpartition(".")
    if table != ledger.target.table.name:
        return None
    return ledger.target.field_of(column)


def _shown(ledger: Ledger, place: int, field: str | None) -> str | None:
    if field is None or ledger.cells[field][place] is None:
        return None
    return ledger.shown(place, field)
