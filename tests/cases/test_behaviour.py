"""Cases about imports as a whole: keys, parents, policies, progress, crashes."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, EmailStr
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import (
    Column,
    Context,
    Importer,
    Options,
    Progress,
    Report,
    Store,
    TableImporter,
    Watch,
    import_path,
    import_source,
    open_store,
    rerun,
)
from batchfx.cli.words import state_of
from batchfx.errors import AlreadyImportedError
from batchfx.execution import views
from batchfx.execution.reports import report as report_of
from batchfx.store import batches
from tests.cases.checking import FILES, case_of
from tests.oracle import check_batch


class Base(DeclarativeBase):
    """The tables of these tests."""


class Product(Base):
    """What a shop sells."""

    __tablename__ = "case_product"
    sku: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    price: Mapped[Decimal]


class Booking(Base):
    """A line of a bank's statement."""

    __tablename__ = "case_booking"
    id: Mapped[int] = mapped_column(primary_key=True)
    date: Mapped[date]
    ref: Mapped[str] = mapped_column(unique=True)
    amount: Mapped[Decimal]


class Payment(Base):
    """A line of a statement that has no key but all of its columns."""

    __tablename__ = "case_payment"
    id: Mapped[int] = mapped_column(primary_key=True)
    date: Mapped[date]
    account: Mapped[str]
    amount: Mapped[Decimal]
    text: Mapped[str]


class Category(Base):
    """A category, perhaps within another."""

    __tablename__ = "case_category"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    parent: Mapped[int | None] = mapped_column(sa.ForeignKey("case_category.id"))


class Contact(Base):
    """Somebody with an address."""

    __tablename__ = "case_contact"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    age: Mapped[int]


class Item(Base):
    """An item; a database administrator made its barcode unique."""

    __tablename__ = "case_item"
    sku: Mapped[str] = mapped_column(primary_key=True)
    barcode: Mapped[str]
    name: Mapped[str]


class ProductRow(BaseModel):
    """A product as a row."""

    sku: str
    name: str
    price: Decimal


class BookingRow(BaseModel):
    """A line of a statement as a row."""

    date: date
    ref: str
    amount: Decimal


class PaymentRow(BaseModel):
    """A line of a statement as a row."""

    date: date
    account: str
    amount: Decimal
    text: str


class CategoryRow(BaseModel):
    """A category and the code of the one that it is in."""

    code: str
    name: str
    parent: Annotated[str | None, Column(lookup=Category.code)] = None


class ContactRow(BaseModel):
    """Somebody as a row."""

    email: EmailStr
    age: int


class ItemRow(BaseModel):
    """An item as a row."""

    sku: str
    barcode: str
    name: str


class PersonRow(BaseModel):
    """Somebody who must have an address."""

    name: str
    email: EmailStr


class ValueRow(BaseModel):
    """A value of a parameter."""

    pid: str
    value: int


class Products(TableImporter[ProductRow]):
    """Adds or changes products."""

    name = "case-products"
    model = Product
    match_on = "sku"
    mode = "upsert"


class NewBookings(TableImporter[BookingRow]):
    """Adds bookings."""

    name = "case-new-bookings"
    model = Booking
    match_on = "ref"
    mode = "create"


class Bookings(TableImporter[BookingRow]):
    """Adds or changes bookings."""

    name = "case-bookings"
    model = Booking
    match_on = "ref"
    mode = "upsert"


class Payments(TableImporter[PaymentRow]):
    """Adds payments that are not there yet."""

    name = "case-payments"
    model = Payment
    match_on = ("date", "account", "amount", "text")
    mode = "create"


class Categories(TableImporter[CategoryRow]):
    """Adds categories."""

    name = "case-categories"
    model = Category
    match_on = "code"
    mode = "upsert"


class Contacts(TableImporter[ContactRow]):
    """Adds contacts."""

    name = "case-contacts"
    model = Contact


class Items(TableImporter[ItemRow]):
    """Adds or changes items, as sets of rows."""

    name = "case-items"
    model = Item
    match_on = "sku"
    mode = "upsert"


class ItemsOneByOne(Importer[ItemRow]):
    """Adds items, one after the other, written when the group is flushed."""

    name = "case-items-one-by-one"

    def process(self, row: ItemRow, context: Context) -> Item:
        """Add the item."""
        item = Item(**row.model_dump())
        context.session.add(item)
        return item


class People(Importer[PersonRow]):
    """Takes people."""

    name = "case-people"

    def process(self, row: PersonRow, context: Context) -> str:
        """Take the row's name for the record."""
        del context
        return row.name


