"""What batchfx imports is what its installation brings, extras for users included."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]

NEWER = {"compression"}  # in the standard library from Python 3.14 on
OLDER = {"backports": "backports-zstd"}  # what brings it to those before


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def distributions_used(top: str) -> set[str]:
    sources = (path.read_text("utf-8") for path in ROOT.glob(f"{top}/**/*.py"))
    names = {name for source in sources for name in imported(source)}
    others = names - sys.stdlib_module_names - NEWER - {top}
    return {
        OLDER.get(name) or _plain(packages_distributions()[name][0]) for name in others
    }


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def requirements(*extras: str) -> set[str]:
    """Return the names of the core's requirements and those of the extras."""
    lines = [
        line
        for line in requires("batchfx") or []
        if "extra ==" not in line
        or any(re.search(f"extra == ['\"]{extra}['\"]", line) for extra in extras)
    ]
    return {_plain(re.split(r"[^\w-]", line)[0]) for line in lines} - {"batchfx"}


def test_batchfx_imports_exactly_what_its_installation_brings() -> None:
    # Pydantic imports email-validator for EmailStr, zoneinfo takes its zones of tzdata,
    # SQLAlchemy imports psycopg for an address of PostgreSQL.
    unseen = {"email-validator", "tzdata", "psycopg"}
    found = distributions_used("batchfx") | unseen
    assert found == requirements("postgres", "web", "workers")
