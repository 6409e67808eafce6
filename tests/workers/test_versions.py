"""Workers with two versions of an importer at once."""

from __future__ import annotations

import time

import sqlalchemy as sa

from batchfx import BatchKey
from batchfx.store.schema import CHUNK
from tests.oracle import check_batch
from tests.workers.fleet import Fleet, wait_for
from tests.workers.test_entry import BATCHFX

NEWER = "tests.workers.newer"


def shown(fleet: Fleet, *words: str) -> str:
    """Return what a command says, on one line."""
    running = fleet.run([str(BATCHFX), *words, "--database", fleet.database])
    running.process.wait(30)
    return " ".join(running.log.split())


def charges(fleet: Fleet, key: BatchKey) -> tuple[int, int, int]:
    """Return how often units of a batch failed, were lost, and changed hands."""
    columns = (CHUNK.c.failures, CHUNK.c.losses, CHUNK.c.fence)
    statement = sa.select(*map(sa.func.sum, columns)).where(CHUNK.c.batch == key.number)
    with fleet.store.read() as connection:
        failures, losses, fences = connection.execute(statement).one()
    return failures, losses, fences


def test_a_worker_of_another_version_leaves_a_batch_to_the_one_that_fits(
    fleet: Fleet,
) -> None:
    key = fleet.submit(*["nothing"] * 6)
    why = (
        f"The importer 'troubles' is not of the version that batch {key.number} was "
        "begun with: it requires 'email', for which no column was mapped; it has no "
        "'act', 'value', for which a column was mapped. Start a worker with that "
        f"version, or cancel it ('batchfx cancel {key.number}') and import its file "
        "with this one."
    )
    newer = fleet.start(processes=2, importers=NEWER)
    wait_for(lambda: why in newer.log)
    time.sleep(1.5)  # of a poll every 0.2 seconds
    assert charges(fleet, key) == (0, 0, 2)  # claimed once, given back once
    state = "waits for a worker with the version that it was begun with."
    assert f"Batch {key.number} {state} {why}" in shown(
        fleet, "status", str(key.number)
    )
    watch = fleet.run(
        [str(BATCHFX), "watch", str(key.number), "--database", fleet.database]
    )
    wait_for(
        lambda: f"Batch {key.number} {state[:-1]}. {why}" in " ".join(watch.log.split())
    )
    fleet.start()
    fleet.wait(key)
    check_batch(fleet.store, key)
    assert fleet.states(key) == ["done"] * 6
    assert charges(fleet, key)[:2] == (0, 0)
    assert newer.stop() == 0
