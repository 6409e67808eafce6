"""A frame of text, read and judged by Polars: all columns and all rules at once.

Polars asks a price for each call, so there are three: the text, the typed columns, the
masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from batchfx.model.blocks import KINDS
from batchfx.pipeline.cells import FieldColumn, absent
from batchfx.pipeline.plan import FieldPlan, RowPlan
from batchfx.pipeline.records import Records
from batchfx.pipeline.rules import text_name


def columns_of(
    plan: RowPlan,
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    records: Records,
    now: datetime,
) -> list[FieldColumn]:
    """Return the column of every field of *plan*, in the plan's order."""
    fields = list(plan.fields.values())
    present = [field for field in fields if field.name in frame.columns]
    kinds = frame[KINDS] if KINDS in frame.columns else None
    if kinds is not None and kinds.null_count() == frame.height:
        kinds = None
    text = frame.select(_text(field, records, frame.height) for field in present)
    if kinds is not None:
        text = text.with_columns(kinds)
    typed = text.with_columns(
        _typed(field, positions if kinds is not None else {}) for field in present
    )
    masks = typed.select(mask for field in present for mask in _masks(field, now))
    return [
        FieldColumn(
            field=field,
            text=typed[text_name(field.name)],
            typed=typed[field.name],
            odd=masks[_odd_name(field)],
            masks={
                place: masks[_mask_name(field, place)] for place in field.masks(now)
            },
            kinds=kinds,
            position=positions.get(field.name),
            blocked=records.blocked(field.name),
        )
        if field.name in frame.columns
        else absent(field, frame.height, records.blocked(field.name))
        for field in fields
    ]


def _text(field: FieldPlan, records: Records, height: int) -> pl.Expr:
    text = pl.col(field.name)
    if field.reader.trims:
        text = text.str.strip_chars()
        text = pl.when(text != "").then(text)
    if field.column.null_tokens:
        text = pl.when(~text.is_in(list(field.column.null_tokens))).then(text)
    blocked = records.blocked(field.name)
    if blocked:
        places = pl.int_range(height)
        text = pl.when(~places.is_in(sorted(blocked))).then(text)
    return text.alias(text_name(field.name))


def _typed(field: FieldPlan, positions: Mapping[str, int]) -> pl.Expr:
    """Return the typed column; *positions* is empty where every cell is text."""
    position = positions.get(field.name)
    if not field.reader.doubtful or position is None:
        return field.typed
    kind = pl.col(KINDS).str.slice(position, 1)
    doubtful = kind.is_in(list(field.reader.doubtful)).fill_null(value=False)
    return pl.when(~doubtful).then(field.typed).alias(field.name)


def _masks(field: FieldPlan, now: datetime) -> list[pl.Expr]:
    text, typed = pl.col(text_name(field.name)), pl.col(field.name)
    odd = (text.is_not_null() & typed.is_null()).alias(_odd_name(field))
    rules = field.masks(now).items()
    return [odd, *(mask.alias(_mask_name(field, place)) for place, mask in rules)]


def _odd_name(field: FieldPlan) -> str:
    return f"{field.name} odd"


def _mask_name(field: FieldPlan, place: int) -> str:
    return f"{field.name} {place}"
