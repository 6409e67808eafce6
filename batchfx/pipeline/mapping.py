"""Which column of the file is which field of the row model."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from batchfx.columns import Column
from batchfx.errors import SourceError

NAMES_SHOWN = 12
NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Matched:
    """The position in the file of each field found, and the headers left over."""

    positions: Mapping[str, int]
    unknown: tuple[str, ...]


def match(
    model: type[BaseModel], columns: Mapping[str, Column], header: Sequence[str]
) -> Matched:
    """Find each field's column: by its exact header first, then by a folded one.

    Folded, case, accents, blanks and punctuation don't count.

    Raises:
        SourceError: ``missing_column`` when a required field has no column;
            ``duplicate_column`` when two columns could be one field.

    """
    positions: dict[str, int] = {}
    for fold in (str, folded):
        for field, column in columns.items():
            if field in positions:
                continue
            names = {
                fold(name) for name in (column.header(field), *column.aliases, field)
            }
            taken = set(positions.values())
            found = [
                position
                for position, name in enumerate(header)
                if name and position not in taken and fold(name) in names
            ]
            if len(found) > 1:
                raise _doubled(field, column, [header[position] for position in found])
            if found:
                positions[field] = found[0]
    _refuse_missing(model, columns, header, positions)
    unknown = [n for i, n in enumerate(header) if n and i not in positions.values()]
    ordered = {field: positions[field] for field in columns if field in positions}
    return Matched(ordered, tuple(unknown))


def folded(name: str) -> str:
    """Return *name* without case, accents, blanks and punctuation."""
    decomposed = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    kept = "".join(c for c in plain.casefold() if c.isalnum())
    return kept or name


def _refuse_missing(
    model: type[BaseModel],
    columns: Mapping[str, Column],
    header: Sequence[str],
    positions: Mapping[str, int],
) -> None:
    missing = [
        field
        for field in columns
        if field not in positions and model.model_fields[field].is_required()
    ]
    if not missing:
        return
    free = [n for i, n in enumerate(header) if n and i not in positions.values()]
    names = [columns[field].header(field) for field in missing]
    wanted = ", ".join(f"'{name}'{_nearest(name, free)}" for name in names)
    noun = "column" if len(missing) == 1 else "columns"
    message = f"The file has no {noun} {wanted}. It has: {_listed(header)}."
    raise SourceError("missing_column", message, fields=missing)


def _listed(header: Sequence[str]) -> str:
    """Return the first names, cut short: a file may have thousands, of any length."""
    names = [name for name in header if name]
    shown = ", ".join(f"'{shorten(name)}'" for name in names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def shorten(name: str) -> str:
    """Return *name*, cut off where it gets too long for a sentence."""
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _nearest(name: str, header: Sequence[str]) -> str:
    by_fold = {folded(each): each for each in header}
    near = difflib.get_close_matches(folded(name), by_fold, n=1)
    return f" (is '{by_fold[near[0]]}' meant? then rename it)" if near else ""


def _doubled(field: str, column: Column, found: Sequence[str]) -> SourceError:
    listed = " and ".join(f"'{name}'" for name in found)
    message = (
        f"The columns {listed} could both be '{column.header(field)}'. "
        "Rename or remove all but one of them."
    )
    return SourceError("duplicate_column", message, field=field, names=list(found))
