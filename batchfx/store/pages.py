"""Where rows that are looked for may be: found by indexes and tallies, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.verdicts import TERMINAL, Verdict
from batchfx.store.chunks import Span
from batchfx.store.schema import CHUNK, ISSUE, OUTCOME, PREPARATION, BatchKey, scope

ISSUES_AT_ONCE = 300


@dataclass(frozen=True, slots=True)
class Step:
    """Rows that were found, and the row up to which was looked; None at the end."""

    rows: Sequence[int]
    next: int | None


def chunks_after(
    connection: Connection, key: BatchKey, row: int, verdict: str | None, limit: int
) -> list[Span]:
    """Return the next chunks that have a row after *row*, and rows of the *verdict*."""
    statement = (
        sa.select(CHUNK.c.ordinal, CHUNK.c.first_row, CHUNK.c.last_row)
        .where(
            CHUNK.c.batch == scope(key),
            CHUNK.c.ordinal != PREPARATION,
            CHUNK.c.last_row > row,
        )
        .order_by(CHUNK.c.ordinal)
        .limit(limit)
    )
    if verdict in set(Verdict):
        statement = statement.where(CHUNK.c[verdict] > 0)
    elif verdict is not None:
        decided = sum((CHUNK.c[v.value] for v in Verdict), start=sa.literal(0))
        statement = statement.where(CHUNK.c.rows > decided)
    return [Span(*each) for each in connection.execute(statement)]


def rows_of_verdict(
    connection: Connection,
    key: BatchKey,
    span: tuple[int, int],
    verdict: str,
    most: int | None = None,
) -> Sequence[int]:
    """Return the first rows from one to another that have the *verdict*, in order."""
    statement = (
        sa.select(OUTCOME.c.row)
        .where(
            OUTCOME.c.batch == scope(key),
            OUTCOME.c.row.between(*span),
            OUTCOME.c.verdict == verdict,
        )
        .order_by(OUTCOME.c.row)
        .limit(most)
    )
    return connection.execute(statement).scalars().all()


def reasons_of_faulty(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> dict[int, str | None]:
    """Return the rows of the range that a person has to look at, and the reasons."""
    statement = (
        sa.select(OUTCOME.c.row, OUTCOME.c.reason)
        .where(
            OUTCOME.c.batch == scope(key),
            OUTCOME.c.row.between(first_row, last_row),
            OUTCOME.c.verdict.not_in(sorted(TERMINAL)),
        )
        .order_by(OUTCOME.c.row)
    )
    return dict(connection.execute(statement).all())


def rows_with_issues(
    connection: Connection,
    key: BatchKey,
    row: int,
    *,
    code: str | None,
    field: str | None,
) -> Step:
    """Return rows after *row* with an issue of that *code*, in that *field*.

    One index is followed for a bounded number of issues, whatever else they must be.
    """
    by = ISSUE.c.field == field if code is None else ISSUE.c.code == code
    statement = (
        sa.select(ISSUE.c.row, ISSUE.c.field)
        .where(ISSUE.c.batch == scope(key), by, ISSUE.c.row > row)
        .order_by(ISSUE.c.row)
        .limit(ISSUES_AT_ONCE)
    )
    found = connection.execute(statement).all()
    if len(found) < ISSUES_AT_ONCE:
        last = None
    else:  # the last row may have more issues: it is left to the next step
        last = found[-1].row - 1
        if last <= row:
            last = found[-1].row
    rows = {
        each.row
        for each in found
        if (last is None or each.row <= last) and field in {None, each.field}
    }
    return Step(sorted(rows), last)
