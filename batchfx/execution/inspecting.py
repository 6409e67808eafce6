"""A file looked at: its layout, its first rows, and what its columns seem to hold.

Only the first rows are read, so a guess is confirmed when there are no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError
from batchfx.execution.checking import issue_of_source, issues_of_file
from batchfx.execution.row_models import TEXT, row_model, row_plan, titles_of
from batchfx.files import open as files
from batchfx.model.blocks import FAULTS, KINDS, ROW, Kind, block_schema, column_name
from batchfx.model.issues import Issue
from batchfx.model.notations import Notation
from batchfx.model.settings import Settings
from batchfx.model.sources import Layout
from batchfx.pipeline import decisions
from batchfx.pipeline.validate import declared

SAMPLE = 1_000  # rows
MOST_COLUMNS = 500  # of which a type is guessed
ALMOST = 0.9  # of the values: the others are likely mistakes

# In the order in which they are tried: what is a whole number is a decimal one too.
GUESSED = ("integer", "decimal", "date", "datetime", "time", "duration", "boolean")
CODE = r"^\s*[+-]?0[0-9]|^\s*\+|[0-9]{16}"  # no numbers: they lose zeros, signs, digits
NUMERIC = frozenset({"integer", "decimal"})
FLAGS = frozenset({"0", "1", ""})  # as likely numbers
ISO_DURATION = r"^-?P"
ANSWERS: Mapping[str, Any] = {"decimal": ".", "thousands": "", "date_order": "dmy"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the first values of a column look like.

    Attributes:
        title: What the column is called.
        type: The type that its values have, "text" when they have no other.
        notation: How they are written, when they are of that type.
        filled: How many there are.
        misfits: How many of them are not of the type.
        example: The first value; *misfit* the first that isn't of the type.

    """

    title: str
    type: str
    notation: Notation
    filled: int
    misfits: int = 0
    example: str | None = None
    misfit: str | None = None


@dataclass(frozen=True, eq=False)
class Sight:
    """What was seen of a file.

    Attributes:
        layout: How it is laid out.
        titles: What its columns are called.
        columns: What the first of them, up to 500, hold.
        rows: The number and the cells of the first rows.
        looked_at: How many rows were looked at.
        faulty: How many of these are no sound records.
        confirmed: There are no other rows.
        damage: Why the file can't be read as far as that.

    """

    layout: Layout
    titles: tuple[str, ...]
    columns: tuple[Seen, ...] = ()
    rows: tuple[tuple[int, tuple[str | None, ...]], ...] = ()
    looked_at: int = 0
    faulty: int = 0
    confirmed: bool = False
    damage: Issue | None = None

    @property
    def issues(self) -> list[Issue]:
        """What is to be said of the file."""
        return issues_of_file(self.layout, self.damage, is_empty=not self.looked_at)


def look_at(source: BinaryIO, settings: Settings, shown: int) -> Sight:
    """Look at the first rows of *source*; keep as many as *shown*.

    Raises:
        SourceError: It can't be read at all.
        UsageError: An option means nothing to this kind of file.

    """
    layout = files.inspect(source, **settings.layout)
    sight = Sight(layout, titles_of(layout.header))
    frame, damage = first_rows(source, layout)
    sample = frame.head(SAMPLE)
    sound = sample.filter(pl.col(FAULTS).is_null())
    return replace(
        sight,
        columns=_columns(sight.titles, sound, settings),
        rows=_cells(sample.head(shown), len(sight.titles)),
        looked_at=sample.height,
        faulty=sample.height - sound.height,
        confirmed=damage is None and frame.height == sample.height,
        damage=damage,
    )


def first_rows(source: BinaryIO, layout: Layout) -> tuple[pl.DataFrame, Issue | None]:
    """Return one row more than are looked at, if there are so many and all is well."""
    frames = [pl.DataFrame(schema=block_schema(len(layout.header)))]
    damage = None
    try:
        for block in files.read(source, layout, SAMPLE + 1):
            frames.append(block.frame)
            if sum(each.height for each in frames) > SAMPLE:
                break
    except SourceError as error:
        damage = issue_of_source(error)
    return pl.concat(frames), damage


