"""Facts about the whole file, found before the first row is written.

How a column is written is decided first, over all of its values: what a value is, and
whether two are the same, hangs on it. A decision stays with the batch; a question that
was left open is asked again in the next run.

A value of a `unique` column may be in the file once. The first row that has it is good,
whatever else is wrong with that row; each later one is told the first one's number. In
a rerun, rows that are terminal count as the first.

Memory does not grow with the file: see `execution.repeats`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.execution.job import Job, read_all_cells
from batchfx.execution.repeats import comparable, met
from batchfx.model.blocks import ROW
from batchfx.model.notations import Notation
from batchfx.pipeline import decisions
from batchfx.pipeline.validate import declared
from batchfx.store import batches, chunks, claims, outcomes, revisions
from batchfx.store.claims import Claim
from batchfx.store.schema import BatchKey

Fields = tuple[str, ...]
Repeated = tuple[int, str, int]  # row, its fields, the first row that has the values


def settle_notations(job: Job, claim: Claim) -> Job:
    """Decide how each column is written; return the job that reads it so.

    Raises:
        LeaseLostError: The claim of the preparation was lost.

    """
    evidence = _evidence(job)
    notations = decisions.decide(job.plan, evidence, job.given)
    told = decisions.explain(job.plan, evidence, notations)
    with job.store.write() as connection:
        claims.require(connection, claim)
        decided = dict(batches.read(connection, job.key).notations)
        for name, notation in notations.items():
            earlier = {**decided.pop(name, {}), "unsettled": None}
            found = _beyond(notation, job.given[name])
            kept = {k: v for k, v in {**earlier, **found}.items() if v is not None}
            if kept:
                decided[name] = kept
        batches.note(connection, job.key, notations=decided)
        outcomes.add_issues(connection, job.key, job.attempt, told)
    return replace(job, plan=job.plan.written(notations))


def _beyond(notation: Notation, given: Notation) -> dict[str, Any]:
    """Return what *notation* says and nobody had said, as plain data."""
    said = given.dump()
    return {key: value for key, value in notation.dump().items() if key not in said}


def _evidence(job: Job) -> decisions.Evidence:
    evidence = decisions.Evidence()
    names = decisions.undecided(job.plan, job.given)
    positions = {name: job.positions[name] for name in names if name in job.positions}
    if positions:
        plan = job.plan.only(positions)
        for cells in read_all_cells(job.store, job.key, positions):
            evidence += decisions.gather(plan, cells, positions, job.given)
    return evidence


def find_duplicates(job: Job, claim: Claim) -> None:
    """Find every repeated value of the unique columns, and keep what was found.

    Raises:
        LeaseLostError: The claim of the preparation was lost.

    """
    sets = [
        fields
        for fields in dict.fromkeys(job.importer.unique_together())
        if all(field in job.positions for field in fields)
    ]
    found = [repeated for fields in sets for repeated in _repeated(job, fields)]
    with job.store.write() as connection:
        claims.require(connection, claim)
        outcomes.replace_duplicates(connection, job.key, found)


def _repeated(job: Job, fields: Fields) -> list[Repeated]:
    with job.store.read() as connection:
        total = batches.tally(connection, job.key).total
        last_row = chunks.last_row(connection, job.key)
    found = met(partial(_values, job, fields), total, last_row)
    return [repeated for each in found for repeated in _later(job, each)]


def _later(job: Job, candidates: pl.DataFrame) -> list[Repeated]:
    with job.store.read() as connection:
        return later(connection, job.key, candidates)


def later(
    connection: Connection,
    key: BatchKey,
    candidates: pl.DataFrame,
    ended: Collection[int] = (),
) -> list[Repeated]:
    """Return the rows whose values an earlier, or a terminal, row has already.

    Rows that a person has excluded count for nothing. *ended* are rows that are about
    to be terminal.
    """
    fields = [name for name in candidates.columns if name != ROW]
    numbers = candidates[ROW].to_list()
    excluded = revisions.excluded_among(connection, key, numbers)
    ended = outcomes.terminal_among(connection, key, numbers).union(ended) - excluded
    if excluded:
        candidates = candidates.filter(~pl.col(ROW).is_in(list(excluded)))
    ended_rows = pl.Series(sorted(ended), dtype=pl.UInt32).implode()
    ordered = candidates.with_columns(ended=pl.col(ROW).is_in(ended_rows)).sort(
        ["ended", ROW], descending=[True, False]
    )
    firsts = ordered.with_columns(first=pl.col(ROW).first().over(fields))
    repeated = firsts.filter((pl.col(ROW) != pl.col("first")) & ~pl.col("ended"))
    name = "+".join(fields)
    rows = zip(repeated[ROW].to_list(), repeated["first"].to_list(), strict=True)
    return [(row, name, first) for row, first in rows]


def _values(
    job: Job, fields: Fields, wanted: pl.Series | None = None
) -> Iterator[pl.DataFrame]:
    """Yield row numbers and values of *fields*, of rows that have them, by chunks.

    Of all these rows, or of those *wanted*.
    """
    plan = job.plan.only(fields)
    positions = {field: job.positions[field] for field in fields}
    for cells in read_all_cells(job.store, job.key, positions):
        is_wanted = True if wanted is None else pl.col(ROW).is_in(wanted.implode())
        validated = declared(plan, cells.filter(is_wanted), positions)
        yield comparable(validated, fields)
