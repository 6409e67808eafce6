"""What is said where a file's columns and an importer's fields don't fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from batchfx.columns import Column
from batchfx.errors import SourceError
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.names import folded
from batchfx.pipeline.headers import (
    NAMES_SHOWN,
    Given,
    Saved,
    Search,
    listed,
    map_option,
    names_of,
    shorten,
)

NAMES_KEPT = 100  # in an issue's parameters
SURE = 0.7  # likeness from which an unknown column is worth a question


def missing(search: Search, fields: Sequence[str], saved: Saved | None) -> SourceError:
    """Return the error for required *fields* without a column."""
    headers = [search.columns[name].header(name) for name in fields]
    noun = "column" if len(fields) == 1 else "columns"
    wanted = ", ".join(f"'{header}'" for header in headers)
    proposed = search.proposed(fields, saved)
    hints = [
        f" Is '{shorten(header)}' meant? Then add {map_option(header, name)}."
        for name, header in proposed.items()
    ]
    taken = _taken_away(search, fields)
    has = "The file has" if taken else "It has"
    lacking = f"No {noun} is left for" if taken else f"The file has no {noun}"
    message = (
        f"{lacking} {wanted}.{taken}"
        f"{_as_saved(saved, fields)}{''.join(hints)} {has}: {listed(search.header)}."
    )
    return SourceError(
        "missing_column", message, fields=list(fields), suggestions=proposed
    )


def doubled(name: str, column: Column, found: Sequence[str]) -> SourceError:
    """Return the error for two columns that could both be the field *name*."""
    names = " and ".join(f"'{shorten(each)}'" for each in found)
    option = map_option(min(found, key=len), name)
    message = (
        f"The columns {names} could both be '{column.header(name)}'. Say which one it "
        f"is ({option}), or rename or remove the others."
    )
    return SourceError("duplicate_column", message, field=name, names=list(found))


def unknown(search: Search) -> list[Issue]:
    """Return the warning that names the columns that are no field."""
    headers = search.names(search.free())
    if not headers:
        return []
    proposed = search.proposed(search.unmapped(), cutoff=SURE)
    options = _options(proposed)
    hint = f" Where one was meant, add {options}." if options else ""
    verb, whose = (
        ("is a column", "its") if len(headers) == 1 else ("are columns", "their")
    )
    message = (
        f"{listed(headers)} {verb} that the importer doesn't know; {whose} cells are "
        f"kept, but not imported.{hint}"
    )
    kept = {
        "count": len(headers),
        "columns": headers[:NAMES_KEPT],
        "suggestions": proposed,
    }
    return [_warning("unknown_columns", message, kept)]


def drift(search: Search, saved: Saved) -> list[Issue]:
    """Return the warning that says how the file differs from that of the mapping."""
    gone = {h: name for h, name in saved.columns.items() if not search.named(h)}
    ended = [
        name for name in saved.columns.values() if name and name not in search.columns
    ]
    known = {folded(name) for name in (*saved.columns, *saved.others)}
    new = [name for name in search.header if name and folded(name) not in known]
    if not (gone or ended or new):
        return []
    unmapped = search.unmapped()
    wanted = [name for name in gone.values() if name in unmapped]
    proposed = search.proposed([name for name in wanted if name], saved)
    options = _options(proposed)
    parts = _told_gone(search, gone)
    parts += [f"new: {listed(new)}"] if new else []
    parts += [f"no fields any more: {listed(ended)}"] if ended else []
    hint = f" Where a new one is an old one, add {options}." if options else ""
    message = (
        f"The file doesn't fit the saved mapping {saved.label}: {'; '.join(parts)}."
        f"{hint}"
    )
    kept = {
        "mapping": saved.name,
        "version": saved.version,
        "gone": list(gone)[:NAMES_KEPT],
        "new": new[:NAMES_KEPT],
        "fields_gone": ended,
        "suggestions": proposed,
    }
    return [_warning("mapping_drift", message, kept)]


def _taken_away(search: Search, fields: Sequence[str]) -> str:
    """Return which columns of the *fields* the mapping made something else."""
    told = []
    for name in fields:
        names = names_of(name, search.columns[name])
        for place in filter(search.is_taken, search.called(names, exactly=False)):
            header = search.header[place]
            other = next((f for f, p in search.positions.items() if p == place), None)
            what = f"is '{other}'" if other else "is left out"
            told.append(
                f" By the mapping, '{shorten(header)}' {what}: say "
                f"{map_option(header, name)} instead."
            )
    return "".join(told)


def _as_saved(saved: Saved | None, fields: Collection[str]) -> str:
    """Return which columns the saved mapping takes for the fields that are missing."""
    if saved is None:
        return ""
    taken = [f"'{h}' for {name}" for h, name in saved.columns.items() if name in fields]
    takes = f"takes {', '.join(taken)}" if taken else "names none for it either"
    return f" The saved mapping {saved.label} {takes}."


def _told_gone(search: Search, gone: Given) -> list[str]:
    told = [_instead(search, *each) for each in list(gone.items())[:NAMES_SHOWN]]
    more = f" and {len(gone) - NAMES_SHOWN:,} more" if len(gone) > NAMES_SHOWN else ""
    return [f"gone: {', '.join(told)}{more}"] if told else []


def _instead(search: Search, header: str, name: str | None) -> str:
    """Return a column that is gone, with what is read in place of it."""
    shown = f"'{shorten(header)}'"
    if name is None:
        return shown
    if name not in search.positions:
        return f"{shown} ({name})"
    return f"{shown} ({name} is read from '{shorten(_header_of(search, name))}' now)"


def _header_of(search: Search, name: str) -> str:
    return search.header[search.positions[name]]


def _options(proposed: Mapping[str, str]) -> str:
    return " ".join(map_option(header, name) for name, header in proposed.items())


def _warning(code: str, message: str, parameters: Mapping[str, Any]) -> Issue:
    return Issue(
        code=code,
        message=message,
        phase=Phase.FILE,
        level=Level.WARNING,
        parameters=parameters,
    )
