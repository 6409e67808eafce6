"""Records into a table of PostgreSQL: by COPY, or from a temporary table.

Rows are sent in the order of the values by which they are known, so that two chunks
that want the same records wait for each other in one direction only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import NullType

from batchfx.errors import StoreError
from batchfx.tables.catalogue import Relation, by_index, relation
from batchfx.tables.copying import copying
from batchfx.tables.defaults import Filled, fill
from batchfx.tables.finding import find, light
from batchfx.tables.isolating import isolate
from batchfx.tables.staging import staged, taking
from batchfx.tables.target import Errors, Key, Target

Columns = Mapping[str, list[Any]]

# So that what is put off until the commit is said of a row, and not of the chunk.
NOW = "SET CONSTRAINTS ALL IMMEDIATE"


def insert(
    connection: Connection, target: Target, columns: Columns, count: int
) -> tuple[dict[int, Key], Errors]:
    """Insert a record for each of *count* places; return their keys, and errors."""
    known = relation(connection, target.table)
    filled = fill(connection, target.table, dict(columns), count, on="insert")
    given = filled.columns | _drawn(connection, target, known, filled)
    order = _ordered(target, given, filled)
    connection.exec_driver_sql(NOW)
    if known.takes_copies:
        rows = list(zip(*given.values(), strict=True))
        write = copying(connection, target.table, list(given), rows)
        errors = isolate(connection, order, write)
    else:
        errors = _insert_staged(connection, target, known, given, order)
    errors |= filled.errors
    made = zip(*(given[column.name] for column in target.key), strict=True)
    keys = {i: key for i, key in enumerate(made) if i not in errors}
    if known.is_triggered and keys:
        _require_keys(connection, target, list(keys.values()))
    return keys, errors


def update(
    connection: Connection, target: Target, keys: Sequence[Key], filled: Filled
) -> Errors:
    """Change the record of each of *keys*; return the errors by place."""
    known = relation(connection, target.table)
    names = {f"batchfx_key_{i}": c.name for i, c in enumerate(target.key)}
    lists = dict(zip(names, map(list, zip(*keys, strict=True)), strict=True))
    columns = {name: (names[name], values) for name, values in lists.items()}
    columns |= {name: (name, values) for name, values in filled.columns.items()}
    order = sorted(
        (p for p in range(len(keys)) if p not in filled.errors),
        key=[str(key) for key in keys].__getitem__,
    )
    connection.exec_driver_sql(NOW)
    with by_index(connection), staged(connection, known, columns, order) as rows:
        plain = light(target.table, target.table.columns)
        own = {name: rows.table.c[name] for name in filled.columns}
        alike = [plain.c[c] == rows.table.c[name] for name, c in names.items()]
        statement = sa.update(plain).where(*alike).values(own | filled.expressions)
        write = taking(connection, rows, statement.where)
        errors = filled.errors | rows.errors
        for wave in _waves(keys, rows.sound):
            errors |= isolate(connection, wave, write, is_guarded=known.is_guarded)
    return errors


def _require_keys(connection: Connection, target: Target, keys: list[Key]) -> None:
    """Refuse a trigger that gives records other keys than those they were sent with."""
    wanted = keys if len(target.key) > 1 else [key for (key,) in keys]
    found = find(connection, target.table, target.key, wanted, target.key)
    if len(found) != len(keys):
        message = (
            f"A trigger of {target.table.fullname} changes the primary key of new "
            "records, so that nobody knows which row made which. Use Importer there."
        )
        raise StoreError(message)


def _waves(keys: Sequence[Key], places: Iterable[int]) -> list[list[int]]:
    """Cut *places* into runs in which no record comes twice, as texts may be equal."""
    waves: list[list[int]] = []
    seen: set[Key] = set()
    for place in places:
        if not waves or keys[place] in seen:
            waves.append([])
            seen.clear()
        waves[-1].append(place)
        seen.add(keys[place])
    return waves


class _Insert(sa.Insert):
    """An INSERT .. SELECT that may give a column which always numbers itself."""

    inherit_cache = True


@compiles(_Insert, "postgresql")
def _compile_insert(element: _Insert, compiler: Any, **options: Any) -> str:
    statement: str = compiler.visit_insert(element, **options)
    into, select, chosen = statement.partition(" SELECT ")
    return f"{into} OVERRIDING SYSTEM VALUE{select}{chosen}"


def _insert_staged(
    connection: Connection,
    target: Target,
    known: Relation,
    given: Columns,
    order: Sequence[int],
) -> Errors:
    """Insert what COPY can't: into a view, or past the policies of a table."""
    columns = {name: (name, values) for name, values in given.items()}
    with staged(connection, known, columns, order) as rows:
        chosen = sa.select(*(rows.table.c[name] for name in given))
        plain = _Insert(light(target.table, target.table.columns))

        def statement(*conditions: sa.ColumnElement[bool]) -> sa.Insert:
            return plain.from_select(list(given), chosen.where(*conditions))

        write = taking(connection, rows, statement)
        found = isolate(connection, rows.sound, write, is_guarded=known.is_guarded)
        return rows.errors | found


def _drawn(
    connection: Connection, target: Target, known: Relation, filled: Filled
) -> dict[str, list[Any]]:
    """Return what SQL makes for the columns: defaults of the model, and the keys.

    Keys come as values, so that other rows can name the record; the rest as text.
    """
    made: dict[str, sa.ColumnElement[Any]] = {
        name: sa.cast(expression, sa.Text)
        for name, expression in filled.expressions.items()
    }
    for name in [column.name for column in target.key]:
        if name in filled.expressions:
            made[name] = filled.expressions[name]
        elif name not in filled.columns:
            made[name] = _filler(known, name)
    if not made:
        return {}
    plain = (sa.type_coerce(expression, NullType()) for expression in made.values())
    each = sa.func.generate_series(1, filled.count).alias()
    rows = connection.execute(sa.select(*plain).select_from(each)).all()
    return dict(zip(made, map(list, zip(*rows, strict=True)), strict=True))


def _filler(known: Relation, name: str) -> sa.ColumnElement[Any]:
    if name not in known.fillers:
        message = (
            f"The column {name} of {known.name} is in the primary key, but the "
            "database has no default for it and no field gives it. Add the default "
            "with a migration, or add the field."
        )
        raise StoreError(message)
    return sa.literal_column(known.fillers[name])


def _ordered(target: Target, columns: Columns, filled: Filled) -> list[int]:
    """Return the places without an error, by the values that records are known by."""
    fields = target.match or next(iter(target.unique), ())
    names = [target.columns[field].name for field in fields]
    places = [p for p in range(filled.count) if p not in filled.errors]
    if not all(name in columns for name in names):
        return places
    known_by = [list(map(str, columns[name])) for name in names]
    for values in reversed(known_by):
        places.sort(key=values.__getitem__)
    return places
