"""A frame of text, read and judged by Polars: all columns and all rules at once.

Polars asks a price for each call, so there are three: the text, the typed columns, the
masks. A column in a notation of its own has its text brought to the plain one in
between: what reads plain numbers and dates, and what judges them, sees only those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from batchfx.model.blocks import KINDS, Kind
from batchfx.pipeline.cells import FieldColumn, absent
from batchfx.pipeline.plan import FieldPlan
from batchfx.pipeline.records import Records
from batchfx.pipeline.rules import text_name
from batchfx.pipeline.texts import prepared

# Fields of a query: what Polars keeps of one grows with them, and a file may have
# thousands of columns.
AT_ONCE = 500


def columns_of(
    fields: Sequence[FieldPlan],
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    records: Records,
    now: datetime,
) -> list[FieldColumn]:
    """Return the column of each of the *fields*, in their order."""
    names = frozenset(frame.columns)  # Polars makes the list anew each time
    kinds = frame[KINDS] if KINDS in names else None
    if kinds is not None and kinds.null_count() == frame.height:
        kinds = None
    height = frame.height
    found: list[FieldColumn] = []
    for start in range(0, len(fields), AT_ONCE):
        part = fields[start : start + AT_ONCE]
        present = [field for field in part if field.name in names]
        text = frame.select(_text(field, records, height) for field in present)
        read = {
            column.field.name: column
            for column in _columns(
                present, text, kinds, positions, records=records, now=now
            )
        }
        found += [
            read.get(field.name) or absent(field, height, records.blocked(field.name))
            for field in part
        ]
    return found


def _columns(
    present: Sequence[FieldPlan],
    text: pl.DataFrame,
    kinds: pl.Series | None,
    positions: Mapping[str, int],
    *,
    records: Records,
    now: datetime,
) -> list[FieldColumn]:
    """Return the columns of the fields whose *text* there is."""
    if kinds is not None:
        text = text.with_columns(kinds)
    known = positions if kinds is not None else {}
    plain = text.with_columns(_plain(f, known) for f in present if f.reader.plainly)
    typed = plain.with_columns(_typed(field, known) for field in present)
    cells = [text[text_name(f.name)].alias(_cell_name(f)) for f in present]
    masks = typed.hstack(cells).select(
        mask for field in present for mask in _masks(field, now)
    )
    return [
        FieldColumn(
            field=field,
            text=text[text_name(field.name)],
            plain=typed[text_name(field.name)],
            typed=typed[field.name],
            odd=masks[_odd_name(field)],
            masks={
                place: masks[_mask_name(field, place)] for place in field.masks(now)
            },
            kinds=kinds,
            position=positions.get(field.name),
            blocked=records.blocked(field.name),
        )
        for field in present
    ]


def _text(field: FieldPlan, records: Records, height: int) -> pl.Expr:
    text = prepared(pl.col(field.name), field.notation, trims=field.reader.trims)
    blocked = records.blocked(field.name)
    if blocked:
        places = pl.int_range(height)
        text = pl.when(~places.is_in(sorted(blocked))).then(text)
    return text.alias(text_name(field.name))


def _plain(field: FieldPlan, positions: Mapping[str, int]) -> pl.Expr:
    """Return the text in the plain notation, which typed cells have already."""
    name = text_name(field.name)
    cell, plainly = pl.col(name), field.reader.plainly
    plain = plainly(cell) if plainly else cell
    position = positions.get(field.name)
    if position is None:
        return plain.alias(name)
    kind = pl.col(KINDS).str.slice(position, 1).fill_null(Kind.TEXT)
    return pl.when(kind == Kind.TEXT).then(plain).otherwise(cell).alias(name)


def _typed(field: FieldPlan, positions: Mapping[str, int]) -> pl.Expr:
    """Return the typed column; *positions* is empty where every cell is text."""
    position = positions.get(field.name)
    if not field.reader.doubtful or position is None:
        return field.typed
    kind = pl.col(KINDS).str.slice(position, 1)
    doubtful = kind.is_in(list(field.reader.doubtful)).fill_null(value=False)
    return pl.when(~doubtful).then(field.typed).alias(field.name)


def _masks(field: FieldPlan, now: datetime) -> list[pl.Expr]:
    text, typed = pl.col(_cell_name(field)), pl.col(field.name)
    odd = (text.is_not_null() & typed.is_null()).alias(_odd_name(field))
    rules = field.masks(now).items()
    return [odd, *(mask.alias(_mask_name(field, place)) for place, mask in rules)]


def _cell_name(field: FieldPlan) -> str:
    return f"{field.name} cell"


def _odd_name(field: FieldPlan) -> str:
    return f"{field.name} odd"


def _mask_name(field: FieldPlan, place: int) -> str:
    return f"{field.name} {place}"
