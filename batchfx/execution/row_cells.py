"""The cells of rows as they are now: as read, or as they were corrected or edited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.model.blocks import ROW
from batchfx.store import chunks, revisions
from batchfx.store.schema import BatchKey

Cells = dict[str, Any]  # by column of a block, without the row's number


def block(connection: Connection, key: BatchKey, ordinal: int) -> pl.DataFrame:
    """Return a chunk's rows, corrections laid over."""
    frame = chunks.read_block(connection, key, ordinal)
    first, last = frame[ROW][0], frame[ROW][-1]
    return revisions.lay_over(frame, revisions.latest(connection, key, first, last))


def of_rows(
    connection: Connection, key: BatchKey, rows: Collection[int]
) -> dict[int, Cells]:
    """Return the present cells of *rows*; those that the batch has not are left out."""
    found: dict[int, Cells] = {}
    for ordinal, wanted in by_chunk(connection, key, rows).items():
        frame = block(connection, key, ordinal)
        found |= cells_of(frame.filter(pl.col(ROW).is_in(wanted)))
    return found


def cells_of(frame: pl.DataFrame) -> dict[int, Cells]:
    """Return the cells of each row of a block's frame."""
    return {cells.pop(ROW): cells for cells in frame.iter_rows(named=True)}


def by_chunk(
    connection: Connection, key: BatchKey, rows: Iterable[int]
) -> dict[int, list[int]]:
    """Return *rows* by the chunk whose range they are in, in order."""
    ordered = sorted(rows)
    if not ordered:
        return {}
    spans = chunks.spans(connection, key, ordered[0], ordered[-1])
    lasts = [span.last_row for span in spans]
    found: dict[int, list[int]] = {}
    for row in ordered:
        at = bisect_left(lasts, row)
        if at < len(spans) and spans[at].first_row <= row:
            found.setdefault(spans[at].ordinal, []).append(row)
    return found
