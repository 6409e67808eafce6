"""How many rows the databases go through for a statement, by what they explain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx import Store

Statement = tuple[str, Any]

# A step that reads a table, or an index of it for no more than the number of a batch.
WHOLE = re.compile(r"SCAN (batchfx_\w+)|SEARCH (batchfx_\w+) .*\(batch=\?\)$")


@contextmanager
def recorded(store: Store) -> Iterator[list[Statement]]:
    """Note the queries that are sent."""
    statements: list[Statement] = []

    def note(*arguments: Any) -> None:
        _, _, text, parameters, _, _ = arguments
        if text.startswith("SELECT"):
            statements.append((text, parameters))

    sa.event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        sa.event.remove(store.engine, "before_cursor_execute", note)


def widest_step(store: Store, statements: Iterable[Statement]) -> int:
    """Return the most rows that a step of any of the *statements* goes through."""
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "sqlite":
            return max(_scanned(connection, each) for each in statements)
        return max(_gone_through(connection, each) for each in statements)


def _scanned(connection: Connection, statement: Statement) -> int:
    """Return how many rows the table has that SQLite reads as a whole, if any."""
    text, parameters = statement
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
    most = 0
    for row in plan.all():
        if read := WHOLE.match(row[3]):
            counted = f"SELECT count(*) FROM {read[1] or read[2]}"  # noqa: S608 - a table of the plan
            most = max(most, connection.exec_driver_sql(counted).scalar_one())
    return most


def _gone_through(connection: Connection, statement: Statement) -> int:
    """Return the most rows that a step of PostgreSQL's plan went through."""
    text, parameters = statement
    # What is small in a test, and so read as a whole, is large elsewhere.
    connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text}"
    (plan,) = connection.exec_driver_sql(explain, parameters).scalar_one()
    return max(_rows_of(plan["Plan"]))


def _rows_of(step: dict[str, Any]) -> Iterator[int]:
    """Yield the rows that each step of a plan has read, kept or not."""
    each = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
    yield round(each * step["Actual Loops"])
    for inner in step.get("Plans", ()):
        yield from _rows_of(inner)
