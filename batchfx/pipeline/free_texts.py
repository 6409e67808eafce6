"""The columns of text of which nothing is asked: a file may have thousands of them.

Polars asks a price for each column in each call, so these are looked at as one. Where
all of a column's cells are surely fine, its texts are its values; else it goes the way
of all others, which gives the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from batchfx.model.blocks import KINDS
from batchfx.model.stacks import WIDE, stacked
from batchfx.pipeline.cells import Cells, marked
from batchfx.pipeline.plan import FieldPlan, RowPlan
from batchfx.pipeline.reading import Reader
from batchfx.pipeline.records import Records


def free_texts(
    plan: RowPlan,
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    records: Records,
) -> dict[str, Cells]:
    """Return the cells of the free fields whose texts in *frame* are surely fine.

    There are none when only a few fields are free.
    """
    free = _free_fields(plan, frame, records)
    if len(free) < WIDE or not frame.height:
        return {}
    reader, _ = Counter(each.reader for each in free).most_common(1)[0]
    doubtful = _doubtful_places(frame, reader)
    fields = [
        each
        for each in free
        if each.reader is reader and positions.get(each.name) not in doubtful
    ]
    if not fields:
        return {}
    texts = frame[[each.name for each in fields]]  # eagerly: a query takes memory
    if records.broken:
        sound = ~marked(frame.height, records.broken)
        texts = texts.select(pl.when(sound).then(pl.all()))
    odd = _odd_places(texts, reader)
    return _cells(fields, texts, odd, marked(frame.height, records.broken))


def _free_fields(
    plan: RowPlan, frame: pl.DataFrame, records: Records
) -> list[FieldPlan]:
    present = {*frame.columns} - {*records.cells}
    return [
        field
        for field in plan.fields.values()
        if field.is_free and field.name in present
    ]


def _doubtful_places(frame: pl.DataFrame, reader: Reader) -> set[int]:
    """Return the positions of the columns with a cell of a doubtful kind."""
    if KINDS not in frame.columns or not reader.doubtful:
        return set()
    doubtful = re.compile(f"[{reader.doubtful}]")
    kinds = frame[KINDS].drop_nulls().unique().to_list()
    return {found.start() for each in kinds for found in doubtful.finditer(each)}


def _odd_places(texts: pl.DataFrame, reader: Reader) -> set[int]:
    """Return the places of the columns with a text that isn't surely its own value."""
    if reader.as_is is None:
        return {*range(texts.width)}
    every = stacked(texts)
    fine = every.to_frame().select(reader.as_is(pl.col(every.name))).to_series()
    odd = (~fine).fill_null(value=False).arg_true().to_list()
    return {index // texts.height for index in odd}


def _cells(
    fields: Sequence[FieldPlan], texts: pl.DataFrame, odd: set[int], bad: pl.Series
) -> dict[str, Cells]:
    gone = int(bad.sum())
    return {
        field.name: Cells(
            field, column, bad, partial(_unset, column, bad, gone), column.to_list
        )
        for place, (field, column) in enumerate(
            zip(fields, texts.iter_columns(), strict=True)
        )
        if place not in odd
    }


def _unset(column: pl.Series, bad: pl.Series, gone: int) -> pl.Series | None:
    return column.is_null() & ~bad if column.null_count() > gone else None
