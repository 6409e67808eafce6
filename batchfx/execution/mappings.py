"""What is said of one file: which column is which field, and how it is written.

It is said for one import, or was saved under a name by an earlier one of the same
tenant and importer. What is said now counts more than what was saved, and that more
than what the importer's class says.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.engine import Connection

from batchfx.errors import NotFoundError, UsageError
from batchfx.execution.settings import settings_of
from batchfx.importer import Importer
from batchfx.model.notations import Notation
from batchfx.model.settings import EVERY_COLUMN, Settings
from batchfx.pipeline.headers import Saved, names_of
from batchfx.pipeline.mapping import Matched, require_field
from batchfx.store import mappings
from batchfx.store.engine import Store
from batchfx.store.mappings import SavedMapping

NAME = re.compile(r"[^\W_][\w .-]{0,99}")
REFERENCE = re.compile(r"(?P<name>.+?)(?:@(?P<version>[0-9]{1,9}))?")
OF_THE_CLASS = ("required", "choices", "unique", "unique_fold")


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that is said of a file before it is looked into.

    *options* are the options as they were given, those of the saved mapping among
    them, and *settings* what they mean; *defaults* is what the importer's class says of
    the layout, and counts where the file's format has a use for it.
    """

    columns: Mapping[str, str | None] = field(default_factory=dict)
    saved: Saved | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def said_of(
    store: Store,
    tenant: str,
    importer: type[Importer[Any]],
    *,
    columns: Mapping[str, str | None],
    options: Mapping[str, Any],
    name: str | None = None,
) -> Said:
    """Return what is said with the saved mapping called *name* below it.

    Args:
        store: Where mappings are saved.
        tenant: Whose mappings.
        importer: The importer.
        columns: The field of single columns; None leaves the column out.
        options: Options for the file, as `settings_of` takes them.
        name: A saved mapping, ``crm`` or, for an older version of it, ``crm@2``.

    Raises:
        NotFoundError: The tenant has no such mapping for the importer.
        UsageError: An option is unknown, impossible or belongs to the class.

    """
    saved, merged = None, dict(options)
    if name is not None:
        with store.read() as connection:
            found = read(connection, tenant, importer.name, name)
        saved = _saved(found)
        merged = _merged(found.content["options"], options)
    settings = settings_for_import(merged)
    defaults = {
        "expected_columns": _expected(importer, columns, saved),
        **settings_of(importer.layout).layout,
    }
    return Said(columns, saved, merged, settings, defaults)


def settings_for_import(options: Mapping[str, Any]) -> Settings:
    """Return the settings that *options* make; see `settings_of`.

    Raises:
        UsageError: An option is unknown, impossible or belongs to the class.

    """
    settings = settings_of(options)
    said = [name for name in OF_THE_CLASS if getattr(settings, name)]
    if said:
        message = (
            f"{', '.join(said)} can't be said for an import: the importer's row model "
            "says what a row must hold."
        )
        raise UsageError(message)
    return settings


def read(
    connection: Connection, tenant: str, importer: str, reference: str
) -> SavedMapping:
    """Return the saved mapping that *reference*, ``crm`` or ``crm@2``, names.

    Raises:
        NotFoundError: The tenant has none of that name and version for the importer.

    """
    name, version = _referred(reference)
    found = mappings.find(connection, tenant, importer, name, version)
    if found is not None:
        return found
    known = mappings.listing(connection, tenant, importer)
    names = list(dict.fromkeys(each.name for each in known))
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Is '{near[0]}' meant?" if near and near[0] != name else ""
    versions = [str(each.version) for each in reversed(known) if each.name == name]
    there = (
        f"There are versions {', '.join(versions)}."
        if versions
        else f"There are: {', '.join(names)}."
        if names
        else "There are none; --save-mapping NAME saves one."
    )
    message = (
        f"Tenant '{tenant}' has no mapping '{reference}' for '{importer}'.{hint} "
        f"{there}"
    )
    raise NotFoundError(message)


def listing(
    store: Store, tenant: str, importer: str | None = None
) -> Sequence[SavedMapping]:
    """Return every version of the tenant's mappings, the newest of a mapping first."""
    with store.read() as connection:
        return mappings.listing(connection, tenant, importer)


def show(store: Store, tenant: str, importer: str, reference: str) -> SavedMapping:
    """Return the saved mapping that *reference*, ``crm`` or ``crm@2``, names.

    Raises:
        NotFoundError: The tenant has none of that name and version for the importer.

    """
    with store.read() as connection:
        return read(connection, tenant, importer, reference)


