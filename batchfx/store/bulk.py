"""Many rows into one table, at the driver's speed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

SLICE = 10_000  # values in one list of a query; SQLite takes 32,766 parameters
NUL, VISIBLE_NUL = "\0", "\u2400"  # ␀, the symbol for it

# NUL as JSON writes it: the backslash is not itself written by another one.
NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def insert_rows(
    connection: Connection, table: sa.Table, columns: Sequence[str], rows: list[Any]
) -> None:
    """Insert *rows*: tuples in the order of *columns*, values as the driver takes them.

    JSON is given as text. PostgreSQL has no NUL in its texts; it gets ``␀`` instead.
    SQLAlchemy's own path costs several times the insert for narrow rows; here it only
    writes the statement.
    """
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        copy_rows(connection, table, columns, _without_nul(table, columns, rows))
        return
    light = sa.table(
        table.name, *(sa.column(name) for name in columns), schema=table.schema
    )
    compiled = sa.insert(light).compile(dialect=connection.dialect)
    connection.exec_driver_sql(str(compiled), rows)


def copy_rows(
    connection: Connection,
    table: sa.TableClause,
    columns: Iterable[str],
    rows: Iterable[Sequence[Any]],
) -> int:
    """Insert *rows* with PostgreSQL's COPY; return how many the table took.

    Raises:
        DBAPIError: What the database or its driver refused; the transaction is aborted.
        TypeError: A value is none that the driver knows.
        ValueError: A text can't be encoded.

    """
    preparer = connection.dialect.identifier_preparer
    names = ", ".join(map(preparer.quote, columns))
    statement = f"COPY {preparer.format_table(table)} ({names}) FROM STDIN"
    statement = statement.replace("%%", "%")  # no parameters: nothing is doubled
    cursor: Any = connection.connection.cursor()
    try:
        with cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
        return int(cursor.rowcount)
    except connection.dialect.loaded_dbapi.Error as error:
        raise _wrapped(connection, statement, error) from error
    finally:
        cursor.close()


def slices(values: Collection[Any]) -> Iterable[list[Any]]:
    """Cut *values* into lists that one statement can carry."""
    ordered = list(values)
    for start in range(0, len(ordered), SLICE):
        yield ordered[start : start + SLICE]


def kept(connection: Connection, content: Any) -> Any:
    """Return *content*, plain JSON data, as the database keeps and gives it back."""
    if connection.dialect.name != "postgresql":
        return content
    text = json.dumps(content, ensure_ascii=False)
    return json.loads(_visible_in_json(text)) if NUL_IN_JSON.search(text) else content


def _wrapped(connection: Connection, statement: str, error: Exception) -> BaseException:
    """Return the driver's *error* as SQLAlchemy raises it for its own statements."""
    dialect: Any = connection.dialect
    driver: Any = connection.connection.dbapi_connection
    wrapped: BaseException = DBAPIError.instance(
        statement,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=dialect.is_disconnect(error, driver, None),
        dialect=dialect,
    )
    return wrapped


def _without_nul(
    table: sa.Table, columns: Sequence[str], rows: list[Any]
) -> Iterable[Sequence[Any]]:
    lists: list[Sequence[Any]] = list(zip(*rows, strict=True))
    changed = False
    for i, name in enumerate(columns):
        kind = table.c[name].type
        if isinstance(kind, sa.JSON):
            sign, show = "\\u0000", _visible_in_json
        elif isinstance(kind, sa.String):
            sign, show = NUL, _visible
        else:
            continue
        if sign in "".join(filter(None, lists[i])):
            lists[i] = [None if text is None else show(text) for text in lists[i]]
            changed = True
    return zip(*lists, strict=True) if changed else rows


def _visible(text: str) -> str:
    return text.replace(NUL, VISIBLE_NUL)


def _visible_in_json(text: str) -> str:
    return NUL_IN_JSON.sub(rf"\1{VISIBLE_NUL}", text)
