"""Facts about the whole file, found before the first row is written.

A value of a `unique` column may be in the file once. The first row that has it is good,
whatever else is wrong with that row; each later one is told the first one's number. In
a rerun, rows that are terminal count as the first.

Memory does not grow with the file: hashes of the values are compared, in as many passes
over the blocks as keep each pass's hashes under `HASHES_AT_ONCE`, and only rows whose
hashes meet are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from batchfx.execution.job import Job, read_all_cells
from batchfx.model.blocks import ROW
from batchfx.pipeline.validate import Validated, declared
from batchfx.store import batches, chunks, outcomes

HASHES_AT_ONCE = 1_000_000  # 8 bytes each

Fields = tuple[str, ...]
Repeated = tuple[int, str, int]  # row, its fields, the first row that has the values


def find_duplicates(job: Job) -> None:
    """Find every repeated value of the unique columns, and keep what was found."""
    sets = [
        fields
        for fields in dict.fromkeys(job.importer.unique_together())
        if all(field in job.positions for field in fields)
    ]
    found = [repeated for fields in sets for repeated in _repeated(job, fields)]
    with job.store.write() as connection:
        batches.require(connection, job.hold)
        outcomes.replace_duplicates(connection, job.key, found)


def _repeated(job: Job, fields: Fields) -> list[Repeated]:
    with job.store.read() as connection:
        total = batches.tally(connection, job.key).total
        room = 1 << chunks.last_row(connection, job.key).bit_length()
    passes = -(-total // HASHES_AT_ONCE)
    found: list[Repeated] = []
    for part in range(passes):
        marks = (_marks(values, room) for values in _values(job, fields))
        if passes > 1:
            marks = (each.filter(each // room % passes == part) for each in marks)
        meeting = _meeting(pl.concat(marks, rechunk=True), room)
        if len(meeting):
            found += _later(job, pl.concat(_values(job, fields, meeting)))
    return found


def _marks(values: pl.DataFrame, room: int) -> pl.Series:
    """Return a number for each row: a hash of its values, its own number at the end.

    The row's number takes the place of as many of the hash's 64 bits as *room* has, so
    that both are sorted as one.
    """
    hashes = values.drop(ROW).hash_rows(seed=0)
    return hashes - hashes % room + values[ROW].cast(pl.UInt64)


def _meeting(marks: pl.Series, room: int) -> pl.Series:
    """Return the rows that share their hash with another, in order."""
    marks = marks.sort(in_place=True)
    is_same = (marks // room).diff(null_behavior="ignore") == 0
    is_met = is_same.fill_null(value=False) | is_same.shift(-1, fill_value=False)
    return (marks.filter(is_met) % room).cast(pl.UInt32).sort()


def _later(job: Job, candidates: pl.DataFrame) -> list[Repeated]:
    """Return the rows whose values an earlier, or a terminal, row has already."""
    fields = [name for name in candidates.columns if name != ROW]
    with job.store.read() as connection:
        ended = outcomes.terminal_among(connection, job.key, candidates[ROW].to_list())
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
        texts = [_comparable(validated, field) for field in fields]
        yield pl.DataFrame([validated.numbers, *texts]).drop_nulls()


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
