"""Claims with fences: who lost a lease commits nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from batchfx import BatchKey, Store, rerun
from batchfx.errors import LeaseLostError
from batchfx.execution.chunk import check_chunk, commit_chunk
from batchfx.execution.job import Job, job_of
from batchfx.execution.lease import is_dead, new_worker, renewed
from batchfx.store import batches, chunks
from batchfx.store.schema import BATCH, CHUNK
from tests.execution.test_imports import people, run, store, stored
from tests.oracle import check_batch
from tests.people import PersonImporter

__all__ = ["store"]


SLOW_IMPORT = """
import io, sys, time
from batchfx import *
from tests.people import PersonImporter

class Slow(PersonImporter):
    name = "slow-people"

    def check_row(self, row):
        time.sleep(0.05)

rows = b"".join(b"A%d,Ann,1\\n" % number for number in range(40))
source = io.BytesIO(b"Code,Name,Age\\n" + rows)
options = Options(chunk_size=5)
try:
    store = open_store(sys.argv[1])
    report = import_source(store, Slow, source, name="f", options=options)
    print("done", report.tally.created)
except BatchfxError as error:
    print("refused", error)
"""


def queued(store: Store) -> tuple[BatchKey, Job]:
    """Make a batch whose only chunk is queued, held by this process."""
    report = run(store, people("A,Ann,1", "B,Ben,2"), dry_run=True)
    worker = new_worker()
    with store.write() as connection:
        hold = batches.take(connection, report.key, worker, 30.0, set())
        batch = batches.read(connection, report.key)
        batches.move(connection, hold, "rerun", dry_run=False, attempt=2)
        chunks.requeue(connection, report.key)
        batch = batches.read(connection, report.key)
    return report.key, job_of(store, hold, batch, PersonImporter)


def test_a_claim_that_was_taken_over_commits_nothing(store: Store) -> None:
    key, job = queued(store)
    with store.write() as connection:
        late = chunks.claim(connection, key, "late", 0.0)
    time.sleep(0.01)
    with store.write() as connection:
        ours = chunks.claim(connection, key, "ours", 30.0)
    assert late is not None
    assert ours is not None
    assert ours.fence == late.fence + 1

    with pytest.raises(LeaseLostError, match="taken over by another process"):
        commit_chunk(job, check_chunk(job, late))
    assert stored(store) == []

    commit_chunk(job, check_chunk(job, ours))
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]


def test_a_claim_is_committed_once(store: Store) -> None:
    key, job = queued(store)
    with store.write() as connection:
        claim = chunks.claim(connection, key, "ours", 30.0)
    assert claim is not None
    commit_chunk(job, check_chunk(job, claim))

    with pytest.raises(LeaseLostError):
        commit_chunk(job, check_chunk(job, claim))
    assert len(stored(store)) == 2


def test_a_claim_whose_time_ran_out_commits_when_nobody_took_it(store: Store) -> None:
    key, job = queued(store)
    with store.write() as connection:
        claim = chunks.claim(connection, key, "ours", 0.0)
    assert claim is not None
    time.sleep(0.01)

    assert commit_chunk(job, check_chunk(job, claim)) is None
    assert len(stored(store)) == 2


def test_a_chunk_is_claimed_by_one_worker_only(store: Store) -> None:
    key, _ = queued(store)
    with store.write() as connection:
        assert chunks.claim(connection, key, "one", 30.0) is not None
    with store.write() as connection:
        assert chunks.claim(connection, key, "two", 30.0) is None


def test_a_move_under_a_lost_hold_is_refused(store: Store) -> None:
    key, job = queued(store)
    with store.write() as connection:
        batches.take(connection, key, "thief", 30.0, {job.hold.worker})

    with pytest.raises(LeaseLostError), store.write() as connection:
        batches.move(connection, job.hold, "complete")
    with pytest.raises(LeaseLostError), store.write() as connection:
        batches.note(connection, job.hold, blank=7)


def test_leases_are_renewed_while_work_goes_on(store: Store) -> None:
    key, job = queued(store)
    with store.write() as connection:
        chunks.claim(connection, key, job.hold.worker, 0.3)
        connection.execute(sa.update(BATCH).values(lease_until=0.0))
    with renewed(store, job.hold.worker, 0.3):
        time.sleep(0.6)
        with store.read() as connection:
            assert batches.read(connection, key).is_held
            until, now = connection.execute(
                sa.select(
                    CHUNK.c.lease_until,
                    sa.text("(julianday('now') - 2440587.5) * 86400.0"),
                )
            ).one()
        assert until > now


def test_a_worker_is_dead_when_its_process_is() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    host = new_worker().split("/")[0]
    assert is_dead(f"{host}/{child.pid}/x")
    assert not is_dead(f"{host}/{os.getppid()}/x")
    assert not is_dead(f"elsewhere/{child.pid}/x")
    assert not is_dead(None)


def test_a_batch_of_a_dead_process_is_taken_over_at_once(store: Store) -> None:
    report = run(store, people("A,Ann,1", "B,boom,2"))
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    host = new_worker().split("/")[0]
    with store.write() as connection:
        batches.take(connection, report.key, f"{host}/{child.pid}/x", 3600.0, set())

    again = rerun(store, report.key)
    assert again.batch.attempt == 2
    check_batch(store, report.key)


def test_only_one_of_two_processes_works_on_a_batch(store: Store) -> None:
    """Two processes import the same slow file: one does, the other is told."""
    url = str(store.engine.url)
    first, second = (
        subprocess.Popen(
            [sys.executable, "-c", SLOW_IMPORT, url], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    said = sorted(
        process.communicate(timeout=60)[0].split(maxsplit=1)[0]
        for process in (first, second)
    )
    assert said == ["done", "refused"]
    with store.read() as connection:
        (batch,) = batches.listing(connection, "default", 10)
    check_batch(store, batch.key)
