"""What is refused of a TableImporter when it is defined, and what the sentence says."""

from __future__ import annotations

import enum
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, NewType
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import AfterValidator, BaseModel, EmailStr, Field, create_model
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from batchfx import Column, Context, TableImporter
from batchfx.errors import DeclarationError


class Base(DeclarativeBase):
    """The tables of this module."""


class Shelf(Base):
    __tablename__ = "shelf"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    opened: Mapped[date | None]
    seal: Mapped[bytes | None]


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    isbn: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    pages: Mapped[int | None]
    printed: Mapped[datetime | None]
    shelf_id: Mapped[int | None] = mapped_column(sa.ForeignKey("shelf.id"))
    shelf: Mapped[Shelf | None] = relationship()
    place: Mapped[int | None]
    mark: Mapped[str | None]
    seal: Mapped[bytes | None]
    __table_args__ = (
        sa.UniqueConstraint("shelf_id", "place"),
        sa.Index("one_mark", "mark", unique=True),
        sa.Index("one_seal", "seal", unique=True),
        sa.Index(
            "some_titles", "title", unique=True, sqlite_where=sa.text("place > 1")
        ),
        sa.Index("folded_titles", sa.func.lower(sa.text("title")), unique=True),
    )


class BookRow(BaseModel):
    isbn: str
    title: str


def refused(sentence: str) -> Any:
    return pytest.raises(DeclarationError, match=sentence)


def test_a_class_without_a_model_is_refused() -> None:
    with refused(r"names no model: write model = YourModel, a class that SQLAlchemy"):

        class Modelless(TableImporter[BookRow]):
            pass


def test_a_model_that_is_not_mapped_is_refused() -> None:
    with refused(r"model <class 'str'> is not mapped: write model = YourModel"):

        class Unmapped(TableImporter[BookRow]):
            model = str


def test_an_unknown_mode_is_refused() -> None:
    with refused(r"mode = 'insert' is no mode\. Write \"create\", \"update\" or"):

        class Inserting(TableImporter[BookRow]):
            model = Book
            mode = "insert"  # type: ignore[assignment]  # the very fault


@pytest.mark.parametrize("mode", ["update", "upsert"])
def test_a_mode_that_must_find_records_needs_match_on(mode: Any) -> None:
    given = mode

    with refused(
        rf'mode = "{mode}" must know which record a row is about\. Write match'
    ):

        class Unmatched(TableImporter[BookRow]):
            model = Book
            mode = given


def test_match_on_must_name_fields() -> None:
    with refused(
        r"match_on names 'ean', which is no field of BookRow\. Its fields are isbn"
    ):

        class Mismatched(TableImporter[BookRow]):
            model = Book
            match_on = ("isbn", "ean")


def test_a_field_that_is_no_column_is_refused_with_the_nearest_column() -> None:
    class Row(BaseModel):
        isbn: str
        titel: str

    with refused(
        r"Book has no column 'titel'\. Name the field after its column, 'title'"
    ):

        class Misspelt(TableImporter[Row]):
            model = Book


def test_a_relationship_is_no_column_but_its_key_is_proposed() -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        shelf: Annotated[str, Column(lookup=Shelf.code)]

    with refused(r"no column 'shelf'\. Name the field after its column, 'shelf_id'"):

        class Related(TableImporter[Row]):
            model = Book


def test_a_process_of_its_own_is_refused() -> None:
    with refused(r"has a process of its own.* use class Busy\(Importer\[BookRow\]\)"):

        class Busy(TableImporter[BookRow]):
            model = Book

            def process(self, row: BookRow, context: Context) -> int:
                return 1


@pytest.mark.parametrize("target", ["shelf.code", Shelf, Book.shelf])
def test_a_lookup_must_be_a_mapped_column(target: Any) -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        shelf_id: Annotated[str, Column("shelf", lookup=target)]

    with refused(
        r"the lookup of 'shelf_id' is .* such as Column\(lookup=Customer\.ext"
    ):

        class Lost(TableImporter[Row]):
            model = Book


def test_a_lookup_must_find_a_key_of_one_column() -> None:
    class Pair(Base):
        __tablename__ = "pair"
        one: Mapped[int] = mapped_column(primary_key=True)
        two: Mapped[int] = mapped_column(primary_key=True)
        code: Mapped[str]

    class Row(BaseModel):
        isbn: str
        title: str
        shelf_id: Annotated[str, Column("shelf", lookup=Pair.code)]

    with refused(
        r"finds records of pair, whose primary key has 2 columns; it must have"
    ):

        class Paired(TableImporter[Row]):
            model = Book


