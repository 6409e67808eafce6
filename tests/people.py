"""A small application for tests: people, kept by a processor that is called a row."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from pydantic import BaseModel, Field
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Context, Importer, Invalid, Skip, Unchanged, Updated


class Base(DeclarativeBase):
    """The application's tables."""


class Person(Base):
    """A person as stored."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    age: Mapped[int]


class PersonRow(BaseModel):
    """A person as a row."""

    code: Annotated[str, Column("Code", unique=True)]
    name: Annotated[str, Field(max_length=20), Column("Name")]
    age: Annotated[int, Field(ge=0, le=150), Column("Age")]


class PersonImporter(Importer[PersonRow]):
    """Adds people; what a name says decides what becomes of the row."""

    name = "people"

    def check_code(self, value: str) -> None:
        """Refuse codes that start with X."""
        if value.startswith("X"):
            raise Invalid("reserved_code", "Codes that start with X are reserved.")

    def check_row(self, row: PersonRow) -> None:
        """Refuse children called Boss."""
        if row.name == "Boss" and row.age < 18:
            raise Invalid("child_boss", "A boss is 18 or older.", field="age")

    def process(self, row: PersonRow, context: Context) -> Any:
        """Add or update the person."""
        if row.name == "skip":
            reason = "asked to"
            raise Skip(reason)
        if row.name == "boom":
            raise ZeroDivisionError(row.code)
        if row.name == "nothing":
            return None
        session = context.session
        found = session.scalar(sa.select(Person).where(Person.code == row.code))
        if found is None:
            person = Person(**row.model_dump())
            session.add(person)
            session.flush()
            return person.id
        if (found.name, found.age) == (row.name, row.age):
            return Unchanged(found.id)
        found.name, found.age = row.name, row.age
        return Updated(found.id)
