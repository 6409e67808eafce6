"""The embedded engine: this process runs a batch's chunks, one after the other.

While one chunk is written, the next is claimed and validated in a second thread: Polars
and SQLite both let go of the interpreter, so that keeps two cores busy. An importer
with `prepare` looks things up that the chunk before may write, so its chunks wait for
each other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from batchfx.execution.broadcast import Broadcast
from batchfx.execution.chunk import Checked, check_chunk, commit_chunk
from batchfx.execution.job import Job
from batchfx.execution.lease import TTL
from batchfx.importer import Importer
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
    with ThreadPoolExecutor(1, "batchfx-check") as pool:
        line = Line(job, pool)
        try:
            reason = _run_until_stopped(job, line, is_interrupted, broadcast)
        finally:
            line.give_back()
    with job.store.write() as connection:
        if reason is not None:
            batches.move(connection, job.hold, "stop", reason=reason)
        else:
            move = "check" if job.dry_run else "complete"
            batches.move(connection, job.hold, move, reason=None)


class Line:
    """The chunks that are next: claimed, and validated before it is their turn."""

    def __init__(self, job: Job, pool: ThreadPoolExecutor) -> None:
        self._job, self._pool = job, pool
        self._next: tuple[Claim, Future[Checked]] | None = None
        self._is_ahead = job.importer.prepare is Importer.prepare

    def take(self) -> Checked | None:
        """Return the next chunk, validated; None when no chunk waits."""
        if self._next is None:
            self._claim()
        if self._next is None:
            return None
        checked = self._next[1].result()
        self._next = None
        if self._is_ahead:
            self._claim()
        return checked

    @property
    def goes_on(self) -> bool:
        """True when another chunk waits."""
        if self._next is None:
            self._claim()
        return self._next is not None

    def give_back(self) -> None:
        """Release a chunk that was claimed and will not be run."""
        if self._next is not None:
            claim, future = self._next
            future.cancel()
            with self._job.store.write() as connection:
                chunks.release(connection, claim)

    def _claim(self) -> None:
        job = self._job
        with job.store.write() as connection:
            claim = chunks.claim(connection, job.key, job.hold.worker, TTL)
        if claim is not None:
            self._next = claim, self._pool.submit(check_chunk, job, claim)


def _run_until_stopped(
    job: Job, line: Line, is_interrupted: Interrupted, broadcast: Broadcast
) -> str | None:
    """Return why the run ends before its last chunk, or None when it does not."""
    while not is_interrupted():
        checked = line.take()
        if checked is None:
            return None
        reason = _too_many_faults(job, checked)
        if reason is not None:
            # What is wrong is written down, and nothing else of this chunk.
            commit_chunk(replace(job, dry_run=True), checked)
            return reason
        commit_chunk(job, checked)
        reason = _too_many_faults(job)
        if reason is not None and line.goes_on:
            return reason
        broadcast.at_times()
    return INTERRUPTED


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
