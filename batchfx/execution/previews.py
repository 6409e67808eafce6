"""The first rows of a source as its importer would read them; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import polars as pl

from batchfx.execution.inspecting import first_rows
from batchfx.execution.intake import Opened
from batchfx.execution.job import by_field
from batchfx.execution.mappings import notations_of
from batchfx.execution.views import HIDDEN
from batchfx.importer import Importer
from batchfx.model.blocks import ROW, column_name
from batchfx.model.issues import Issue
from batchfx.model.notations import Notation
from batchfx.pipeline import decisions
from batchfx.pipeline.decisions import QUESTIONS
from batchfx.pipeline.plan import RowPlan, plan_of
from batchfx.pipeline.validate import declared

SHOWN = 20


@dataclass(frozen=True, slots=True)
class DraftRow:
    """One of the first rows: its cells by position, and what is wrong with them."""

    row: int
    cells: tuple[str | None, ...]
    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What the first 1,000 rows tell, and the first 20 of them.

    *questions* ask how a column is written, *notes* tell how it is read.
    """

    questions: tuple[Issue, ...]
    notes: tuple[Issue, ...]
    rows: tuple[DraftRow, ...]


def preview(importer: type[Importer[Any]], source: BinaryIO, opened: Opened) -> Preview:
    """Read the first rows of *source* by what is known of it."""
    frame, damage = first_rows(source, opened.layout)
    positions = opened.matched.positions
    plan = plan_of(importer.row_model).only(positions)
    cells = by_field(frame, positions)
    notations, told = _notations(importer, opened, plan, cells)
    shown = cells.head(SHOWN)
    issues: dict[int, list[Issue]] = {}
    if positions:
        for issue in declared(plan.written(notations), shown, positions).issues:
            issues.setdefault(issue.row or 0, []).append(issue)
    asked = tuple(issue for issue in told if issue.code in QUESTIONS)
    noted = tuple(issue for issue in told if issue.code not in QUESTIONS)
    rows = _rows(importer, opened, frame.head(SHOWN), issues)
    return Preview(asked, (*noted, *([damage] if damage else [])), rows)


def _notations(
    importer: type[Importer[Any]], opened: Opened, plan: RowPlan, cells: pl.DataFrame
) -> tuple[Mapping[str, Notation], list[Issue]]:
    """Decide how each column is written, over the first rows, and say what is open."""
    user, columns = notations_of(opened.given)
    positions = opened.matched.positions
    given = decisions.stated(
        plan, importer.notation, user, columns, source_format=opened.layout.format
    )
    open_ones = plan.only(decisions.undecided(plan, given))
    evidence = decisions.gather(open_ones, cells, positions, given)
    notations = decisions.decide(plan, evidence, given)
    return notations, decisions.explain(plan, evidence, notations)


def _rows(
    importer: type[Importer[Any]],
    opened: Opened,
    frame: pl.DataFrame,
    issues: Mapping[int, list[Issue]],
) -> tuple[DraftRow, ...]:
    names = [column_name(at) for at in range(len(opened.layout.header))]
    hidden = [
        at
        for name, at in opened.matched.positions.items()
        if importer.columns[name].sensitive
    ]
    rows: list[DraftRow] = []
    for number, *cells in frame.select(ROW, *names).iter_rows():
        for at in hidden:
            cells[at] = None if cells[at] is None else HIDDEN
        rows.append(DraftRow(number, tuple(cells), tuple(issues.get(number, ()))))
    return tuple(rows)
