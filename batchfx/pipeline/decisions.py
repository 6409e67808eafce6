"""How each column of a file is written, decided over all of its values.

What is said counts first: by the user, then by the field's `Column`, then by the
importer's class. What nobody said is gathered from the values of every block, and
decided once for the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from batchfx.model.blocks import FAULTS, KINDS, Kind
from batchfx.model.issues import Issue
from batchfx.model.notations import Notation
from batchfx.pipeline import days, number_evidence
from batchfx.pipeline.numbers import mark_of
from batchfx.pipeline.plan import DATED, NUMERIC, FieldPlan, RowPlan
from batchfx.pipeline.texts import prepared

PLAIN = Notation()
WITH_DAYS = DATED - {"time"}

# A cell of these holds a binary double, of which a sheet shows and keeps 15 digits.
SHEETS = frozenset({"xlsx", "xls", "xlsb", "ods"})
SHEET_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the values of each field's column say about how they are written.

    Attributes:
        counts: How many values say what, by field. The keys belong to the module that
            knows the kind of value.
        samples: The first value that says so, by field; none of sensitive fields.

    """

    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    samples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __add__(self, other: Evidence) -> Evidence:
        """Return the evidence of these values and of the *other* ones after them."""
        counts = {
            name: _added(self.of(name), other.of(name))
            for name in {**self.counts, **other.counts}
        }
        samples = {
            name: {**other.samples.get(name, {}), **self.samples.get(name, {})}
            for name in {**self.samples, **other.samples}
        }
        return Evidence(counts, samples)

    def of(self, name: str) -> Mapping[str, int]:
        """Return the counts of one field."""
        return self.counts.get(name, {})

    def dump(self) -> dict[str, Any]:
        """Return the evidence as plain JSON data."""
        return {
            "counts": {name: dict(each) for name, each in self.counts.items()},
            "samples": {name: dict(each) for name, each in self.samples.items()},
        }

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Evidence:
        """Return the evidence that `dump` wrote."""
        return cls(stored["counts"], stored["samples"])


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


def stated(
    plan: RowPlan,
    declared: Notation = PLAIN,
    user: Notation = PLAIN,
    columns: Mapping[str, Notation] | None = None,
    *,
    source_format: str | None = None,
) -> dict[str, Notation]:
    """Return what is said of each field's column, the strongest word first.

    Args:
        plan: The plan of the importer's row model, which knows each `Column`.
        declared: The ``notation`` of the importer's class.
        user: What the user said of the whole file.
        columns: What the user said of one field's column.
        source_format: The format of the source, which tells how many digits of a
            number it keeps.

    """
    columns = columns or {}
    kept = Notation(digits=SHEET_DIGITS) if source_format in SHEETS else PLAIN
    return {
        name: columns.get(name, PLAIN)
        .over(user)
        .over(each.column.notation)
        .over(declared)
        .over(kept)
        for name, each in plan.fields.items()
    }


def undecided(plan: RowPlan, given: Mapping[str, Notation]) -> tuple[str, ...]:
    """Return the fields whose values `gather` would look at."""
    return tuple(
        each.name for each in plan.fields.values() if _is_open(each, _said(each, given))
    )


def gather(
    plan: RowPlan,
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    given: Mapping[str, Notation],
) -> Evidence:
    """Return what the cells of *frame* say about the fields that are undecided.

    Args:
        plan: The plan of the rows.
        frame: A text column for each mapped field, named by the field, and ``faults``
            and ``kinds`` as in blocks.
        positions: The position of each mapped field in the file.
        given: What is said already, by field, as `stated` returns it.

    """
    counts: dict[str, Mapping[str, int]] = {}
    samples: dict[str, Mapping[str, str]] = {}
    for each, texts in _texts(plan, frame, positions, given):
        if each.kind in WITH_DAYS:
            counts[each.name] = days.evidence(texts, _said(each, given))
            continue
        found = number_evidence.evidence(texts, _said(each, given).thousands)
        counts[each.name] = found.counts
        if not each.column.sensitive:
            samples[each.name] = found.samples
    return Evidence(counts, samples)


def decide(
    plan: RowPlan, evidence: Evidence, given: Mapping[str, Notation]
) -> dict[str, Notation]:
    """Return the notation of every field: settled, or with its questions named.

    A field whose values are all plain keeps what is said of it, which may be nothing.
    """
    return {
        name: _decided(each, evidence.of(name), _said(each, given))
        for name, each in plan.fields.items()
    }


def explain(
    plan: RowPlan, evidence: Evidence, notations: Mapping[str, Notation]
) -> list[Issue]:
    """Return what a person should know of the decisions, as issues of the file.

    That is what was decided where the values didn't agree, and each question that they
    left open, with the choices and how to answer.
    """
    told: list[Issue] = []
    for name, each in plan.fields.items():
        notation, counts = notations.get(name, PLAIN), evidence.of(name)
        header = each.column.header(name)
        if not counts:
            continue
        if each.kind in WITH_DAYS:
            issue = days.explain(counts, notation, header)
        else:
            samples = evidence.samples.get(name, {})
            issue = number_evidence.explain(counts, samples, notation, header)
        if issue is not None:
            told.append(replace(issue, field=name))
    return told


def _said(each: FieldPlan, given: Mapping[str, Notation]) -> Notation:
    return replace(given.get(each.name, PLAIN).over(each.column.notation), unsettled=())


def _is_open(each: FieldPlan, said: Notation) -> bool:
    if each.raw:
        return False
    if each.kind in WITH_DAYS:  # a format leaves nothing open
        is_settled = said.date_order is not None and said.two_digit_year is not None
        return not is_settled and each.column.format is None
    return each.kind in NUMERIC and mark_of(said) is None


def _decided(each: FieldPlan, counts: Mapping[str, int], said: Notation) -> Notation:
    if each.kind in WITH_DAYS:  # what is said may name today
        return days.decide(counts, said)
    if not _is_open(each, said):
        return said
    return number_evidence.decide(counts, said)


def _texts(
    plan: RowPlan,
    frame: pl.DataFrame,
    positions: Mapping[str, int],
    given: Mapping[str, Notation],
) -> Iterator[tuple[FieldPlan, pl.Series]]:
    """Yield each undecided field with its text cells; broken records are left out."""
    names = [name for name in undecided(plan, given) if name in frame.columns]
    if not names:
        return
    if FAULTS in frame.columns and frame[FAULTS].null_count() < frame.height:
        frame = frame.filter(pl.col(FAULTS).is_null())
    typed = KINDS in frame.columns and frame[KINDS].null_count() < frame.height
    texts = frame.select(
        _text_cells(plan.fields[name], _said(plan.fields[name], given), position)
        for name in names
        for position in [positions.get(name) if typed else None]
    )
    for name in names:
        series = texts[name]
        if series.null_count():
            series = series.drop_nulls()
        if len(series):
            yield plan.fields[name], series


def _text_cells(each: FieldPlan, said: Notation, position: int | None) -> pl.Expr:
    cell = pl.col(each.name)
    if position is not None:
        kind = pl.col(KINDS).str.slice(position, 1).fill_null(Kind.TEXT)
        cell = pl.when(kind == Kind.TEXT).then(cell)
    return prepared(cell, said, trims=True).alias(each.name)
