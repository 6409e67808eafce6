"""Rows of text into a table, as a chunk does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from sqlalchemy.orm import Session

from batchfx import Importer, Store, TableImporter
from batchfx.context import Context
from batchfx.model.blocks import FAULTS, KINDS, ROW
from batchfx.model.verdicts import Decision
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.validate import Validated, declared
from batchfx.tables import write_rows

Rows = Sequence[Sequence[str | None]]


def validated(
    importer: type[Importer[Any]], fields: str, rows: Rows, first: int = 2
) -> Validated:
    """Validate *rows*, cells of the *fields*; the first is row *first* of its file."""
    names = fields.split()
    schema = {ROW: pl.UInt32(), **dict.fromkeys(names, pl.String())}
    numbered = [(first + i, *row) for i, row in enumerate(rows)]
    frame = pl.DataFrame(numbered, schema=schema, orient="row").with_columns(
        pl.lit(None, pl.String).alias(FAULTS), pl.lit(None, pl.String).alias(KINDS)
    )
    positions = {name: i for i, name in enumerate(names)}
    result = declared(plan_of(importer.row_model), frame, positions)
    assert result.issues == []
    return result


def write(
    store: Store,
    importer: type[TableImporter[Any]],
    fields: str,
    rows: Rows,
    *,
    first: int = 2,
    dry_run: bool = False,
    last_round: bool = False,
) -> Decision:
    """Write *rows* in a transaction of their own; return what was decided on them."""
    chunk = validated(importer, fields, rows, first)
    transaction = store.read if dry_run else store.write
    with transaction() as connection, Session(connection) as session:
        return write_rows(
            importer(),
            chunk,
            chunk.sound,
            Context("acme", 1, 1, session),
            dry_run=dry_run,
            last_round=last_round,
            mapped=fields.split(),
        )


def verdicts(decision: Decision) -> list[tuple[int, str, str | None]]:
    """Return (row, verdict, record id) of each row."""
    return [(each.row, str(each.verdict), each.record_id) for each in decision.outcomes]


def codes(decision: Decision) -> list[tuple[int | None, str | None, str]]:
    """Return (row, field, code) of each issue."""
    return [(issue.row, issue.field, issue.code) for issue in decision.issues]


def run(store: Store, *statements: str) -> None:
    """Execute SQL as it is, in one transaction."""
    with store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def refuse(store: Store, table: str, condition: str, message: str) -> None:
    """Have a trigger of *table* refuse what it is to insert, a row called ``new``."""
    if store.engine.dialect.name == "sqlite":
        run(
            store,
            f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END",
        )
        return
    run(
        store,
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$",
        f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} FOR EACH ROW "
        f"WHEN ({condition}) EXECUTE FUNCTION refuse()",
    )
