"""Claims with fences: who lost a lease commits nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from batchfx import BatchKey, Store, cancel, rerun
from batchfx.errors import LeaseLostError
from batchfx.execution.chunk import check_chunk, commit_chunk
from batchfx.execution.job import Job, job_of
from batchfx.execution.lease import is_dead, new_worker, renewed
from batchfx.execution.reopen import Renewal, reopen
from batchfx.execution.sweep import sweep
from batchfx.store import batches, chunks, claims, units
from batchfx.store.claims import Claim
from batchfx.store.schema import CHUNK
from tests.execution.test_imports import people, run, store, stored
from tests.oracle import check_batch
from tests.people import PersonImporter

__all__ = ["store"]

IS_RETRYING = CHUNK.c.state == "retrying"

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
    """Make a batch whose only chunk is queued; nobody is at work on it."""
    report = run(store, people("A,Ann,1", "B,Ben,2"), dry_run=True)
    with store.write() as connection:
        batch = batches.read(connection, report.key)
        assert reopen(connection, batch, PersonImporter, Renewal())
        claim = claims.of_batch(connection, report.key, "it", 30.0, preparation=True)
        assert claim is not None
        chunks.commit_preparation(connection, claim)
        units.queue(connection, report.key)
        batch = batches.read(connection, report.key)
    return report.key, job_of(store, batch, PersonImporter)


def claimed(store: Store, key: BatchKey, worker: str, ttl: float = 30.0) -> Claim:
    with store.write() as connection:
        claim = claims.of_batch(connection, key, worker, ttl)
    assert claim is not None
    return claim


def test_a_claim_that_was_taken_over_commits_nothing(store: Store) -> None:
    key, job = queued(store)
    late = claimed(store, key, "late", ttl=0.0)
    time.sleep(0.01)
    assert sweep(store).lost == 1
    with store.write() as connection:
        connection.execute(sa.update(CHUNK).where(IS_RETRYING).values(due_at=0.0))
    assert sweep(store).due == 1
    ours = claimed(store, key, "ours")
    assert ours.fence > late.fence
    assert ours.losses == 1

    with pytest.raises(LeaseLostError, match="taken over by another process"):
        commit_chunk(job, check_chunk(job, late))
    assert stored(store) == []

    commit_chunk(job, check_chunk(job, ours))
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]


def test_a_claim_is_committed_once(store: Store) -> None:
    key, job = queued(store)
    claim = claimed(store, key, "ours")
    commit_chunk(job, check_chunk(job, claim))

    with pytest.raises(LeaseLostError):
        commit_chunk(job, check_chunk(job, claim))
    assert len(stored(store)) == 2
    check_batch(store, key)


def test_a_claim_whose_time_ran_out_commits_when_nobody_took_it(store: Store) -> None:
    key, job = queued(store)
    claim = claimed(store, key, "ours", ttl=0.0)
    time.sleep(0.01)

    assert commit_chunk(job, check_chunk(job, claim)) is None
    assert len(stored(store)) == 2


def test_a_chunk_is_claimed_by_one_worker_only(store: Store) -> None:
    key, _ = queued(store)
    claimed(store, key, "one")
    with store.write() as connection:
        assert claims.of_batch(connection, key, "two", 30.0) is None


def test_a_move_under_a_lost_claim_is_refused(store: Store) -> None:
    key, job = queued(store)
    claim = claimed(store, key, "ours")
    cancel(store, key)

    with pytest.raises(LeaseLostError), store.write() as connection:
        claims.require(connection, claim)
    with pytest.raises(LeaseLostError):
        commit_chunk(job, check_chunk(job, claim))
    assert stored(store) == []
    check_batch(store, key)


def test_leases_are_renewed_while_work_goes_on(store: Store) -> None:
    key, _ = queued(store)
    worker = new_worker()
    claimed(store, key, worker, ttl=0.3)
    with renewed(store, worker, 0.3):
        time.sleep(0.6)
        with store.read() as connection:
            (holder,) = claims.holders(connection, key)
    assert (holder.worker, holder.ordinal) == (worker, 0)
    assert 0 < holder.ends_in <= 0.3


def test_a_worker_is_dead_when_its_process_is() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    host = new_worker().split("/")[0]
    assert is_dead(f"{host}/{child.pid}/x")
    assert not is_dead(f"{host}/{os.getppid()}/x")
    assert not is_dead(f"elsewhere/{child.pid}/x")
    assert not is_dead(None)


def test_a_batch_of_a_dead_process_is_taken_over_at_once(store: Store) -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    host = new_worker().split("/")[0]
    key, _ = queued(store)
    claimed(store, key, f"{host}/{child.pid}/x", ttl=3600.0)

    again = rerun(store, key)
    assert again.batch.attempt == 3
    assert again.tally.created == 2
    check_batch(store, key)


def test_only_one_of_two_processes_works_on_a_batch(store: Store) -> None:
    """Two processes import the same slow file: one does, the other is told."""
    url = store.engine.url.render_as_string(hide_password=False)
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
