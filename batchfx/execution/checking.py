"""A file read, typed and checked as a whole, without a class and without a store.

The file is read twice in bounded memory: the first time to see whether it can be read
to its end and how its columns are written, the second time for its rows. What must be
unique is compared in between.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError
from batchfx.execution.repeats import comparable, repeats
from batchfx.execution.row_models import (
    TEXT,
    find_columns,
    row_model,
    row_plan,
    titles_of,
)
from batchfx.files import open as files
from batchfx.model.blocks import KINDS, ROW, Block, Kind, column_name
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.notations import Notation
from batchfx.model.settings import Settings
from batchfx.model.sources import Layout
from batchfx.pipeline import decisions
from batchfx.pipeline.decisions import Evidence
from batchfx.pipeline.plan import RowPlan
from batchfx.pipeline.validate import Validated, declared

CELLS_AT_ONCE = 100_000
LEAST_ROWS, MOST_ROWS = 50, 20_000  # in a block
NO_ROWS = "no_rows"
# What a cell is taken for where nobody said that its column is text.
LENIENT = str.maketrans(
    Kind.DATE + Kind.DURATION + Kind.CODE, Kind.TEXT + Kind.TEXT + Kind.NUMBER
)

Cause = tuple[Level, str | None, str, Any]
Repeated = dict[int, list[tuple[tuple[str, ...], int]]]


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of a file before its rows are told.

    Attributes:
        layout: How it is laid out; None when it can't be read at all.
        titles: What its columns are called; those without a name by their place.
        plan: How its rows are read, each field named as its column is in blocks.
        types: The type of each column that is given one, by its place.
        notations: How each field's values are written.
        issues: What is to be said of the file; those with a place in the file first.
        repeated: Rows that have values of an earlier row: which fields, and which row.
        damage: Why it can't be read, or not to its end.

    """

    settings: Settings
    layout: Layout | None = None
    titles: tuple[str, ...] = ()
    plan: RowPlan | None = None
    types: Mapping[int, str] = field(default_factory=dict)
    notations: Mapping[str, Notation] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()
    repeated: Repeated = field(default_factory=dict)
    damage: Issue | None = None
    now: datetime | None = None

    @functools.cached_property
    def titles_by_field(self) -> dict[str, str]:
        """What the column of each field is called."""
        return {column_name(i): title for i, title in enumerate(self.titles)}


@dataclass
class Account:
    """How many rows there were, and what is wrong with them, by cause.

    The first issue of a cause is its example.
    """

    good: int = 0
    faulty: int = 0
    blank: int = 0
    causes: dict[Cause, tuple[int, Issue]] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """All rows, blank ones included."""
        return self.good + self.faulty + self.blank

    def add(self, validated: Validated, blank: int) -> None:
        """Count a portion of the rows."""
        good = int(validated.sound.sum())
        self.good += good
        self.faulty += len(validated.numbers) - good
        self.blank += blank
        for issue in validated.issues:
            why = issue.parameters.get("cause")
            cause = (issue.level, issue.field, issue.code, why)
            count, example = self.causes.get(cause, (0, issue))
            self.causes[cause] = (count + 1, example)


def survey(source: BinaryIO, types: Mapping[str, str], settings: Settings) -> Survey:
    """Find out how *source* is to be read, and whether it can be read to its end.

    *types* gives columns their types, by name; others are text. A file that can't be
    read is no exception but a survey with `damage`.

    Raises:
        UsageError: An option means nothing to this kind of file, or can't be.

    """
    layout = None
    try:
        expected = tuple({**dict.fromkeys(settings.expected_columns), **types})
        said = {"expected_columns": expected or None}
        layout = files.inspect(source, **{**settings.layout, **said})
        titles = titles_of(layout.header)
        places = find_columns(dict.fromkeys((*types, *settings.named)), titles)
    except SourceError as error:
        damage = issue_of_source(error)
        told = issues_of_file(layout, damage)
        return Survey(settings, layout, issues=tuple(told), damage=damage)
    typed = {places[name]: kind for name, kind in types.items()}
    model = row_model(
        titles,
        typed,
        [places[name] for name in settings.required],
        {places[name]: texts for name, texts in settings.choices.items()},
    )
    known = _Reading(source, layout, row_plan(titles, model), types=typed)
    return _surveyed(known, settings, titles, places)


def portions(source: BinaryIO, survey: Survey) -> Iterator[tuple[Validated, int]]:
    """Yield the file's rows, checked, with how many blank ones were among them.

    A damaged file's rows are those before the damage.
    """
    if survey.layout is None or survey.plan is None:
        return
    reading = _Reading(source, survey.layout, survey.plan, survey.now, survey.types)
    try:
        for block in reading.blocks():
            validated = reading.checked(block.frame)
            repeated = _issues(survey, validated.numbers)
            yield validated.with_issues(repeated), block.blank
    except SourceError:
        if survey.damage is None:  # of another file than the one that was surveyed
            raise


def issue_of_source(error: SourceError) -> Issue:
    """Return what makes a file unreadable, as an issue of it."""
    return Issue(error.code, str(error), Phase.FILE, parameters=error.parameters)


def issues_of_file(
    layout: Layout | None, damage: Issue | None, *, is_empty: bool = False
) -> list[Issue]:
    """Return what is to be said of a file, its *damage* first, and each thing once.

    It *is_empty* when no row was found before the damage, if there is some.
    """
    warnings = list(layout.warnings) if layout else []
    if is_empty and not damage and all(each.code != NO_ROWS for each in warnings):
        message = "The file has a header and no rows below it."
        warning = Issue(NO_ROWS, message, Phase.FILE, level=Level.WARNING)
        warnings.append(warning)
    if damage is None:
        return warnings
    return [damage, *(each for each in warnings if each.message != damage.message)]


