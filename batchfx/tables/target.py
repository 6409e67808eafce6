"""The table that an importer writes to, as its SQLAlchemy model describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from batchfx.errors import StoreError

Mode = Literal["create", "update", "upsert"]
Key = tuple[Any, ...]
"""A primary key, values as the driver has them."""
Errors = dict[int, Exception]
"""Why rows were refused, by place."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A field whose cells name a record of *table* by *attribute*.

    The record's *key* is what is stored. *made_by* is the field that gives rows of the
    same importer their *attribute*: a cell may then name another row's record.
    """

    table: sa.Table
    attribute: sa.Column[Any]
    key: sa.Column[Any]
    made_by: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go: the columns by field, and what must hold of them.

    *unique* are the sets of fields, beside those that a row is matched by, whose values
    one record alone may have.
    """

    table: sa.Table
    mode: Mode
    columns: Mapping[str, sa.Column[Any]]
    lookups: Mapping[str, Lookup]
    match: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]

    @property
    def key(self) -> tuple[sa.Column[Any], ...]:
        """The primary key."""
        return tuple(self.table.primary_key.columns)

    @property
    def draws_ids(self) -> bool:
        """True when the database numbers the records that come without a number."""
        counted = self.table.autoincrement_column
        return (
            counted is not None
            and len(self.key) == 1
            and counted.default is None
            and counted.server_default is None
        )

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that are stored in the primary key."""
        return tuple(f for f, column in self.columns.items() if column.primary_key)

    def field_of(self, column: str) -> str | None:
        """Return the field that is stored in the table's *column*."""
        found = (f for f, c in self.columns.items() if c.name == column)
        return next(found, None)


def unique_columns(table: sa.Table) -> list[tuple[str, ...]]:
    """Return the names of the columns of each key, constraint and index that is unique.

    Indexes over expressions or over a part of the rows are left to the database.
    """
    keys = [
        tuple(column.name for column in constraint.columns)
        for constraint in sorted(table.constraints, key=_order)
        if isinstance(constraint, sa.UniqueConstraint | sa.PrimaryKeyConstraint)
    ]
    indexes = [
        tuple(column.name for column in index.columns)
        for index in sorted(table.indexes, key=lambda index: index.name or "")
        if index.unique and _is_plain(index)
    ]
    return list(dict.fromkeys(filter(None, [*keys, *indexes])))


def _order(constraint: sa.Constraint) -> list[str]:
    columns = getattr(constraint, "columns", ())
    return [column.name for column in columns]


def _is_plain(index: sa.Index) -> bool:
    is_partial = any(
        options.get("where") is not None for options in index.dialect_options.values()
    )
    return not is_partial and all(isinstance(e, sa.Column) for e in index.expressions)


def require_all(sent: int, stored: int) -> None:
    """Refuse a table that leaves rows out without a word.

    Raises:
        StoreError: It stored fewer than were sent.

    """
    if sent != stored:
        message = (
            f"The database stored {stored} of {sent} rows, refusing none: a trigger "
            "or an ON CONFLICT clause of the table leaves some out (use Importer "
            "there), or another program has just deleted some (run it again)."
        )
        raise StoreError(message)
