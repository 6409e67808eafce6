"""What an edit of rows changes for others of the same file: which repeat which."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.execution.facts import Fields, later
from batchfx.execution.job import Job, read_cells
from batchfx.execution.repeats import comparable
from batchfx.model.blocks import ROW
from batchfx.pipeline.validate import declared
from batchfx.store import amendments, chunks


def settle_repeats(
    connection: Connection,
    job: Job,
    before: pl.DataFrame,
    after: pl.DataFrame,
    ended: Collection[int] | None = None,
) -> set[int]:
    """Find again which rows repeat others, where edited rows take part; keep it.

    Args:
        connection: In the writing transaction, in which the new cells are kept already.
        job: The batch's.
        before: The edited rows as they were, columns named by field.
        after: The same rows as they are now.
        ended: Those of them that a person has just decided, whose values stay.

    Returns:
        The rows for which something else holds now, edited or not.

    """
    changed: set[int] = set()
    for fields in dict.fromkeys(job.importer.unique_together()):
        if not all(field in job.positions for field in fields):
            continue
        old, new = (_values(job, fields, cells) for cells in (before, after))
        if ended is None and old.equals(new):
            continue
        wanted = pl.concat([old, new]).drop(ROW).unique()
        frames = [old.clear(), *_having(connection, job, fields, wanted)]
        candidates = pl.concat(frames)
        found = later(connection, job.key, candidates, ended or ())
        rows = {*candidates[ROW].to_list(), *before[ROW].to_list()}
        changed |= amendments.replace_repeated(
            connection, job.key, "+".join(fields), rows, found
        )
    return changed


def _having(
    connection: Connection, job: Job, fields: Fields, wanted: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Yield the rows of each chunk whose values of *fields* are among the *wanted*."""
    positions = {field: job.positions[field] for field in fields}
    for ordinal in range(chunks.count(connection, job.key) if wanted.height else 0):
        cells = read_cells(connection, job.key, ordinal, positions)
        values = _values(job, fields, cells)
        yield values.join(wanted, on=list(fields), how="semi")


def _values(job: Job, fields: Fields, cells: pl.DataFrame) -> pl.DataFrame:
    positions = {field: job.positions[field] for field in fields}
    plan = job.plan.only(fields)
    return comparable(declared(plan, cells, positions), fields)
