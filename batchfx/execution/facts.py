"""Facts about the whole file, found before the first row is written.

A value of a `unique` column may be in the file once. The first row that has it is good,
whatever else is wrong with that row; each later one is told the first one's number. In
a rerun, rows that are terminal count as the first.

Memory does not grow with the file: 64-bit hashes of the values are compared, for as
many passes over the blocks as keep each pass's hashes under `HASHES_AT_ONCE`, and only
rows whose hashes meet are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from batchfx.execution.job import Job, read_cells
from batchfx.model.blocks import FAULTS, KINDS, ROW
from batchfx.pipeline.validate import Validated, declared
from batchfx.store import batches, chunks, outcomes

HASHES_AT_ONCE = 2_000_000  # 8 bytes each

Fields = tuple[str, ...]
Repeated = tuple[int, str, int]  # row, its fields, the first row that has the values


def find_duplicates(job: Job) -> None:
    """Find every repeated value of the unique columns, and keep what was found."""
    sets = [
        fields
        for fields in dict.fromkeys(job.importer.unique_together())
        if all(field in job.positions for field in fields)
    ]
    found = _repeated(job, sets) if sets else []
    with job.store.write() as connection:
        batches.require(connection, job.hold)
        outcomes.replace_duplicates(connection, job.key, found)


def _repeated(job: Job, sets: list[Fields]) -> list[Repeated]:
    with job.store.read() as connection:
        total = batches.tally(connection, job.key).total
    passes = -(-total * len(sets) // HASHES_AT_ONCE)
    found: list[Repeated] = []
    for part in range(passes):
        meeting = _meeting(job, sets, part, passes)
        if meeting:
            found += _compare(job, meeting)
    return found


def _meeting(
    job: Job, sets: list[Fields], part: int, passes: int
) -> Mapping[Fields, pl.Series]:
    """Return, for each set, the hashes of this part that more than one row has."""
    hashes: dict[Fields, list[pl.Series]] = {fields: [] for fields in sets}
    for frame in _values(job, sets):
        for fields, found in hashes.items():
            own = _hashes(frame, fields)
            found.append(own.filter(own % passes == part) if passes > 1 else own)
    meeting = {}
    for fields, found in hashes.items():
        whole = pl.concat(found, rechunk=True).sort(in_place=True)
        repeated = whole.filter(whole == whole.shift(1)).unique()
        if len(repeated):
            meeting[fields] = repeated
    return meeting


def _compare(job: Job, meeting: Mapping[Fields, pl.Series]) -> list[Repeated]:
    """Compare the values of the rows whose hashes meet; return those that repeat."""
    candidates: dict[Fields, list[pl.DataFrame]] = {fields: [] for fields in meeting}
    for frame in _values(job, list(meeting)):
        for fields, found in candidates.items():
            full = frame.select(ROW, *fields).drop_nulls(fields)
            hashes = full.select(fields).hash_rows(seed=0)
            found.append(full.filter(hashes.is_in(meeting[fields].implode())))
    return [
        repeated
        for fields, found in candidates.items()
        for repeated in _later(job, fields, pl.concat(found))
    ]


def _later(job: Job, fields: Fields, candidates: pl.DataFrame) -> list[Repeated]:
    """Return the rows whose values an earlier, or a terminal, row has already."""
    with job.store.read() as connection:
        ended = outcomes.terminal_among(connection, job.key, candidates[ROW].to_list())
    ended_rows = pl.Series(sorted(ended), dtype=pl.UInt32).implode()
    ordered = candidates.with_columns(ended=pl.col(ROW).is_in(ended_rows)).sort(
        ["ended", ROW], descending=[True, False]
    )
    firsts = ordered.with_columns(first=pl.col(ROW).first().over(list(fields)))
    repeated = firsts.filter((pl.col(ROW) != pl.col("first")) & ~pl.col("ended"))
    name = "+".join(fields)
    rows = zip(repeated[ROW].to_list(), repeated["first"].to_list(), strict=True)
    return [(row, name, first) for row, first in rows]


def _hashes(frame: pl.DataFrame, fields: Fields) -> pl.Series:
    """Return a hash for each row that has a value in every one of *fields*."""
    return frame.select(fields).drop_nulls().hash_rows(seed=0)


def _values(job: Job, sets: list[Fields]) -> Iterator[pl.DataFrame]:
    """Yield row numbers and typed values of all fields of *sets*, chunk by chunk."""
    names = list(dict.fromkeys(field for fields in sets for field in fields))
    plan = job.plan.only(names)
    positions = {field: job.positions[field] for field in names}
    with job.store.read() as connection:
        count = chunks.count(connection, job.key)
    for ordinal in range(count):
        with job.store.read() as connection:
            cells = read_cells(connection, job.key, ordinal, positions)
        validated = declared(plan, cells.select(ROW, *names, FAULTS, KINDS), positions)
        texts = [_comparable(validated, field) for field in names]
        yield pl.DataFrame([validated.numbers, *texts])


def _comparable(validated: Validated, field: str) -> pl.Series:
    """Return texts that are equal where the values are, the same way in every chunk."""
    values = validated.frame[field]
    if values.dtype in {pl.Object, pl.Datetime}:
        texts = [_text(value) for value in validated.values(field)]
        return pl.Series(field, texts, pl.String)
    plain = values.cast(pl.String)
    if isinstance(values.dtype, pl.Decimal) and values.dtype.scale:
        return plain.str.strip_chars_end("0").str.strip_chars_end(".")
    return plain


def _text(value: Any) -> str | None:
    """Return a text that equal values share; None for no value."""
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value else "0"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    return None if value is None else str(value)
