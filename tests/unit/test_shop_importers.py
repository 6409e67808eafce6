"""What the shop's importers accept and refuse."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from batchfx import TableImporter
from batchfx.testing import try_rows
from importers import (
    CategoryImporter,
    CustomerImporter,
    OrderImporter,
    ProductImporter,
)
from importers.countries import COUNTRIES
from importers.shop import CustomerRow, OrderRow

ALL = [CustomerImporter, CategoryImporter, ProductImporter, OrderImporter]

CUSTOMER = {
    "external_id": "00001742",
    "email": "ada.brandt@example.com",
    "name": "Ada Brandt",
    "country": "DE",
    "birth_date": "1987-04-23",
    "credit_limit": "1500.00",
    "vip": "true",
    "notes": None,
}
ORDER = {
    "order_number": "2026-000317",
    "customer": "00001742",
    "product": "GAR-0042",
    "quantity": "3",
    "unit_price": "12.90",
    "ordered_on": "2026-03-14",
    "shipped_on": "2026-03-16",
    "status": "shipped",
}
CATEGORY = {"code": "garden-tools", "name": "Garden tools", "parent": "garden"}
PRODUCT = {
    "sku": "GAR-0042",
    "name": "Hand trowel",
    "category": "garden-tools",
    "price": "12.90",
    "stock": "250",
    "active": "yes",
}


def found(
    importer: type[TableImporter[Any]],
    row: Mapping[str, str | None],
    **cells: str | None,
) -> list[tuple[str | None, str]]:
    """Return (field, code) of what is wrong with *row* with other *cells*."""
    (tried,) = try_rows(importer, [{**row, **cells}])
    return [(issue.field, issue.code) for issue in tried.issues]


@pytest.mark.parametrize("importer", ALL, ids=lambda importer: importer.name)
def test_the_examples_make_a_good_row(importer: type[TableImporter[Any]]) -> None:
    row = {c.header(name): c.example for name, c in importer.columns.items()}

    (tried,) = try_rows(importer, [row])

    assert None not in row.values()
    assert tried.issues == ()


@pytest.mark.parametrize("importer", ALL, ids=lambda importer: importer.name)
def test_every_alias_means_its_column(importer: type[TableImporter[Any]]) -> None:
    names = {n: [c.header(n), *c.aliases] for n, c in importer.columns.items()}
    most = max(map(len, names.values()))
    for turn in range(most):
        row = {
            known[min(turn, len(known) - 1)]: importer.columns[name].example
            for name, known in names.items()
        }
        (tried,) = try_rows(importer, [row])
        assert tried.issues == ()


def test_customers_are_typed() -> None:
    (tried,) = try_rows(CustomerImporter, [CUSTOMER])

    assert tried.row == CustomerRow(
        external_id="00001742",
        email="ada.brandt@example.com",
        name="Ada Brandt",
        country="DE",
        birth_date=date(1987, 4, 23),
        credit_limit=Decimal("1500.00"),
        vip=True,
        notes=None,
    )


@pytest.mark.parametrize(
    ("field", "cell", "code"),
    [
        ("external_id", None, "missing"),
        ("external_id", "1" * 21, "string_too_long"),
        ("email", None, "missing"),
        ("email", "ada.brandt@", "value_error"),
        ("name", None, "missing"),
        ("name", "x" * 101, "string_too_long"),
        ("country", "UK", "unknown_country"),
        ("country", "Germany", "unknown_country"),
        ("birth_date", "2999-01-01", "date_past"),
        ("birth_date", "23.04.1987", "date_parsing"),
        ("birth_date", "19870423", "date_parsing"),
        ("credit_limit", "-0.01", "greater_than_equal"),
        ("credit_limit", "1500.005", "decimal_max_places"),
        ("credit_limit", "99999999999999.00", "decimal_whole_digits"),
        ("credit_limit", "999.99", "vip_needs_credit"),
        ("vip", "maybe", "bool_parsing"),
        ("vip", None, "missing"),
        ("notes", "x" * 501, "string_too_long"),
    ],
)
def test_a_customer_is_refused_for(field: str, cell: str | None, code: str) -> None:
    assert found(CustomerImporter, CUSTOMER, **{field: cell}) == [(field, code)]


@pytest.mark.parametrize(
    "cells",
    [
        {"external_id": "1" * 20},
        {"external_id": "0"},
        {"name": "x" * 100},
        {"notes": "x" * 500},
        {"credit_limit": "1000"},
        {"vip": "no", "credit_limit": "0"},
        {"country": "AX"},
    ],
)
def test_a_customer_may_be(cells: dict[str, str]) -> None:
    assert found(CustomerImporter, CUSTOMER, **cells) == []


def test_a_country_in_small_letters_is_proposed_in_capitals() -> None:
    (tried,) = try_rows(CustomerImporter, [{**CUSTOMER, "country": "de"}])

    (issue,) = tried.issues
    assert (issue.code, issue.suggestion) == ("unknown_country", "DE")


def test_customers_are_upserted_by_a_unique_external_id() -> None:
    assert (CustomerImporter.match_on, CustomerImporter.mode) == (
        "external_id",
        "upsert",
    )
    assert CustomerImporter.unique_together() == (("email",), ("external_id",))


def test_there_are_249_countries() -> None:
    assert len(COUNTRIES) == 249
    assert {"AX", "BQ", "CW", "SS", "SX", "TL", "ZW"} <= COUNTRIES
    assert not {"AN", "CS", "EU", "UK", "XK", "ZR"} & COUNTRIES


@pytest.mark.parametrize(
    ("header", "cell", "field", "code"),
    [
        ("code", "Garden", "code", "string_pattern_mismatch"),
        ("code", "x" * 21, "code", "string_too_long"),
        ("name", None, "name", "missing"),
        ("parent", "garden-tools", "parent_id", "own_parent"),
    ],
)
def test_a_category_is_refused_for(
    header: str, cell: str | None, field: str, code: str
) -> None:
    assert found(CategoryImporter, CATEGORY, **{header: cell}) == [(field, code)]


def test_a_category_may_be_at_the_top() -> None:
    assert found(CategoryImporter, CATEGORY, parent=None) == []


@pytest.mark.parametrize(
    ("header", "cell", "field", "code"),
    [
        ("sku", "gar-42", "sku", "string_pattern_mismatch"),
        ("category", None, "category_id", "missing"),
        ("price", "0.00", "price", "greater_than"),
        ("price", "12.905", "price", "decimal_max_places"),
        ("stock", "-1", "stock", "greater_than_equal"),
        ("stock", "1.5", "stock", "int_parsing"),
        ("active", "perhaps", "active", "bool_parsing"),
    ],
)
def test_a_product_is_refused_for(
    header: str, cell: str | None, field: str, code: str
) -> None:
    assert found(ProductImporter, PRODUCT, **{header: cell}) == [(field, code)]


@pytest.mark.parametrize(
    ("cells", "field", "code"),
    [
        ({"order_number": "317"}, "number", "string_pattern_mismatch"),
        ({"customer": None}, "customer_id", "missing"),
        ({"quantity": "0"}, "quantity", "greater_than_equal"),
        ({"unit_price": "-1.00"}, "unit_price", "greater_than_equal"),
        ({"ordered_on": "2999-01-01"}, "ordered_on", "date_in_future"),
        ({"shipped_on": "2026-03-13"}, "shipped_on", "shipped_before_ordered"),
        ({"shipped_on": None}, "shipped_on", "shipping_date_missing"),
        ({"status": "open"}, "status", "not_shipped_yet"),
        ({"status": "sent"}, "status", "literal_error"),
    ],
)
def test_an_order_is_refused_for(
    cells: dict[str, str | None], field: str, code: str
) -> None:
    assert found(OrderImporter, ORDER, **cells) == [(field, code)]


def test_an_order_that_is_open_has_no_shipping_date() -> None:
    assert found(OrderImporter, ORDER, status="open", shipped_on=None) == []


def test_an_order_may_be_shipped_on_the_day_it_was_made() -> None:
    (tried,) = try_rows(OrderImporter, [{**ORDER, "shipped_on": "2026-03-14"}])

    assert isinstance(tried.row, OrderRow)
    assert tried.row.shipped_on == tried.row.ordered_on == date(2026, 3, 14)
