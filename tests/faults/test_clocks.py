"""A worker's own clock says nothing: leases are told by the database's."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from batchfx import Store
from batchfx.store.engine import open_store
from tests.faults import worlds
from tests.faults.operations import bring_to_end, judge, renew
from tests.faults.worlds import Place, opened
from tests.workers.fleet import Fleet

CLOCKS = Path(__file__).parent / "clocks"
NEAR = 86_400.0  # seconds: a number as near to now as this is a time


@pytest.fixture
def fleet(postgresql: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on PostgreSQL."""
    store = open_store(postgresql)
    made = Fleet(postgresql, store, tmp_path)
    yield made
    made.close()
    store.close()


def test_workers_with_clocks_ten_minutes_off_neither_steal_nor_give_up(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CLOCKS))
    key = fleet.submit(*["sleep:2.0"] * 3, "nothing", "nothing")
    workers = []
    for said in ("600", "-600", "0,600"):
        monkeypatch.setenv("BATCHFX_TEST_CLOCK", said)
        workers.append(fleet.start(ttl=1.5))
    fleet.wait(key, seconds=60)
    assert [(chunk.losses, chunk.failures) for chunk in fleet.chunks(key)] == [
        (0, 0)
    ] * 5
    assert {chunk.fence for chunk in fleet.chunks(key)} == {2}  # queued, claimed
    assert not any("lease lost" in worker.log for worker in workers)


def test_the_wrong_clock_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CLOCKS))
    monkeypatch.setenv("BATCHFX_TEST_CLOCK", "600")
    told = subprocess.check_output(
        [sys.executable, "-c", "import time; print(time.time())"], text=True
    )
    assert 590 < float(told) - time.time() < 610  # noqa: TID251 - the wrong one


def test_no_statement_brings_a_time_along(database: str, tmp_path: Path) -> None:
    place = Place(tmp_path, None if database.startswith("sqlite") else database)
    url = place.empty()
    worlds.make(url, "troubled")
    store = opened(url)
    values = values_sent(store)
    renew(store)
    bring_to_end(store)
    judge(store)
    now = time.time()  # noqa: TID251 - what must not be sent
    times = [v for v in values if isinstance(v, int | float) and abs(v - now) < NEAR]
    assert len(values) > 100
    assert times == []
    store.close()


def values_sent(store: Store) -> list[Any]:
    """Return a list that every value of every statement is added to."""
    values: list[Any] = []

    def note(
        connection: Any, cursor: Any, statement: str, sent: Any, *rest: Any
    ) -> None:
        for each in sent if isinstance(sent, list) else [sent]:
            values.extend(each.values() if isinstance(each, dict) else each)

    sa.event.listen(store.engine, "before_cursor_execute", note)
    return values
