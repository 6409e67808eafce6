"""The script that one would write without batchfx: Pydantic a row, SQLAlchemy in bulk.

It does the same work as the customers importer, as plainly as it can be done. It reads
the CSV, validates each row with the same Pydantic model and the same cross-field rule,
finds values that the file repeats, looks up which customers and addresses the table has
already, inserts in bulks that return the ids, and writes down for every row what became
of it. It finds one fault of a row where batchfx finds all, can't be resumed, and keeps
what it has seen in memory.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, Session, mapped_column

from importers.countries import COUNTRIES
from importers.models import Base, Customer
from importers.shop import CustomerRow

BULK = 1_000


class Outcome(Base):
    """What became of a row."""

    __tablename__ = "plain_outcome"
    line: Mapped[int] = mapped_column(primary_key=True)
    verdict: Mapped[str]
    record_id: Mapped[int | None]
    message: Mapped[str | None]


class Seen:
    """The values of unique columns that earlier rows of the file have."""

    def __init__(self) -> None:
        self.external_ids: set[str] = set()
        self.emails: set[str] = set()


def run(source: Path, url: str) -> int:
    """Import the customers of *source*; return how many records were made."""
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)
    seen = Seen()
    good: list[tuple[int, CustomerRow]] = []
    outcomes: list[dict[str, Any]] = []
    stored = 0
    with source.open(newline="", encoding="utf-8") as file, Session(engine) as session:
        reader = csv.DictReader(file)
        for cells in reader:
            try:
                good.append((reader.line_num, judge(cells, seen)))
            except ValueError as error:
                outcomes.append(outcome(reader.line_num, "invalid", None, str(error)))
            if len(good) == BULK:
                stored += flush(session, good, outcomes)
        stored += flush(session, good, outcomes)
    return stored


def judge(cells: dict[str | Any, str | Any], seen: Seen) -> CustomerRow:
    """Return the row as its model; raise ValueError when it is faulty."""
    if None in cells or None in cells.values():
        raise ValueError("cells")
    row = CustomerRow.model_validate({k: v for k, v in cells.items() if v})
    if row.country not in COUNTRIES:
        raise ValueError("country")
    if row.vip and row.credit_limit < 1000:
        raise ValueError("credit")
    if row.external_id in seen.external_ids or row.email in seen.emails:
        raise ValueError("duplicate")
    seen.external_ids.add(row.external_id)
    seen.emails.add(row.email)
    return row


def flush(
    session: Session,
    good: list[tuple[int, CustomerRow]],
    outcomes: list[dict[str, Any]],
) -> int:
    """Store what is good, write down what became of all, commit, and empty both."""
    known = find_known(session, [row for _, row in good])
    new: list[tuple[int, CustomerRow]] = []
    for line, row in good:
        own, owner = known.get(row.external_id), known.get(row.email)
        if owner is not None and owner != own:
            outcomes.append(outcome(line, "invalid", None, "the address is taken"))
        elif own is None:
            new.append((line, row))
        else:
            session.execute(
                sa.update(Customer).where(Customer.id == own).values(row.model_dump())
            )
            outcomes.append(outcome(line, "updated", own, None))
    if new:
        ids = session.scalars(
            sa.insert(Customer).returning(Customer.id, sort_by_parameter_order=True),
            [row.model_dump() for _, row in new],
        )
        for (line, _), record_id in zip(new, ids, strict=True):
            outcomes.append(outcome(line, "created", record_id, None))
    if outcomes:
        session.execute(sa.insert(Outcome), outcomes)
    session.commit()
    good.clear()
    outcomes.clear()
    return len(new)


def find_known(session: Session, rows: list[CustomerRow]) -> dict[str, int]:
    """Return the ids of records that have one of the rows' keys or addresses."""
    keys = [row.external_id for row in rows]
    emails = [row.email for row in rows]
    found = session.execute(
        sa.select(Customer.external_id, Customer.email, Customer.id).where(
            sa.or_(Customer.external_id.in_(keys), Customer.email.in_(emails))
        )
    )
    known: dict[str, int] = {}
    for external_id, email, record_id in found:
        known[external_id] = known[email] = record_id
    return known


def outcome(
    line: int, verdict: str, record_id: int | None, message: str | None
) -> dict[str, Any]:
    """Return what became of a row as the table has it."""
    return {
        "line": line,
        "verdict": verdict,
        "record_id": record_id,
        "message": message,
    }
