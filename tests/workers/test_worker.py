"""What workers do with batches when nothing goes wrong."""

from __future__ import annotations

from pathlib import Path

from batchfx.store.engine import open_store
from tests.oracle import check_batch
from tests.workers.fleet import Fleet, wait_for


def test_a_worker_runs_a_batch_to_its_end(fleet: Fleet) -> None:
    key = fleet.submit("nothing", "talk:3", "nothing")
    worker = fleet.start()
    fleet.wait(key)
    assert fleet.states(key) == ["done"] * 3
    check_batch(fleet.store, key)
    assert worker.stop() == 0
    assert "Importers here: limited, recording, troubles." in worker.log
    assert worker.log.rstrip().endswith("The worker has ended.")


def test_a_worker_runs_on_sqlite_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    fleet = Fleet(url, store, tmp_path)
    try:
        key = fleet.submit(*["nothing"] * 8)
        worker = fleet.start(processes=2)
        fleet.wait(key)
        check_batch(store, key)
        assert worker.stop() == 0
        assert "lease lost" not in worker.log
    finally:
        fleet.close()
        store.close()


def test_two_processes_work_on_one_batch_at_once(fleet: Fleet) -> None:
    key = fleet.submit("sleep:1.5", "sleep:1.5")
    worker = fleet.start(processes=2)
    wait_for(lambda: fleet.states(key) == ["leased"] * 2)
    fleet.wait(key)
    assert worker.stop() == 0


def test_several_workers_share_many_batches(hinted_fleet: Fleet) -> None:
    workers = [hinted_fleet.start(processes=2) for _ in range(2)]
    keys = [hinted_fleet.submit(*["nothing"] * 10, tenant=name) for name in "abc"]
    for key in keys:
        hinted_fleet.wait(key)
        check_batch(hinted_fleet.store, key)
        assert [chunk.losses for chunk in hinted_fleet.chunks(key)] == [0] * 10
    assert [worker.stop() for worker in workers] == [0, 0]


def test_a_break_of_a_chunk_is_told_and_tried_again(fleet: Fleet) -> None:
    key = fleet.submit("memory")
    worker = fleet.start()
    wait_for(lambda: fleet.states(key) == ["retrying"])
    (chunk,) = fleet.chunks(key)
    assert (chunk.failures, chunk.losses, chunk.reason) == (1, 0, "exception")
    assert chunk.error.startswith("MemoryError")
    assert "troubles.py" in chunk.place
    text = f"batch {key.number}, chunk 0: exception: MemoryError"
    assert text in wait_for(lambda: text in worker.log and worker.log)
