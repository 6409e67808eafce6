"""Records into the table: as sets, each row with the error that is its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from batchfx.tables import postgresql_rows, sqlite_rows
from batchfx.tables.defaults import fill
from batchfx.tables.target import Errors, Key, Target

Values = Mapping[str, Sequence[Any]]


def insert(
    connection: Connection, target: Target, values: Values
) -> tuple[dict[int, Key], Errors]:
    """Insert a record for each place of *values*.

    Args:
        connection: In the writing transaction.
        target: Where to.
        values: For each field its values, as the driver takes them.

    Returns:
        The primary key of each record, and the error of each place that has none.

    Raises:
        StoreError: A row was left out in silence, or the transaction was ended.

    """
    columns = {target.columns[f].name: list(v) for f, v in values.items()}
    count = len(next(iter(columns.values())))
    if connection.dialect.name == "postgresql":
        return postgresql_rows.insert(connection, target, columns, count)
    return sqlite_rows.insert(connection, target, columns, count)


def update(
    connection: Connection,
    target: Target,
    keys: Sequence[Key],
    values: Values,
    mapped: Collection[str],
) -> Errors:
    """Change the record of each of *keys*; return the errors by place.

    Args:
        connection: In the writing transaction.
        target: Where the records are.
        keys: Their primary keys.
        values: For each field that changes in one of them, its values.
        mapped: The fields that the file has: what they hold is no default's business.

    Raises:
        StoreError: A row was left out in silence, or the transaction was ended.

    """
    columns = {target.columns[f].name: list(v) for f, v in values.items()}
    own = {target.columns[f].name for f in mapped}
    filled = fill(
        connection, target.table, columns, len(keys), on="update", without=own
    )
    if connection.dialect.name == "postgresql":
        return postgresql_rows.update(connection, target, keys, filled)
    return sqlite_rows.update(connection, target, keys, filled)