def save(
    connection: Connection,
    tenant: str,
    importer: str,
    name: str,
    content: Mapping[str, Any],
) -> SavedMapping:
    """Save *content*, from `content_of`, as the mapping's newest version.

    Raises:
        UsageError: *name* is no name for a mapping.

    """
    require_name(name)
    return mappings.save(connection, tenant, importer, name, content)


def require_name(name: str) -> None:
    """Raise `UsageError` when *name* is no name for a mapping."""
    if not NAME.fullmatch(name):
        message = (
            f"A mapping can't be called '{name}': a name has up to 100 letters, "
            "digits, blanks and . - _, and starts with a letter or digit."
        )
        raise UsageError(message)


def content_of(
    importer: type[Importer[Any]], said: Said, header: Sequence[str], matched: Matched
) -> dict[str, Any]:
    """Return what is to be saved of the way in which a file was understood.

    What the mapping in use says of columns that the file has not stays in it.
    """
    columns: dict[str, str | None] = {
        header[position]: name for name, position in matched.positions.items()
    }
    columns |= dict.fromkeys(matched.left_out)
    if said.saved is not None:
        columns = _kept(said.saved, importer.columns, columns, matched) | columns
    content = {
        "columns": columns,
        "others": list(matched.unknown),
        "options": dict(said.options),
    }
    plain: dict[str, Any] = json.loads(json.dumps(content, default=str))
    return plain


def given_of(
    importer: type[Importer[Any]],
    settings: Settings,
    header: Sequence[str],
    positions: Mapping[str, int],
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what is said of the notation, as plain JSON data for the batch.

    A column is named by its header in the file, or as its field is called; *before*
    is what was said earlier and holds where nothing is said now.

    Raises:
        UsageError: A column is named that is neither.

    """
    user, columns = notations_of(before or {})
    in_file = {header[position]: name for name, position in positions.items()}
    for column, notation in settings.columns.items():
        what = f"The option for the column '{column}'"
        name = in_file.get(column) or require_field(importer.columns, column, what)
        columns[name] = notation.over(columns.get(name, Notation()))
    if settings.notation != Notation():
        user = settings.notation.over(user)
    return {
        "notation": user.dump(),
        "columns": {name: each.dump() for name, each in columns.items()},
    }


def notations_of(given: Mapping[str, Any]) -> tuple[Notation, dict[str, Notation]]:
    """Return what `given_of` keeps: said of every column, and of single fields."""
    columns = {n: Notation.load(each) for n, each in given.get("columns", {}).items()}
    return Notation.load(given.get("notation", {})), columns


def with_values(
    options: Mapping[str, Any], values: Iterable[tuple[str, str, str]]
) -> dict[str, Any]:
    """Return *options* with value mappings: column, text in the file, what it means."""
    by_column = _by_column(options.get("values"))
    said = False
    for column, text, meaning in values:
        by_column[column] = {**by_column.get(column, {}), text: meaning}
        said = True
    return {**options, "values": by_column} if said else dict(options)


def _by_column(values: Any) -> dict[str, Any]:
    if not values:
        return {}
    is_mapping = isinstance(values, Mapping)
    if is_mapping and all(isinstance(each, Mapping) for each in values.values()):
        return dict(values)
    return {EVERY_COLUMN: values}


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two sets of options as one; what both say by column is laid over."""
    merged = {**below, **above}
    for name in below.keys() & above.keys():
        under, over = below[name], above[name]
        if isinstance(under, Mapping) and isinstance(over, Mapping):
            merged[name] = _merged(under, over)
    return merged


def _expected(
    importer: type[Importer[Any]],
    columns: Mapping[str, str | None],
    saved: Saved | None,
) -> tuple[str, ...]:
    """Return every name that a column may have, which helps to find the header."""
    named = [
        name
        for field, each in importer.columns.items()
        for name in names_of(field, each)
    ]
    before = () if saved is None else saved.columns
    return tuple(dict.fromkeys((*named, *columns, *before)))


def _referred(reference: str) -> tuple[str, int | None]:
    parts = REFERENCE.fullmatch(reference)
    if parts is None:
        return reference, None
    return parts["name"], int(parts["version"]) if parts["version"] else None


def _saved(found: SavedMapping) -> Saved:
    content = found.content
    return Saved(
        found.name, found.version, content["columns"], tuple(content["others"])
    )


def _kept(
    saved: Saved,
    fields: Collection[str],
    columns: Mapping[str, str | None],
    matched: Matched,
) -> dict[str, str | None]:
    """Return what the saved mapping says of columns that aren't in the file."""
    known = {*columns, *matched.unknown}
    lacking = {name for name in fields if name not in matched.positions}
    return {
        header: name
        for header, name in saved.columns.items()
        if header not in known and (name is None or name in lacking)
    }
