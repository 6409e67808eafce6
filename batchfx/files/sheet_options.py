"""What can be said beforehand of a table in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from batchfx.errors import UsageError

CHOICES = {
    "merged": ("fill", "top"),
    "hidden_rows": ("read", "skip"),
    "hidden_columns": ("read", "skip"),
}
LEAST = {"header_row": 1, "header_rows": 1, "skip_after_header": 0}


@dataclass(frozen=True, slots=True)
class SheetOptions:
    """What is known of the table, and not to be found out.

    Attributes:
        sheet: The sheet's name, or its number from 1 among all sheets.
        header_row: The sheet's row with the column names (the last, if several).
        header_rows: How many rows hold the names; those of one column are joined.
        skip_after_header: How many rows below the header hold no records.
        merged: Cells that are merged downward "fill" the rows below their top, or only
            the "top" one has their content.
        hidden_rows: "read" or "skip".
        hidden_columns: "read" or "skip".
        expected_columns: Names that help to find the sheet and the header row.

    Raises:
        UsageError: One of them is impossible.

    """

    sheet: str | int | None = None
    header_row: int | None = None
    header_rows: int | None = None
    skip_after_header: int = 0
    merged: str = "fill"
    hidden_rows: str = "read"
    hidden_columns: str = "read"
    expected_columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, possible in CHOICES.items():
            if (value := getattr(self, name)) not in possible:
                listed = " or ".join(map(repr, possible))
                message = f"{name} can be {listed}, not {value!r}."
                raise UsageError(message)
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                message = f"{name} must be {least} or more, not {value}."
                raise UsageError(message)
