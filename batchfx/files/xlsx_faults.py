"""What is wrong with the rows of a sheet, as a block says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from batchfx.files.cell_texts import CONTROL, control_fault, places_with
from batchfx.files.xlsx_cells import Cells, Column
from batchfx.files.xlsx_notes import Record
from batchfx.model.blocks import Fault, Kind

NAMED_CELLS = 5  # in the message about cells beside the table


def row_faults(
    odd: Mapping[int, Record],
    columns: Sequence[Column],
    texts: Mapping[str, pl.Series],
    cells: Cells,
) -> dict[int, list[Fault]]:
    """Return the faults of the rows of a block, by their index in it.

    Args:
        odd: The rows that have a fault or cells outside the table, by that index.
        columns: The cells of all rows.
        texts: The texts of these again, as the block has them.
        cells: Reads what stands beside the table.

    """
    faults: dict[int, list[Fault]] = defaultdict(list)
    for place, (column, series) in enumerate(zip(columns, texts.values(), strict=True)):
        for index, fault in (*column.faults, *_control_faults(column, series)):
            faults[index].append(replace(fault, column=place))
    for index, record in odd.items():
        beside = _outside_fault(record, cells) if record.outside else None
        faults[index] += filter(None, (record.fault, beside))
    return faults


def _control_faults(column: Column, texts: pl.Series) -> Iterator[tuple[int, Fault]]:
    if Kind.TEXT not in column.kinds:
        return
    for index in places_with(CONTROL, texts):
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
