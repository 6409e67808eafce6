"""What becomes of rows in a real table, and of the table."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Annotated, Any
from uuid import UUID, uuid4

import polars as pl
import pytest
import sqlalchemy as sa
from pydantic import AwareDatetime, BaseModel, Field, HttpUrl
from sqlalchemy.dialects.postgresql import CITEXT
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.sql.functions import GenericFunction

from batchfx import Column, Store, TableImporter
from batchfx.context import Context
from batchfx.errors import StoreError
from batchfx.model.issues import Issue, Phase
from batchfx.store.engine import connect
from batchfx.tables import require_tables, write_rows
from importers.models import Money
from tests.store.writing import Rows, codes, refuse, run, validated, verdicts, write

TICKS = count(1)


class Base(DeclarativeBase):
    """The tables of this module."""


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Maker(Base):
    __tablename__ = "maker"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    nickname: Mapped[str | None]


class Item(Base):
    __tablename__ = "item"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    label: Mapped[str]
    barcode: Mapped[str | None] = mapped_column(unique=True)
    maker_id: Mapped[int | None] = mapped_column(sa.ForeignKey("maker.id"))
    made: Mapped[int] = mapped_column(default=lambda: next(TICKS))
    origin: Mapped[str] = mapped_column(default="import")
    stamped: Mapped[datetime | None] = mapped_column(
        sa.DateTime, onupdate=sa.func.now()
    )
    version: Mapped[int] = mapped_column(default=1, onupdate=2)


class ItemRow(BaseModel):
    code: str
    label: str
    barcode: str | None = None
    maker_id: Annotated[str | None, Column("maker", lookup=Maker.code)] = None


class Items(TableImporter[ItemRow]):
    name = "test-items"
    model = Item
    match_on = "code"
    mode = "upsert"


class NewItems(TableImporter[ItemRow]):
    name = "test-new-items"
    model = Item
    match_on = "code"
    mode = "create"


class KnownItems(TableImporter[ItemRow]):
    name = "test-known-items"
    model = Item
    match_on = "code"
    mode = "update"


class Node(Base):
    __tablename__ = "node"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("node.id"))


class NodeRow(BaseModel):
    code: str
    parent_id: Annotated[str | None, Column("parent", lookup=Node.code)] = None


class Nodes(TableImporter[NodeRow]):
    name = "test-nodes"
    model = Node
    match_on = "code"
    mode = "upsert"


class Thing(Base):
    """One column of each kind; the key is made by Python."""

    __tablename__ = "thing"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    country: Mapped[str]
    number: Mapped[int]
    price: Mapped[Decimal] = mapped_column(Money)
    day: Mapped[date]
    moment: Mapped[datetime]
    is_new: Mapped[bool]
    token: Mapped[UUID]
    color: Mapped[Color]
    weight: Mapped[float | None]
    __table_args__ = (sa.UniqueConstraint("country", "number"),)


class ThingRow(BaseModel):
    country: str
    number: int
    price: Annotated[Decimal, Field(decimal_places=2)]
    day: date
    moment: datetime
    is_new: bool
    token: UUID
    color: Color
    weight: float | None = None


class Things(TableImporter[ThingRow]):
    name = "test-things"
    model = Thing
    match_on = ("country", "number")
    mode = "upsert"


def allow_folding(store: Store) -> None:
    """Let PostgreSQL have texts whose case counts for nothing."""
    if store.engine.dialect.name == "postgresql":
        run(store, "CREATE EXTENSION citext")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A database with the tables of this module, and two makers."""
    opened = connect(database)
    allow_folding(opened)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
        makers = [{"code": "acme", "nickname": "A"}, {"code": "bolt", "nickname": "A"}]
        connection.execute(sa.insert(Maker), makers)
    yield opened
    opened.close()


def items(store: Store, *names: str) -> list[tuple[Any, ...]]:
    """Return the named columns of all items."""
    columns = names or ("id", "code", "label", "barcode", "maker_id")
    with store.read() as connection:
        chosen = [Item.__table__.c[name] for name in columns]
        found = connection.execute(sa.select(*chosen).order_by(Item.id))
        return [tuple(row) for row in found]


def nodes(store: Store) -> dict[str, str | None]:
    """Return the parent's code by code."""
    parent = sa.orm.aliased(Node)
    statement = sa.select(Node.code, parent.code).join(
        parent, Node.parent_id == parent.id, isouter=True
    )
    with store.read() as connection:
        return {row[0]: row[1] for row in connection.execute(statement)}


# --- Created, updated, unchanged -----------------------------------------------------


def test_new_rows_are_created_with_ids_in_the_order_of_rows(store: Store) -> None:
    decision = write(
        store,
        Items,
        "code label barcode maker_id",
        [("007", "Bolt", "b1", "bolt"), ("A", "Äxte, «groß»", None, None)],
    )

    assert verdicts(decision) == [(2, "created", "1"), (3, "created", "2")]
    assert items(store) == [
        (1, "007", "Bolt", "b1", 2),
        (2, "A", "Äxte, «groß»", None, None),
    ]


