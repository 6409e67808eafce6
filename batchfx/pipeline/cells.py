"""The cells of one field: read, checked by its rules, and held as a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.model.issues import Phase
from batchfx.pipeline.findings import Answer, Found, ask, attempt
from batchfx.pipeline.plan import NO_DEFAULT, FieldPlan
from batchfx.pipeline.reading import Complaint, known
from batchfx.pipeline.rules import text_name

NOT = pl.Series([False])
MISSING = known("missing", Phase.RULE)


@dataclass(frozen=True, eq=False)
class Cells:
    """The values of *field* in every row, and which rows have none because of an error.

    *series* is the typed column, null where there is no value; *make* makes the same
    values for Python, and *mark* the mask `unset`.
    """

    field: FieldPlan
    series: pl.Series
    bad: pl.Series
    mark: Callable[[], pl.Series | None]
    make: Callable[[], list[Any]]

    @cached_property
    def unset(self) -> pl.Series | None:
        """The rows whose value is the field's default; None when there are none."""
        return self.mark()

    @cached_property
    def values(self) -> list[Any]:
        """The values for Python, None where there is none; not to be changed."""
        return self.make()

    def without(self, bad: pl.Series) -> Cells:
        """Return the cells with no value where *bad*."""
        bad = bad | self.bad
        if not (bad & ~self.bad).any():
            return self

        def make() -> list[Any]:
            pairs = zip(self.values, bad.to_list(), strict=True)
            return [None if gone else value for value, gone in pairs]

        if self.series.dtype == pl.Object:
            return replace(self.holding(make()), bad=bad)
        return replace(self, series=kept(self.series, ~bad), bad=bad, make=make)

    def holding(self, values: list[Any]) -> Cells:
        """Return the cells with other *values*."""
        reader = self.field.reader
        fit = all(value is None or reader.fits(value) for value in values)
        dtype = (reader.held or reader.dtype) if fit else pl.Object()
        if dtype == pl.Object:
            series = objects(self.field.name, values)
        else:
            series = pl.Series(self.field.name, values, dtype=dtype)
        return replace(self, series=series, make=lambda: values)


def objects(name: str, values: Iterable[Any]) -> pl.Series:
    """Return a series of *values* as they are.

    Polars takes an enumeration's members for their values, but only where the first
    entry is one.
    """
    return pl.Series(name, [object(), *values], dtype=pl.Object())[1:]


def kept(series: pl.Series, mask: pl.Series) -> pl.Series:
    """Return *series* with nulls where *mask* is false."""
    nulls = pl.Series(series.name, [None], dtype=series.dtype)
    return series.zip_with(mask, nulls.new_from_index(0, len(series)))


def marked(height: int, places: Iterable[int]) -> pl.Series:
    """Return a boolean series that is true at *places*."""
    none = NOT.new_from_index(0, height)  # much cheaper than pl.repeat
    wanted = sorted(places)
    return none.scatter(wanted, values=True) if wanted else none


@dataclass(frozen=True, eq=False)
class FieldColumn:
    """What the frame has of one field, before it is checked.

    *text* has no outer blanks where they don't count, and null where there is nothing.
    *plain* is the same in the plain notation, null where that is not sure. *typed* is
    null where the reader has to decide, which *odd* marks. *masks* are those of the
    rules that Polars can judge. *blocked* rows are not looked at.
    """

    field: FieldPlan
    text: pl.Series
    plain: pl.Series
    typed: pl.Series
    odd: pl.Series
    masks: dict[int, pl.Series]
    kinds: pl.Series | None
    position: int | None
    blocked: frozenset[int]

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.text)

    @cached_property
    def empty(self) -> list[int]:
        """The rows that have no value, and nothing that was wrong with it either."""
        if self.text.null_count() == 0:
            return []
        places = self.text.is_null().arg_true().to_list()
        return [i for i in places if i not in self.blocked] if self.blocked else places


def absent(field: FieldPlan, height: int, blocked: frozenset[int]) -> FieldColumn:
    """Return the column of a field that the file doesn't have."""
    nothing = pl.Series(text_name(field.name), [None], pl.String)
    text = nothing.new_from_index(0, height)
    typed = pl.Series(field.name, [None], field.reader.dtype).new_from_index(0, height)
    odd = marked(height, ())
    return FieldColumn(field, text, text, typed, odd, {}, None, None, blocked)


def examined(column: FieldColumn, now: datetime) -> tuple[Cells, list[Found]]:
    """Read and check a column; return its cells and what was found in them."""
    field = column.field
    given: dict[int, Any] = {}
    found = _missing(column)
    if column.odd.any():
        more, given = _read_odd(column, now)
        found += more
    found += _refused(column)
    found += _ask_rules(column, now)
    more, defaults = _defaults(column)
    found, given = found + more, given | defaults
    cells = _assembled(column, given, {each.at for each in found} | column.blocked)
    if field.schema is not None and not field.informed:
        cells, more = _ask_validator(cells, column)
        found += more
    return cells, found


def _missing(column: FieldColumn) -> list[Found]:
    if not column.field.required:
        return []
    return [Found(index, -1, MISSING) for index in column.empty]


def _read_odd(column: FieldColumn, now: datetime) -> tuple[list[Found], dict[int, Any]]:
    """Read the cells that the typed column left out, each distinct one once."""
    field = column.field
    places = column.odd.arg_true()
    texts = column.text.gather(places).to_list()
    kinds = _kinds(column, places)
    seen: dict[tuple[str, str], list[tuple[int, Complaint]] | tuple[Any]] = {}
    found: list[Found] = []
    given: dict[int, Any] = {}
    for index, text, kind in zip(places.to_list(), texts, kinds, strict=True):
        answer = seen.get((text, kind))
        if answer is None:
            answer = seen[text, kind] = _read_one(field, text, kind, now)
        if isinstance(answer, tuple):
            given[index] = answer[0]
        else:
            found += [Found(index, place, what) for place, what in answer]
    return found, given


