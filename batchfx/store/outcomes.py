"""What became of each row, and what was wrong with it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.verdicts import TERMINAL, Outcome, Verdict
from batchfx.store import bulk
from batchfx.store.revisions import decided_by_persons
from batchfx.store.schema import DUPLICATE, ISSUE, OUTCOME, BatchKey, scope

AS_IT_IS = ("row", "field", "code", "message", "value", "suggestion", "detail")
ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
ISSUE_COLUMNS = (*AS_IT_IS, "level", "phase", "parameters")


@dataclass(frozen=True, slots=True)
class IssueGroup:
    """Issues of one cause: how many, and one of them as the example."""

    level: Level
    phase: Phase
    field: str | None
    code: str
    count: int
    message: str
    row: int | None
    value: str | None
    suggestion: str | None


def decided_rows(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> list[int]:
    """Return the rows of the range that have an outcome."""
    statement = sa.select(OUTCOME.c.row).where(
        OUTCOME.c.batch == scope(key), OUTCOME.c.row.between(first_row, last_row)
    )
    return list(connection.execute(statement).scalars())


def terminal_among(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> set[int]:
    """Return those of *rows* that no attempt may touch again."""
    found: set[int] = set()
    for part in bulk.slices(rows):
        statement = sa.select(OUTCOME.c.row).where(
            OUTCOME.c.batch == scope(key),
            OUTCOME.c.row.in_(part),
            OUTCOME.c.verdict.in_(sorted(TERMINAL)),
        )
        found.update(connection.execute(statement).scalars())
    return found


def reopen(connection: Connection, key: BatchKey) -> None:
    """Delete the outcomes that are not terminal, and the issues of rows without one.

    What was said of a whole column goes too: the next attempt says it, if it still is.
    """
    connection.execute(
        sa.delete(OUTCOME).where(
            OUTCOME.c.batch == scope(key), OUTCOME.c.verdict.not_in(sorted(TERMINAL))
        )
    )
    decided = sa.exists().where(
        OUTCOME.c.batch == ISSUE.c.batch, OUTCOME.c.row == ISSUE.c.row
    )
    connection.execute(
        sa.delete(ISSUE).where(
            ISSUE.c.batch == scope(key),
            sa.or_(
                sa.and_(ISSUE.c.row.is_not(None), ~decided),
                sa.and_(ISSUE.c.row.is_(None), ISSUE.c.field.is_not(None)),
            ),
        )
    )


def add(
    connection: Connection, key: BatchKey, attempt: int, outcomes: Sequence[Outcome]
) -> None:
    """Write the outcomes; a row that has one already is an error of the database."""
    columns = ("batch", "row", "verdict", "record_id", "reason", "attempt")
    rows: list[tuple[int, int, str, str | None, str | None, int]] = []
    for verdict in Verdict:
        name = verdict.value
        rows += [
            (key.number, row, name, record, reason, attempt)
            for row, each, record, reason in outcomes
            if each is verdict
        ]
    rows.sort()
    bulk.insert_rows(connection, OUTCOME, columns, rows)


def add_issues(
    connection: Connection, key: BatchKey, attempt: int, issues: Sequence[Issue]
) -> None:
    """Write the issues."""
    own = attrgetter(*AS_IT_IS)
    columns = ("batch", "attempt", "cause", "parameters", "level", "phase", *AS_IT_IS)
    rows = [
        (
            key.number,
            attempt,
            issue.parameters.get("cause"),
            ENCODER.encode(dict(issue.parameters)),
            issue.level.value,
            issue.phase.value,
            *own(issue),
        )
        for issue in issues
    ]
    bulk.insert_rows(connection, ISSUE, columns, rows)


def of_range(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> dict[int, tuple[int, Outcome]]:
    """Return (attempt, outcome) of each decided row of the range."""
    return _decided(connection, key, OUTCOME.c.row.between(first_row, last_row))


def of_rows(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> dict[int, tuple[int, Outcome]]:
    """Return (attempt, outcome) of each decided one of *rows*."""
    found: dict[int, tuple[int, Outcome]] = {}
    for part in bulk.slices(rows):
        found |= _decided(connection, key, OUTCOME.c.row.in_(part))
    return found


def _decided(
    connection: Connection, key: BatchKey, which: sa.ColumnElement[bool]
) -> dict[int, tuple[int, Outcome]]:
    statement = (
        sa.select(
            OUTCOME.c.attempt,
            OUTCOME.c.row,
            OUTCOME.c.verdict,
            OUTCOME.c.record_id,
            OUTCOME.c.reason,
        )
        .where(OUTCOME.c.batch == scope(key), which)
        .order_by(OUTCOME.c.row)
    )
    return {
        row: (attempt, Outcome(row, Verdict(name), record, reason))
        for attempt, row, name, record, reason in connection.execute(statement)
    }


def count(connection: Connection, key: BatchKey) -> int:
    """Return how many rows of the batch have an outcome."""
    statement = sa.select(sa.func.count()).where(OUTCOME.c.batch == scope(key))
    return connection.execute(statement.select_from(OUTCOME)).scalar_one()


def issues_of(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> dict[int, list[Issue]]:
    """Return the issues of each of *rows*, in the order in which they were found."""
    found: dict[int, list[Issue]] = {}
    for part in bulk.slices(rows):
        statement = (
            sa.select(*(ISSUE.c[name] for name in ISSUE_COLUMNS))
            .where(ISSUE.c.batch == scope(key), ISSUE.c.row.in_(part))
            .order_by(ISSUE.c.row, ISSUE.c.id)
        )
        for row in connection.execute(statement):
            found.setdefault(row.row, []).append(_issue(row))
    return found


def file_issues(
    connection: Connection, key: BatchKey, attempt: int, passing: Collection[str] = ()
) -> list[Issue]:
    """Return what was noticed about the file as a whole, as of *attempt*.

    What earlier attempts noticed is left out where it kept the file out then, or has
    one of the *passing* codes: these are noticed anew where they still hold.
    """
    stays = sa.and_(ISSUE.c.level != Level.ERROR.value, ISSUE.c.code.not_in(passing))
    statement = (
        sa.select(*(ISSUE.c[name] for name in ISSUE_COLUMNS))
        .where(ISSUE.c.batch == scope(key), ISSUE.c.row.is_(None))
        .where(sa.or_(ISSUE.c.attempt >= attempt, stays))
        .order_by(ISSUE.c.id)
    )
    return [_issue(row) for row in connection.execute(statement)]


def forget_notes(connection: Connection, key: BatchKey, codes: Collection[str]) -> None:
    """Delete what was noticed about the file as a whole by one of the *codes*."""
    connection.execute(
        sa.delete(ISSUE).where(
            ISSUE.c.batch == scope(key), ISSUE.c.row.is_(None), ISSUE.c.code.in_(codes)
        )
    )


def groups(connection: Connection, key: BatchKey) -> Iterator[IssueGroup]:
    """Yield the issues by cause, the most frequent first.

    Those of rows that a person has decided count no more.
    """
    alike = (ISSUE.c.level, ISSUE.c.phase, ISSUE.c.field, ISSUE.c.code, ISSUE.c.cause)
    counted = (
        sa.select(
            *alike, sa.func.count().label("number"), sa.func.min(ISSUE.c.id).label("id")
        )
        .where(
            ISSUE.c.batch == scope(key),
            sa.or_(ISSUE.c.row.is_(None), ISSUE.c.row.not_in(decided_by_persons(key))),
        )
        .group_by(*alike)
        .subquery()
    )
    example = sa.select(
        counted, ISSUE.c.message, ISSUE.c.row, ISSUE.c.value, ISSUE.c.suggestion
    ).join(ISSUE, ISSUE.c.id == counted.c.id)
    for found in connection.execute(
        example.order_by(counted.c.number.desc(), counted.c.id)
    ):
        yield IssueGroup(
            Level(found.level),
            Phase(found.phase),
            found.field,
            found.code,
            found.number,
            found.message,
            found.row,
            found.value,
            found.suggestion,
        )


def replace_duplicates(
    connection: Connection, key: BatchKey, rows: Sequence[tuple[int, str, int]]
) -> None:
    """Keep (row, field, first row) for values that an earlier row has already."""
    connection.execute(sa.delete(DUPLICATE).where(DUPLICATE.c.batch == scope(key)))
    bulk.insert_rows(
        connection,
        DUPLICATE,
        ("batch", "row", "field", "first_row"),
        [(key.number, *row) for row in rows],
    )


def duplicates(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> pl.DataFrame:
    """Return the range's duplicates as a frame of row, field and first_row."""
    statement = (
        sa.select(DUPLICATE.c.row, DUPLICATE.c.field, DUPLICATE.c.first_row)
        .where(
            DUPLICATE.c.batch == scope(key),
            DUPLICATE.c.row.between(first_row, last_row),
        )
        .order_by(DUPLICATE.c.row)
    )
    found = connection.execute(statement).all()
    schema = {"row": pl.UInt32, "field": pl.String, "first_row": pl.UInt32}
    return pl.DataFrame([tuple(row) for row in found], schema=schema, orient="row")


def _issue(row: Any) -> Issue:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public accessor
    level, phase = Level(values.pop("level")), Phase(values.pop("phase"))
    return Issue(level=level, phase=phase, **values)