def test_an_upsert_tells_created_updated_and_unchanged_apart(store: Store) -> None:
    write(store, Items, "code label", [("a", "one"), ("b", "two")])

    decision = write(
        store, Items, "code label", [("b", "two"), ("c", "three"), ("a", "ONE")]
    )

    assert verdicts(decision) == [
        (2, "unchanged", "2"),
        (3, "created", "3"),
        (4, "updated", "1"),
    ]
    assert items(store, "code", "label") == [("a", "ONE"), ("b", "two"), ("c", "three")]


def test_a_cell_that_was_emptied_is_an_update(store: Store) -> None:
    write(store, Items, "code label barcode", [("a", "one", "b1")])

    decision = write(store, Items, "code label barcode", [("a", "one", None)])

    assert verdicts(decision) == [(2, "updated", "1")]
    assert items(store, "barcode") == [(None,)]


def test_a_column_that_the_file_has_not_is_left_as_it_is(store: Store) -> None:
    write(store, Items, "code label barcode maker_id", [("a", "one", "b1", "acme")])

    decision = write(store, Items, "code label", [("a", "two")])

    assert verdicts(decision) == [(2, "updated", "1")]
    assert items(store) == [(1, "a", "two", "b1", 1)]


def test_create_skips_what_exists_and_says_what_differs(store: Store) -> None:
    write(store, Items, "code label maker_id", [("a", "one", "acme")])

    decision = write(
        store,
        NewItems,
        "code label maker_id",
        [("a", "one", "acme"), ("b", "two", None)],
    )
    again = write(store, NewItems, "code label maker_id", [("a", "ONE", "bolt")])

    assert verdicts(decision) == [(2, "skipped", "1"), (3, "created", "2")]
    assert decision.outcomes[0].reason == "exists already: it is the same"
    assert verdicts(again) == [(2, "skipped", "1")]
    assert again.outcomes[0].reason == "exists already: it differs in label, maker"
    assert items(store, "label", "maker_id") == [("one", 1), ("two", None)]


def test_update_refuses_a_row_without_a_record(store: Store) -> None:
    write(store, Items, "code label", [("a", "one")])

    decision = write(store, KnownItems, "code label", [("x", "new"), ("a", "two")])

    assert verdicts(decision) == [(2, "invalid", None), (3, "updated", "1")]
    assert codes(decision) == [(2, "code", "not_found")]
    assert decision.issues[0].message == "No record in item has the code 'x'."
    assert decision.issues[0].value == "x"
    assert items(store, "code", "label") == [("a", "two")]


# --- Defaults ------------------------------------------------------------------------


def test_defaults_of_columns_hold_for_new_records_and_onupdate_for_changed_ones(
    store: Store,
) -> None:
    write(store, Items, "code label", [("a", "one"), ("b", "two")])
    before = items(store, "origin", "stamped", "version", "made")

    write(store, Items, "code label", [("a", "one"), ("b", "TWO")])
    after = items(store, "origin", "version", "made")
    (first,), (second,) = items(store, "stamped")

    assert [row[:3] for row in before] == [("import", None, 1), ("import", None, 1)]
    assert before[1][3] == before[0][3] + 1
    assert after == [("import", 1, before[0][3]), ("import", 2, before[1][3])]
    assert first is None
    assert isinstance(second, datetime)


class made_up(GenericFunction[str]):  # noqa: N801 - SQL functions are lower case
    """A text that nobody else has."""

    type = sa.String()
    inherit_cache = True


@compiles(made_up, "sqlite")
def _made_up_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    del element, compiler, options
    return "(lower(hex(randomblob(8))))"


@compiles(made_up, "postgresql")
def _made_up_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    del element, compiler, options
    return "md5(random()::text)"


class Stamp(Base):
    __tablename__ = "stamp"
    id: Mapped[str] = mapped_column(primary_key=True, server_default=made_up())
    day: Mapped[date]
    note: Mapped[str] = mapped_column(
        default=lambda context: f"of {context.get_current_parameters()['day']:%d.%m.%Y}"
    )
    plus: Mapped[int] = mapped_column(default=sa.literal(40) + 2)


class StampRow(BaseModel):
    day: date


class Stamps(TableImporter[StampRow]):
    name = "test-stamps"
    model = Stamp


def test_a_key_that_the_database_makes_and_a_default_that_asks_its_row(
    store: Store,
) -> None:
    decision = write(store, Stamps, "day", [("2024-02-29",), ("2024-03-01",)])

    with store.read() as connection:
        found = connection.execute(
            sa.select(Stamp.id, Stamp.day, Stamp.note, Stamp.plus).order_by(Stamp.day)
        ).all()
    assert [tuple(row)[1:] for row in found] == [
        (date(2024, 2, 29), "of 29.02.2024", 42),
        (date(2024, 3, 1), "of 01.03.2024", 42),
    ]
    assert verdicts(decision) == [
        (2, "created", found[0].id),
        (3, "created", found[1].id),
    ]


