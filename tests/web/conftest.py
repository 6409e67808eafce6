"""The application on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batchfx.store.engine import Store, open_store
from tests.web.site import Site, site_on


@pytest.fixture
def site(store: Store) -> Site:
    """The application on each of the two databases."""
    return site_on(store)


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """A database in a file."""
    opened = open_store(f"sqlite:///{tmp_path / 'web.db'}")
    yield opened
    opened.close()


@pytest.fixture
def here(sqlite_store: Store) -> Site:
    """The application on SQLite alone, for what no database makes different."""
    return site_on(sqlite_store)
