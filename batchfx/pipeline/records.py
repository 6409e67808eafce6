"""What the reader of the file found wrong with records, as issues of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from batchfx.model.blocks import FAULTS, ROW, WARNINGS, Fault, load_faults
from batchfx.model.issues import Issue, Level, Phase
from batchfx.pipeline.findings import HIDDEN
from batchfx.pipeline.plan import RowPlan


@dataclass(frozen=True, slots=True)
class Records:
    """The *issues* of records, by row index; the rows and cells not to be looked at.

    *broken* are the rows whose record itself is at fault, *cells* the rows with a fault
    in the cell of a field.
    """

    issues: list[tuple[int, Issue]] = field(default_factory=list)
    broken: frozenset[int] = frozenset()
    cells: Mapping[str, set[int]] = field(default_factory=dict)

    def blocked(self, name: str) -> frozenset[int]:
        """Return the rows whose cell for the field *name* is not to be looked at."""
        return self.broken | self.cells.get(name, frozenset())


def records_of(
    plan: RowPlan, frame: pl.DataFrame, positions: Mapping[str, int]
) -> Records:
    """Return what is wrong with the records of *frame*."""
    if FAULTS not in frame.columns or frame[FAULTS].null_count() == frame.height:
        return Records()
    fields = {positions[name]: name for name in plan.fields if name in positions}
    issues: list[tuple[int, Issue]] = []
    broken: set[int] = set()
    cells: dict[str, set[int]] = {}
    numbers = frame[ROW]
    for index in frame[FAULTS].is_not_null().arg_true().to_list():
        for fault in load_faults(frame[FAULTS][index]):
            if fault.column is not None and fault.column not in fields:
                continue
            name = None if fault.column is None else fields[fault.column]
            issues.append((index, _issue(plan, fault, name, numbers[index])))
            if fault.code in WARNINGS:
                continue
            if name is None:
                broken.add(index)
            else:
                cells.setdefault(name, set()).add(index)
    return Records(issues, frozenset(broken), cells)


def _issue(plan: RowPlan, fault: Fault, name: str | None, number: int) -> Issue:
    """Make a fault an issue; a whole record's value may hold a sensitive cell."""
    hidden = plan.is_sensitive if name is None else plan.columns[name].sensitive
    return Issue(
        fault.code,
        fault.message,
        Phase.RECORD,
        number,
        name,
        HIDDEN if hidden and fault.value else fault.value,
        parameters={} if hidden else dict(fault.parameters),
        level=Level.WARNING if fault.code in WARNINGS else Level.ERROR,
    )