def test_a_refused_row_is_found_where_the_database_makes_the_keys(
    store: Store,
) -> None:
    run(store, "CREATE UNIQUE INDEX one_day ON stamp (day)")

    decision = write(
        store, Stamps, "day", [("2024-02-29",), ("2024-02-29",), ("2024-03-01",)]
    )

    assert [each[1] for each in verdicts(decision)] == ["created", "failed", "created"]
    assert codes(decision) == [(3, "day", "unique_violation")]
    assert decision.issues[0].value == "2024-02-29"


class Picky(Base):
    __tablename__ = "picky"
    id: Mapped[int] = mapped_column(primary_key=True)
    size: Mapped[int]
    share: Mapped[int] = mapped_column(
        default=lambda context: 100 // context.current_parameters["size"]
    )


class PickyRow(BaseModel):
    size: int


class Pickies(TableImporter[PickyRow]):
    name = "test-pickies"
    model = Picky


def test_a_default_that_raises_fails_its_row_alone(store: Store) -> None:
    decision = write(store, Pickies, "size", [("5",), ("0",), ("4",)])

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "created"),
        (3, "failed"),
        (4, "created"),
    ]
    assert codes(decision) == [(3, None, "exception")]
    assert decision.issues[0].message.startswith("ZeroDivisionError: ")
    with store.read() as connection:
        found = connection.execute(sa.select(Picky.size, Picky.share)).all()
    assert [tuple(row) for row in found] == [(5, 20), (4, 25)]


# --- Types ---------------------------------------------------------------------------

THING = (
    "DE",
    "7",
    "1500.10",
    "2024-02-29",
    "2024-02-29T13:45:00.250",
    "yes",
    "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    "red",
    "0.1",
)
THING_FIELDS = "country number price day moment is_new token color weight"


def test_every_kind_of_column_keeps_its_value_exactly(store: Store) -> None:
    decision = write(store, Things, THING_FIELDS, [THING])

    with store.read() as connection:
        (found,) = connection.execute(sa.select(*Thing.__table__.columns)).all()
    assert tuple(found)[1:] == (
        "DE",
        7,
        Decimal("1500.10"),
        date(2024, 2, 29),
        datetime(2024, 2, 29, 13, 45, 0, 250_000),  # noqa: DTZ001 - as stored
        True,
        UUID("1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
        Color.RED,
        0.1,
    )
    assert verdicts(decision) == [(2, "created", str(found.id))]
    assert UUID(str(found.id)).version == 4


def test_a_record_of_every_kind_of_column_is_unchanged_when_it_comes_again(
    store: Store,
) -> None:
    first = write(store, Things, THING_FIELDS, [THING])
    again = write(store, Things, THING_FIELDS, [THING])

    assert verdicts(again) == [(2, "unchanged", first.outcomes[0].record_id)]


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        (2, "1500.11"),
        (3, "2024-03-01"),
        (4, "2024-02-29T13:45:00.251"),
        (5, "no"),
        (6, "2b4e28ba-2fa1-11d2-883f-0016d3cca427"),
        (7, "blue"),
        (8, "0.2"),
        (8, None),
    ],
)
def test_the_smallest_difference_is_an_update(
    store: Store, place: int, cell: str | None
) -> None:
    write(store, Things, THING_FIELDS, [THING])

    changed = [*THING[:place], cell, *THING[place + 1 :]]
    decision = write(store, Things, THING_FIELDS, [changed])

    assert [each[:2] for each in verdicts(decision)] == [(2, "updated")]


def test_a_value_that_another_program_wrote_in_another_form_is_the_same(
    store: Store,
) -> None:
    write(
        store, Things, THING_FIELDS, [[*THING[:4], "2024-02-29T13:45:00", *THING[5:]]]
    )
    run(store, "UPDATE thing SET moment = '2024-02-29 13:45:00', price = 1500.1")

    decision = write(
        store, Things, THING_FIELDS, [[*THING[:4], "2024-02-29T13:45:00", *THING[5:]]]
    )

    assert [each[:2] for each in verdicts(decision)] == [(2, "unchanged")]


def test_several_fields_together_find_a_record(store: Store) -> None:
    rows = [["DE", "7", *THING[2:]], ["DE", "8", *THING[2:]], ["FR", "7", *THING[2:]]]
    write(store, Things, THING_FIELDS, rows[:2])

    decision = write(store, Things, THING_FIELDS, rows)

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "unchanged"),
        (3, "unchanged"),
        (4, "created"),
    ]


class Visit(Base):
    __tablename__ = "visit"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    plain: Mapped[datetime]
    zoned: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))


class VisitRow(BaseModel):
    id: int
    plain: AwareDatetime
    zoned: AwareDatetime


class Visits(TableImporter[VisitRow]):
    name = "test-visits"
    model = Visit
    match_on = "id"
    mode = "upsert"


