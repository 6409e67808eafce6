"""Facts about the whole file, found before the first row is written.

A value of a `unique` column may be in the file once. The first row that has it is good,
whatever else is wrong with that row; each later one is told the first one's number. In a
rerun, rows that are terminal count as the first.

Memory does not grow with the file: 64-bit hashes of the values are compared, for as
many passes over the blocks as keep each pass's hashes under `HASHES_AT_ONCE`, and only
rows whose hashes meet are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from batchfx.execution.job import Job, read_cells
from batchfx.model.blocks import FAULTS, KINDS, ROW
from batchfx.pipeline.validate import declared
from batchfx.store import batches, chunks, outcomes

HASHES_AT_ONCE = 2_000_000  # 8 bytes each

HASH = "hash"


def find_duplicates(job: Job) -> int:
    """Find every repeated value of the unique columns and keep it; return how many."""
    found: list[tuple[int, str, int]] = []
    for fields in job.importer.unique_together():
        if all(field in job.positions for field in fields):
            found += _duplicates(job, fields)
    with job.store.write() as connection:
        batches.require(connection, job.hold)
        outcomes.replace_duplicates(connection, job.key, found)
    return len(found)


def _duplicates(job: Job, fields: tuple[str, ...]) -> list[tuple[int, str, int]]:
    with job.store.read() as connection:
        total = batches.tally(connection, job.key).total
    passes = -(-total // HASHES_AT_ONCE)
    found: list[tuple[int, str, int]] = []
    for part in range(passes):
        meeting = _meeting_hashes(job, fields, part, passes)
        if len(meeting):
            found += _compare(job, fields, meeting)
    return found


def _meeting_hashes(
    job: Job, fields: tuple[str, ...], part: int, passes: int
) -> pl.Series:
    """Return the hashes of this part of the hash space that more than one row has."""
    parts = [
        frame[HASH].filter(frame[HASH] % passes == part)
        for frame in _values(job, fields)
    ]
    hashes = pl.concat([pl.Series(HASH, [], pl.UInt64), *parts])
    return hashes.filter(hashes.is_duplicated()).unique()


def _compare(
    job: Job, fields: tuple[str, ...], meeting: pl.Series
) -> list[tuple[int, str, int]]:
    """Compare the values of the rows whose hashes meet; return those that repeat."""
    candidates = pl.concat(
        [frame.filter(frame[HASH].is_in(meeting.implode())) for frame in _values(job, fields)]
    )
    with job.store.read() as connection:
        ended = outcomes.terminal_among(connection, job.key, candidates[ROW].to_list())
    ordered = candidates.with_columns(
        ended=pl.col(ROW).is_in(list(ended)) if ended else pl.lit(value=False)
    ).sort(["ended", ROW], descending=[True, False])
    firsts = ordered.with_columns(first=pl.col(ROW).first().over(list(fields)))
    repeated = firsts.filter((pl.col(ROW) != pl.col("first")) & ~pl.col("ended"))
    name = "+".join(fields)
    rows = zip(repeated[ROW].to_list(), repeated["first"].to_list(), strict=True)
    return [(row, name, first) for row, first in rows]


def _values(job: Job, fields: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yield row, hash and the typed values of *fields* of every row that has them all."""
    plan = job.plan.only(fields)
    positions = {field: job.positions[field] for field in fields}
    with job.store.read() as connection:
        count = chunks.count(connection, job.key)
    for ordinal in range(count):
        with job.store.read() as connection:
            cells = read_cells(connection, job.key, ordinal, positions)
        validated = declared(plan, cells.select(ROW, *fields, FAULTS, KINDS), positions)
        frame = validated.frame.select(
            ROW, *(_comparable(validated.frame[field]) for field in fields)
        ).drop_nulls()
        hashes = frame.select(fields).hash_rows(seed=0)
        yield frame.with_columns(hashes.alias(HASH))


def _comparable(values: pl.Series) -> pl.Series:
    """Return values whose equality Polars can judge, with one type in every chunk."""
    if values.dtype == pl.Object:
        texts = [None if v is None else str(v) for v in values.to_list()]
        return pl.Series(values.name, texts, pl.String)
    if values.dtype.is_decimal():
        return values.cast(pl.String).str.replace(r"\.?0+$", "")
    return values.cast(pl.String)
