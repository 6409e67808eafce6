"""Repeated values in the whole file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import BaseModel

from batchfx import Column, Context, Importer, Options, Store, import_source, open_store
from batchfx.execution import repeats, views


class PriceRow(BaseModel):
    """Fields of several types, each unique."""

    price: Annotated[Decimal, Column(unique=True)]
    count: Annotated[int, Column(unique=True)]
    code: Annotated[str | None, Column(unique=True)] = None


class PriceImporter(Importer[PriceRow]):
    """Stores nothing."""

    name = "facts-prices"

    def process(self, row: PriceRow, context: Context) -> int:
        return row.count


class PairRow(BaseModel):
    """Two fields that are unique together."""

    left: str
    right: str | None = None


class PairImporter(Importer[PairRow]):
    """Stores nothing."""

    name = "facts-pairs"

    @classmethod
    def unique_together(cls) -> tuple[tuple[str, ...], ...]:
        return (("left", "right"),)

    def process(self, row: PairRow, context: Context) -> str:
        return row.left


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(database)
    yield opened
    opened.close()


def repeated(
    store: Store,
    importer: type[Importer[PriceRow] | Importer[PairRow]],
    text: str,
    chunk_size: int,
) -> dict[int, list[tuple[str | None, int]]]:
    """Import *text*; return (field, first row) of the duplicates of each row."""
    report = import_source(
        store,
        importer,
        io.BytesIO(text.encode()),
        name="x.csv",
        options=Options(chunk_size=chunk_size),
    )
    return {
        view.row: [
            (issue.field, issue.parameters["first_row"]) for issue in view.issues
        ]
        for view in views.rows(store, report.key)
        if view.issues
    }


PRICES = (
    "price,count,code\n"
    "1,1,a\n"
    "100,100,A\n"
    "1.00,2,b\n"
    "10,10,\n"
    "1.0,100,a\n"
    "0.10,3,\n"
    "0.1,+3,c\n"
    "0,0,\n"
    "0.000,00,d\n"
)


@pytest.mark.parametrize("chunk_size", [1, 2, 100])
@pytest.mark.parametrize("at_once", [4, 2_000_000])
def test_values_repeat_when_they_are_equal_whatever_their_text(
    store: Store, chunk_size: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "HASHES_AT_ONCE", at_once)

    assert repeated(store, PriceImporter, PRICES, chunk_size) == {
        4: [("price", 2)],
        6: [("price", 2), ("count", 3), ("code", 2)],
        8: [("price", 7), ("count", 7)],
        10: [("price", 9), ("count", 9)],
    }


@pytest.mark.parametrize("chunk_size", [1, 100])
def test_fields_that_are_unique_together_repeat_together(
    store: Store, chunk_size: int
) -> None:
    text = "left,right\na,b\na,c\nb,b\na,b\na,\na,\n"

    assert repeated(store, PairImporter, text, chunk_size) == {5: [("left", 2)]}


def test_a_value_that_is_wrong_repeats_nothing(store: Store) -> None:
    text = "price,count,code\nx,1,a\nx,2,b\n"

    report = import_source(
        store, PriceImporter, io.BytesIO(text.encode()), name="x.csv"
    )
    codes = [
        [issue.code for issue in view.issues] for view in views.rows(store, report.key)
    ]
    assert codes == [["decimal_parsing"], ["decimal_parsing"]]


def test_the_first_row_counts_whatever_else_is_wrong_with_it(store: Store) -> None:
    text = "price,count,code\nx,1,a\n2,2,a\n"

    report = import_source(
        store, PriceImporter, io.BytesIO(text.encode()), name="x.csv"
    )
    codes = [
        [issue.code for issue in view.issues] for view in views.rows(store, report.key)
    ]
    assert codes == [["decimal_parsing"], ["duplicate_in_file"]]