def test_a_moment_is_the_same_in_whatever_zone_it_is_written(store: Store) -> None:
    west, east = "2024-02-29T11:30:00-01:00", "2024-02-29T13:30:00+01:00"

    first = write(store, Visits, "id plain zoned", [("1", west, east)])
    again = write(store, Visits, "id plain zoned", [("1", east, west)])
    other = write(store, Visits, "id plain zoned", [("1", east, east[:-6] + "Z")])

    assert [verdicts(each)[0][1] for each in (first, again, other)] == [
        "created",
        "unchanged",
        "updated",
    ]
    with store.read() as connection:
        found = connection.execute(sa.select(Visit.plain, Visit.zoned)).one()
    assert [each.replace(tzinfo=UTC) for each in found] == [
        datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
        datetime(2024, 2, 29, 13, 30, tzinfo=UTC),
    ]


class Entry(Base):
    __tablename__ = "entry"
    shelf: Mapped[str] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str]


class EntryRow(BaseModel):
    shelf: str
    place: int
    title: str


class Entries(TableImporter[EntryRow]):
    name = "test-entries"
    model = Entry
    match_on = ("shelf", "place")
    mode = "upsert"


def test_a_key_of_several_columns_is_named_with_commas(store: Store) -> None:
    first = write(
        store, Entries, "shelf place title", [("A", "1", "x"), ("A", "2", "y")]
    )
    again = write(
        store, Entries, "shelf place title", [("A", "2", "z"), ("B", "1", "q")]
    )

    assert verdicts(first) == [(2, "created", "A,1"), (3, "created", "A,2")]
    assert verdicts(again) == [(2, "updated", "A,2"), (3, "created", "B,1")]


def test_a_number_beyond_64_bits_fails_its_row_alone(store: Store) -> None:
    rows = [("A", "1", "x"), ("A", str(2**63), "y"), ("A", "3", "z")]

    decision = write(store, Entries, "shelf place title", rows)

    assert verdicts(decision) == [
        (2, "created", "A,1"),
        (3, "failed", None),
        (4, "created", "A,3"),
    ]
    (issue,) = decision.issues
    assert (issue.row, issue.code) == (3, "constraint_violation")


class Page(Base):
    __tablename__ = "page"
    id: Mapped[int] = mapped_column(primary_key=True)
    url: Mapped[str] = mapped_column(unique=True)
    color: Mapped[str]
    price: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))


class PageRow(BaseModel):
    url: HttpUrl
    color: Color
    price: Annotated[Decimal, Field(decimal_places=2)]


class Pages(TableImporter[PageRow]):
    name = "test-pages"
    model = Page
    match_on = "url"
    mode = "upsert"


def test_urls_and_choices_are_text_in_a_text_column_and_decimals_do_not_warn(
    store: Store,
) -> None:
    row = ("https://example.com/a", "red", "0.10")

    first = write(store, Pages, "url color price", [row])
    again = write(store, Pages, "url color price", [row])
    other = write(store, Pages, "url color price", [(*row[:2], "0.11")])

    assert [verdicts(each) for each in (first, again, other)] == [
        [(2, "created", "1")],
        [(2, "unchanged", "1")],
        [(2, "updated", "1")],
    ]
    with store.read() as connection:
        found = connection.exec_driver_sql("SELECT url, color, price FROM page").one()
    assert tuple(map(str, found)) == ("https://example.com/a", "red", "0.11")


class Even(sa.types.TypeDecorator[int]):
    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: sa.Dialect) -> int | None:
        del dialect
        if value is not None and value % 2:
            message = f"{value} is odd"
            raise ValueError(message)
        return value


class Couple(Base):
    __tablename__ = "couple"
    id: Mapped[int] = mapped_column(primary_key=True)
    size: Mapped[int] = mapped_column(Even)


class CoupleRow(BaseModel):
    size: int


class Couples(TableImporter[CoupleRow]):
    name = "test-couples"
    model = Couple


def test_a_value_that_the_column_s_type_refuses_fails_its_row_alone(
    store: Store,
) -> None:
    decision = write(store, Couples, "size", [("2",), ("3",), ("4",)])

    assert verdicts(decision) == [
        (2, "created", "1"),
        (3, "failed", None),
        (4, "created", "2"),
    ]
    assert codes(decision) == [(3, None, "exception")]
    assert decision.issues[0].message.startswith("ValueError: 3 is odd (")


# --- Keys that are missing or ambiguous ----------------------------------------------


class Loose(Base):
    __tablename__ = "loose"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None]
    label: Mapped[str]


class LooseRow(BaseModel):
    code: str | None
    label: str


class Looses(TableImporter[LooseRow]):
    name = "test-looses"
    model = Loose
    match_on = "code"
    mode = "upsert"


def test_a_row_without_its_key_is_invalid(store: Store) -> None:
    decision = write(store, Looses, "code label", [(None, "x"), ("a", "y")])

    assert verdicts(decision) == [(2, "invalid", None), (3, "created", "1")]
    assert codes(decision) == [(2, "code", "missing")]


class KnownLooses(TableImporter[LooseRow]):
    name = "test-known-looses"
    model = Loose
    match_on = "code"
    mode = "update"


