"""Apostrophes that an export put before formulas, taken away again.

Spreadsheets take a text that begins with one of ``= + - @`` or with a tab or carriage
return for a formula, so exports for them put an apostrophe before it. An export of
failed rows can be told by its last column, which holds the errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from batchfx.model.blocks import Block, column_name
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

SETTING = "guarded"
ERRORS = "Error"
# A text's own apostrophes stand behind the guard. The last four are full-width.
GUARDED = r"^'('*[=+\-@\t\r\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])"


def noted(layout: Layout, said: str | None = None) -> Layout:
    """Return *layout* with what is to be done about guards, and a word on it.

    *said* is "remove" or "keep"; else the header of a text file decides.
    """
    is_export = layout.format == "csv" and layout.header[1:][-1:] == (ERRORS,)
    if said == "keep" or (said is None and not is_export):
        return layout
    return replace(
        layout,
        settings={**layout.settings, SETTING: True},
        warnings=(*layout.warnings, *([] if said else [_warning()])),
    )


def taken_away(blocks: Iterator[Block], layout: Layout) -> Iterator[Block]:
    """Return *blocks* without guards, if the layout says that there are any."""
    if not layout.settings.get(SETTING):
        return blocks
    cells = [
        pl.col(column_name(place)).str.replace(GUARDED, "${1}")
        for place in range(len(layout.header))
    ]
    return (replace(each, frame=each.frame.with_columns(cells)) for each in blocks)


def _warning() -> Issue:
    message = (
        f"The last column is '{ERRORS}', as in an export of failed rows: apostrophes "
        "that guard cells against spreadsheets, before =, +, -, @, a tab or a carriage "
        "return, were taken away. Say --set guards=keep if they belong to the values."
    )
    return Issue("guards_removed", message, Phase.FILE, level=Level.WARNING)
