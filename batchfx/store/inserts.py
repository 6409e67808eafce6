"""Inserts that say what to do about a row that is there already, on both databases."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

Insert = postgresql.Insert | sqlite.Insert


def insert_into(connection: Connection, table: sa.Table) -> Insert:
    """Return an insert that takes ``on_conflict_do_update`` and ``_do_nothing``."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
