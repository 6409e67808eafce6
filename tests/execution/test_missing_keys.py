"""Records of JSON that say nothing of a field: it is left as it is."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Store, TableImporter, import_source, open_store
from batchfx.execution.reports import Report


class Base(DeclarativeBase):
    pass


class Gadget(Base):
    __tablename__ = "gadgets"
    id: Mapped[int] = mapped_column(primary_key=True)
    sku: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str | None]
    stock: Mapped[int | None]
    active: Mapped[bool]


class GadgetRow(BaseModel):
    sku: Annotated[str, Column(unique=True)]
    name: str | None = None
    stock: int | None = None
    active: bool = True


class GadgetImporter(TableImporter[GadgetRow]):
    name = "gadgets-of-json"
    model = Gadget
    match_on = "sku"
    mode = "upsert"


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def load(store: Store, *records: dict[str, Any]) -> Report:
    source = io.BytesIO("\n".join(map(json.dumps, records)).encode())
    return import_source(store, GadgetImporter, source, name="gadgets.ndjson")


def stored(store: Store) -> list[tuple[Any, ...]]:
    columns = (Gadget.sku, Gadget.name, Gadget.stock, Gadget.active)
    with store.read() as connection:
        rows = connection.execute(sa.select(*columns).order_by(Gadget.sku))
        return [tuple(row) for row in rows]


def test_a_record_without_a_key_leaves_that_field_of_a_record_alone(
    store: Store,
) -> None:
    load(
        store,
        {"sku": "a", "name": "Cup", "stock": 3, "active": False},
        {"sku": "b", "name": "Jug", "stock": 4, "active": False},
        {"sku": "c", "name": "Pan", "stock": 5, "active": False},
    )

    report = load(
        store,
        {"sku": "a", "name": None},
        {"sku": "b", "stock": 7, "active": True},
        {"sku": "c", "name": "Pan"},
        {"sku": "d"},
    )

    tally = report.tally
    assert (tally.updated, tally.unchanged, tally.created) == (2, 1, 1)
    assert stored(store) == [
        ("a", None, 3, False),
        ("b", "Jug", 7, True),
        ("c", "Pan", 5, False),
        ("d", None, None, True),
    ]