def _kinds(column: FieldColumn, places: pl.Series) -> list[str]:
    """Return the kinds of the cells at *places*; text where the source knows none."""
    if column.kinds is None or column.position is None:
        return [Kind.TEXT] * len(places)
    kinds = column.kinds.gather(places).str.slice(column.position, 1)
    found = [kind or Kind.TEXT for kind in kinds.to_list()]
    plain = {Kind.CODE, Kind.PERCENT} - {*column.field.reader.doubtful}
    return [Kind.NUMBER if kind in plain else kind for kind in found]


def _read_one(
    field: FieldPlan, text: str, kind: str, now: datetime
) -> list[tuple[int, Complaint]] | tuple[Any]:
    """Return what is wrong with one text, or its value alone in a tuple."""
    value = field.reader.read(text, kind)
    if isinstance(value, Complaint):
        return [(-1, value)]
    refused = [
        (place, rule.complaint)
        for place, rule in enumerate(field.rules)
        if rule.refuses(value, now)
    ]
    if refused:
        return refused
    finish = field.reader.finish
    return (finish[1](value) if finish else value,)


def _refused(column: FieldColumn) -> list[Found]:
    return [
        Found(index, place, column.field.rules[place].complaint)
        for place, mask in column.masks.items()
        if mask.any()
        for index in mask.arg_true().to_list()
    ]


def _ask_rules(column: FieldColumn, now: datetime) -> list[Found]:
    """Ask Pydantic about the rules that Polars can't judge, once for each text."""
    rules = [
        (place, rule)
        for place, rule in enumerate(column.field.rules)
        if place not in column.masks and not rule.settled
    ]
    if not rules:
        return []
    values = column.field.reader.values(_source(column, column.typed))
    seen: dict[str, list[Found]] = {}
    found: list[Found] = []
    for index, text in enumerate(column.text.to_list()):
        if values[index] is None:
            continue
        if text not in seen:
            seen[text] = [
                Found(index, place, rule.complaint)
                for place, rule in rules
                if rule.refuses(values[index], now)
            ]
        found += [each._replace(at=index) for each in seen[text]]
    return found


def _source(column: FieldColumn, typed: pl.Series) -> pl.Series:
    """Return what values for Python are made from."""
    if not column.field.reader.from_text:
        return typed
    return kept(column.plain, typed.is_not_null())


def _assembled(column: FieldColumn, given: dict[int, Any], bad: set[int]) -> Cells:
    """Put typed values, values read one by one, and defaults together."""
    field, reader = column.field, column.field.reader
    mask = marked(column.height, bad)
    typed = column.typed
    if bad:
        typed = kept(typed, ~mask)
    if reader.finish:
        typed = reader.finish[0](typed)
    given = {i: value for i, value in given.items() if i not in bad}
    source = _source(column, typed)

    def make() -> list[Any]:
        values = reader.values(source)
        for index, value in given.items():
            values[index] = value
        return values

    unset = _unset(column)
    cells = Cells(field, typed, mask, lambda: unset, make)
    if field.raw:
        return cells
    fit = all(value is None or reader.fits(value) for value in given.values())
    if reader.held is not None or not fit:
        return cells.holding(make())
    filled = {i: value for i, value in given.items() if value is not None}
    if filled:
        patch = pl.Series(list(filled.values()), dtype=reader.dtype)
        typed = typed.clone().scatter(list(filled), patch)
    return replace(cells, series=typed)


def _unset(column: FieldColumn) -> pl.Series | None:
    if not column.field.has_default or not column.empty:
        return None
    return marked(column.height, column.empty)


def _defaults(column: FieldColumn) -> tuple[list[Found], dict[int, Any]]:
    """Return the default of every row that has no value but may have one."""
    field = column.field
    if field.factory is None:
        if field.default is NO_DEFAULT or field.default is None:
            return [], {}
        return [], dict.fromkeys(column.empty, field.default)
    found: list[Found] = []
    drawn: dict[int, Any] = {}
    for index in column.empty:
        answer = attempt(field.factory)
        drawn[index] = answer.value
        found += [Found(index, -1, complaint) for _, complaint in answer.complaints]
    return found, drawn


def _ask_validator(cells: Cells, column: FieldColumn) -> tuple[Cells, list[Found]]:
    """Have Pydantic do what is left, once for each text.

    A value that can be changed is made for each row anew.
    """
    field, texts = cells.field, column.text.to_list()
    values = list(cells.values)
    seen: dict[tuple[str | None, Any], Answer] = {}
    found: list[Found] = []
    for index in asked_rows(cells):
        # Numbers written in two ways are equal; one text in two cells can be two dates.
        key = texts[index], values[index]
        answer = seen.get(key)
        if answer is None:
            answer = ask(field.validator, values[index])
            if answer.complaints or type(answer.value).__hash__ is not None:
                seen[key] = answer
        values[index] = answer.value
        found += [Found(index, 0, complaint) for _, complaint in answer.complaints]
    bad = cells.bad | marked(column.height, {each.at for each in found})
    return replace(cells.holding(values), bad=bad), found


def asked_rows(cells: Cells) -> list[int]:
    """Return the rows whose value Pydantic sees: not defaults, never checked."""
    fed = ~cells.bad if cells.unset is None else ~(cells.bad | cells.unset)
    return fed.arg_true().to_list()
