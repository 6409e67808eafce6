"""Try an importer on a few rows without a file and without a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

import polars as pl

from batchfx.importer import Importer, Row
from batchfx.model.blocks import ROW
from batchfx.model.issues import Issue
from batchfx.pipeline import checks, decisions
from batchfx.pipeline.mapping import match
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.validate import declared


@dataclass(frozen=True, slots=True)
class Tried(Generic[Row]):
    """What validation makes of one row: the typed row, or None, and every issue."""

    row: Row | None
    issues: tuple[Issue, ...]

    @property
    def codes(self) -> list[str]:
        """The codes of the issues, in order."""
        return [issue.code for issue in self.issues]


def try_rows(
    importer: type[Importer[Row]],
    rows: Iterable[Mapping[str, str | None]],
    prepare: Callable[[Importer[Row]], None] | None = None,
) -> list[Tried[Row]]:
    """Validate *rows*, cells by header as in a file, through every phase but `process`.

    Numbers and dates are read as the importer's class and its columns say they are
    written; of what they leave unsaid nothing is decided over so few values, and the
    plain notation is read: 1234.50 and 2026-11-29.

    Args:
        importer: The class to try.
        rows: The cells of each row; a header that a row has not is an empty cell.
        prepare: Called with the importer before the checks, in place of its own
            `prepare`, which needs a database.

    Raises:
        SourceError: The headers lack a required column, as they would in a file.

    """
    listed = [dict(row) for row in rows]
    header = list(dict.fromkeys(name for row in listed for name in row))
    positions = match(importer.row_model, importer.columns, header).positions
    names = {header[position]: field for field, position in positions.items()}
    frame = pl.DataFrame(
        {
            field: [row.get(name) or None for row in listed]
            for name, field in names.items()
        },
        schema=dict.fromkeys(names.values(), pl.String),
    ).with_columns(pl.Series(ROW, range(1, len(listed) + 1), pl.UInt32))
    plan = plan_of(importer.row_model)
    plan = plan.written(decisions.stated(plan, importer.notation))
    validated = declared(plan, frame, positions)
    instance = importer()
    if prepare is not None:
        prepare(instance)
    validated, _ = checks.checked(instance, validated, checks.pairs_of(validated))
    return _tried(len(listed), checks.pairs_of(validated), validated.issues)


def _tried(count: int, pairs: checks.Pairs, issues: Iterable[Issue]) -> list[Any]:
    good = dict(pairs)
    of_row: dict[int, list[Issue]] = {}
    for issue in issues:
        of_row.setdefault(issue.row or 0, []).append(issue)
    return [
        Tried(good.get(number), tuple(of_row.get(number, ())))
        for number in range(1, count + 1)
    ]
