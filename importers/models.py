"""The tables of a small shop."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Literal

from sqlalchemy import CheckConstraint, Dialect, ForeignKey, Numeric, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator, TypeEngine


class Money(TypeDecorator[Decimal]):
    """An amount of at most 15 digits, two of them decimals; exact in every database.

    SQLite has no decimals. It keeps 1500.00 as 1500 and 99.95 as the binary number next
    to it, so that amounts compare and sort as numbers, and a number of up to 15 digits
    comes back as it was: https://sqlite.org/floatingpoint.html, section 1.1.1.
    """

    impl = Numeric
    cache_ok = True
    digits = 15
    cents = Decimal("0.01")

    def __init__(self) -> None:
        super().__init__(precision=self.digits, scale=2)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Take SQLite's numbers as they are; SQLAlchemy would warn of them."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(Numeric(self.digits, 2, asdecimal=False))
        return dialect.type_descriptor(Numeric(self.digits, 2))

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """Give the amount back with its two decimals."""
        del dialect
        return None if value is None else Decimal(str(value)).quantize(self.cents)


class Base(DeclarativeBase):
    """What the shop's tables have in common."""


class Customer(Base):
    """Who buys."""

    __tablename__ = "customers"

    id: Mapped[int] = mapped_column(primary_key=True)
    external_id: Mapped[str] = mapped_column(String(20), unique=True)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(100))
    country: Mapped[str] = mapped_column(String(2))
    birth_date: Mapped[date]
    credit_limit: Mapped[Decimal] = mapped_column(Money)
    vip: Mapped[bool]
    notes: Mapped[str | None] = mapped_column(String(500))


class Category(Base):
    """A kind of product; it may belong to a wider one."""

    __tablename__ = "categories"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(20), unique=True)
    name: Mapped[str] = mapped_column(String(80))
    parent_id: Mapped[int | None] = mapped_column(
        ForeignKey("categories.id"), index=True
    )
    parent: Mapped[Category | None] = relationship(remote_side="Category.id")


class Product(Base):
    """What is sold."""

    __tablename__ = "products"
    __table_args__ = (
        CheckConstraint("price > 0", name="price_is_positive"),
        CheckConstraint("stock >= 0", name="stock_is_not_negative"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    sku: Mapped[str] = mapped_column(String(16), unique=True)
    name: Mapped[str] = mapped_column(String(120))
    category_id: Mapped[int] = mapped_column(ForeignKey("categories.id"), index=True)
    price: Mapped[Decimal] = mapped_column(Money)
    stock: Mapped[int]
    active: Mapped[bool]
    category: Mapped[Category] = relationship()


Status = Literal["open", "paid", "shipped", "cancelled"]


class Order(Base):
    """One product for one customer."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[str] = mapped_column(String(20), unique=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"), index=True)
    product_id: Mapped[int] = mapped_column(ForeignKey("products.id"), index=True)
    quantity: Mapped[int]
    unit_price: Mapped[Decimal] = mapped_column(Money)
    ordered_on: Mapped[date]
    shipped_on: Mapped[date | None]
    status: Mapped[Status]
    customer: Mapped[Customer] = relationship()
    product: Mapped[Product] = relationship()
