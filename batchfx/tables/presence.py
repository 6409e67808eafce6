"""Whether the tables that an importer needs are in the database."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.errors import StoreError
from batchfx.importer import Importer
from batchfx.store.engine import Store
from batchfx.tables.declaration import TableImporter

TURNS = 0x62617463  # of PostgreSQL's advisory locks: "batc"


def require_tables(store: Store, importer: type[Importer[Any]]) -> None:
    """Make sure that the tables of a `TableImporter` are there, before the first row.

    Those that are missing are made when the importer says ``create_tables``.

    Raises:
        StoreError: A table or a column is missing.

    """
    if not issubclass(importer, TableImporter):
        return
    tables = _tables(importer)
    with store.read() as connection:
        missing = [table for table in tables if not _is_there(connection, table)]
    if missing and importer.create_tables:
        with store.write() as connection:
            _take_turns(connection)
            for metadata in dict.fromkeys(table.metadata for table in missing):
                metadata.create_all(connection)
    elif missing:
        names = ", ".join(f"'{table.fullname}'" for table in missing)
        message = (
            f"The database {store.url} has no table {names}. Make it with your "
            "migrations, name the right database with BATCHFX_DATABASE_URL, or write "
            f"create_tables = True in {importer.__name__}."
        )
        raise StoreError(message)
    with store.read() as connection:
        _require_columns(connection, importer, store)


def _take_turns(connection: Connection) -> None:
    """Wait until no other process is making tables; SQLite lets one alone write."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(TURNS)))


def _tables(importer: type[TableImporter[Any]]) -> list[sa.Table]:
    target = importer.target
    looked_in = (lookup.table for lookup in target.lookups.values())
    return list(dict.fromkeys((target.table, *looked_in)))


def _is_there(connection: Connection, table: sa.Table) -> bool:
    return sa.inspect(connection).has_table(table.name, schema=table.schema)


def _require_columns(
    connection: Connection, importer: type[TableImporter[Any]], store: Store
) -> None:
    table = importer.target.table
    found = sa.inspect(connection).get_columns(table.name, schema=table.schema)
    names = {column["name"] for column in found}
    missing = [column.name for column in table.columns if column.name not in names]
    if missing:
        message = (
            f"The table '{table.fullname}' in {store.url} has no column "
            f"{', '.join(missing)}, but {importer.model.__name__} has. Bring the "
            "database up to date with your migrations."
        )
        raise StoreError(message)
