"""`Column`: what a field of a row model is called and how it is treated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True, slots=True, init=False)
class Column:
    """A field's column in the file; put it into the field's ``Annotated``.

    Args:
        name: The header that files carry; the field's own name when left out.
        aliases: Other headers that mean the same.
        unique: No two rows of a file may have one value; an importer into a table
            also refuses a value that another record has.
        lookup: An attribute of a SQLAlchemy model (``Customer.external_id``): the cell
            names a record by that attribute, and the record's primary key is stored.
        format: How dates and times are written, in the letters of ``strptime``
            (``%d.%m.%Y``); ISO 8601 when left out.
        null_tokens: Texts that mean no value in this column, such as ``NA``; nowhere
            else are they taken for one.
        sensitive: The value is never shown in issues, listings or logs.
        example: A value for the template.

    """

    name: str | None
    aliases: tuple[str, ...]
    unique: bool
    lookup: Any
    format: str | None
    null_tokens: tuple[str, ...]
    sensitive: bool
    example: str | None

    def __init__(
        self,
        name: str | None = None,
        *,
        aliases: Sequence[str] = (),
        unique: bool = False,
        lookup: Any = None,
        format: str | None = None,  # noqa: A002 - the word that authors expect
        null_tokens: Sequence[str] = (),
        sensitive: bool = False,
        example: str | None = None,
    ) -> None:
        values = {
            "name": name,
            "aliases": _texts(aliases),
            "unique": unique,
            "lookup": lookup,
            "format": format,
            "null_tokens": _texts(null_tokens),
            "sensitive": sensitive,
            "example": example,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def header(self, field: str) -> str:
        """Return the header that a file is expected to carry for *field*."""
        return self.name or field


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def columns_of(model: type[BaseModel]) -> dict[str, Column]:
    """Return the column of every field of *model*, in the order of the fields."""
    return {
        name: next((m for m in field.metadata if isinstance(m, Column)), Column())
        for name, field in model.model_fields.items()
    }