class Values(Importer[ValueRow]):
    """Takes values."""

    name = "case-values"

    def process(self, row: ValueRow, context: Context) -> str:
        """Take the row's parameter for the record."""
        del context
        return row.pid


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A database with the tables of these tests, and nothing in them."""
    opened = open_store(f"sqlite:///{tmp_path / 'case.db'}")
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def file_of(name: str) -> Path:
    return FILES / str(case_of(name)["file"])


def run(
    store: Store, importer: type[Importer[Any]], name: str, **options: Any
) -> Report:
    report = import_path(store, importer, file_of(name), options=Options(**options))
    check_batch(store, report.key)
    return report


def verdicts(store: Store, report: Report) -> list[str]:
    return [view.verdict for view in views.rows(store, report.key)]


def found(store: Store, report: Report) -> dict[int, tuple[str, str | None, Any]]:
    """Return the first issue of each row that has one: code, field and value."""
    return {
        view.row: (view.issues[0].code, view.issues[0].field, view.issues[0].value)
        for view in views.rows(store, report.key)
        if view.issues
    }


def table(store: Store, *columns: Any) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        rows = connection.execute(sa.select(*columns).order_by(columns[0]))
        return [tuple(row) for row in rows]


def insert(store: Store, model: type[Any], *rows: dict[str, Any]) -> None:
    with store.write() as connection:
        connection.execute(sa.insert(model), list(rows))


@pytest.mark.parametrize("size", case_of("app_duplicate_keys_in_file")["batch_sizes"])
def test_a_key_that_comes_twice_is_told_whatever_the_chunk_size(
    store: Store, size: int
) -> None:
    report = run(store, Products, "app_duplicate_keys_in_file", chunk_size=size)

    told = {
        view.row: (view.issues[0].code, view.issues[0].parameters["first_row"])
        for view in views.rows(store, report.key)
        if view.issues
    }
    assert verdicts(store, report) == [
        "created",
        "created",
        "invalid",
        "created",
        "invalid",
    ]
    assert told == {4: ("duplicate_in_file", 2), 6: ("duplicate_in_file", 3)}
    assert table(store, Product.sku, Product.name, Product.price) == [
        ("A", "Cup", Decimal("1.00")),
        ("B", "Jug", Decimal("2.00")),
        ("C", "Fork", Decimal("3.00")),
    ]


@pytest.mark.parametrize(
    ("importer", "outcomes", "amount"),
    [
        (NewBookings, ["skipped", "created", "skipped", "created"], "-3.50"),
        (Bookings, ["unchanged", "created", "updated", "created"], "-3.00"),
    ],
)
def test_a_download_that_overlaps_the_last_one_is_imported_once(
    store: Store, importer: type[Importer[Any]], outcomes: list[str], amount: str
) -> None:
    insert(
        store,
        Booking,
        {"date": date(2026, 6, 8), "ref": "T-108", "amount": Decimal("-1.00")},
        {"date": date(2026, 6, 12), "ref": "T-112", "amount": Decimal("-3.50")},
    )

    report = run(store, importer, "app_overlapping_download")

    assert verdicts(store, report) == outcomes
    assert table(store, Booking.ref, Booking.date, Booking.amount) == [
        ("T-108", date(2026, 6, 8), Decimal("-1.00")),
        ("T-109", date(2026, 6, 9), Decimal("-2.00")),
        ("T-112", date(2026, 6, 12), Decimal(amount)),
        ("T-113", date(2026, 6, 13), Decimal("-4.00")),
    ]


@pytest.mark.parametrize("size", case_of("app_parent_later_in_file")["batch_sizes"])
def test_a_parent_may_stand_later_in_the_file(store: Store, size: int) -> None:
    case = case_of("app_parent_later_in_file")

    report = run(store, Categories, "app_parent_later_in_file", chunk_size=size)

    child, parent = sa.orm.aliased(Category), sa.orm.aliased(Category)
    with store.read() as connection:
        rows = connection.execute(
            sa.select(child.code, child.name, parent.code).outerjoin(
                parent, parent.id == child.parent
            )
        )
        stored = sorted(list(row) for row in rows)
    assert verdicts(store, report) == case["outcomes"]
    assert stored == sorted(case["rows"])


def emails(store: Store) -> list[str]:
    return [email[0] for (email,) in table(store, Contact.email)]


FAULTS = {
    3: ("int_parsing", "age", "thirty"),
    5: ("value_error", "email", "not-an-email"),
}


def test_good_rows_are_kept_beside_faulty_ones(store: Store) -> None:
    report = run(store, Contacts, "app_partial_failure_policies")

    assert verdicts(store, report) == [
        "created",
        "invalid",
        "created",
        "invalid",
        "created",
    ]
    assert found(store, report) == FAULTS
    assert emails(store) == ["a", "c", "e"]


def test_nothing_is_applied_when_no_faulty_row_is_allowed(store: Store) -> None:
    report = run(store, Contacts, "app_partial_failure_policies", max_error_rate=0.0)

    assert emails(store) == []
    assert "created" not in verdicts(store, report)
    assert report.batch.state == "stopped"


def test_a_dry_run_writes_nothing_and_the_real_run_then_imports_the_same_rows(
    store: Store,
) -> None:
    report = run(store, Contacts, "app_partial_failure_policies", dry_run=True)

    assert emails(store) == []
    assert verdicts(store, report) == [
        "pending",
        "invalid",
        "pending",
        "invalid",
        "pending",
    ]
    assert found(store, report) == FAULTS

    real = rerun(store, report.key)
    assert real.tally.created == 3
    assert emails(store) == ["a", "c", "e"]


def test_progress_counts_records_and_not_blank_rows(store: Store) -> None:
    told: list[Progress] = []
    case = case_of("app_progress_with_blank_tail")

    report = import_path(
        store,
        Values,
        file_of("app_progress_with_blank_tail"),
        options=Options(chunk_size=3),
        watch=Watch(listener=told.append),
    )

    shares = [each.share for each in told if each.is_counted]
    assert shares == sorted(shares)
    assert shares[-1] == case["progress"]["ends_at"]
    assert told[-1].tally.total == case["progress"]["total"]
    assert report.tally.created == case["counts"]["created"]
    assert report.tally.faulty == case["counts"]["failed"]
    assert report.batch.state == "completed"
    check_batch(store, report.key)


KILLED = """
import os, pathlib, signal, sys
from batchfx import *
from pydantic import BaseModel
import sqlalchemy as sa