def test_a_row_without_its_key_is_told_that_and_no_more(store: Store) -> None:
    decision = write(store, KnownLooses, "code label", [(None, "x")])

    assert codes(decision) == [(2, "code", "missing")]


def test_a_row_that_matches_several_records_is_invalid(store: Store) -> None:
    run(
        store,
        "INSERT INTO loose (code, label) VALUES ('a', '1'), ('a', '2'), ('a', '3')",
    )

    decision = write(store, Looses, "code label", [("a", "x"), ("b", "y")])

    assert verdicts(decision) == [(2, "invalid", None), (3, "created", "4")]
    assert codes(decision) == [(2, "code", "ambiguous")]


# --- Look-ups ------------------------------------------------------------------------


def test_an_unknown_name_makes_its_row_invalid(store: Store) -> None:
    decision = write(
        store,
        Items,
        "code label maker_id",
        [("a", "one", "acme"), ("b", "two", "nobody"), ("c", "three", "bolt")],
    )

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "created"),
        (3, "invalid"),
        (4, "created"),
    ]
    (issue,) = decision.issues
    assert (issue.row, issue.field, issue.code) == (3, "maker_id", "not_found")
    assert issue.message == "No record in maker has the code 'nobody'."
    assert issue.value == "nobody"
    assert items(store, "code", "maker_id") == [("a", 1), ("c", 2)]


class NicknameRow(BaseModel):
    code: str
    label: str
    maker_id: Annotated[str | None, Column("maker", lookup=Maker.nickname)] = None


class NicknameItems(TableImporter[NicknameRow]):
    name = "test-nickname-items"
    model = Item
    match_on = "code"
    mode = "upsert"


def test_a_name_that_several_records_have_is_ambiguous(store: Store) -> None:
    decision = write(store, NicknameItems, "code label maker_id", [("a", "one", "A")])

    assert verdicts(decision) == [(2, "invalid", None)]
    assert codes(decision) == [(2, "maker_id", "ambiguous")]


def test_all_that_is_wrong_with_a_row_is_said_at_once(store: Store) -> None:
    write(store, Items, "code label barcode", [("a", "one", "b1")])

    decision = write(
        store, Items, "code label barcode maker_id", [("b", "two", "b1", "nobody")]
    )

    assert codes(decision) == [
        (2, "maker_id", "not_found"),
        (2, "barcode", "unique_violation"),
    ]


class SecretRow(BaseModel):
    code: str
    label: str
    barcode: Annotated[str | None, Column(sensitive=True)] = None
    maker_id: Annotated[
        str | None, Column("maker", lookup=Maker.code, sensitive=True)
    ] = None


class SecretItems(TableImporter[SecretRow]):
    name = "test-secret-items"
    model = Item
    match_on = "code"
    mode = "upsert"


def test_a_sensitive_value_is_not_shown(store: Store) -> None:
    fields = "code label barcode maker_id"
    write(store, SecretItems, fields, [("a", "one", "hush", None)])

    decision = write(
        store,
        SecretItems,
        fields,
        [("b", "two", "hush", None), ("c", "x", None, "psst")],
    )

    shown = repr([(i.message, i.value, i.parameters) for i in decision.issues])
    assert len(decision.issues) == 2
    assert "hush" not in shown
    assert "psst" not in shown


def write_with_issues(
    store: Store,
    importer: type[TableImporter[Any]],
    fields: str,
    rows: Rows,
    faulty: dict[int, str],
) -> list[tuple[int | None, str | None, str]]:
    """Write *rows* of which some have an issue; return the codes of the new issues."""
    issues = [
        Issue("odd", "Odd.", Phase.CHECK, row=row, field=name)
        for row, name in faulty.items()
    ]
    chunk = validated(importer, fields, rows).with_issues(issues)
    with store.write() as connection, Session(connection) as session:
        context = Context("acme", 1, 1, session)
        decision = write_rows(
            importer(), chunk, chunk.sound, context, dry_run=False, last_round=False
        )
    return sorted(codes(decision))


def test_the_names_in_a_row_that_is_faulty_anyway_are_looked_up_too(
    store: Store,
) -> None:
    rows = [("a", "x", "none"), ("b", "y", "none"), ("c", "z", None), ("d", "z", "no")]
    faulty = {2: "label", 4: "label", 5: "maker_id"}

    found = write_with_issues(store, Items, "code label maker_id", rows, faulty)

    assert found == [(2, "maker_id", "not_found"), (3, "maker_id", "not_found")]


def test_a_faulty_row_may_name_a_record_that_another_row_makes(store: Store) -> None:
    rows = [("a", "b"), ("b", None)]

    assert write_with_issues(store, Nodes, "code parent_id", rows, {2: "code"}) == []


# --- Look-ups into the importer's own table ------------------------------------------

TREE = [("root", None), ("a", "root"), ("b", "root"), ("a1", "a"), ("a11", "a1")]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (3, 0, 4, 2, 1)])
def test_parents_may_come_in_any_order(store: Store, order: tuple[int, ...]) -> None:
    decision = write(store, Nodes, "code parent_id", [TREE[i] for i in order])

    assert {each.verdict for each in decision.outcomes} == {"created"}
    assert [each.row for each in decision.outcomes] == [2, 3, 4, 5, 6]
    assert nodes(store) == dict(TREE)


