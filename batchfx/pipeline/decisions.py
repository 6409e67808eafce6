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
from batchfx.pipeline.digits import all_in_ascii
from batchfx.pipeline.numbers import COMMA, POINT, mark_of
from batchfx.pipeline.orders import IN_WORDS, ORDERS
from batchfx.pipeline.plan import DATED, NUMERIC, FieldPlan, RowPlan
from batchfx.pipeline.texts import prepared
from batchfx.pipeline.written_days import DATE_ORDER

PLAIN = Notation()
# The codes of the issues by which a file's values ask how they are written.
QUESTIONS = frozenset(
    {
        "ambiguous_date",
        "ambiguous_number",
        "currency_not_allowed",
        "percent_not_stated",
        "two_digit_year",
    }
)
WITH_DAYS = DATED - {"time"}
WRITTEN = WITH_DAYS | NUMERIC

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
    usual = user.over(declared).over(kept)
    found: dict[str, Notation] = {}
    for name, each in plan.fields.items():
        own = each.column.notation
        if name not in columns and own == PLAIN:
            found[name] = usual
        else:
            said = columns.get(name, PLAIN).over(user)
            found[name] = said.over(own).over(declared).over(kept)
    return found


def undecided(plan: RowPlan, given: Mapping[str, Notation]) -> tuple[str, ...]:
    """Return the fields whose values `gather` would look at."""
    return tuple(
        each.name
        for each in plan.fields.values()
        if each.kind in WRITTEN and _is_open(each, _said(each, given))
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
            found = [days.explain(counts, notation, header)]
        else:
            known = counts, evidence.samples.get(name, {}), notation, header
            signs = number_evidence.explain_signs(*known)
            found = [number_evidence.explain(*known), *signs]
        told += [replace(issue, field=name) for issue in found if issue is not None]
    return told


@dataclass(frozen=True, slots=True)
class Question:
    """How a column is written, where later values contradict what was decided.

    *name* is that of the notation's entry, *code* that of the values it is asked of.
    The column is *read* in one way and *found* in another, both in words; *others* are
    the entries that would be otherwise, and *choices* the answers.
    """

    name: str
    code: str
    read: str
    found: str
    others: tuple[Mapping[str, Any], ...]
    choices: tuple[str, ...]


def contradicted(
    plan: RowPlan,
    evidence: Evidence,
    read: Mapping[str, Notation],
    given: Mapping[str, Notation],
) -> dict[str, Question]:
    """Return the fields of which *evidence* tells otherwise than they are *read*.

    As `decide` does it, a clear majority of the values would settle the question.
    """
    found: dict[str, Question] = {}
    for name, each in plan.fields.items():
        notation, counts = _said(each, read), evidence.of(name)
        own = _decided(each, counts, _said(each, given))
        ask = _other_order if each.kind in WITH_DAYS else _other_mark
        question = ask(counts, notation, own)
        if question is not None:
            found[name] = question
    return found


def _other_mark(
    counts: Mapping[str, int], read: Notation, own: Notation
) -> Question | None:
    mark = mark_of(read)
    if mark is None or mark_of(own) == mark:
        return None
    other = number_evidence.OTHER[mark]
    if not counts.get(number_evidence.NAMES[other]):
        return None
    thousands = None if read.thousands == other else read.thousands
    return Question(
        number_evidence.DECIMAL,
        "ambiguous_number",
        f"with a decimal {number_evidence.NAMES[mark]}",
        f"with a decimal {number_evidence.NAMES[other]}",
        ({"decimal": other, "thousands": thousands},),
        (POINT, COMMA),
    )


def _other_order(
    counts: Mapping[str, int], read: Notation, own: Notation
) -> Question | None:
    order = read.date_order
    sets = [set(key.split()) for key in counts if set(key.split()) <= set(ORDERS)]
    if order is None or own.date_order == order or all(order in each for each in sets):
        return None
    others = [each for each in ORDERS if any(each in orders for orders in sets)]
    others = [each for each in others if each != order]
    return Question(
        DATE_ORDER,
        "ambiguous_date",
        f"as {IN_WORDS[order]}",
        f"as {' or '.join(IN_WORDS[each] for each in others)}",
        tuple({"date_order": each} for each in others),
        (order, *others),
    )


def _said(each: FieldPlan, given: Mapping[str, Notation]) -> Notation:
    found, own = given.get(each.name, PLAIN), each.column.notation
    if own != PLAIN:
        found = found.over(own)
    return replace(found, unsettled=()) if found.unsettled else found


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
    columns = {*frame.columns}  # Polars makes the list anew each time
    names = [name for name in undecided(plan, given) if name in columns]
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
            yield plan.fields[name], all_in_ascii(series)


def _text_cells(each: FieldPlan, said: Notation, position: int | None) -> pl.Expr:
    cell = pl.col(each.name)
    if position is not None:
        kind = pl.col(KINDS).str.slice(position, 1).fill_null(Kind.TEXT)
        cell = pl.when(kind == Kind.TEXT).then(cell)
    return prepared(cell, said, trims=True).alias(each.name)
