"""Which records have the values that rows give: one query for a whole chunk.

The values travel as one JSON text, so that their number has no limit, and the database
itself compares them with its columns: its collations and conversions decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

NUL = "\\u0000"


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
