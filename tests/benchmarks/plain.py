"""The script that one would write without batchfx: Pydantic a row, one bulk insert.

It does what the customers importer does, as plainly as it can be done: reads the CSV,
validates each row with the same Pydantic model and the same rule across fields, finds
repeated values, inserts in bulks that return the ids, and writes down every faulty row.
It keeps no outcomes, can't be resumed, and looks nothing up that the table has already.
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


class Fault(Base):
    """A faulty row, with what is wrong with it."""

    __tablename__ = "plain_fault"
    id: Mapped[int] = mapped_column(primary_key=True)
    line: Mapped[int]
    text: Mapped[str]


def run(source: Path, url: str) -> int:
    """Import the customers of *source*; return how many records were made."""
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)
    seen: tuple[set[str], set[str]] = (set(), set())
    good: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    stored = 0
    with source.open(newline="", encoding="utf-8") as file, Session(engine) as session:
        reader = csv.DictReader(file)
        for cells in reader:
            try:
                row = judge(cells, seen)
            except ValueError as error:
                faults.append({"line": reader.line_num, "text": str(error)})
                continue
            good.append(row.model_dump())
            if len(good) == BULK:
                stored += flush(session, good, faults)
        stored += flush(session, good, faults)
    return stored


def judge(
    cells: dict[str | Any, str | Any], seen: tuple[set[str], set[str]]
) -> CustomerRow:
    """Return the row as its model; raise ValueError when it is faulty."""
    if None in cells or None in cells.values():
        raise ValueError("cells")
    row = CustomerRow.model_validate({k: v for k, v in cells.items() if v})
    if row.country not in COUNTRIES:
        raise ValueError("country")
    if row.vip and row.credit_limit < 1000:
        raise ValueError("credit")
    if row.external_id in seen[0] or row.email in seen[1]:
        raise ValueError("duplicate")
    seen[0].add(row.external_id)
    seen[1].add(row.email)
    return row


def flush(session: Session, good: list[Any], faults: list[Any]) -> int:
    """Insert both lists, commit, empty them; return how many records were made."""
    statement = sa.insert(Customer).returning(Customer.id)
    ids = session.scalars(statement, good).all() if good else []
    if faults:
        session.execute(sa.insert(Fault), faults)
    session.commit()
    good.clear()
    faults.clear()
    return len(ids)
