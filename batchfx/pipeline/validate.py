"""The declared part of validation: records, values, rules, and the model's validators.

The steps are pure: a frame of text goes in, typed columns and issues come out. What a
step finds wrong with a cell keeps that cell out of the steps after it; nothing stops at
the first issue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, reduce
from itertools import compress
from operator import or_
from typing import Any

import polars as pl
from pydantic import BaseModel

from batchfx.model.blocks import KINDS, ROW, Kind
from batchfx.model.issues import Issue, Phase
from batchfx.pipeline.cells import Cells, examined, marked
from batchfx.pipeline.findings import Found, issues_of
from batchfx.pipeline.frames import columns_of
from batchfx.pipeline.free_texts import free_texts
from batchfx.pipeline.oracle import informed, judged
from batchfx.pipeline.plan import RowPlan
from batchfx.pipeline.records import records_of
from batchfx.pipeline.rows import build


@dataclass(frozen=True, eq=False)
class Validated:
    """Rows as far as they have been validated.

    Attributes:
        plan: The plan of the rows.
        cells: The values of each field.
        numbers: The number of each row, as a person sees it.
        issues: What was found, in the order of rows, then of fields.
        broken: True for rows with an error that is not of one field.
        instances: Rows that the model's own validators made, by index.
        missing: Of the fields of which some records say nothing, the mask of those.

    """

    plan: RowPlan
    cells: Mapping[str, Cells]
    numbers: pl.Series
    issues: list[Issue]
    broken: pl.Series
    instances: Mapping[int, BaseModel] = field(default_factory=dict)
    missing: Mapping[str, pl.Series] = field(default_factory=dict)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The row numbers and a typed column for each field.

        A value is null where there is none and where it has an error. Columns whose
        values Polars can't hold exactly are of type Object.
        """
        return pl.DataFrame(
            [self.numbers, *(cells.series for cells in self.cells.values())]
        )

    @cached_property
    def bad(self) -> dict[str, pl.Series]:
        """For each field, true where it has an error or the record is at fault."""
        return {name: cells.bad for name, cells in self.cells.items()}

    @cached_property
    def sound(self) -> pl.Series:
        """True for rows without any error."""
        masks = {id(mask): mask for mask in self.bad.values()}  # fields share them
        return (~reduce(or_, masks.values(), self.broken)).alias("sound")

    def values(self, field: str) -> list[Any]:
        """Return the Python values of *field*, one for each row; not to be changed."""
        return self.cells[field].values

    def rows(self, mask: pl.Series) -> list[BaseModel]:
        """Return the model's instance for each row where *mask* is true.

        They are not validated again. A field with an error is None.
        """
        if self.instances:
            made = [self.instances.get(i) for i in mask.arg_true().to_list()]
            if all(row is not None for row in made):
                return [row for row in made if row is not None]
        everything = mask.all()
        picks = [] if everything else mask.to_list()
        columns = {
            name: cells.values if everything else list(compress(cells.values, picks))
            for name, cells in self.cells.items()
        }
        unset = {
            name: cells.unset.filter(mask).arg_true().to_list()
            for name, cells in self.cells.items()
            if cells.unset is not None
        }
        return build(self.plan.model, columns, unset)

    def with_issues(self, issues: Iterable[Issue]) -> Validated:
        """Return these rows with *issues*, which a later phase found, added.

        An error takes its field's value away; one without a field spoils its row only.
        """
        added = list(issues)
        if not added:
            return self
        every = [*self.issues, *added]
        places = self._places(issue.row for issue in every)
        bad: dict[str | None, set[int]] = {}
        for issue in added:
            if issue.keeps_out and issue.row is not None:
                name = issue.field if issue.field in self.cells else None
                bad.setdefault(name, set()).add(places[issue.row])
        height = len(self.numbers)
        cells = {
            name: each.without(marked(height, bad[name])) if name in bad else each
            for name, each in self.cells.items()
        }
        broken = self.broken | marked(height, bad.get(None, ()))
        order = {name: place for place, name in enumerate(self.cells)}
        every.sort(key=lambda each: (places[each.row], _field_place(each, order)))
        return replace(self, cells=cells, broken=broken, issues=every)

    def _places(self, rows: Iterable[int | None]) -> dict[int | None, int]:
        """Return where each of *rows* is; no row comes before all."""
        wanted = pl.Series(list({row for row in rows if row is not None}))
        found = self.numbers.is_in(wanted.implode()).arg_true()
        numbers = self.numbers.gather(found).to_list()
        return {None: -1, **dict(zip(numbers, found.to_list(), strict=True))}