@dataclass(frozen=True, eq=False)
class _Reading:
    """A source as it is read by one plan."""

    source: BinaryIO
    layout: Layout
    plan: RowPlan
    now: datetime | None = None
    types: Mapping[int, str] = field(default_factory=dict)

    @functools.cached_property
    def positions(self) -> dict[str, int]:
        return {column_name(i): i for i in range(len(self.layout.header))}

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, of as many rows as fit into memory with all columns."""
        width = max(1, len(self.layout.header))
        rows = max(LEAST_ROWS, min(MOST_ROWS, CELLS_AT_ONCE // width))
        texts = [place for place, kind in self.types.items() if kind == TEXT]
        layout = files.with_texts(self.layout, texts)
        for block in files.read(self.source, layout, rows):
            yield replace(block, frame=self._lenient(self._without_blanks(block.frame)))

    def _without_blanks(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Take blanks alone for nothing in texts that must be there."""
        return frame.with_columns(
            pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)).alias(name)
            for name, field in self.plan.fields.items()
            if field.required and field.kind == TEXT
        )

    def _lenient(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Take cells of columns without a type for the text that stands for them.

        In a column that is said to be text, dates and numbers shown with more than
        their digits are told; here nobody said so.
        """
        kinds = frame[KINDS].drop_nulls().unique().to_list()
        softened = list(map(self._softened, kinds))
        if softened == kinds:
            return frame
        return frame.with_columns(pl.col(KINDS).replace(kinds, softened))

    def _softened(self, kinds: str) -> str:
        soft = list(kinds.translate(LENIENT))
        for place in self.types:
            soft[place] = kinds[place]
        return "".join(soft)

    def checked(self, frame: pl.DataFrame) -> Validated:
        return declared(self.plan, frame, self.positions, self.now)


@dataclass
class _Totals:
    """What the first reading finds; it ends where the file can't be read any more."""

    evidence: Evidence
    rows: int = 0
    last_row: int = 0
    damage: Issue | None = None


def _surveyed(
    reading: _Reading,
    settings: Settings,
    titles: tuple[str, ...],
    places: Mapping[str, int],
) -> Survey:
    names = {name: column_name(place) for name, place in places.items()}
    plan, layout = reading.plan, reading.layout
    stated = decisions.stated(
        plan,
        user=settings.notation,
        columns=settings.notations(names.get),
        source_format=layout.format,
    )
    totals = _read_through(reading, stated)
    notations = decisions.decide(plan, totals.evidence, stated)
    told = decisions.explain(plan, totals.evidence, notations)
    now = datetime.now().astimezone()
    written = replace(reading, plan=plan.written(notations), now=now)
    broken = (each for each in layout.warnings if each.keeps_out)
    damage = totals.damage or next(broken, None)
    return Survey(
        settings,
        layout,
        titles,
        written.plan,
        reading.types,
        notations,
        issues=(*_told(layout, totals), *told),
        repeated=_repeated(written, settings, names, totals),
        damage=damage,
        now=now,
    )


def _told(layout: Layout, totals: _Totals) -> list[Issue]:
    return issues_of_file(layout, totals.damage, is_empty=not totals.rows)


def _read_through(reading: _Reading, stated: Mapping[str, Notation]) -> _Totals:
    totals = _Totals(Evidence())
    try:
        for block in reading.blocks():
            frame = block.frame
            if not frame.height:
                continue
            totals.evidence += decisions.gather(
                reading.plan, frame, reading.positions, stated
            )
            totals.rows += frame.height
            totals.last_row = max(totals.last_row, int(frame[ROW][-1]))
    except SourceError as error:
        totals.damage = issue_of_source(error)
    return totals


def _repeated(
    reading: _Reading, settings: Settings, names: Mapping[str, str], totals: _Totals
) -> Repeated:
    """Return the rows that repeat what is unique, compared value by value."""
    found: Repeated = {}
    for columns in settings.unique if totals.rows else ():
        fields = tuple(names[column] for column in columns)
        values = functools.partial(_values, reading, fields, settings.unique_fold)
        for row, first in repeats(values, totals.rows, totals.last_row):
            found.setdefault(row, []).append((fields, first))
    return found


def _values(
    reading: _Reading,
    fields: tuple[str, ...],
    fold: bool,  # noqa: FBT001 - bound by name of the option
    wanted: pl.Series | None,
) -> Iterator[pl.DataFrame]:
    part = replace(reading, plan=reading.plan.only(fields))
    try:
        for block in part.blocks():
            frame = block.frame
            if wanted is not None:
                frame = frame.filter(pl.col(ROW).is_in(wanted.implode()))
            yield comparable(part.checked(frame), fields, fold=fold)
    except SourceError:  # told of already: the rows before it count
        return


def _issues(survey: Survey, numbers: pl.Series) -> list[Issue]:
    if not survey.repeated:
        return []
    return [
        _duplicate(survey, row, fields, first)
        for row in numbers.to_list()
        for fields, first in survey.repeated.get(row, ())
    ]


def _duplicate(survey: Survey, row: int, fields: tuple[str, ...], first: int) -> Issue:
    headers = [survey.titles_by_field[name] for name in fields]
    return Issue(
        code="duplicate_in_file",
        message=(
            f"Row {first} has this {' and '.join(headers)} already; "
            "each may be in the file once."
        ),
        phase=Phase.UNIQUE,
        row=row,
        field=fields[0],
        parameters={"first_row": first, "fields": headers},
    )