def test_a_row_waits_for_a_parent_of_a_later_chunk(store: Store) -> None:
    early = write(store, Nodes, "code parent_id", [("a1", "a"), ("z", None)])
    later = write(store, Nodes, "code parent_id", [("a", None)], first=4)
    again = write(store, Nodes, "code parent_id", [("a1", "a")])

    assert verdicts(early) == [(3, "created", "1")]
    assert list(early.waiting) == [2]
    assert early.issues == []
    assert verdicts(later) == [(4, "created", "2")]
    assert verdicts(again) == [(2, "created", "3")]
    assert nodes(store) == {"z": None, "a": None, "a1": "a"}


def test_children_of_a_row_that_waits_wait_too(store: Store) -> None:
    decision = write(store, Nodes, "code parent_id", [("a11", "a1"), ("a1", "a")])

    assert list(decision.waiting) == [2, 3]
    assert decision.outcomes == []


def test_in_the_last_round_a_row_without_its_parent_is_invalid(store: Store) -> None:
    decision = write(
        store,
        Nodes,
        "code parent_id",
        [("a11", "a1"), ("a1", "nowhere"), ("b", None)],
        last_round=True,
    )

    assert verdicts(decision) == [
        (2, "invalid", None),
        (3, "invalid", None),
        (4, "created", "1"),
    ]
    assert codes(decision) == [
        (2, "parent_id", "not_found"),
        (3, "parent_id", "not_found"),
    ]
    assert decision.waiting == []


def test_rows_that_wait_for_each_other_are_told_so(store: Store) -> None:
    rows = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "e"), ("f", None)]

    first = write(store, Nodes, "code parent_id", rows)
    last = write(store, Nodes, "code parent_id", rows[:5], last_round=True)

    assert list(first.waiting) == [2, 3, 4, 5, 6]
    assert codes(last) == [
        (2, "parent_id", "cycle"),
        (3, "parent_id", "cycle"),
        (4, "parent_id", "cycle"),
        (5, "parent_id", "not_found"),
        (6, "parent_id", "cycle"),
    ]
    assert (
        last.issues[0].message == "'b' is row 3, which waits for this row in its turn."
    )
    assert last.issues[4].message == (
        "'e' is this row itself, which can't come before itself."
    )
    assert nodes(store) == {"f": None}


def test_a_record_may_be_moved_under_one_that_the_same_file_makes(store: Store) -> None:
    write(store, Nodes, "code parent_id", [("a", None)])

    decision = write(store, Nodes, "code parent_id", [("a", "top"), ("top", None)])

    assert verdicts(decision) == [(2, "updated", "1"), (3, "created", "2")]
    assert nodes(store) == {"a": "top", "top": None}


# --- What is unique in the table -----------------------------------------------------


def test_a_value_of_another_record_makes_that_row_invalid_and_no_other(
    store: Store,
) -> None:
    write(store, Items, "code label barcode", [("a", "one", "b1"), ("b", "two", "b2")])

    decision = write(
        store,
        Items,
        "code label barcode",
        [
            ("c", "three", "b1"),
            ("b", "two", "b1"),
            ("d", "four", "b4"),
            ("a", "1", "b1"),
        ],
    )

    assert verdicts(decision) == [
        (2, "invalid", None),
        (3, "invalid", None),
        (4, "created", "3"),
        (5, "updated", "1"),
    ]
    assert codes(decision) == [
        (2, "barcode", "unique_violation"),
        (3, "barcode", "unique_violation"),
    ]
    assert decision.issues[0].message == "Another record in item has this barcode: 1."
    assert decision.issues[0].parameters == {"record_id": "1", "fields": ["barcode"]}
    assert items(store, "code", "label", "barcode") == [
        ("a", "1", "b1"),
        ("b", "two", "b2"),
        ("d", "four", "b4"),
    ]


def test_rows_without_a_value_are_not_alike_in_a_unique_column(store: Store) -> None:
    rows = [("a", "one", None), ("b", "two", None)]

    write(store, Items, "code label barcode", rows)
    decision = write(store, Items, "code label barcode", [*rows, ("c", "three", None)])

    assert [each[1] for each in verdicts(decision)] == [
        "unchanged",
        "unchanged",
        "created",
    ]


def test_a_value_is_taken_over_from_a_row_that_gives_it_up(store: Store) -> None:
    write(
        store,
        Items,
        "code label barcode",
        [("a", "one", "b1"), ("b", "two", "b2"), ("c", "three", "b3")],
    )

    decision = write(
        store,
        Items,
        "code label barcode",
        [
            ("new", "x", "b1"),
            ("a", "one", "b2"),
            ("b", "two", "b3"),
            ("c", "three", "b9"),
        ],
    )

    assert verdicts(decision) == [
        (2, "created", "4"),
        (3, "updated", "1"),
        (4, "updated", "2"),
        (5, "updated", "3"),
    ]
    assert items(store, "code", "barcode") == [
        ("a", "b2"),
        ("b", "b3"),
        ("c", "b9"),
        ("new", "b1"),
    ]


