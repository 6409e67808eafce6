"""What is wrong with the rows of a sheet, as a block says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from batchfx.files.cell_texts import CONTROL, control_fault
from batchfx.files.csv_record import CONTROLS
from batchfx.files.xlsx_cells import Cells, Column
from batchfx.files.xlsx_notes import Record
from batchfx.model.blocks import Fault, Kind

NAMED_CELLS = 5  # in the message about cells beside the table
WRITTEN = f"[{CONTROLS}]"


def row_faults(
    batch: Sequence[Record],
    columns: Sequence[Column],
    texts: Mapping[str, pl.Series],
    cells: Cells,
) -> dict[int, list[Fault]]:
    """Return the faults of the rows of a block, by their index in it.

    Args:
        batch: The rows.
        columns: Their cells.
        texts: The texts of these again, as the block has them.
        cells: Reads what stands beside the table.

    """
    faults: dict[int, list[Fault]] = defaultdict(list)
    for place, (column, series) in enumerate(zip(columns, texts.values(), strict=True)):
        for index, fault in (*column.faults, *_control_faults(column, series)):
            faults[index].append(replace(fault, column=place))
    odd = (pair for pair in enumerate(batch) if pair[1].outside or pair[1].fault)
    for index, record in odd:
        beside = _outside_fault(record, cells) if record.outside else None
        faults[index] += filter(None, (record.fault, beside))
    return faults


def _control_faults(column: Column, texts: pl.Series) -> Iterator[tuple[int, Fault]]:
    if Kind.TEXT not in column.kinds:
        return
    strange = texts.str.contains(WRITTEN).fill_null(value=False)
    for index in strange.arg_true().to_list() if strange.any() else ():
        text = texts[index]
        if control := CONTROL.search(text):
            yield index, control_fault(text, control[0])


def _outside_fault(record: Record, cells: Cells) -> Fault | None:
    """Return the fault of a row with content beside the table, if it has any."""
    values = {
        f"{letters}{record.number}": text
        for letters, attributes, stored in record.outside
        if (text := cells.cell(attributes, stored).text.strip())
    }
    if not values:
        return None
    names = list(values)[:NAMED_CELLS]
    message = (
        f"There is something beside the table, in {', '.join(names)}. "
        "Give the column a name, or clear the cell."
    )
    first = values[names[0]]
    return Fault("outside_table", message, value=first, parameters={"cells": names})