@pytest.mark.parametrize("target", [Shelf.opened, Shelf.seal])
def test_a_lookup_goes_by_text_or_whole_numbers(target: Any) -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        shelf_id: Annotated[str, Column("shelf", lookup=target)]

    with refused(r"a cell's text can't name records by shelf\.(opened|seal)"):

        class Dated(TableImporter[Row]):
            model = Book


Code = NewType("Code", int)


@pytest.mark.parametrize(
    ("target", "kind", "reason"),
    [
        (Shelf.code, int, r"is int, .* names in shelf\.code, which are str"),
        (Shelf.code, int | None, "is int, .* which are str"),
        (Shelf.code, str | int, "is int, .* which are str"),
        (Shelf.code, Code, "is int, .* which are str"),
        (Shelf.code, UUID, "is UUID, .* which are str"),
        (Shelf.id, str, r"is str, .* names in shelf\.id, which are int"),
        (Shelf.id, Decimal, "is Decimal, .* which are int"),
        (Shelf.id, bool, "is bool, .* which are int"),
    ],
)
def test_a_lookup_is_read_as_what_its_attribute_holds(
    target: Any, kind: Any, reason: str
) -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        shelf_id: Annotated[kind, Column("shelf", lookup=target)]

    with refused(rf"the field 'shelf_id' {reason}.* Write Annotated\[(str|int), Col"):

        class Linked(TableImporter[Row]):
            model = Book


@pytest.mark.parametrize(
    ("target", "kind"),
    [(Shelf.code, str), (Shelf.code, EmailStr | None), (Shelf.id, int | None)],
)
def test_a_lookup_of_its_attributes_own_type_is_taken(target: Any, kind: Any) -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        shelf_id: Annotated[kind, Column("shelf", lookup=target)]

    class Linked(TableImporter[Row]):
        model = Book

    assert Linked.target.lookups["shelf_id"].attribute.key == target.key


def test_records_are_not_matched_by_bytes() -> None:
    class Row(BaseModel):
        isbn: str
        title: str
        seal: bytes

    with refused(r"match_on names 'seal', but book\.seal holds bytes"):

        class Sealed(TableImporter[Row]):
            model = Book
            match_on = "seal"


@pytest.mark.parametrize(
    ("kind", "field", "sentence"),
    [
        (int, "title", "'title' is a number, but book.title holds text"),
        (str, "pages", "'pages' is text, but book.pages holds a number"),
        (date | None, "pages", "'pages' is a date, but book.pages holds a number"),
        (UUID, "isbn", "'isbn' is a UUID, but book.isbn holds text"),
        (Decimal, "printed", "is a number, but book.printed holds a date with a time"),
    ],
)
def test_a_field_and_its_column_hold_the_same(
    kind: Any, field: str, sentence: str
) -> None:
    fields: dict[str, Any] = {
        "isbn": (str, ...),
        "title": (str, ...),
        field: (kind, ...),
    }
    row = create_model("Row", **fields)

    with refused(sentence):

        class Mixed(TableImporter[row]):  # type: ignore[valid-type]  # made above
            model = Book


@pytest.mark.parametrize(
    "kind",
    [
        Decimal,
        float,
        Decimal | None,
        Annotated[Decimal, Field(decimal_places=2)],
        Annotated[Decimal, Field(multiple_of=0.5)] | None,
    ],
    ids=["decimal", "float", "optional", "places", "halves"],
)
def test_a_number_with_decimal_places_for_whole_numbers_is_refused(kind: Any) -> None:
    row = create_model("Row", isbn=(str, ...), title=(str, ...), pages=(kind, ...))

    with refused(
        r"the field 'pages' may have decimal places, but book\.pages holds whole "
        r"numbers\. Give both the same type\."
    ):

        class Broken(TableImporter[row]):  # type: ignore[valid-type]  # made above
            model = Book


@pytest.mark.parametrize(
    "kind",
    [
        Annotated[Decimal, Field(decimal_places=0)] | None,
        Annotated[Decimal, Field(multiple_of=10)],
        Annotated[Decimal, AfterValidator(int)],
        bool,
    ],
    ids=["places", "tens", "made whole", "truth"],
)
def test_whole_numbers_of_another_type_are_taken(kind: Any) -> None:
    row = create_model("Row", isbn=(str, ...), title=(str, ...), pages=(kind, ...))

    class Whole(TableImporter[row]):  # type: ignore[valid-type]  # made above
        name = "test-whole-numbers"
        model = Book

    assert "pages" in Whole.target.columns


