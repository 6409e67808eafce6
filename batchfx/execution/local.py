"""The embedded engine: this process runs a batch's chunks, one after the other.

It does so in one thread. To validate the next chunk beside the writing of one was
measured to gain nothing: the interpreter's lock changes hands with every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from batchfx.execution.broadcast import Broadcast
from batchfx.execution.chunk import Checked, check_chunk, commit_chunk
from batchfx.execution.job import Job
from batchfx.execution.lease import TTL
from batchfx.execution.process import Tick
from batchfx.model.garbage import uncollected
from batchfx.store import batches, chunks
from batchfx.store.chunks import Claim

Interrupted = Callable[[], bool]

INTERRUPTED = "It was interrupted; what is done is kept."


def run_chunks(job: Job, is_interrupted: Interrupted, broadcast: Broadcast) -> None:
    """Run every chunk that waits, then make the move that ends the run.

    Raises:
        LeaseLostError: Another process has taken the batch over.
        StoreError: The database gave out; what was committed is kept.

    """
    reason = _run_until_stopped(job, is_interrupted, broadcast)
    with job.store.write() as connection:
        if reason is not None:
            batches.move(connection, job.hold, "stop", reason=reason)
        else:
            move = "check" if job.dry_run else "complete"
            batches.move(connection, job.hold, move, reason=None)


def _run_until_stopped(
    job: Job, is_interrupted: Interrupted, broadcast: Broadcast
) -> str | None:
    """Return why the run ends before its last chunk, or None when it does not."""
    claim = _claim(job)
    while claim is not None:
        if is_interrupted():
            _give_back(job, claim)
            return INTERRUPTED
        claim, reason = _run(job, claim, broadcast.at_times)
        broadcast.at_times()
        if claim is not None:
            reason = reason or _too_many_faults(job)
        if reason is not None:
            _give_back(job, claim)
            return reason
    return None


@uncollected()
def _run(job: Job, claim: Claim, tick: Tick) -> tuple[Claim | None, str | None]:
    """Run one chunk; return the next one, and why the run ends if it does.

    It does when too many of the chunk's rows are invalid. What is wrong with those is
    written down then, and nothing else of the chunk.
    """
    checked = check_chunk(job, claim)
    reason = _too_many_faults(job, checked)
    stopping = job if reason is None else replace(job, dry_run=True)
    return commit_chunk(stopping, checked, tick), reason


def _claim(job: Job) -> Claim | None:
    with job.store.write() as connection:
        return chunks.claim(connection, job.key, job.hold.worker, TTL)


def _give_back(job: Job, claim: Claim | None) -> None:
    if claim is None:
        return
    with job.store.write() as connection:
        chunks.release(connection, claim)


def _too_many_faults(job: Job, upcoming: Checked | None = None) -> str | None:
    """Return the sentence that ends the run if too many rows are faulty, or will be."""
    if job.max_error_rate is None:
        return None
    with job.store.read() as connection:
        faulty = batches.tally(connection, job.key).faulty
        examined = chunks.examined(connection, job.key)
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
