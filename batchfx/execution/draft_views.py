"""What is told of a draft, and what was said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from batchfx.execution.control import Options
from batchfx.execution.intake import Opened
from batchfx.execution.previews import DraftRow
from batchfx.importer import Importer
from batchfx.model.issues import Issue
from batchfx.model.sources import Layout
from batchfx.store.batches import Batch

SAID = "said"  # where a draft keeps, beside the notation, what was said of it


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of the row model and the column that it is read from.

    Attributes:
        name: What the row model calls it.
        header: What a file calls it.
        is_required: The batch can't be started while it has no column.
        column: The header of its column, and *position* where that is; None: none.
        match: How that was found: "said", "saved" (by a mapping), "name", or
            "likeness": but for case, accents, blanks and the like.
        suggestion: For a field without one, a free column of a name that is like it.
        candidates: Columns that could all be it; a person has to say which.

    """

    name: str
    header: str
    is_required: bool
    column: str | None
    position: int | None
    match: str | None
    suggestion: str | None
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as a person decides on it.

    Attributes:
        batch: The batch.
        layout: How the file is laid out, and why that is thought.
        warnings: What is worth a look, of the file as a whole.
        settings: The options that were said so far.
        mapping: The field of single columns, as it was said so far; None: left out.
        fields: Every field of the row model.
        unused: The headers of columns that are no field.
        left_out: Those that a person wants to be none.
        missing: The names of required fields without a column.
        questions: How columns are written, where the first 1,000 rows leave that open.
        rows: The first 20 rows.
        imported_before: The batch that has imported the same content.

    """

    batch: Batch
    layout: Layout
    warnings: tuple[Issue, ...]
    settings: Mapping[str, Any]
    mapping: Mapping[str, str | None]
    fields: tuple[FieldView, ...]
    unused: tuple[str, ...]
    left_out: tuple[str, ...]
    missing: tuple[str, ...]
    questions: tuple[Issue, ...]
    rows: tuple[DraftRow, ...]
    imported_before: int | None


@dataclass(frozen=True, slots=True)
class Words:
    """What was said of a draft, as plain JSON data."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, str | None] = field(default_factory=dict)
    saved_mapping: str | None = None
    save_mapping: str | None = None

    @classmethod
    def of(cls, batch: Batch) -> Words:
        """Return what was said of *batch*."""
        return cls(**batch.given[SAID])

    @classmethod
    def of_options(cls, options: Options) -> Words:
        """Return what *options* say."""
        plain = json.loads(json.dumps(dict(options.settings), default=str))
        mapping = dict(options.mapping)
        return cls(plain, mapping, options.saved_mapping, options.save_mapping)

    def kept(self, opened: Opened) -> dict[str, Any]:
        """Return it as a draft keeps it, beside what it says of the notation."""
        said = {
            "settings": dict(self.settings),
            "mapping": dict(self.mapping),
            "saved_mapping": self.saved_mapping,
            "save_mapping": self.save_mapping,
        }
        return {**opened.given, SAID: said}


def fields_of(importer: type[Importer[Any]], opened: Opened) -> tuple[FieldView, ...]:
    """Return every field, with the column that was found for it."""
    matched, header = opened.matched, opened.layout.header
    views: list[FieldView] = []
    for name, column in importer.columns.items():
        at = matched.positions.get(name)
        view = FieldView(
            name=name,
            header=column.header(name),
            is_required=importer.row_model.model_fields[name].is_required(),
            column=None if at is None else header[at],
            position=at,
            match=matched.ways.get(name),
            suggestion=matched.suggestions.get(name),
            candidates=matched.doubled.get(name, ()),
        )
        views.append(view)
    return tuple(views)