def test_two_records_that_exchange_their_values_are_both_refused(store: Store) -> None:
    write(store, Items, "code label barcode", [("a", "one", "b1"), ("b", "two", "b2")])

    decision = write(
        store, Items, "code label barcode", [("a", "one", "b2"), ("b", "two", "b1")]
    )

    assert verdicts(decision) == [(2, "invalid", None), (3, "invalid", None)]
    assert {issue.code for issue in decision.issues} == {"unique_violation"}
    assert items(store, "barcode") == [("b1",), ("b2",)]


FOLDED = sa.String(collation="NOCASE").with_variant(CITEXT(), "postgresql")


class FoldedModel(Base):
    __tablename__ = "folded"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(FOLDED, unique=True)
    mail: Mapped[str] = mapped_column(FOLDED, unique=True)


class FoldedRow(BaseModel):
    code: str
    mail: str


class Folded(TableImporter[FoldedRow]):
    name = "test-folded"
    model = FoldedModel
    match_on = "code"
    mode = "upsert"


def test_the_database_says_what_is_equal(store: Store) -> None:
    write(store, Folded, "code mail", [("a", "Ann@example.com")])

    decision = write(
        store, Folded, "code mail", [("A", "ann@example.com"), ("b", "ANN@example.com")]
    )

    assert verdicts(decision) == [(2, "updated", "1"), (3, "invalid", None)]
    assert codes(decision) == [(3, "mail", "unique_violation")]


class Pair(Base):
    __tablename__ = "pair"
    id: Mapped[int] = mapped_column(primary_key=True)
    left: Mapped[str]
    right: Mapped[str | None]
    word: Mapped[str | None]
    fixed: Mapped[str | None]
    __table_args__ = (sa.UniqueConstraint("left", "right"),)


class PairRow(BaseModel):
    left: str
    right: str | None = None
    word: Annotated[str | None, Column(unique=True)] = None


class Pairs(TableImporter[PairRow]):
    name = "test-pairs"
    model = Pair


def test_several_columns_are_unique_together_and_null_is_like_nothing(
    store: Store,
) -> None:
    write(store, Pairs, "left right", [("a", "b"), ("a", None), ("a", None)])

    decision = write(store, Pairs, "left right", [("a", "c"), ("a", "b"), ("a", None)])

    assert verdicts(decision) == [
        (2, "created", "4"),
        (3, "invalid", None),
        (4, "created", "5"),
    ]
    assert decision.issues[0].message == (
        "Another record in pair has this left and right: 1."
    )


def test_a_field_that_is_unique_only_in_the_row_model_is_looked_up_too(
    store: Store,
) -> None:
    write(store, Pairs, "left word", [("a", "x")])

    decision = write(store, Pairs, "left word", [("b", "x"), ("c", "y")])

    assert verdicts(decision) == [(2, "invalid", None), (3, "created", "2")]
    assert codes(decision) == [(2, "word", "unique_violation")]


# --- What the database refuses -------------------------------------------------------


def test_a_constraint_that_no_model_declares_costs_the_neighbours_nothing(
    store: Store,
) -> None:
    run(store, "CREATE UNIQUE INDEX one_label ON item (lower(label))")
    refuse(store, "item", "new.code = 'x'", "x is reserved")

    decision = write(
        store,
        Items,
        "code label",
        [("a", "one"), ("b", "ONE"), ("x", "two"), ("c", "three"), ("d", "One")],
    )

    assert verdicts(decision) == [
        (2, "created", "1"),
        (3, "failed", None),
        (4, "failed", None),
        (5, "created", "4"),
        (6, "failed", None),
    ]
    assert codes(decision) == [
        (3, None, "unique_violation"),
        (4, None, "constraint_violation"),
        (6, None, "unique_violation"),
    ]
    assert decision.issues[1].message == "The database refused the row: x is reserved."
    detail = decision.issues[1].detail or ""
    assert "Traceback (most recent call last)" in detail
    assert "'three'" not in detail  # a neighbour's value
    assert items(store, "code", "label") == [("a", "one"), ("c", "three")]


def test_of_two_rows_that_the_database_takes_for_one_the_first_is_stored(
    store: Store,
) -> None:
    run(store, "CREATE UNIQUE INDEX one_label ON item (lower(label))")

    made = write(store, Items, "code label", [("b", "one"), ("a", "ONE")])
    changed = write(store, Items, "code label", [("c", "two"), ("b", "Two")])

    assert verdicts(made) == [(2, "created", "1"), (3, "failed", None)]
    assert verdicts(changed)[1] == (3, "updated", "1")
    assert verdicts(changed)[0][:2] == (2, "failed")


