"""What becomes of rows in a table of SQLite, where PostgreSQL differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Store, TableImporter
from batchfx.errors import StoreError
from batchfx.store.engine import connect
from tests.store.writing import codes, run, verdicts, write


class Base(DeclarativeBase):
    """The tables of this module."""


class Item(Base):
    __tablename__ = "item"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)


class ItemRow(BaseModel):
    code: str


class Items(TableImporter[ItemRow]):
    name = "sqlite-items"
    model = Item
    match_on = "code"
    mode = "upsert"


class NumberedRow(BaseModel):
    id: int | None = None
    code: str


class NumberedItems(TableImporter[NumberedRow]):
    name = "sqlite-numbered-items"
    model = Item


class Other(DeclarativeBase):
    """Tables that are made by hand."""


class CountedModel(Other):
    __tablename__ = "counted"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str]


class Counted(TableImporter[ItemRow]):
    name = "sqlite-counted"
    model = CountedModel


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A database with the tables of this module."""
    opened = connect(f"sqlite:///{tmp_path / 'test.db'}")
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def items(store: Store) -> list[str]:
    with store.read() as connection:
        return list(connection.scalars(sa.select(Item.code).order_by(Item.id)))


def test_ids_of_deleted_records_come_back_only_without_autoincrement(
    store: Store,
) -> None:
    run(
        store,
        "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT)",
        "INSERT INTO counted VALUES (41, 'gone')",
        "DELETE FROM counted",
    )
    write(store, Items, "code", [("a",), ("b",)])
    run(store, "DELETE FROM item WHERE id = 2")

    counted = write(store, Counted, "code", [("c",)])
    plain = write(store, Items, "code", [("c",)])

    assert verdicts(counted) == [(2, "created", "42")]
    assert verdicts(plain) == [(2, "created", "2")]


def test_a_number_comes_from_the_file_or_is_the_next_one_free(store: Store) -> None:
    given = write(store, NumberedItems, "id code", [("7", "a"), (None, "b")])
    drawn = write(store, NumberedItems, "code", [("c",), ("d",)])

    assert verdicts(given) == [(2, "created", "7"), (3, "invalid", None)]
    assert codes(given) == [(3, "id", "missing")]
    assert verdicts(drawn) == [(2, "created", "8"), (3, "created", "9")]


def test_a_text_with_a_nul_is_stored_and_not_taken_for_its_beginning(
    store: Store,
) -> None:
    write(store, Items, "code", [("a",)])

    decision = write(store, Items, "code", [("a\0b",)])

    assert verdicts(decision) == [(2, "created", "2")]
    assert items(store) == ["a", "a\0b"]


def test_a_table_that_leaves_rows_out_in_silence_stops_the_chunk(store: Store) -> None:
    run(
        store,
        "CREATE TRIGGER silent BEFORE INSERT ON item WHEN new.code = 'b' "
        "BEGIN SELECT RAISE(IGNORE); END",
    )

    with pytest.raises(StoreError, match="stored 1 of 2 rows, refusing none"):
        write(store, Items, "code", [("a",), ("b",)])

    assert items(store) == []


def test_a_table_that_ends_the_transaction_stops_the_chunk(store: Store) -> None:
    run(
        store,
        "CREATE TRIGGER harsh BEFORE INSERT ON item WHEN new.code = 'b' "
        "BEGIN SELECT RAISE(ROLLBACK, 'no b'); END",
    )

    with pytest.raises(StoreError, match="ended the whole transaction because of one"):
        write(store, Items, "code", [("a",), ("b",), ("c",)])

    assert items(store) == []
