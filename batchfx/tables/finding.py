"""Which records have the values that rows give: one query for a whole chunk.

The values travel as one JSON text to SQLite and as arrays to PostgreSQL, so that their
number has no limit, and the database itself compares them with its columns: its
collations and conversions decide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.tables.catalogue import Relation, by_index, relation

NUL = "\\u0000"
WHOLE = {"smallint", "integer", "bigint"}
BIGINT = range(-(2**63), 2**63)


def find(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[sa.Column[Any]],
    wanted: Sequence[Any],
    returned: Sequence[sa.Column[Any]],
) -> Sequence[tuple[Any, ...]]:
    """Return (place, *returned) for each record whose *columns* are as *wanted*.

    Args:
        connection: In a transaction.
        table: Where to look.
        columns: Columns of it.
        wanted: For each place, from 0, the value of the column or the tuple of values
            of the columns, as the driver takes them. Null is equal to nothing.
        returned: Columns of it; their values come as the driver gives them.

    """
    if not wanted:
        return []
    if connection.dialect.name == "postgresql":
        return _find_by_arrays(connection, table, columns, wanted, returned)
    each = sa.func.json_each(sa.bindparam("wanted")).table_valued("key", "value")
    parts = (
        [each.c.value]
        if len(columns) == 1
        else [
            sa.func.json_extract(each.c.value, f"$[{i}]") for i in range(len(columns))
        ]
    )
    plain = light(table, [*columns, *returned])
    alike = [plain.c[c.name] == part for c, part in zip(columns, parts, strict=True)]
    statement = sa.select(each.c.key, *(plain.c[c.name] for c in returned)).where(
        *alike
    )
    rows = connection.execute(statement, {"wanted": _dump(wanted)})
    return rows.all()


def light(table: sa.Table, columns: Iterable[sa.Column[Any]]) -> sa.TableClause:
    """Return *table* without types: values pass as the driver has them."""
    names = dict.fromkeys(column.name for column in columns)
    return sa.table(table.name, *map(sa.column, names), schema=table.schema)


def _dump(wanted: Sequence[Any]) -> str:
    text = json.dumps(wanted, ensure_ascii=False)
    if NUL not in text:
        return text
    # SQLite ends a JSON text at NUL: "a\0b" would find "a".
    return json.dumps([None if NUL in json.dumps(each) else each for each in wanted])


def _find_by_arrays(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[sa.Column[Any]],
    wanted: Sequence[Any],
    returned: Sequence[sa.Column[Any]],
) -> Sequence[tuple[Any, ...]]:
    known, quote = relation(connection, table), _quoter(connection)
    types = [_compared_as(known, column.name) for column in columns]
    arrays = ", ".join(f"CAST(%s AS {kind}[])" for kind in types)
    names = ", ".join(f"w{i}" for i in range(len(columns)))
    shown = ", ".join(f"t.{quote(column.name)}" for column in returned)
    alike = " AND ".join(f"t.{quote(c.name)} = w.w{i}" for i, c in enumerate(columns))
    statement = (
        f"SELECT CAST(w.place - 1 AS integer), {shown} "  # noqa: S608 - names are quoted
        f"FROM unnest({arrays}) WITH ORDINALITY AS w({names}, place) "
        f"JOIN {known.name} AS t ON {alike}"
    )
    lists = [wanted] if len(columns) == 1 else list(zip(*wanted, strict=True))
    asked = [
        _askable(known, column.name, values)
        for column, values in zip(columns, lists, strict=True)
    ]
    with by_index(connection):
        return connection.exec_driver_sql(statement, tuple(asked)).all()


def _quoter(connection: Connection) -> Callable[[str], str]:
    return connection.dialect.identifier_preparer.quote


def _compared_as(known: Relation, name: str) -> str:
    """Return the type in which a column is compared: its own, but any whole number."""
    kind = known.types[name]
    return "bigint" if kind in WHOLE else kind


def _askable(known: Relation, name: str, values: Sequence[Any]) -> list[Any]:
    """Return *values* with null for those that the column can't have."""
    if known.types[name] in WHOLE:
        return [v if v is None or v in BIGINT else None for v in values]
    labels = known.labels.get(name)
    if labels is not None:
        return [v if v in labels else None for v in values]
    if any(isinstance(v, str) and "\0" in v for v in values):
        return [None if isinstance(v, str) and "\0" in v else v for v in values]
    return list(values)
