"""The embedded engine: this process runs a batch's chunks, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from batchfx.execution.broadcast import Broadcast
from batchfx.execution.chunk import run_chunk
from batchfx.execution.job import Job
from batchfx.execution.lease import TTL
from batchfx.store import batches, chunks

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
    while not is_interrupted():
        with job.store.write() as connection:
            claim = chunks.claim(connection, job.key, job.hold.worker, TTL)
        if claim is None:
            return None
        run_chunk(job, claim)
        reason = _too_many_faults(job)
        if reason is not None:
            return reason
        broadcast.at_times()
    return INTERRUPTED


def _too_many_faults(job: Job) -> str | None:
    if job.max_error_rate is None:
        return None
    with job.store.read() as connection:
        tally = batches.tally(connection, job.key)
    if not tally.decided or tally.faulty <= job.max_error_rate * tally.decided:
        return None
    return (
        f"{tally.faulty:,} of the first {tally.decided:,} rows are faulty "
        f"({tally.faulty / tally.decided:.1%}), more than the {job.max_error_rate:.1%} "
        "that was allowed."
    )