def test_a_check_of_the_database_names_its_field_where_it_can(store: Store) -> None:
    counted = "INTEGER" if store.engine.dialect.name == "sqlite" else "SERIAL"
    run(
        store,
        "DROP TABLE item",
        f"CREATE TABLE item (id {counted} PRIMARY KEY, code TEXT, label TEXT "
        "CHECK (length(label) < 9), barcode TEXT UNIQUE, maker_id INTEGER NOT NULL, "
        "made INTEGER, origin TEXT, stamped TIMESTAMP, version INTEGER)",
    )
    write(store, Items, "code label maker_id", [("a", "one", "acme")])

    decision = write(
        store,
        Items,
        "code label maker_id",
        [("a", "one", None), ("b", "far too long", "acme"), ("c", "three", "acme")],
    )

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "failed"),
        (3, "failed"),
        (4, "created"),
    ]
    assert codes(decision) == [
        (2, "maker_id", "constraint_violation"),
        (3, None, "constraint_violation"),
    ]
    assert items(store, "code", "label") == [("a", "one"), ("c", "three")]


def test_every_row_that_is_refused_is_found_wherever_it_stands(store: Store) -> None:
    refuse(store, "item", "new.label = 'bad'", "bad")
    bad = {0, 1, 7, 50, 51, 98, 99}
    rows = [(str(i), "bad" if i in bad else "good") for i in range(100)]

    decision = write(store, Items, "code label", rows, first=0)

    failed = {each.row for each in decision.outcomes if each.verdict == "failed"}
    assert failed == bad
    assert len(items(store)) == 93


def test_rows_outside_the_mask_are_left_alone(store: Store) -> None:
    chunk = validated(Items, "code label", [("a", "1"), ("b", "2"), ("c", "3")])
    mask = pl.Series([True, False, True])

    with store.write() as connection, Session(connection) as session:
        decision = write_rows(
            Items(),
            chunk,
            mask,
            Context("acme", 1, 1, session),
            dry_run=False,
            last_round=False,
        )

    assert verdicts(decision) == [(2, "created", "1"), (4, "created", "2")]
    assert items(store, "code") == [("a",), ("c",)]


def test_no_rows_are_no_work(store: Store) -> None:
    assert write(store, Nodes, "code parent_id", []).outcomes == []


# --- Dry runs ------------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_reports_only_what_is_not_good(
    store: Store,
) -> None:
    write(store, Items, "code label barcode", [("a", "one", "b1")])
    before = items(store, "id", "code", "label", "barcode", "version", "stamped")

    decision = write(
        store,
        Items,
        "code label barcode maker_id",
        [
            ("a", "new", "b1", None),
            ("c", "three", "b1", None),
            ("d", "four", "b4", "nobody"),
            ("e", "five", "b5", "acme"),
        ],
        dry_run=True,
    )

    assert verdicts(decision) == [(3, "invalid", None), (4, "invalid", None)]
    assert codes(decision) == [
        (3, "barcode", "unique_violation"),
        (4, "maker_id", "not_found"),
    ]
    assert (
        items(store, "id", "code", "label", "barcode", "version", "stamped") == before
    )


def test_a_dry_run_knows_the_parents_that_the_same_chunk_would_make(
    store: Store,
) -> None:
    rows = [("a1", "a"), ("a", None), ("b", "elsewhere"), ("c", "d"), ("d", "c")]

    decision = write(store, Nodes, "code parent_id", rows, dry_run=True)

    last = write(store, Nodes, "code parent_id", rows, dry_run=True, last_round=True)

    turning = [(5, "parent_id", "cycle"), (6, "parent_id", "cycle")]
    assert codes(decision) == turning
    assert list(decision.waiting) == []
    assert codes(last) == [(4, "parent_id", "not_found"), *turning]
    assert nodes(store) == {}


def test_a_dry_run_of_a_creation_skips_in_silence(store: Store) -> None:
    write(store, Items, "code label", [("a", "one")])

    decision = write(store, NewItems, "code label", [("a", "one")], dry_run=True)

    assert (decision.outcomes, decision.issues) == ([], [])


# --- The tables themselves -----------------------------------------------------------


@pytest.fixture
def empty(database: str) -> Iterator[Store]:
    """A database without the application's tables."""
    opened = connect(database)
    allow_folding(opened)
    yield opened
    opened.close()


class MakingItems(Items):
    name = "test-making-items"
    create_tables = True


def test_tables_that_are_missing_are_made_when_the_importer_says_so(
    empty: Store,
) -> None:
    require_tables(empty, MakingItems)
    require_tables(empty, MakingItems)

    with empty.read() as connection:
        names = set(sa.inspect(connection).get_table_names())
    assert {"item", "maker", "node", "thing"} <= names


def test_tables_that_are_missing_are_named_otherwise(empty: Store) -> None:
    with pytest.raises(
        StoreError, match=r"has no table 'item', 'maker'\. Make it with"
    ):
        require_tables(empty, Items)


def test_a_column_that_is_missing_is_named(store: Store) -> None:
    run(store, "ALTER TABLE item DROP COLUMN label")

    with pytest.raises(StoreError, match=r"has no column label, but Item has"):
        require_tables(store, Items)
