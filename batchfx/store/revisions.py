"""Corrected values of rows: laid over the block, never written into it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.blocks import ROW
from batchfx.model.revisions import Action
from batchfx.store import bulk
from batchfx.store.engine import now_epoch
from batchfx.store.schema import REVISION, BatchKey, scope

# PostgreSQL has no NUL in its JSON: it is kept as an escape, and so is what escapes it.
NUL, ESCAPE = "\0", "\x1a"

Cells = Mapping[str, str | None]


def encode(cells: Cells) -> str:
    """Return *cells* as they are kept, as JSON."""
    return json.dumps({n: _escaped(t) for n, t in cells.items()}, ensure_ascii=False)


def decoded(cells: Cells) -> dict[str, str | None]:
    """Return the cells that `encode` kept."""
    return {name: _unescaped(text) for name, text in cells.items()}


def _escaped(text: str | None) -> str | None:
    if text is None or (NUL not in text and ESCAPE not in text):
        return text
    return text.replace(ESCAPE, f"{ESCAPE}1").replace(NUL, f"{ESCAPE}0")


def _unescaped(text: str | None) -> str | None:
    if text is None or ESCAPE not in text:
        return text
    return text.replace(f"{ESCAPE}0", NUL).replace(f"{ESCAPE}1", ESCAPE)


@dataclass(frozen=True, slots=True)
class Revised:
    """A version of a row: what was done by whom and when, and its cells after it."""

    version: int
    action: Action
    origin: str
    made_at: float
    cells: Mapping[str, str | None]


def add(
    connection: Connection,
    key: BatchKey,
    origin: str,
    rows: Sequence[tuple[int, Any]],
    action: Action = Action.CORRECTED,
) -> None:
    """Keep new cells, (row, values by column of a block), as a row's next version.

    *origin* is the name of the file that they are from, or of the person.
    """
    if not rows:
        return
    made_at = connection.execute(sa.select(now_epoch())).scalar_one()
    before = versions(connection, key, [row for row, _ in rows])
    columns = ("batch", "row", "version", "cells", "action", "origin", "made_at")
    bulk.insert_rows(
        connection,
        REVISION,
        columns,
        [
            (
                key.number,
                row,
                before.get(row, 0) + 1,
                encode(cells),
                action.value,
                origin,
                made_at,
            )
            for row, cells in rows
        ],
    )


def excluded_among(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> set[int]:
    """Return those of *rows* that a person has excluded."""
    found: set[int] = set()
    for part in bulk.slices(rows):
        statement = sa.select(REVISION.c.row).where(
            REVISION.c.batch == scope(key),
            REVISION.c.row.in_(part),
            REVISION.c.action == Action.EXCLUDED,
        )
        found.update(connection.execute(statement).scalars())
    return found


def settled_among(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> set[int]:
    """Return those of *rows* that a person has excluded or approved."""
    found: set[int] = set()
    for part in bulk.slices(rows):
        statement = decided_by_persons(key).where(REVISION.c.row.in_(part))
        found.update(connection.execute(statement).scalars())
    return found


def decided_by_persons(key: BatchKey) -> sa.Select[Any]:
    """Return what finds the rows that a person has excluded or approved."""
    return sa.select(REVISION.c.row).where(
        REVISION.c.batch == scope(key),
        REVISION.c.action.in_((Action.EXCLUDED, Action.APPROVED)),
    )


def versions(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> dict[int, int]:
    """Return how many versions each of *rows* has that was ever changed."""
    found: dict[int, int] = {}
    for part in bulk.slices(rows):
        statement = (
            sa.select(REVISION.c.row, sa.func.max(REVISION.c.version))
            .where(REVISION.c.batch == scope(key), REVISION.c.row.in_(part))
            .group_by(REVISION.c.row)
        )
        found.update(connection.execute(statement).all())
    return found


def of_row(connection: Connection, key: BatchKey, row: int) -> list[Revised]:
    """Return every version of a row, the oldest first."""
    statement = (
        _revised()
        .where(REVISION.c.batch == scope(key), REVISION.c.row == row)
        .order_by(REVISION.c.version)
    )
    return [_read(each) for _, *each in connection.execute(statement)]


def newest(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> dict[int, Revised]:
    """Return the newest version of each of *rows* that was ever changed."""
    found: dict[int, list[Any]] = {}
    for part in bulk.slices(rows):
        statement = (
            _revised()
            .where(REVISION.c.batch == scope(key), REVISION.c.row.in_(part))
            .order_by(REVISION.c.row, REVISION.c.version)
        )
        found.update({row: each for row, *each in connection.execute(statement)})
    return {row: _read(each) for row, each in found.items()}


def _revised() -> sa.Select[Any]:
    columns = ("row", "version", "action", "origin", "made_at", "cells")
    return sa.select(*(REVISION.c[name] for name in columns))


def _read(columns: Sequence[Any]) -> Revised:
    version, action, origin, made_at, cells = columns
    return Revised(version, Action(action), origin, made_at, decoded(cells))


def latest(
    connection: Connection, key: BatchKey, first_row: int, last_row: int
) -> dict[int, dict[str, str | None]]:
    """Return the newest cells of every corrected row of the range."""
    statement = (
        sa.select(REVISION.c.row, REVISION.c.cells)
        .where(
            REVISION.c.batch == scope(key), REVISION.c.row.between(first_row, last_row)
        )
        .order_by(REVISION.c.row, REVISION.c.version)
    )
    rows = connection.execute(statement)
    return {row: decoded(cells) for row, cells in dict(rows.all()).items()}


def lay_over(
    frame: pl.DataFrame, cells: dict[int, dict[str, str | None]]
) -> pl.DataFrame:
    """Return *frame* with the corrected rows in place of those that were read."""
    if not cells:
        return frame
    replaced = frame.filter(pl.col(ROW).is_in(list(cells)))
    names = [name for name in frame.columns if name != ROW]
    rows = [
        (row, *(cells[row].get(name) for name in names))
        for row in replaced[ROW].to_list()
    ]
    new = pl.DataFrame(rows, schema=frame.schema, orient="row")
    kept = frame.filter(~pl.col(ROW).is_in(list(cells)))
    return pl.concat([kept, new]).sort(ROW)
