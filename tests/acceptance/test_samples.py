"""The sample files: how they are made, and what an import makes of them."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import importers  # noqa: F401 - enters the importers in the register
from batchfx import Report, Store, import_path, open_store, rerun
from batchfx.importer import find_importer
from importers.models import Category, Customer, Order, Product

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(f"sqlite:///{tmp_path / 'shop.db'}")
    yield opened
    opened.close()


def load(store: Store, kind: str, name: str) -> Report:
    return import_path(store, find_importer(kind), SAMPLES / name)


def counted(report: Report) -> dict[str, int]:
    return {name: n for name, n in report.tally.counts().items() if n}


def generate(*arguments: str) -> str:
    """Return what the generator prints."""
    command = [sys.executable, str(SAMPLES / "generate.py"), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def test_the_files_are_what_the_commands_in_the_readme_make(tmp_path: Path) -> None:
    text = (SAMPLES / "README.md").read_text("utf-8")
    commands = re.findall(r"^python generate\.py (.+)$", text, re.MULTILINE)
    for command in commands:
        arguments, _, printed = command.partition(" > ")
        words = arguments.replace("'", "").split()
        written = [word for word in words if word.endswith((".csv", ".xlsx"))]
        targets = [str(tmp_path / w) if w in written else w for w in words]

        output = generate(*targets)

        if printed:
            assert output == (SAMPLES / printed).read_text("utf-8")
        for name in written:
            assert (tmp_path / name).read_bytes() == (SAMPLES / name).read_bytes()
    assert len(commands) == 5


def test_the_whole_shop_is_imported(store: Store) -> None:
    reports = {
        name: load(store, name.partition(".")[0], name)
        for name in (
            "customers.csv",
            "customers.xlsx",
            "categories.csv",
            "products.csv",
            "orders.csv",
        )
    }

    assert {name: counted(report) for name, report in reports.items()} == {
        "customers.csv": {"created": 457, "invalid": 23},
        "customers.xlsx": {"created": 290, "invalid": 10},
        "categories.csv": {"created": 228, "invalid": 12},
        "products.csv": {"created": 288, "invalid": 12},
        "orders.csv": {"created": 479, "invalid": 21},
    }
    with store.read() as connection:
        counts = [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar()
            for table in (Customer, Category, Product, Order)
        ]
    assert counts == [457 + 290, 228, 288, 479]


def test_the_corrected_file_makes_every_customer_good(store: Store) -> None:
    first = load(store, "customers", "customers.csv")

    report = rerun(store, first.key, SAMPLES / "customers-corrected.csv")

    assert counted(report) == {"created": 480}
    with store.read() as connection:
        numbers = connection.execute(sa.select(Customer.external_id)).scalars().all()
    assert sorted(numbers) == [f"{n:08d}" for n in range(1, 481)]


def test_a_name_comes_out_as_the_file_has_it(store: Store) -> None:
    load(store, "customers", "customers.csv")
    with (SAMPLES / "customers.csv").open(encoding="utf-8", newline="") as file:
        # The first of two rows with one number is the good one.
        rows = {
            row["external_id"]: (row["name"], row["notes"] or None)
            for row in reversed(list(csv.DictReader(file)))
        }

    with store.read() as connection:
        found = connection.execute(
            sa.select(Customer.external_id, Customer.name, Customer.notes)
        ).all()

    assert len(found) == 457
    assert all((name, notes) == rows[number] for number, name, notes in found)


@pytest.mark.parametrize("kind", ["customers", "categories", "products", "orders"])
def test_a_file_of_any_size_begins_with_the_rows_of_a_smaller_one(kind: str) -> None:
    small = generate(kind, "50", "--seed", "7", "--faulty", "0.1")
    large = generate(kind, "90", "--seed", "7", "--faulty", "0.1")

    assert large.startswith(small)
    assert large != generate(kind, "90", "--seed", "8", "--faulty", "0.1")
