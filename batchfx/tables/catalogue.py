"""What PostgreSQL says of a table; a model may say less, or name a wider type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RootTransaction

from batchfx.errors import StoreError

# tgtype & 7 = 7: for each row, before, an insert.
# A domain's values compare as those of the type below it. -1: without a length, so that
# a text that is too long is another text and not cut to one that is there.
QUERY = sa.text("""
SELECT a.attname AS name,
  format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, -1) AS type,
  CASE WHEN a.attidentity = '' THEN pg_get_expr(d.adbin, d.adrelid)
    ELSE format('nextval(%L)', pg_get_serial_sequence(:name, a.attname)) END AS filler,
  (SELECT array_agg(e.enumlabel::text) FROM pg_enum e WHERE e.enumtypid = t.oid)
    AS labels,
  c.relkind IN ('r', 'p') AS is_table, row_security_active(c.oid) AS is_guarded,
  EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal
    AND g.tgtype & 7 = 7) AS is_triggered
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  AND a.attgenerated = ''
WHERE c.oid = to_regclass(:name)
""")


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or a view as it is in the database, by the names of its columns.

    Attributes:
        name: As a statement has it, with its schema.
        types: Without a length.
        fillers: The SQL of what fills a column that is left out.
        labels: The values of columns that are enumerations.
        is_guarded: Its policies decide for each row whether this user may write it.
        is_triggered: A trigger may change its new rows before they are stored.
        takes_copies: COPY can fill it: it is a table, and not guarded.

    """

    name: str
    types: Mapping[str, str]
    fillers: Mapping[str, str]
    labels: Mapping[str, frozenset[str]]
    is_guarded: bool
    is_triggered: bool
    takes_copies: bool


_KNOWN: WeakKeyDictionary[RootTransaction, dict[str, Relation]] = WeakKeyDictionary()


def relation(connection: Connection, table: sa.TableClause) -> Relation:
    """Return what the database says of *table*, asking once a transaction.

    Raises:
        StoreError: It is not there.

    """
    name = connection.dialect.identifier_preparer.format_table(table)
    transaction = connection.get_transaction()
    if transaction is None:
        return _read(connection, name)
    known = _KNOWN.setdefault(transaction, {})
    if name not in known:
        known[name] = _read(connection, name)
    return known[name]


def _read(connection: Connection, name: str) -> Relation:
    found = connection.execute(QUERY, {"name": name.replace("%%", "%")}).all()
    if not found:
        message = f"The database has no table {name}. Make it with your migrations."
        raise StoreError(message)
    first = found[0]
    return Relation(
        name=name,
        types={row.name: row.type for row in found},
        fillers={row.name: row.filler for row in found if row.filler is not None},
        labels={row.name: frozenset(row.labels) for row in found if row.labels},
        is_guarded=first.is_guarded,
        is_triggered=first.is_triggered,
        takes_copies=first.is_table and not first.is_guarded,
    )


@contextmanager
def by_index(connection: Connection) -> Iterator[None]:
    """Have PostgreSQL use the indexes that there are, whatever it knows of the table.

    A table that an import has just filled is taken for a small one until it is analysed
    again, and would be read from end to end for every chunk.
    """
    query = "SELECT current_setting('enable_seqscan'), current_setting('jit')"
    before = connection.exec_driver_sql(query).one()
    _set_plans(connection, ("off", "off"))
    yield
    _set_plans(connection, tuple(before))  # after an error the rollback does it


def _set_plans(connection: Connection, settings: tuple[str, ...]) -> None:
    query = "SELECT set_config('enable_seqscan', %s, true), set_config('jit', %s, true)"
    connection.exec_driver_sql(query, settings)
