"""One run of one of the ways of importing customers that the benchmark compares."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from batchfx import Context, Importer, Invalid, Store, import_path, open_store
from batchfx.execution import chunk, prepare
from batchfx.execution import run as running
from batchfx.importer import Importer as AnyImporter
from importers.countries import COUNTRIES
from importers.models import Base, Customer
from importers.shop import CustomerImporter, CustomerRow
from tests.benchmarks import plain
from tests.benchmarks.runs import peak_memory

Steps = dict[str, float]


class RowImporter(Importer[CustomerRow]):
    """Customers as someone writes them who wants a method for everything."""

    name = "customers-by-row"

    def check_country(self, value: str) -> None:
        """Refuse what is no country's code."""
        if value not in COUNTRIES:
            raise Invalid(
                "unknown_country", "Write the country as two capital letters."
            )

    def check_email(self, value: str) -> None:
        """Refuse throw-away addresses."""
        if value.endswith("@mailinator.com"):
            raise Invalid("disposable", "Use a permanent address.")

    def check_row(self, row: CustomerRow) -> None:
        """Refuse a VIP with little credit."""
        if row.vip and row.credit_limit < 1000:
            raise Invalid(
                "vip_needs_credit", "A VIP has a credit limit of 1000 or more."
            )

    def process(self, row: CustomerRow, context: Context) -> Customer:
        """Add the customer."""
        customer = Customer(**row.model_dump())
        context.session.add(customer)
        return customer


def timed(steps: Steps, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* with the seconds that it takes added to *steps*."""

    def call(*arguments: Any, **options: Any) -> Any:
        started = time.monotonic()
        try:
            return function(*arguments, **options)
        finally:
            steps[name] = steps.get(name, 0.0) + time.monotonic() - started

    return call


def watch_steps() -> Steps:
    """Have the steps of an import timed, in this process."""
    steps: Steps = {}
    for module, name, step in (
        (prepare, "stage", "stage: read the file into blocks"),
        (prepare, "find_duplicates", "find repeated values in the whole file"),
        (running, "check_chunk", "validate: read, rules, checks"),
        (chunk, "_decide", "process: look up and write the records"),
        (chunk, "_write", "write outcomes and issues"),
    ):
        setattr(module, name, timed(steps, step, getattr(module, name)))
    return steps


def batchfx(importer: type[AnyImporter[Any]], source: Path, store: Store) -> int:
    """Import with batchfx."""
    with store.write() as connection:
        Base.metadata.create_all(connection)
    return import_path(store, importer, source).tally.created


def insert(source: Path, path: Path) -> int:
    """Insert the rows with the driver alone, typed by SQLite, as fast as that goes."""
    connection = sqlite3.connect(path)
    Base.metadata.create_all(sa.create_engine(f"sqlite:///{path}"))
    columns = [c.name for c in Customer.__table__.columns if c.name != "id"]
    marks = ", ".join("?" for _ in columns)
    text = f"INSERT OR IGNORE INTO customers ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - names of our own table
    stored = 0
    with source.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        while part := [row for _, row in zip(range(5_000), rows, strict=False)]:
            full = [row for row in part if len(row) == len(columns)]
            with connection:
                stored += connection.executemany(text, full).rowcount
    return stored


def main(way: str, source: Path, folder: Path) -> None:
    """Run one way and print its wall seconds, rows stored and seconds by step."""
    steps: Steps = {}
    database = folder / "bench.db"
    store = open_store(f"sqlite:///{database}") if way in {"batchfx", "rows"} else None
    started = time.monotonic()
    if way == "plain":
        stored = plain.run(source, f"sqlite:///{database}")
    elif way == "insert" or store is None:
        stored = insert(source, database)
    else:
        steps = watch_steps()
        importer = CustomerImporter if way == "batchfx" else RowImporter
        stored = batchfx(importer, source, store)
    wall = time.monotonic() - started
    said = {"wall": wall, "peak": peak_memory(), "stored": stored, "steps": steps}
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
