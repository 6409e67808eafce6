"""Which column of the file is which field of the row model.

What a person says comes first, then what a saved mapping says, then a column's own
name: exact, then folded. A name that is only like another is proposed, never taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Matched:
    """The position in the file of each field found, and what is left over.

    *unknown* are the headers of columns that are no field; *left_out* those that a
    person wants to be none. *warnings* tell of what is worth a look.
    """

    positions: Mapping[str, int]
    unknown: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[Issue, ...] = ()


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
    missing = [
        name for name in search.unmapped() if model.model_fields[name].is_required()
    ]
    if missing:
        raise misfits.missing(search, missing, saved)
    drift = [] if saved is None else misfits.drift(search, saved)
    return Matched(
        {name: search.positions[name] for name in columns if name in search.positions},
        tuple(search.names(search.free())),
        tuple(search.names(sorted(search.left_out))),
        (*drift, *misfits.unknown(search)),
    )


def find(
    columns: Columns,
    header: Sequence[str],
    given: Given | None = None,
    saved: Saved | None = None,
) -> Search:
    """Find the columns as `match` does, but lack any of them."""
    search = Search(columns, header)
    _take_given(search, given or {})
    if saved is not None:
        _take_saved(search, saved)
    _take_named(search)
    return search


def field_named(columns: Columns, name: str) -> str | None:
    """Return the field that a person calls *name*: its own name, header or alias."""
    if name in columns:
        return name
    for fold in (str, folded):
        wanted = fold(name)
        for field, column in columns.items():
            if wanted in {fold(each) for each in names_of(field, column)}:
                return field
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
        search.take(position, name)


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
            search.take(found[0], name)


def _take_named(search: Search) -> None:
    for exactly in (True, False):
        for name in search.unmapped():
            column = search.columns[name]
            called = search.called(names_of(name, column), exactly=exactly)
            found = [p for p in called if not search.is_taken(p)]
            if len(found) > 1:
                raise misfits.doubled(name, column, search.names(found))
            if found:
                search.take(found[0], name)
