"""People imported with an account of each that no uniqueness keeps right.

A row that is processed is written down in the same transaction, in a table that takes
anything any number of times; what is to be done after the commit is a line of a file.
The change feed is written by triggers of the test: whatever happened to a unit of work
or to an outcome is kept there, whoever did it.
"""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx import Context
from tests.people import PersonImporter, PersonRow

KEPT = sa.MetaData()

LEDGER = sa.Table(
    "ledger",
    KEPT,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("code", sa.String, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
)
FEED = sa.Table(
    "feed",
    KEPT,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("what", sa.String, nullable=False),  # "chunk" or "outcome"
    sa.Column("verb", sa.String, nullable=False),
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # the ordinal, or the row
    sa.Column("state", sa.String, nullable=False),  # or the verdict
    sa.Column("before", sa.String),
    sa.Column("fence", sa.Integer),
    sa.Column("fence_before", sa.Integer),
    sa.Column("content", sa.String),  # of an outcome
)
AFTER_COMMIT = "BATCHFX_TEST_AFTER_COMMIT"  # the variable with the name of the file

CHUNK_INSERTED = (
    "'chunk', 'INSERT', NEW.batch, NEW.ordinal, NEW.state, NULL, NEW.fence, NULL, NULL"
)
CHUNK_UPDATED = "'chunk', 'UPDATE', NEW.batch, NEW.ordinal, NEW.state, OLD.state, NEW.fence, OLD.fence, NULL"  # noqa: E501
CONTENT = (
    "{0}.batch || '/' || {0}.row || '/' || {0}.verdict || '/'"
    " || coalesce({0}.record_id, '-') || '/' || coalesce({0}.reason, '-')"
    " || '/' || {0}.attempt"
)
OUTCOME_VALUES = "'outcome', '{1}', {0}.batch, {0}.row, {0}.verdict, NULL, NULL, NULL, "
NAMES = "what, verb, batch, number, state, before, fence, fence_before, content"


class LedgerImporter(PersonImporter):
    """Adds people, and an entry in the ledger for each that was processed."""

    name = "ledger"

    def process(self, row: PersonRow, context: Context) -> Any:
        """Add the person; write it down."""
        result = super().process(row, context)
        entry = {
            "batch": context.batch,
            "row": context.row,
            "code": row.code,
            "attempt": context.attempt,
        }
        context.session.execute(sa.insert(LEDGER), entry)
        context.after_commit(lambda: write_down(f"{context.batch} {row.code}"))
        return result


def write_down(line: str) -> None:
    """Add a line to the file of what was done after a commit, if there is one."""
    path = os.environ.get(AFTER_COMMIT)
    if path is not None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)


def outcomes_now(connection: Connection, batch: int) -> set[str]:
    """Return every outcome of a batch as the feed keeps its content."""
    content = CONTENT.format("o")
    query = f"SELECT {content} FROM batchfx_outcome AS o WHERE o.batch = :batch"  # noqa: S608
    return set(connection.scalars(sa.text(query), {"batch": batch}))


def begin_feed(connection: Connection) -> None:
    """Keep from now on whatever happens to chunks and outcomes."""
    for name, table, verb, values in _triggers():
        if connection.dialect.name == "sqlite":
            body = f"INSERT INTO feed ({NAMES}) VALUES ({values})"  # noqa: S608
            connection.exec_driver_sql(
                f"CREATE TRIGGER {name} AFTER {verb} ON {table} BEGIN {body}; END"
            )
            continue
        new = "OLD" if verb == "DELETE" else "NEW"
        body = f"INSERT INTO feed ({NAMES}) VALUES ({values}); RETURN {new};"  # noqa: S608
        connection.exec_driver_sql(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body} END $$"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER {name} AFTER {verb} ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {name}()"
        )


def _triggers() -> list[tuple[str, str, str, str]]:
    outcomes = [
        (
            f"feed_outcome_{verb.lower()}",
            "batchfx_outcome",
            verb,
            OUTCOME_VALUES.format(row, verb) + CONTENT.format(row),
        )
        for verb, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ]
    return [
        ("feed_chunk_insert", "batchfx_chunk", "INSERT", CHUNK_INSERTED),
        ("feed_chunk_update", "batchfx_chunk", "UPDATE", CHUNK_UPDATED),
        *outcomes,
    ]