def _cells(
    frame: pl.DataFrame, width: int
) -> tuple[tuple[int, tuple[str | None, ...]], ...]:
    cells = frame.select(ROW, *(column_name(i) for i in range(width)))
    return tuple((row[0], tuple(row[1:])) for row in cells.iter_rows())


def _columns(
    titles: Sequence[str], frame: pl.DataFrame, settings: Settings
) -> tuple[Seen, ...]:
    """Return what each column holds: the first type that its values have."""
    titles = titles[:MOST_COLUMNS]
    names = [column_name(place) for place in range(len(titles))]
    best = [_as_text(title, frame[n]) for title, n in zip(titles, names, strict=True)]
    wanted = {i for i, seen in enumerate(best) if seen.filled}
    for type_name in GUESSED:
        places = [i for i in sorted(wanted) if _may_be(type_name, frame, i)]
        for place, seen in _tried(type_name, places, titles, frame, settings):
            if not seen.misfits:
                wanted.discard(place)
            if not seen.misfits or _is_better(seen, best[place]):
                best[place] = seen
    return tuple(best)


def _as_text(title: str, cells: pl.Series) -> Seen:
    filled = cells.drop_nulls()
    example = filled[0] if len(filled) else None
    return Seen(title, TEXT, Notation(), len(filled), example=example)


def _is_better(seen: Seen, best: Seen) -> bool:
    """Tell whether nearly all values have the type, and no other has more of them."""
    if seen.misfits > seen.filled * (1 - ALMOST):
        return False
    return best.type == TEXT or seen.misfits < best.misfits


def _may_be(type_name: str, frame: pl.DataFrame, place: int) -> bool:
    """Tell whether values that look like the type could be meant to be of it."""
    cells = frame[column_name(place)].drop_nulls()
    if type_name == "boolean":
        return _has_words(cells)
    kinds = frame[KINDS].str.slice(place, 1).drop_nulls().unique().to_list()
    if type_name == "duration":
        return Kind.DURATION in kinds or cells.str.contains(ISO_DURATION).any()
    if Kind.DURATION in kinds:
        return False
    return type_name not in NUMERIC or not cells.str.contains(CODE).any()


def _has_words(cells: pl.Series) -> bool:
    """Tell whether the cells are more than digits, or one letter again and again."""
    words = set(cells.str.strip_chars().str.to_lowercase().unique()) - FLAGS
    return len(words) > 1 or any(word[1:] for word in words)


def _tried(
    type_name: str,
    places: Sequence[int],
    titles: Sequence[str],
    frame: pl.DataFrame,
    settings: Settings,
) -> Iterator[tuple[int, Seen]]:
    """Yield the columns at *places* as they are when read as *type_name*."""
    if not places:
        return
    positions = {column_name(place): place for place in places}
    model = row_model(titles, dict.fromkeys(places, type_name))
    plan = row_plan(titles, model).only(positions)
    named = dict(zip(titles, (column_name(i) for i in range(len(titles))), strict=True))
    columns = settings.notations(named.get)
    stated = decisions.stated(plan, user=settings.notation, columns=columns)
    evidence = decisions.gather(plan, frame, positions, stated)
    notations = decisions.decide(plan, evidence, stated)
    read = {name: _answered(each) for name, each in notations.items()}
    validated = declared(plan.written(read), frame, positions)
    misfits: dict[str, list[str | None]] = {}
    for issue in validated.issues:
        misfits.setdefault(issue.field or "", []).append(issue.value)
    for name, place in positions.items():
        found = misfits.get(name, [])
        seen = _as_text(titles[place], frame[name])
        yield (
            place,
            replace(
                seen,
                type=type_name,
                notation=notations[name],
                misfits=len(found),
                misfit=found[0] if found else None,
            ),
        )


def _answered(notation: Notation) -> Notation:
    """Answer what is open in any way: whatever the answer, the type is the same."""
    answers = {name: ANSWERS[name] for name in notation.unsettled if name in ANSWERS}
    return replace(notation, unsettled=(), **answers)
