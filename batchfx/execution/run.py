"""One unit of work under its claim: the same way in every process that runs any.

A worker's handler and the embedded engine both come here. What is raised leaves the
unit claimed; whoever supervises decides what that means.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

from sqlalchemy.exc import IntegrityError

from batchfx import tables
from batchfx.errors import IllegalMoveError, StoreError
from batchfx.execution.broadcast import Broadcast
from batchfx.execution.chunk import Checked, check_chunk, commit_chunk
from batchfx.execution.job import Job, job_of
from batchfx.execution.prepare import prepare, stop
from batchfx.execution.process import Tick
from batchfx.execution.versions import require_fit
from batchfx.importer import find_importer
from batchfx.model.garbage import uncollected
from batchfx.model.states import ACTIVE
from batchfx.store import batches, claims, lanes, units
from batchfx.store.claims import Claim
from batchfx.store.engine import Store


class Ending(StrEnum):
    """How a unit of work ended under its claim."""

    DONE = "done"  # committed; a row of it may still wait for a later one
    STOPPED = "stopped"  # its batch ended early with it


def run_claim(
    store: Store,
    claim: Claim,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Ending:
    """Run the unit of *claim* to its commit.

    Raises:
        LeaseLostError: It was taken over or taken back; nothing was written.
        NotFoundError: Its importer isn't installed here.
        MisfitError: Its importer is of another version here; nothing was touched.
        StoreError: The database gave out; what was committed is kept.
        BatchfxError: The importer can't be run as it is.
        Exception: What broke under it; nothing of the chunk was written.

    """
    importer = find_importer(claim.importer)
    with store.read() as connection:
        batch = batches.read(connection, claim.key)
    require_fit(batch, importer)
    tables.require_tables(store, importer)
    if claim.is_preparation:
        quiet = Broadcast(store, claim.key, None)
        job = prepare(store, claim, importer, is_interrupted, quiet)
        return Ending.STOPPED if job is None else Ending.DONE
    job = job_of(store, batch, importer)
    _, goes_on = run_chunk(job, claim)
    return Ending.DONE if goes_on else Ending.STOPPED


@uncollected()
def run_chunk(
    job: Job, claim: Claim, tick: Tick = lambda _: None, *, takes_next: bool = False
) -> tuple[Claim | None, bool]:
    """Run one chunk; return the next one if it *takes_next*, and whether it goes on.

    It does not when too many rows are faulty: seen before the commit, what is wrong
    with them is written and nothing else of the chunk.
    """
    checked = check_chunk(job, claim)
    reason = _too_many_faults(job, checked)
    if reason is not None:
        _commit(replace(job, dry_run=True), checked, tick, reason=reason)
        return None, False
    upcoming = _commit(job, checked, tick, takes_next=takes_next)
    reason = _too_many_faults(job)
    if reason is None or not _has_work(job):
        return upcoming, True
    with suppress(IllegalMoveError):  # another process has ended it at the same moment
        stop(job.store, job.key, reason)
    return None, False


def _commit(
    job: Job,
    checked: Checked,
    tick: Tick,
    *,
    takes_next: bool = False,
    reason: str | None = None,
) -> Claim | None:
    """Commit the chunk; an answer that was lost is looked for in the database."""
    try:
        return commit_chunk(job, checked, tick, takes_next=takes_next, reason=reason)
    except StoreError:
        with job.store.read() as connection:
            if not claims.has_landed(connection, checked.claim):
                raise
        if takes_next:
            _give_back_next(job, checked.claim)
        return None
    except IntegrityError:
        with job.store.write() as connection:  # was somebody else quicker?
            claims.require(connection, checked.claim)
        raise


def _give_back_next(job: Job, claim: Claim) -> None:
    """Give back the next chunk: which one it is was in the answer that was lost."""
    with job.store.write() as connection:
        units.release_all(connection, job.key, {claim.worker})
        lanes.wake(connection, job.key.tenant)


def _has_work(job: Job) -> bool:
    with job.store.read() as connection:
        return batches.read(connection, job.key).state in ACTIVE


def _too_many_faults(job: Job, upcoming: Checked | None = None) -> str | None:
    """Return the sentence that ends the run if too many rows are faulty, or will be."""
    if job.max_error_rate is None:
        return None
    with job.store.read() as connection:
        faulty = batches.tally(connection, job.key).faulty
        examined = batches.examined(connection, job.key)
    if upcoming is not None:
        sound = upcoming.validated.sound
        faulty += len(sound) - int(sound.sum())
        examined += len(sound)
    if not examined or faulty <= job.max_error_rate * examined:
        return None
    return (
        f"{faulty:,} of the first {examined:,} rows are faulty ({faulty / examined:.1%}"
        f"), more than the {job.max_error_rate:.1%} that was allowed."
    )
