"""Rows that repeat an earlier row's values, found in memory that doesn't grow.

Hashes are compared, in as many passes over the values as keep each pass's hashes under
`HASHES_AT_ONCE`; only rows whose hashes meet are compared by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import polars as pl

from batchfx.model.blocks import ROW
from batchfx.pipeline.validate import Validated

HASHES_AT_ONCE = 1_000_000  # 8 bytes each
SLICE = 100_000

Values = Callable[[pl.Series | None], Iterator[pl.DataFrame]]


def repeats(values: Values, total: int, last_row: int) -> list[tuple[int, int]]:
    """Return each row whose values an earlier row has already, with the first such row.

    The arguments are those of `met`.
    """
    return [pair for each in met(values, total, last_row) for pair in _later(each)]


def met(values: Values, total: int, last_row: int) -> Iterator[pl.DataFrame]:
    """Yield the rows whose values, or their hashes, another row has too.

    Rows with the same values are in one frame. *values* yields row numbers and
    comparable values, of all rows or of those that it is given, the same each time.
    *total* is how many rows there are, *last_row* the greatest number of one.
    """
    room = 1 << last_row.bit_length()
    passes = -(-total // HASHES_AT_ONCE)
    for part in range(passes):
        marks = (_marks(each, room) for each in values(None))
        if passes > 1:
            marks = (each.filter(each // room % passes == part) for each in marks)
        meeting = _meeting(
            reduce(pl.Series.extend, marks, pl.Series(dtype=pl.UInt64)), room
        )
        if len(meeting):
            yield pl.concat(values(meeting))


def comparable(
    validated: Validated, fields: Sequence[str], *, fold: bool = False
) -> pl.DataFrame:
    """Return row numbers and texts that are equal where the values of *fields* are.

    Rows without one of the values are left out. With *fold*, neither case nor outer
    blanks make a difference.
    """
    texts = [_texts(validated, field) for field in fields]
    if fold:
        texts = [_folded(each) for each in texts]
    return pl.DataFrame([validated.numbers, *texts]).drop_nulls()


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
    # In slices, since each step of this copies what it is done with. A slice has one
    # more than its own, which its last may meet.
    slices = (marks.slice(at, SLICE + 1) for at in range(0, len(marks), SLICE))
    met = [(_neighbours(each // room, each) % room).cast(pl.UInt32) for each in slices]
    return pl.concat(met).unique().sort() if met else pl.Series(dtype=pl.UInt32)


def _neighbours(hashes: pl.Series, marks: pl.Series) -> pl.Series:
    """Return those of *marks* whose hash is that of the one before or behind."""
    is_same = (hashes.diff(null_behavior="ignore") == 0).fill_null(value=False)
    return marks.filter(is_same | is_same.shift(-1, fill_value=False))


def _later(candidates: pl.DataFrame) -> list[tuple[int, int]]:
    fields = [name for name in candidates.columns if name != ROW]
    firsts = candidates.with_columns(first=pl.col(ROW).min().over(fields))
    later = firsts.filter(pl.col(ROW) != pl.col("first"))
    return list(zip(later[ROW].to_list(), later["first"].to_list(), strict=True))


def _texts(validated: Validated, field: str) -> pl.Series:
    """Return texts that are equal where the values are, the same way in every block."""
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


def _folded(texts: pl.Series) -> pl.Series:
    folded = [t if t is None else t.strip().casefold() for t in texts.to_list()]
    return pl.Series(texts.name, folded, pl.String)
