"""The embedded engine: this process runs a batch's units of work, one after the other.

It does so in one thread. To validate the next chunk beside the writing of one was
measured to gain nothing: the interpreter's lock changes hands with every row.
"""

from __future__ import annotations

import time
from typing import Any

from batchfx.execution.broadcast import Broadcast
from batchfx.execution.job import Job
from batchfx.execution.lease import TTL
from batchfx.execution.prepare import INTERRUPTED, prepare, stop
from batchfx.execution.run import run_chunk
from batchfx.execution.stage import Interrupted
from batchfx.execution.sweep import sweep
from batchfx.importer import Importer
from batchfx.model.states import ACTIVE
from batchfx.store import batches, claims
from batchfx.store.claims import Claim
from batchfx.store.engine import Store

POLL = 0.5  # seconds between two looks at what other processes have of the batch


def run_batch(
    store: Store,
    claim: Claim,
    importer: type[Importer[Any]],
    is_interrupted: Interrupted,
    broadcast: Broadcast,
) -> None:
    """Bring the batch, whose preparation is *claim*, to an end of some kind.

    Raises:
        LeaseLostError: Another process has taken a unit of it over.
        StoreError: The database gave out; what was committed is kept.

    """
    job = prepare(store, claim, importer, is_interrupted, broadcast)
    if job is not None:
        broadcast.restart()
        broadcast.now()
        run_chunks(job, claim.worker, is_interrupted, broadcast)
    broadcast.now()


def run_chunks(
    job: Job, worker: str, is_interrupted: Interrupted, broadcast: Broadcast
) -> None:
    """Run every chunk that waits, and wait for those that other processes have."""
    claim = _claim(job, worker)
    while claim is not None or _goes_on(job):
        if claim is None:
            if is_interrupted():
                return  # nothing is at work here
            time.sleep(POLL)
            sweep(job.store)
            claim = _claim(job, worker)
        else:
            claim = _run(job, claim, is_interrupted, broadcast)
        broadcast.at_times()


def _run(
    job: Job, claim: Claim, is_interrupted: Interrupted, broadcast: Broadcast
) -> Claim | None:
    """Run one chunk; return the next one, or None when there is none for now."""
    if is_interrupted():
        stop(job.store, job.key, INTERRUPTED, claim)
        return None
    upcoming, _ = run_chunk(job, claim, broadcast.at_times, takes_next=True)
    return upcoming


def _claim(job: Job, worker: str) -> Claim | None:
    with job.store.write() as connection:
        return claims.of_batch(connection, job.key, worker, TTL)


def _goes_on(job: Job) -> bool:
    with job.store.read() as connection:
        return batches.read(connection, job.key).state in ACTIVE
