"""One attempt at a batch: stage the rest, reopen what is not finished, run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batchfx.errors import SourceError, UsageError
from batchfx.execution import corrections, doubts
from batchfx.execution.broadcast import Broadcast, Listener
from batchfx.execution.facts import find_duplicates, settle_notations
from batchfx.execution.job import job_of
from batchfx.execution.local import INTERRUPTED, run_chunks
from batchfx.execution.stage import stage
from batchfx.files.paths import open_path
from batchfx.importer import Importer
from batchfx.model.issues import Issue, Phase
from batchfx.model.settings import Settings
from batchfx.store import batches, chunks, outcomes
from batchfx.store.batches import Batch, Hold
from batchfx.store.engine import Store, now_epoch


@dataclass(frozen=True, slots=True)
class Watch:
    """How a run is followed and interrupted by whoever started it.

    Attributes:
        listener: Told the progress, at most four times a second and at the end.
        is_interrupted: Asked between chunks; True ends the run, resumable.
        announce: Told the batch once it can be named.

    """

    listener: Listener | None = None
    is_interrupted: Callable[[], bool] = lambda: False
    announce: Callable[[Batch], None] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A new attempt at a batch by the worker that holds it."""

    store: Store
    hold: Hold
    importer: type[Importer[Any]]
    watch: Watch
    is_new: bool = False
    max_error_rate: float | None = None
    corrected: Path | None = None
    said: Settings | None = None  # of the layout of the corrected file, and of values


def run_attempt(attempt: Attempt) -> None:
    """Bring the batch as far as it will go, and leave it in a state that says how far.

    Raises:
        LeaseLostError: Another process has taken the batch over.
        StoreError: The database gave out; what was committed is kept.
        UsageError: A corrected file was given for a batch that isn't wholly staged.

    """
    batch = _read(attempt)
    broadcast = Broadcast(attempt.store, attempt.hold.key, attempt.watch.listener)
    goes_on = (
        _reopen(attempt, batch) if batch.staged else _stage(attempt, batch, broadcast)
    )
    if goes_on:
        job = job_of(attempt.store, attempt.hold, _read(attempt), attempt.importer)
        job = settle_notations(job)
        find_duplicates(job)
        broadcast.restart()
        broadcast.now()
        run_chunks(job, attempt.watch.is_interrupted, broadcast)
    broadcast.now()


def _stage(attempt: Attempt, batch: Batch, broadcast: Broadcast) -> bool:
    """Stage the source to its end; return False when the attempt ends before that."""
    store, hold = attempt.store, attempt.hold
    if attempt.corrected is not None:
        message = (
            f"The source of batch {hold.key.number} was not read to its end yet. "
            f"Run 'batchfx rerun {hold.key.number}' first, without a corrected file."
        )
        raise UsageError(message)
    if not attempt.is_new:
        with store.write() as connection:
            batches.move(connection, hold, "restage", **_renewal(attempt, batch))
    _announce(attempt, batch)
    try:
        done = stage(store, hold, batch, attempt.watch.is_interrupted, broadcast)
    except SourceError as error:
        _fail(attempt, batch, error)
        return False
    if not done:
        with store.write() as connection:
            batches.move(connection, hold, "stop", reason=INTERRUPTED)
    return done


def _reopen(attempt: Attempt, batch: Batch) -> bool:
    """Queue the rows that are not terminal; return False when there are none."""
    key = attempt.hold.key
    with attempt.store.write() as connection:
        doubts.forget(connection, batch, attempt.importer, attempt.said)
        if attempt.corrected is not None:
            with open_path(attempt.corrected) as source:
                account = corrections.apply(
                    connection,
                    batch,
                    attempt.importer,
                    attempt.corrected.name,
                    source,
                    said=attempt.said,
                )
            outcomes.add_issues(connection, key, batch.attempt + 1, account.issues())
        if batches.tally(connection, key).all_well:
            return False
        batches.move(
            connection, attempt.hold, "rerun", dry_run=False, **_renewal(attempt, batch)
        )
        outcomes.reopen(connection, key)
        chunks.requeue(connection, key)
    _announce(attempt, batch)
    return True


def _announce(attempt: Attempt, batch: Batch) -> None:
    if attempt.watch.announce is not None:
        attempt.watch.announce(batch)


def _renewal(attempt: Attempt, batch: Batch) -> dict[str, Any]:
    return {
        "attempt": batch.attempt + 1,
        "started_at": now_epoch(),
        "reason": None,
        "max_error_rate": attempt.max_error_rate,
    }


def _fail(attempt: Attempt, batch: Batch, error: SourceError) -> None:
    issue = Issue(
        code=error.code,
        message=str(error),
        phase=Phase.FILE,
        parameters=error.parameters,
    )
    with attempt.store.write() as connection:
        batches.move(connection, attempt.hold, "fail", reason=str(error))
        outcomes.add_issues(connection, attempt.hold.key, batch.attempt, [issue])


def _read(attempt: Attempt) -> Batch:
    with attempt.store.read() as connection:
        return batches.read(connection, attempt.hold.key)
