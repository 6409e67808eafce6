"""Corrected values of rows: laid over the block, never written into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.model.blocks import ROW
from batchfx.store import bulk
from batchfx.store.engine import now_epoch
from batchfx.store.schema import REVISION, BatchKey, scope


def add(
    connection: Connection, key: BatchKey, origin: str, rows: Sequence[tuple[int, Any]]
) -> None:
    """Keep new cells, (row, values by column of a block), as a row's next version."""
    if not rows:
        return
    made_at = connection.execute(sa.select(now_epoch())).scalar_one()
    versions = _versions(connection, key, [row for row, _ in rows])
    connection.execute(
        sa.insert(REVISION),
        [
            {
                "batch": key.number,
                "row": row,
                "version": versions.get(row, 0) + 1,
                "cells": cells,
                "origin": origin,
                "made_at": made_at,
            }
            for row, cells in rows
        ],
    )


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
    return dict(connection.execute(statement).all())


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


def _versions(
    connection: Connection, key: BatchKey, rows: Sequence[int]
) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in bulk.slices(rows):
        statement = (
            sa.select(REVISION.c.row, sa.func.max(REVISION.c.version))
            .where(REVISION.c.batch == scope(key), REVISION.c.row.in_(part))
            .group_by(REVISION.c.row)
        )
        found.update(connection.execute(statement).all())
    return found
