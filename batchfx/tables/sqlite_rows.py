"""Records into a table of SQLite, each row with the error that is its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import length_hint
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError
from sqlalchemy.sql.dml import Insert, ReturningInsert, Update

from batchfx.errors import StoreError
from batchfx.tables.defaults import Filled, fill
from batchfx.tables.finding import light
from batchfx.tables.target import Errors, Key, Target, require_all

Columns = Mapping[str, list[Any]]

# What a row's values can cause. The last three are the driver's: a value of a type that
# it does not know, or a whole number of more than 64 bits.
ROW_FAULTS = (
    IntegrityError,
    DataError,
    InterfaceError,
    ProgrammingError,
    OverflowError,
)


def insert(
    connection: Connection, target: Target, columns: Columns, count: int
) -> tuple[dict[int, Key], Errors]:
    """Insert a record for each of *count* places; return their keys, and errors."""
    given = dict(columns)
    if _wants_ids(target, given):
        first = _free_id(connection, target)
        given[target.key[0].name] = list(range(first, first + count))
    filled = fill(connection, target.table, given, count, on="insert")
    plain = light(target.table, target.table.columns)
    statement = sa.insert(plain).values(_settings(filled))
    names = [column.name for column in target.key]
    if not all(name in filled.columns for name in names):
        returning = statement.returning(*(plain.c[name] for name in names))
        return _insert_each(connection, returning, filled)
    errors = _send(connection, statement, _parameters(filled.columns), filled)
    made = zip(*(filled.columns[name] for name in names), strict=True)
    return {i: key for i, key in enumerate(made) if i not in errors}, errors


def update(
    connection: Connection, target: Target, keys: Sequence[Key], filled: Filled
) -> Errors:
    """Change the record of each of *keys*; return the errors by place."""
    plain = light(target.table, target.table.columns)
    found = {f"key_{i}": [key[i] for key in keys] for i in range(len(target.key))}
    alike = [
        plain.c[column.name] == sa.bindparam(name)
        for column, name in zip(target.key, found, strict=True)
    ]
    statement = sa.update(plain).where(*alike).values(_settings(filled))
    given = _parameters(filled.columns) | found
    return _send(connection, statement, given, filled)


class _Queue(list[tuple[Any, ...]]):
    """Rows that are sent once, however often the driver starts to go through them."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        super().__init__(rows)
        self._left = super().__iter__()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._left

    @property
    def sent(self) -> int:
        """How many rows the driver has taken."""
        return len(self) - length_hint(self._left)


def send(connection: Connection, text: str, rows: Iterable[tuple[Any, ...]]) -> Errors:
    """Execute *text* for each of *rows*; return the error of each that is refused.

    A statement that SQLite refuses is undone alone: what was executed before it stays,
    and the transaction goes on (https://sqlite.org/lang_conflict.html, ABORT). So the
    rows after it are simply sent next, at no price for the others; a savepoint would
    copy every page that the rows touch.

    Raises:
        StoreError: A row was left out in silence, or the transaction was ended.

    """
    queue = _Queue(rows)
    errors: Errors = {}
    done = False
    while not done:
        start = queue.sent
        try:
            result = connection.exec_driver_sql(text, queue)
            done = True
            require_all(len(queue) - start, result.rowcount)
        except ROW_FAULTS as error:
            _require_transaction(connection, error)
            if queue.sent == start:  # one row alone is not gone through
                next(iter(queue))
            errors[queue.sent - 1] = error
            done = queue.sent == len(queue)
    return errors


def _require_transaction(connection: Connection, error: Exception) -> None:
    raw: Any = connection.connection.dbapi_connection
    if not raw.in_transaction:
        message = (
            "The database ended the whole transaction because of one row: a trigger or "
            "an ON CONFLICT clause of the table says ROLLBACK. Let it say ABORT."
        )
        raise StoreError(message) from error


def _send(
    connection: Connection,
    statement: Insert | Update,
    given: Columns,
    filled: Filled,
) -> Errors:
    """Execute *statement* for every row that has no error yet; return all errors."""
    compiled = statement.compile(dialect=connection.dialect)
    fixed = compiled.params
    ordered = [
        given[name] if name in given else [fixed[name]] * filled.count
        for name in compiled.positiontup or ()
    ]
    rows = zip(*ordered, strict=True)
    if not filled.errors:
        return send(connection, str(compiled), rows)
    kept = [i for i in range(filled.count) if i not in filled.errors]
    chosen = [row for i, row in enumerate(rows) if i not in filled.errors]
    refused = send(connection, str(compiled), chosen)
    return filled.errors | {kept[i]: error for i, error in refused.items()}


def _parameters(columns: Columns) -> dict[str, list[Any]]:
    """Return the columns' values by parameter; no parameter is named like a column."""
    return {f"set_{i}": values for i, values in enumerate(columns.values())}


def _settings(filled: Filled) -> dict[str, Any]:
    given = zip(filled.columns, _parameters(filled.columns), strict=True)
    return {name: sa.bindparam(p) for name, p in given} | filled.expressions


def _insert_each(
    connection: Connection, statement: ReturningInsert[Any], filled: Filled
) -> tuple[dict[int, Key], Errors]:
    """Insert record by record, for a key that the database alone makes."""
    given = _parameters(filled.columns)
    keys: dict[int, Key] = {}
    errors = dict(filled.errors)
    for place in range(filled.count):
        row = {name: values[place] for name, values in given.items()}
        if place in errors:
            continue
        try:
            keys[place] = tuple(connection.execute(statement, row).one())
        except ROW_FAULTS as error:
            _require_transaction(connection, error)
            errors[place] = error
    return keys, errors


def _wants_ids(target: Target, columns: Columns) -> bool:
    return target.draws_ids and target.key[0].name not in columns


def _free_id(connection: Connection, target: Target) -> int:
    """Return the first of the ids that no record has, nor had, where SQLite knows that.

    They stay free until the transaction ends: nobody else can write.
    """
    table, (key,) = target.table, target.key
    used: list[int | None] = [
        connection.execute(sa.select(sa.func.max(key))).scalar_one()
    ]
    names = sa.table("sqlite_master", sa.column("name"), schema=table.schema)
    is_kept = sa.select(names.c.name).where(names.c.name == "sqlite_sequence")
    if connection.execute(is_kept).first():
        last = sa.table(
            "sqlite_sequence", sa.column("name"), sa.column("seq"), schema=table.schema
        )
        statement = sa.select(last.c.seq).where(last.c.name == table.name)
        used.append(connection.execute(statement).scalar())
    return max(number or 0 for number in [0, *used]) + 1
