"""A row's cells with texts of a person in the place of those that were read."""

from __future__ import annotations

from collections.abc import Mapping

from batchfx.execution.row_cells import Cells
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    Kind,
    column_name,
    dump_faults,
    load_faults,
)


def edited(
    old: Cells, texts: Mapping[int, str | None], *, is_whole: bool = False
) -> Cells:
    """Return *old* with the *texts*, by position; what is the same stays as it was.

    What was wrong with a cell goes with its old text. Where *is_whole*, the person has
    given the record as a whole, and what was wrong with that goes, too.
    """
    changed = {at: t for at, t in texts.items() if t != old[column_name(at)]}
    cells = {**old, **{column_name(at): text for at, text in changed.items()}}
    if old[KINDS] is not None and changed:
        kinds = list(old[KINDS])
        for at, text in changed.items():
            kinds[at] = Kind.EMPTY if text is None else Kind.TEXT
        is_text = all(kind in {Kind.TEXT, Kind.EMPTY} for kind in kinds)
        cells[KINDS] = None if is_text else "".join(kinds)
    if old[FAULTS] is not None:
        faults = [
            fault
            for fault in load_faults(old[FAULTS])
            if (not is_whole if fault.column is None else fault.column not in changed)
        ]
        cells[FAULTS] = dump_faults(faults) if faults else None
    return cells
