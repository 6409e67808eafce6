"""A process that the application's code forks does no work of the framework."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from batchfx import BatchKey
from batchfx.store.engine import open_store
from batchfx.store.schema import OUTCOME
from tests.oracle import check_batch
from tests.workers.fleet import Fleet
from tests.workers.troubles import RECORDS, RecordingImporter

TABLE = sa.table(RECORDS, sa.column("code", sa.String))


@pytest.fixture(params=["postgresql", "sqlite"])
def forking(
    request: pytest.FixtureRequest, postgresql: str, tmp_path: Path
) -> Iterator[Fleet]:
    """A fleet with the table of the application."""
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'store.db'}" if is_sqlite else postgresql
    store = open_store(url)
    with store.write() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {RECORDS} (code VARCHAR)")
    made = Fleet(url, store, tmp_path)
    yield made
    made.close()
    store.close()


def records(fleet: Fleet) -> list[str]:
    with fleet.store.read() as connection:
        found = connection.execute(sa.select(TABLE.c.code))
        return sorted(found.scalars())


def codes(fleet: Fleet, *keys: BatchKey) -> list[str]:
    """Return what the outcomes say that there is."""
    of_keys = OUTCOME.c.batch.in_([key.number for key in keys])
    with fleet.store.read() as connection:
        found = connection.execute(sa.select(OUTCOME.c.record_id).where(of_keys))
        return sorted(found.scalars())


@pytest.mark.parametrize("seconds", [0, 0.3, -0.3], ids=["at once", "late", "raises"])
def test_a_fork_that_comes_back_does_nothing(forking: Fleet, seconds: float) -> None:
    acts = ["nothing", f"fork:{seconds}", *["nothing"] * 4, f"fork:{seconds}"]
    first = forking.submit(*acts, importer=RecordingImporter)
    worker = forking.start()
    forking.wait(first)
    second = forking.submit(*["nothing"] * 3, importer=RecordingImporter)
    forking.wait(second)
    for key in (first, second):
        check_batch(forking.store, key)
        assert {c.losses + c.failures for c in forking.chunks(key)} == {0}
    assert records(forking) == codes(forking, first, second)
    assert len(records(forking)) == 10
    assert len(worker.handlers()) == 1
    assert worker.stop() == 0
    assert "Traceback" not in worker.log


def test_a_fork_that_stays_holds_nothing_of_the_handler(forking: Fleet) -> None:
    first = forking.submit("fork_and_stay:600", "nothing", importer=RecordingImporter)
    worker = forking.start()
    forking.wait(first)
    (handler,) = [p for p in worker.handlers() if p.ppid() == worker.process.pid]
    (stayed,) = handler.children()
    ours = {(c.laddr, c.raddr) for c in handler.net_connections()}
    assert not ours & {(c.laddr, c.raddr) for c in stayed.net_connections()}
    second = forking.submit("nothing", importer=RecordingImporter)
    forking.wait(second)
    assert worker.stop() == 0
    assert not psutil.pid_exists(stayed.pid)
