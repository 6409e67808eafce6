"""Everything that the units of work of one batch have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.execution.mappings import notations_of
from batchfx.importer import Importer
from batchfx.model.blocks import FAULTS, KINDS, ROW, column_name
from batchfx.model.notations import Notation
from batchfx.pipeline import decisions
from batchfx.pipeline.plan import RowPlan, plan_of
from batchfx.pipeline.validate import declared
from batchfx.store import chunks, revisions
from batchfx.store.batches import Batch
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Job:
    """An attempt at a batch.

    *plan* reads every column in its notation; *given* is the notation of each field as
    far as somebody said it, or as it was decided in an earlier run.
    """

    store: Store
    key: BatchKey
    importer: type[Importer[Any]]
    plan: RowPlan
    given: Mapping[str, Notation]
    positions: Mapping[str, int]
    attempt: int
    dry_run: bool
    max_error_rate: float | None


def job_of(
    store: Store,
    batch: Batch,
    importer: type[Importer[Any]],
    *,
    is_prepared: bool = True,
) -> Job:
    """Return the job of *batch*; before its preparation no question is open yet."""
    plan = plan_of(importer.row_model)
    given = said_of_fields(plan, batch, importer, with_questions=is_prepared)
    return Job(
        store=store,
        key=batch.key,
        importer=importer,
        plan=plan.written(given),
        given=given,
        positions=batch.mapping,
        attempt=batch.attempt,
        dry_run=batch.dry_run,
        max_error_rate=batch.max_error_rate,
    )


def said_of_fields(
    plan: RowPlan,
    batch: Batch,
    importer: type[Importer[Any]],
    *,
    with_questions: bool = False,
) -> dict[str, Notation]:
    """Return what is said of each field's column, over what was decided before.

    Without the questions that were left open, unless they are asked for.
    """
    user, columns = notations_of(batch.given)
    said = decisions.stated(
        plan, importer.notation, user, columns, source_format=batch.layout.format
    )
    earlier = {name: Notation.load(each) for name, each in batch.notations.items()}
    decided = {
        name: notation.over(earlier.get(name, Notation()))
        for name, notation in said.items()
    }
    if with_questions:
        return decided
    return {name: replace(each, unsettled=()) for name, each in decided.items()}


def read_cells(
    connection: Connection,
    key: BatchKey,
    ordinal: int,
    positions: Mapping[str, int],
) -> pl.DataFrame:
    """Return a chunk's rows as text, corrections laid over, columns named by field."""
    frame = chunks.read_block(connection, key, ordinal, _columns(positions))
    return _corrected(connection, key, frame).rename(_names(positions))


def read_all_cells(
    store: Store, key: BatchKey, positions: Mapping[str, int]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of all chunks like `read_cells`, many at a time."""
    with store.read() as connection:
        gathered: list[pl.DataFrame] = []
        for frame in chunks.blocks(connection, key, _columns(positions)):
            gathered.append(_corrected(connection, key, frame))
            if sum(each.height for each in gathered) >= ROWS_AT_ONCE:
                yield pl.concat(gathered).rename(_names(positions))
                gathered.clear()
        if gathered:
            yield pl.concat(gathered).rename(_names(positions))


def by_field(frame: pl.DataFrame, positions: Mapping[str, int]) -> pl.DataFrame:
    """Return rows of a block with the columns of *positions*, named by field."""
    return frame.select(_columns(positions)).rename(_names(positions))


def values_in_file(job: Job, field: str, wanted: set[str]) -> set[str]:
    """Return those of the *wanted* texts that some row of the file has in *field*.

    A row has the text of the cell, and that of the value that it means.
    """
    found: set[str] = set()
    if not wanted or field not in job.positions:
        return found
    positions = {field: job.positions[field]}
    plan = job.plan.only(positions)
    for cells in read_all_cells(job.store, job.key, positions):
        values = declared(plan, cells, positions).values(field)
        texts = {str(value) for value in values if value is not None}
        found |= wanted & texts.union(cells[field].drop_nulls())
        if found == wanted:
            break
    return found


def _names(positions: Mapping[str, int]) -> dict[str, str]:
    return {column_name(position): field for field, position in positions.items()}


def _columns(positions: Mapping[str, int]) -> list[str]:
    return [ROW, *_names(positions), FAULTS, KINDS]


def _corrected(
    connection: Connection, key: BatchKey, frame: pl.DataFrame
) -> pl.DataFrame:
    first, last = frame[ROW][0], frame[ROW][-1]
    return revisions.lay_over(frame, revisions.latest(connection, key, first, last))