def _field_place(issue: Issue, order: Mapping[str, int]) -> int:
    """Put what is about the record before its fields, what is about the row after."""
    if issue.field is not None and issue.field in order:
        return order[issue.field]
    return -1 if issue.phase is Phase.RECORD else len(order)


def declared(
    plan: RowPlan,
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    now: datetime | None = None,
) -> Validated:
    """Validate the rows of *frame* as far as their model declares what is right.

    *frame* has the column ``row``, a text column for each mapped field, named by the
    field, and ``faults`` and ``kinds`` as in blocks; *positions* gives the position of
    each mapped field in the file. *now* says what is past, the same for every row.
    """
    now = now or datetime.now().astimezone()
    records = records_of(plan, frame, positions)
    free = free_texts(plan, frame, positions, records)
    asked = [each for name, each in plan.fields.items() if name not in free]
    found: dict[str | None, list[Found]] = {}
    for column in columns_of(asked, frame, positions, records, now):
        name = column.field.name
        free[name], found[name] = examined(column, now)
    cells = {name: free[name] for name in plan.fields}
    for name, each in plan.fields.items():
        if each.informed:
            cells[name], more = informed(plan, each, cells)
            found[name] += more
    broken = marked(frame.height, records.broken)
    validated = Validated(
        plan, cells, frame[ROW], [], broken, missing=_missing(frame, positions)
    )
    validated = _with_hooks(validated, found) if plan.hooks else validated
    issues = records.issues + _issues(plan, frame, found)
    return replace(validated, issues=_sorted(plan, issues))


def _missing(frame: pl.DataFrame, positions: Mapping[str, int]) -> dict[str, pl.Series]:
    if KINDS not in frame.columns:
        return {}
    kinds = frame[KINDS]
    if not kinds.str.contains(Kind.MISSING, literal=True).any():
        return {}
    masks = {
        name: (kinds.str.slice(place, 1) == Kind.MISSING).fill_null(value=False)
        for name, place in positions.items()
    }
    return {name: mask for name, mask in masks.items() if mask.any()}


def _with_hooks(
    validated: Validated, found: dict[str | None, list[Found]]
) -> Validated:
    """Run the model's own validators; add what they find to *found*."""
    places = validated.sound.arg_true().to_list()
    verdict = judged(validated.plan, validated.cells, places)
    height = len(validated.numbers)
    cells = {**validated.cells, **verdict.cells}
    broken = validated.broken
    for name, more in verdict.found.items():
        found.setdefault(name, []).extend(more)
        mask = marked(height, {each.at for each in more})
        if name is None:
            broken |= mask
        else:
            cells[name] = cells[name].without(mask)
    return replace(validated, cells=cells, broken=broken, instances=verdict.rows)


def _issues(
    plan: RowPlan, frame: pl.DataFrame, found: Mapping[str | None, list[Found]]
) -> list[tuple[int, Issue]]:
    columns = {*frame.columns}  # Polars makes the list anew each time
    names = [name for name in plan.columns if name in columns]
    secrets = [name for name in names if plan.columns[name].sensitive]
    issues: list[tuple[int, Issue]] = []
    for name, complaints in found.items():
        if complaints:
            places = sorted({each.at for each in complaints})
            numbers = _at(places, frame, ROW)
            texts = _at(places, frame, name)
            own = [texts] if name in secrets else []
            if name is None:
                own = [_at(places, frame, secret) for secret in secrets]
            issues += issues_of(complaints, name, numbers, texts, own)
    return issues


def _at(places: Sequence[int], frame: pl.DataFrame, name: str | None) -> dict[int, Any]:
    """Return the cells of a column at *places*; None where there is no such column."""
    if name not in frame.columns:
        return dict.fromkeys(places)
    return dict(zip(places, frame[name].gather(list(places)).to_list(), strict=True))


def _sorted(plan: RowPlan, issues: list[tuple[int, Issue]]) -> list[Issue]:
    order = {name: place for place, name in enumerate(plan.fields)}
    ordered = sorted(issues, key=lambda pair: (pair[0], _field_place(pair[1], order)))
    return [issue for _, issue in ordered]
