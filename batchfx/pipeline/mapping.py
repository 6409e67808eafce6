"""Which column of the file is which field of the row model.

What a person says comes first, then what a saved mapping says, then a column's own
name: exact, then folded. A name that is only like another is proposed, never taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from batchfx.errors import UsageError
from batchfx.model.issues import Issue
from batchfx.model.names import folded
from batchfx.pipeline import misfits
from batchfx.pipeline.headers import (
    CANDIDATES,
    Columns,
    Given,
    Saved,
    Search,
    listed,
    names_of,
    shorten,
)
from batchfx.pipeline.likeness import nearest

# How a field's column was found: a person said it, a saved mapping did, by its name, or
# by a name that is the same but for case, accents, blanks and the like.
SAID, SAVED, NAME, LIKENESS = "said", "saved", "name", "likeness"


@dataclass(frozen=True, slots=True)
class Matched:
    """The position in the file of each field found, and what is left over.

    *unknown* are the headers of columns that are no field; *left_out* those that a
    person wants to be none. *warnings* tell of what is worth a look. *ways* says how
    each column was found. Where the columns are only proposed, *missing* are required
    fields without one, *doubled* the columns that could as well be a field, and
    *suggestions* those whose names are like that of a field without a column.
    """

    positions: Mapping[str, int]
    unknown: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[Issue, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    doubled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    suggestions: Mapping[str, str] = field(default_factory=dict)


def match(
    model: type[BaseModel],
    columns: Columns,
    header: Sequence[str],
    given: Given | None = None,
    saved: Saved | None = None,
) -> Matched:
    """Find each field's column.

    Folded, case, accents, blanks, punctuation and invisible characters don't count.

    Args:
        model: The row model.
        columns: The column of each of its fields.
        header: The file's header.
        given: The field, by its name or its header, of single columns; None leaves
            the column out. A column is named exactly, or else folded.
        saved: A mapping for what *given* doesn't say. Where it doesn't fit the file,
            a warning says so.

    Raises:
        SourceError: ``missing_column`` when a required field has no column;
            ``duplicate_column`` when two columns could be one field.
        UsageError: *given* names no column or no field, or one of them twice.

    """
    search = find(columns, header, given, saved)
    missing = _missing(model, search)
    if missing:
        raise misfits.missing(search, missing, saved)
    return _matched(search, saved)


def propose(
    model: type[BaseModel],
    columns: Columns,
    header: Sequence[str],
    given: Given | None = None,
    saved: Saved | None = None,
) -> Matched:
    """Find the columns as `match` does, for a person who decides on the others.

    Raises:
        UsageError: *given* names no column or no field, or one of them twice.

    """
    search = Search(columns, header)
    doubled = _search(search, given, saved)
    return replace(
        _matched(search, saved),
        missing=tuple(_missing(model, search)),
        doubled={name: tuple(search.names(found)) for name, found in doubled.items()},
        suggestions=search.proposed(search.unmapped(), saved),
    )


def _missing(model: type[BaseModel], search: Search) -> list[str]:
    required = model.model_fields
    return [name for name in search.unmapped() if required[name].is_required()]


def _matched(search: Search, saved: Saved | None) -> Matched:
    drift = [] if saved is None else misfits.drift(search, saved)
    columns = search.columns
    return Matched(
        {name: search.positions[name] for name in columns if name in search.positions},
        tuple(search.names(search.free())),
        tuple(search.names(sorted(search.left_out))),
        (*drift, *misfits.unknown(search)),
        dict(search.ways),
    )


def find(
    columns: Columns,
    header: Sequence[str],
    given: Given | None = None,
    saved: Saved | None = None,
) -> Search:
    """Find the columns as `match` does, but lack any of them."""
    search = Search(columns, header)
    for name, found in _search(search, given, saved).items():
        raise misfits.doubled(name, columns[name], search.names(found))
    return search


def _search(
    search: Search, given: Given | None, saved: Saved | None
) -> dict[str, list[int]]:
    """Give fields their columns; return the fields that several could be."""
    _take_given(search, given or {})
    if saved is not None:
        _take_saved(search, saved)
    return _take_named(search)


def field_named(columns: Columns, name: str) -> str | None:
    """Return the field that a person calls *name*: its own name, header or alias."""
    if name in columns:
        return name
    for fold in (str, folded):
        wanted = fold(name)
        for each, column in columns.items():
            if wanted in {fold(called) for called in names_of(each, column)}:
                return each
    return None


def require_field(columns: Columns, name: str, what: str) -> str:
    """Return the field called *name*.

    Raises:
        UsageError: There is none; the message begins with *what*.

    """
    found = field_named(columns, name)
    if found is not None:
        return found
    near = nearest([name], list(columns))
    hint = f" Is '{near[1]}' meant?" if near else ""
    message = (
        f"{what} can't be used: there is no field '{name}'.{hint} There are: "
        f"{listed(list(columns))}."
    )
    raise UsageError(message)


def _take_given(search: Search, given: Given) -> None:
    for header, wanted in given.items():
        what = f"The mapping '{header}={wanted or ''}'"
        position = _position(search, header, what)
        name = None if wanted is None else require_field(search.columns, wanted, what)
        _refuse_second(search, position, name)
        search.take(position, name, SAID)


def _refuse_second(search: Search, position: int, name: str | None) -> None:
    if name in search.positions:
        first, second = search.names([search.positions[name], position])
        message = (
            f"The columns '{first}' and '{second}' are both mapped to '{name}'. "
            "Map one of them."
        )
        raise UsageError(message)
    if search.is_taken(position):
        message = f"The column '{search.header[position]}' is mapped twice."
        raise UsageError(message)


def _position(search: Search, header: str, what: str) -> int:
    found = search.named(header)
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(f"'{name}'" for name in search.names(found))
        message = (
            f"{what} can't be used: {names} are both like it. Write the column's name "
            "exactly as it is in the file."
        )
        raise UsageError(message)
    near = nearest([header], [name for name in search.header if name][:CANDIDATES])
    hint = f" Is '{shorten(near[1])}' meant?" if near else ""
    message = (
        f"{what} can't be used: the file has no column '{header}'.{hint} It has: "
        f"{listed(search.header)}."
    )
    raise UsageError(message)


def _take_saved(search: Search, saved: Saved) -> None:
    for header, name in saved.columns.items():
        is_open = name is None or (
            name in search.columns and name not in search.positions
        )
        found = [p for p in search.named(header) if not search.is_taken(p)]
        if is_open and len(found) == 1:
            search.take(found[0], name, SAVED)


def _take_named(search: Search) -> dict[str, list[int]]:
    doubled: dict[str, list[int]] = {}
    for exactly in (True, False):
        for name in search.unmapped():
            column = search.columns[name]
            called = search.called(names_of(name, column), exactly=exactly)
            found = [p for p in called if not search.is_taken(p)]
            if len(found) > 1:
                doubled.setdefault(name, found)
            elif found and name not in doubled:
                search.take(found[0], name, NAME if exactly else LIKENESS)
    return doubled
