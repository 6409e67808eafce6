"""Frames of text as the pipeline gets them, made from what a file would have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl
from pydantic import BaseModel, create_model

from batchfx.model.blocks import Fault, dump_faults
from batchfx.model.issues import Issue
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.validate import Validated, declared

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)

Cells = Sequence[str | None]


def validate(
    model: type[BaseModel],
    *rows: Cells,
    fields: Sequence[str] | None = None,
    kinds: Sequence[str | None] | None = None,
    faults: dict[int, list[Fault]] | None = None,
    first: int = 2,
) -> Validated:
    """Validate rows of text; *fields* are the mapped ones, all unless named."""
    names = list(model.model_fields) if fields is None else list(fields)
    frame = pl.DataFrame(
        [list(row) for row in rows],
        schema=dict.fromkeys(names, pl.String),
        orient="row",
    ).with_row_index("row", first)
    if faults:
        texts = [
            dump_faults(faults[i]) if i in faults else None for i in range(len(rows))
        ]
        frame = frame.with_columns(pl.Series("faults", texts, pl.String))
    if kinds:
        frame = frame.with_columns(pl.Series("kinds", kinds, pl.String))
    positions = {name: place for place, name in enumerate(names)}
    return declared(plan_of(model), frame, positions, NOW)


def model_of(annotation: Any, default: Any = ...) -> type[BaseModel]:
    """Make a model with one field, *a*."""
    return create_model("Row", a=(annotation, default))


def read(
    annotation: Any, text: str | None, kind: str | None = None, default: Any = ...
) -> Any:
    """Return the value of one cell, or its issues."""
    validated = validate(
        model_of(annotation, default), [text], kinds=[kind] if kind else None
    )
    return validated.issues or validated.values("a")[0]


def codes(issues: Sequence[Issue]) -> list[tuple[int | None, str | None, str]]:
    """Return what identifies each issue: row, field, code."""
    return [(issue.row, issue.field, issue.code) for issue in issues]
