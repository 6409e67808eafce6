"""Many rows into one table, at the driver's speed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

SLICE = 10_000  # values in one list of a query; SQLite takes 32,766 parameters


def insert_rows(
    connection: Connection, table: sa.Table, columns: Sequence[str], rows: list[Any]
) -> None:
    """Insert *rows*: tuples in the order of *columns*, values as the driver takes them.

    SQLAlchemy's own path costs several times the insert for narrow rows; here it only
    writes the statement.
    """
    if not rows:
        return
    light = sa.table(
        table.name, *(sa.column(name) for name in columns), schema=table.schema
    )
    compiled = sa.insert(light).compile(dialect=connection.dialect)
    connection.exec_driver_sql(str(compiled), rows)


def slices(values: Collection[Any]) -> Iterable[list[Any]]:
    """Cut *values* into lists that one statement can carry."""
    ordered = list(values)
    for start in range(0, len(ordered), SLICE):
        yield ordered[start : start + SLICE]
