"""The importer of `troubles` as a later version has it: with a column that it needs."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from batchfx import Column, Context, Importer


class NewerRow(BaseModel):
    """A row of the later version."""

    code: Annotated[str, Column("Code", unique=True)]
    email: Annotated[str, Column("Email")]


class NewerImporter(Importer[NewerRow]):
    """Accepts each row."""

    name = "troubles"

    def process(self, row: NewerRow, context: Context) -> str:
        """Return the code."""
        del context
        return row.code
