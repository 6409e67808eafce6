"""A small shop: its customers, categories, products and orders.

Orders name customers and products, products name categories, and a category may name a
wider one, even one that comes later in the same file. So import categories before
products, and both customers and products before orders.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, EmailStr, Field, PastDate, StringConstraints

from batchfx import Column, Invalid, TableImporter
from importers.countries import COUNTRIES
from importers.models import Category, Customer, Order, Product, Status

VIP_CREDIT = 1000

# What a `Money` column holds exactly.
Amount = Annotated[Decimal, Field(max_digits=15, decimal_places=2)]


class CustomerRow(BaseModel):
    """A customer as files have it."""

    external_id: Annotated[
        str,
        StringConstraints(min_length=1, max_length=20),
        Column(
            unique=True,
            aliases=("Customer no.", "Customer number"),
            example="00001742",
        ),
    ]
    email: Annotated[
        EmailStr,
        Column(
            unique=True,
            aliases=("E-mail address", "Mail"),
            example="ada.brandt@example.com",
        ),
    ]
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=100),
        Column(aliases=("Full name",), example="Ada Brandt"),
    ]
    country: Annotated[str, Column(aliases=("Country code",), example="DE")]
    birth_date: Annotated[
        PastDate,
        Column(
            aliases=("Date of birth", "Born"),
            format="%Y-%m-%d",  # and in no other form, whatever the column has
            example="1987-04-23",
        ),
    ]
    credit_limit: Annotated[Amount, Field(ge=0), Column(example="1500.00")]
    vip: Annotated[bool, Column(example="true")]
    notes: Annotated[
        str | None,
        Field(max_length=500),
        Column(aliases=("Remarks",), example="Prefers to be called"),
    ] = None


class CustomerImporter(TableImporter[CustomerRow]):
    """Adds customers, or changes those that have the same external id."""

    name = "customers"
    model = Customer
    match_on = "external_id"
    mode = "upsert"
    create_tables = True

    def check_country(self, value: str) -> None:
        """Refuse what is no country's code."""
        if value in COUNTRIES:
            return
        capitals = value.strip().upper()
        raise Invalid(
            "unknown_country",
            "Write the country as its two capital letters (ISO 3166-1), such as DE.",
            suggestion=capitals if capitals in COUNTRIES else None,
        )

    def check_row(self, row: CustomerRow) -> None:
        """Refuse a VIP with little credit."""
        if row.vip and row.credit_limit < VIP_CREDIT:
            raise Invalid(
                "vip_needs_credit",
                f"A VIP has a credit limit of {VIP_CREDIT} or more.",
                field="credit_limit",
                least=VIP_CREDIT,
            )


class CategoryRow(BaseModel):
    """A category as files have it."""

    code: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=20),
        Column(unique=True, aliases=("Category code",), example="garden-tools"),
    ]
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=80),
        Column(aliases=("Title",), example="Garden tools"),
    ]
    parent_id: Annotated[
        str | None,
        Column(
            "parent",
            lookup=Category.code,
            aliases=("Belongs to",),
            example="garden",
        ),
    ] = None


class CategoryImporter(TableImporter[CategoryRow]):
    """Adds categories, or changes those that have the same code."""

    name = "categories"
    model = Category
    match_on = "code"
    mode = "upsert"
    create_tables = True

    def check_row(self, row: CategoryRow) -> None:
        """Refuse a category that is its own parent."""
        if row.parent_id == row.code:
            raise Invalid(
                "own_parent",
                "A category can't belong to itself; leave the cell empty for a "
                "category at the top.",
                field="parent_id",
            )


class ProductRow(BaseModel):
    """A product as files have it."""

    sku: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Z]{3}-[0-9]{4}$"),
        Column(unique=True, aliases=("Article no.", "Item"), example="GAR-0042"),
    ]
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=120),
        Column(aliases=("Title",), example="Hand trowel, stainless"),
    ]
    category_id: Annotated[
        str, Column("category", lookup=Category.code, example="garden-tools")
    ]
    price: Annotated[
        Amount, Field(gt=0), Column(aliases=("Unit price",), example="12.90")
    ]
    stock: Annotated[
        int, Field(ge=0, le=1_000_000), Column(aliases=("In stock",), example="250")
    ]
    active: Annotated[bool, Column(aliases=("For sale",), example="yes")] = True


class ProductImporter(TableImporter[ProductRow]):
    """Adds products, or changes those that have the same SKU."""

    name = "products"
    model = Product
    match_on = "sku"
    mode = "upsert"
    create_tables = True


class OrderRow(BaseModel):
    """An order as files have it."""

    number: Annotated[
        str,
        StringConstraints(pattern=r"^[0-9]{4}-[0-9]{6}$"),
        Column(
            "order_number", unique=True, aliases=("Order no.",), example="2026-000317"
        ),
    ]
    customer_id: Annotated[
        str,
        Column(
            "customer",
            lookup=Customer.external_id,
            aliases=("Customer no.",),
            example="00001742",
        ),
    ]
    product_id: Annotated[
        str,
        Column("product", lookup=Product.sku, aliases=("Sku",), example="GAR-0042"),
    ]
    quantity: Annotated[
        int, Field(ge=1, le=10_000), Column(aliases=("Pieces",), example="3")
    ]
    unit_price: Annotated[Amount, Field(ge=0), Column(example="12.90")]
    ordered_on: Annotated[date, Column(aliases=("Order date",), example="2026-03-14")]
    shipped_on: Annotated[
        date | None, Column(aliases=("Shipping date",), example="2026-03-16")
    ] = None
    status: Annotated[Status, Column(example="shipped")]


class OrderImporter(TableImporter[OrderRow]):
    """Adds orders, or changes those that have the same number."""

    name = "orders"
    model = Order
    match_on = "number"
    mode = "upsert"
    create_tables = True

    def check_ordered_on(self, value: date) -> None:
        """Refuse a day that is still to come."""
        if value > datetime.now(UTC).date():
            raise Invalid(
                "date_in_future", "An order can't be of a later day than now."
            )

    def check_row(self, row: OrderRow) -> None:
        """Refuse a status and dates that don't go together."""
        if row.status == "shipped" and row.shipped_on is None:
            raise Invalid(
                "shipping_date_missing",
                "An order that is shipped has a shipping date.",
                field="shipped_on",
            )
        if row.status != "shipped" and row.shipped_on is not None:
            raise Invalid(
                "not_shipped_yet",
                f"An order that is {row.status} has no shipping date.",
                field="status",
            )
        if row.shipped_on is not None and row.shipped_on < row.ordered_on:
            raise Invalid(
                "shipped_before_ordered",
                f"It can't be shipped before it was ordered, on {row.ordered_on}.",
                field="shipped_on",
                ordered_on=str(row.ordered_on),
            )