class Row(BaseModel):
    ref: str
    name: str

class Refs(Importer[Row]):
    name = "case-refs"

    def process(self, row, context):
        if row.ref == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)
        statement = sa.text("INSERT INTO refs VALUES (:ref, :name)")
        context.session.execute(statement, row.model_dump())
        return row.ref

store = open_store(sys.argv[1])
if sys.argv[2] == "rerun":
    rerun(store, BatchKey("default", 1))
else:
    import_path(store, Refs, pathlib.Path(sys.argv[2]), options=Options(chunk_size=100))
"""


def process(store: Store, *arguments: str) -> subprocess.Popen[bytes]:
    url = str(store.engine.url)
    return subprocess.Popen([sys.executable, "-c", KILLED, url, *arguments])


def test_an_import_that_was_killed_goes_on_without_a_gap_or_a_double(
    store: Store,
) -> None:
    with store.write() as connection:
        connection.execute(sa.text("CREATE TABLE refs (ref TEXT, name TEXT)"))
    path = str(file_of("app_rerun_after_crash"))

    assert process(store, path, "R0431").wait(60) == -signal.SIGKILL

    with store.read() as connection:
        (batch,) = batches.listing(connection, "default", 10)
    interrupted = report_of(store, batch.key)
    assert state_of(interrupted) == "interrupted"
    assert interrupted.tally.created == 400

    together = [process(store, "rerun", "") for _ in range(2)]
    assert 0 in [each.wait(60) for each in together]
    assert process(store, "rerun", "").wait(60) == 0  # nothing is left to do

    check_batch(store, batch.key)
    with store.read() as connection:
        rows = connection.execute(sa.text("SELECT ref, name FROM refs ORDER BY ref"))
        stored = [tuple(row) for row in rows]
    assert stored == [(f"R{n:04}", f"Name {n}") for n in range(1, 1001)]


def test_row_numbers_are_those_of_the_sheet_in_every_chunk(store: Store) -> None:
    report = run(store, People, "app_row_numbers", chunk_size=2)

    assert verdicts(store, report) == [
        "created",
        "invalid",
        "created",
        "invalid",
        "created",
        "invalid",
    ]
    assert {row: told[:2] for row, told in found(store, report).items()} == {
        6: ("value_error", "email"),
        10: ("value_error", "email"),
        12: ("missing", "email"),
    }


def test_the_same_file_is_not_imported_twice(store: Store) -> None:
    content = file_of("app_same_file_twice").read_bytes()

    def load(content: bytes, **options: Any) -> Report:
        source = io.BytesIO(content)
        name = f"statement-{len(options)}.csv"
        chosen = Options(**options)
        return import_source(store, Payments, source, name=name, options=chosen)

    first = load(content)
    assert verdicts(store, first) == ["created", "created"]

    with pytest.raises(AlreadyImportedError) as refused:
        load(content)
    assert refused.value.batch == first.key.number

    assert verdicts(store, load(content, again=True)) == ["skipped", "skipped"]
    windows = content.replace(b"\n", b"\r\n")
    assert verdicts(store, load(windows)) == ["skipped", "skipped"]
    assert len(table(store, Payment.id)) == 2


@pytest.mark.parametrize("importer", [Items, ItemsOneByOne])
def test_what_only_the_database_refuses_is_one_row_s_failure(
    store: Store, importer: type[Importer[Any]]
) -> None:
    case = case_of("app_unique_only_at_flush")
    insert(store, Item, {"sku": "OLD", "barcode": "4007", "name": "Old item"})
    with store.write() as connection:
        connection.execute(sa.text("CREATE UNIQUE INDEX b ON case_item (barcode)"))

    report = run(store, importer, "app_unique_only_at_flush", chunk_size=5)

    assert report.tally.created == case["counts"]["created"]
    assert report.tally.faulty == case["counts"]["failed"]
    (row,) = found(store, report)
    assert row == 8
    assert len(table(store, Item.sku)) == case["table_size_after"]