def test_a_primary_key_is_what_rows_are_matched_by_or_no_field() -> None:
    class Row(BaseModel):
        id: int
        isbn: str
        title: str

    with refused(
        r"'id' is in the primary key of book, which never changes\. Name it in"
    ):

        class Renumbering(TableImporter[Row]):
            model = Book
            match_on = "isbn"
            mode = "upsert"


def test_a_field_for_what_a_new_record_must_have_is_asked_for() -> None:
    class Row(BaseModel):
        isbn: str

    with refused(
        r"book\.title must have a value in every new record, and no field of Row"
    ):

        class Untitled(TableImporter[Row]):
            model = Book
            match_on = "isbn"
            mode = "upsert"

    class Retitling(TableImporter[Row]):
        model = Book
        match_on = "isbn"
        mode = "update"

    assert Retitling.name == "retitling"


def test_two_fields_for_one_column_are_refused() -> None:
    class Renamed(Base):
        __tablename__ = "renamed"
        id: Mapped[int] = mapped_column(primary_key=True)
        title: Mapped[str] = mapped_column("titel")

    class Row(BaseModel):
        title: str
        titel: str

    with refused(
        r"'title' and 'titel' are both the column renamed\.titel\. Remove one"
    ):

        class Doubled(TableImporter[Row]):
            model = Renamed


def test_a_model_that_inherits_or_counts_its_versions_is_refused() -> None:
    class Animal(Base):
        __tablename__ = "animal"
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str]
        __mapper_args__ = {"polymorphic_on": "kind"}  # noqa: RUF012 - as SQLAlchemy has it

    class Versioned(Base):
        __tablename__ = "versioned"
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str]
        turn: Mapped[int] = mapped_column()
        __mapper_args__ = {"version_id_col": turn}  # noqa: RUF012 - as SQLAlchemy has it

    class Row(BaseModel):
        kind: str

    with refused(r"Animal is not one table alone .* Use Importer and add the objects"):

        class Animals(TableImporter[Row]):
            model = Animal

    with refused(r"Versioned counts its versions \(turn\), which the ORM alone can do"):

        class Versions(TableImporter[Row]):
            model = Versioned


class Shade(enum.Enum):
    DARK = "dark"


class Wide(Base):
    __tablename__ = "wide"
    id: Mapped[int] = mapped_column(primary_key=True)
    mail: Mapped[str]
    shade: Mapped[Shade]
    price: Mapped[Decimal]
    day: Mapped[datetime]
    extra: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON)


def test_types_that_go_together_are_not_refused() -> None:
    class Row(BaseModel):
        mail: EmailStr
        shade: Shade
        price: int
        day: date

    class Wides(TableImporter[Row]):
        model = Wide

    assert set(Wides.target.columns) == {"mail", "shade", "price", "day"}


class PlacedRow(BaseModel):
    isbn: Annotated[str, Column(unique=True)]
    title: Annotated[str, Column(unique=True)]
    shelf_id: Annotated[str | None, Column("shelf", lookup=Shelf.code)] = None
    place: int | None = None
    mark: str | None = None
    pages: int | None = None


class PlacedImporter(TableImporter[PlacedRow]):
    name = "test-placed"
    model = Book
    match_on = "isbn"
    mode = "upsert"


def test_what_is_unique_in_the_table_is_unique_in_a_file_the_match_coming_last() -> (
    None
):
    assert PlacedImporter.unique_together() == (
        ("title",),
        ("shelf_id", "place"),
        ("mark",),
        ("isbn",),
    )
    assert PlacedImporter.target.unique == (
        ("title",),
        ("shelf_id", "place"),
        ("mark",),
    )


def test_without_match_on_the_unique_columns_are_all_that_must_differ() -> None:
    class Plain(TableImporter[BookRow]):
        model = Book

    assert Plain.unique_together() == (("isbn",),)
    assert Plain.target.match == ()


def test_a_lookup_knows_the_table_the_attribute_and_the_key() -> None:
    lookup = PlacedImporter.target.lookups["shelf_id"]

    assert (lookup.table.name, lookup.attribute.name, lookup.key.name) == (
        "shelf",
        "code",
        "id",
    )
    assert lookup.made_by is None
