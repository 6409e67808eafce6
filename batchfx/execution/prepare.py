"""A batch's preparation: everything that comes before its first chunk may be run.

It is a unit of work like a chunk, claimed and fenced. Whatever ends the process in
between, who claims it next goes on: staging with the next record, the rest from new.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection

from batchfx.errors import SourceError
from batchfx.execution.broadcast import Broadcast
from batchfx.execution.facts import find_duplicates, settle_notations
from batchfx.execution.job import Job, job_of
from batchfx.execution.stage import Interrupted, stage
from batchfx.execution.standing import end_early, settle
from batchfx.importer import Importer
from batchfx.model.issues import Issue, Phase
from batchfx.model.states import ACTIVE
from batchfx.store import batches, chunks, claims, lanes, outcomes, units
from batchfx.store.batches import Batch
from batchfx.store.claims import Claim
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

INTERRUPTED = "It was interrupted; what is done is kept."


def prepare(
    store: Store,
    claim: Claim,
    importer: type[Importer[Any]],
    is_interrupted: Interrupted,
    broadcast: Broadcast,
) -> Job | None:
    """Make the batch's chunks ready and queue them; return the job of running them.

    None when the batch has ended instead: its source is damaged, or it was interrupted.

    Raises:
        LeaseLostError: Another process has taken the preparation over.
        StoreError: The database gave out; what was committed is kept.

    """
    batch = _read(store, claim)
    if not batch.staged:
        try:
            done = stage(store, claim, batch, is_interrupted, broadcast)
        except SourceError as error:
            _fail(store, claim, batch, error)
            return None
        if not done:
            stop(store, claim.key, INTERRUPTED, claim)
            return None
        batch = _read(store, claim)
    job = settle_notations(job_of(store, batch, importer, is_prepared=False), claim)
    find_duplicates(job, claim)
    with store.write() as connection:
        chunks.commit_preparation(connection, claim)
        _queue(connection, claim)
    return job


def stop(store: Store, key: BatchKey, reason: str, claim: Claim | None = None) -> None:
    """End the batch early on purpose, and with it whatever is at work on it.

    Raises:
        LeaseLostError: The *claim* that this is done under was lost.
        IllegalMoveError: The batch has ended already, or is paused.

    """
    with store.write() as connection:
        units.lock_units(connection, key)
        if claim is not None:
            claims.require(connection, claim)
        end_early(connection, key, "stop", reason)


def _queue(connection: Connection, claim: Claim) -> None:
    """Queue the chunks, unless the batch was paused meanwhile."""
    units.queue(connection, claim.key)
    batches.lock(connection, claim.key)
    if batches.read(connection, claim.key).state in ACTIVE:
        settle(connection, claim.key)
        lanes.wake(connection, claim.key.tenant)
    else:
        units.hold(connection, claim.key)


def _fail(store: Store, claim: Claim, batch: Batch, error: SourceError) -> None:
    issue = Issue(
        code=error.code,
        message=str(error),
        phase=Phase.FILE,
        parameters=error.parameters,
    )
    with store.write() as connection:
        claims.require(connection, claim)
        outcomes.add_issues(connection, claim.key, batch.attempt, [issue])
        end_early(connection, claim.key, "fail", str(error))


def _read(store: Store, claim: Claim) -> Batch:
    with store.read() as connection:
        return batches.read(connection, claim.key)
