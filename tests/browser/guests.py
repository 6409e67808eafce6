"""An importer for the browser's tests: slow enough to see the bar move."""

from __future__ import annotations

import time
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from batchfx import Column, Context, Importer, Invalid

COUNTRIES = frozenset({"AT", "CH", "DE", "FR", "IT"})


class GuestRow(BaseModel):
    """A guest as files have them."""

    code: Annotated[str, Column("Guest no.", unique=True, example="G001")]
    name: Annotated[str, Field(max_length=60), Column("Name", example="Ada Brandt")]
    country: Annotated[str, Column("Country", example="DE")]
    nights: Annotated[int, Field(ge=1, le=30), Column("Nights", example="3")] = 1
    arrival: Annotated[date | None, Column("Arrival", example="2026-12-24")] = None


class GuestImporter(Importer[GuestRow]):
    """Takes guests in, unhurriedly."""

    name = "guests"
    chunk_size = 50

    def check_country(self, value: str) -> None:
        """Refuse countries that are written otherwise."""
        if value not in COUNTRIES:
            raise Invalid("unknown_country", "Write the country as two letters.")

    def process(self, row: GuestRow, context: Context) -> str:
        """Take a moment; the record's id is the guest's code."""
        del context
        time.sleep(0.004)
        return row.code


class ArrivalRow(BaseModel):
    """A guest who has come."""

    code: Annotated[str, Column("Guest no.")]


class ArrivalImporter(Importer[ArrivalRow]):
    """Notes who has come."""

    name = "arrivals"

    def process(self, row: ArrivalRow, context: Context) -> str:
        """Note it; the record's id is the guest's code."""
        del context
        return row.code


def file_of(rows: int, faulty: dict[int, str] | None = None, fill: str = "") -> bytes:
    """Return a file of guests; *faulty* has the country of some, by row number.

    Its column of countries has a name that the importer doesn't know. *fill* is in each
    row, in a column of its own.
    """
    wrong = faulty or {}
    lines = ["Guest no.;Name;Nation;Nights;Remark"]
    for row in range(2, rows + 2):
        country = wrong.get(row, "DE")
        lines.append(f"G{row:05};Guest {row};{country};{row % 7 + 1};{fill}")
    return ("\n".join(lines) + "\n").encode()
