"""Rows in a temporary table of PostgreSQL, from which one statement takes a set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from batchfx.tables.catalogue import Relation
from batchfx.tables.copying import copying
from batchfx.tables.isolating import Places, Refused, Write, isolate
from batchfx.tables.target import Errors, require_all

PLACE = "batchfx_place"
TEMPORARY = "pg_temp"
Statement = Callable[..., sa.UpdateBase]


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows, numbered from 0, whose columns have the types of another table's."""

    table: sa.TableClause
    errors: Errors
    sound: list[int]


@contextmanager
def staged(
    connection: Connection,
    known: Relation,
    columns: Mapping[str, tuple[str, list[Any]]],
    order: Places,
) -> Iterator[Staged]:
    """Stage rows: by the name of a column the column it is like, and its values.

    A value that is none of its column's type is that row's error. *order* is the one in
    which the rows are stored, and so locked by a statement that takes them.
    """
    names = [PLACE, *columns]
    table = sa.table("batchfx_rows", *map(sa.column, names), schema=TEMPORARY)
    quote = connection.dialect.identifier_preparer.quote
    alike = ", ".join(
        f"{quote(column)} AS {quote(name)}" for name, (column, _) in columns.items()
    )
    connection.exec_driver_sql(
        "CREATE TEMPORARY TABLE batchfx_rows ON COMMIT DROP AS "  # noqa: S608 - quoted
        f"SELECT 0 AS {PLACE}, {alike} FROM {known.name} WITH NO DATA"
    )
    lists = [values for _, values in columns.values()]
    rows = list(zip(range(len(lists[0])), *lists, strict=True))
    errors = isolate(connection, order, copying(connection, table, names, rows))
    index = f"CREATE INDEX ON {TEMPORARY}.batchfx_rows ({PLACE})"
    connection.exec_driver_sql(index)
    yield Staged(table, errors, sorted(set(order).difference(errors)))
    connection.exec_driver_sql(f"DROP TABLE {TEMPORARY}.batchfx_rows")


def taking(connection: Connection, rows: Staged, statement: Statement) -> Write:
    """Return what executes a statement on some of *rows*.

    The statement is made by *statement*, given the conditions that hold of them. All of
    them are taken without one, in the order in which they are stored.

    Raises:
        StoreError: A row was left out in silence.

    """
    place = rows.table.c[PLACE]
    some = statement(place.between(sa.bindparam("low"), sa.bindparam("high")))
    every = statement()
    counted = {"preserve_rowcount": True}  # of an INSERT SQLAlchemy forgets it

    def write(places: Places) -> Refused | None:
        is_all = len(places) == len(rows.sound)
        ends = {} if is_all else {"low": min(places), "high": max(places)}
        chosen = every if is_all else some
        try:
            result = connection.execute(chosen, ends, execution_options=counted)
        except DBAPIError as error:
            return Refused(error)
        require_all(len(places), result.rowcount)
        return None

    return write
