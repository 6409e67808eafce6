"""What columns get that no field gives: SQLAlchemy's ``default`` and ``onupdate``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

from batchfx.tables import driver


@dataclass(frozen=True, slots=True)
class Filled:
    """What a statement sets, by column name, for *count* rows.

    *columns* are values as the driver takes them; *expressions* are SQL. A row whose
    default raised is in *errors*.
    """

    count: int
    columns: dict[str, list[Any]]
    expressions: dict[str, Any] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)


def fill(
    connection: Connection,
    table: sa.Table,
    given: dict[str, list[Any]],
    count: int,
    *,
    on: Literal["insert", "update"],
    without: Collection[str] = (),
) -> Filled:
    """Add to the columns *given* those that fill themselves, but *without* some."""
    filled, dialect = Filled(count, dict(given)), connection.dialect
    for column in table.columns:
        generator = column.default if on == "insert" else column.onupdate
        if column.name in given or column.name in without:
            continue
        if isinstance(generator, sa.ColumnDefault):
            _fill_one(dialect, table, column, generator, filled)
        elif (
            isinstance(generator, sa.Sequence) and connection.dialect.supports_sequences
        ):
            filled.expressions[column.name] = generator.next_value()
    return filled


def _fill_one(
    dialect: Dialect,
    table: sa.Table,
    column: sa.Column[Any],
    generator: sa.ColumnDefault,
    filled: Filled,
) -> None:
    made: Any = generator.arg
    if generator.is_clause_element:
        filled.expressions[column.name] = made
        return
    if generator.is_callable:
        values = _called(dialect, table, made, filled)
    else:
        values = [made] * filled.count
    filled.columns[column.name], errors = driver.bind(column, dialect, values)
    filled.errors.update(errors)


def _called(
    dialect: Dialect, table: sa.Table, function: Callable[[Any], Any], filled: Filled
) -> list[Any]:
    values: list[Any] = []
    for place in range(filled.count):
        try:
            values.append(function(Parameters(dialect, table, filled.columns, place)))
        except Exception as error:  # noqa: BLE001 - the application's code: this row's error
            values.append(None)
            filled.errors[place] = error
    return values


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a default may ask about its row, as it asks SQLAlchemy's own context."""

    dialect: Dialect
    table: sa.Table
    columns: dict[str, list[Any]]
    place: int

    def get_current_parameters(
        self,
        isolate_multiinsert_groups: bool = True,  # noqa: FBT001, FBT002 - SQLAlchemy's own
    ) -> dict[str, Any]:
        """Return the row's values by the columns' keys."""
        del isolate_multiinsert_groups
        return {
            column.key: self._value(column)
            for column in self.table.columns
            if column.name in self.columns
        }

    @property
    def current_parameters(self) -> dict[str, Any]:
        """The row's values by the columns' keys."""
        return self.get_current_parameters()

    def _value(self, column: sa.Column[Any]) -> Any:
        value = self.columns[column.name][self.place]
        read = driver.reader(column, self.dialect)
        return value if read is None else read(value)
