"""Workers on a database of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batchfx.store.engine import open_store
from tests.workers.fleet import Fleet


@pytest.fixture
def fleet(postgresql: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on PostgreSQL that poll."""
    store = open_store(postgresql)
    made = Fleet(postgresql, store, tmp_path)
    yield made
    made.close()
    store.close()


@pytest.fixture
def hinted_fleet(fleet: Fleet, redis_url: str) -> Fleet:
    """The same with Redis."""
    fleet.redis = redis_url
    return fleet
