"""What a person does to a batch that is under way: pause, resume, cancel, revive.

Each is one transaction, so it is durable once it returns. What is at work on a batch
that was cancelled can't be committed any more: its fence was raised.
"""

from __future__ import annotations

from batchfx.errors import IllegalMoveError
from batchfx.execution.reports import Report, report
from batchfx.execution.standing import settle, tell
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState
from batchfx.store import batches, lanes, sources, units
from batchfx.store.batches import Batch
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey
from batchfx.store.units import DeadUnit

CANCELLED = "A person cancelled it."


def pause(store: Store, key: BatchKey) -> Report:
    """Let nothing more of the batch be begun; what is at work is finished.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It has ended.

    """
    with store.write() as connection:
        units.lock_units(connection, key)
        batch = batches.read(connection, key)
        if batch.state is not BatchState.PAUSED:
            _require_going(batch, "pause")
            units.hold(connection, key)
            batches.move(connection, key, "pause")
            tell(connection, key, EventKind.PAUSED)
    return report(store, key)


def resume(store: Store, key: BatchKey) -> Report:
    """Let a paused batch go on, where there are workers.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It is not paused.

    """
    with store.write() as connection:
        units.lock_units(connection, key)
        batch = batches.read(connection, key)
        if batch.state is not BatchState.PAUSED:
            message = f"Batch {key.number} is {batch.state}, not paused."
            raise IllegalMoveError(message)
        units.queue(connection, key)
        move = "resume" if batch.staged else "resume_staging"
        batches.move(connection, key, move)
        tell(connection, key, EventKind.RESUMED)
        settle(connection, key)  # its last chunks may have ended while it was paused
        lanes.wake(connection, key.tenant)
    return report(store, key)


def cancel(store: Store, key: BatchKey) -> Report:
    """End the batch for good; the report says what had been applied.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It is complete.

    """
    with store.write() as connection:
        units.lock_units(connection, key)
        batch = batches.read(connection, key)
        if batch.state is not BatchState.CANCELLED:
            if batch.state is BatchState.COMPLETED:
                message = (
                    f"Batch {key.number} is complete: nothing is left to be cancelled."
                )
                raise IllegalMoveError(message)
            units.cancel(connection, key)
            batches.move(connection, key, "cancel", reason=CANCELLED)
            if batch.state is BatchState.DRAFT:  # nobody is reading it
                sources.remove(connection, key)
            tell(connection, key, EventKind.CANCELLED)
    return report(store, key)


def revive(store: Store, key: BatchKey, ordinal: int | None = None) -> int:
    """Let dead units of the batch, all or one of them, be tried again; count them.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: Nothing of it is dead, or it is in a state in which nothing
            of it may be run.

    """
    with store.write() as connection:
        units.lock_units(connection, key)
        batch = batches.read(connection, key)
        if batch.state is BatchState.PAUSED:
            message = f"Batch {key.number} is paused: resume it first."
            raise IllegalMoveError(message)
        revived = units.revive(connection, key, ordinal)
        if not revived:
            message = (
                f"Nothing of batch {key.number} is dead. 'batchfx dead' lists what is."
            )
            raise IllegalMoveError(message)
        move = "revive" if batch.staged else "revive_staging"
        if batch.state is not BatchState.STAGING:
            batches.move(connection, key, move, reason=None)
        tell(connection, key, EventKind.REVIVED)
        lanes.wake(connection, key.tenant)
    return revived


def dead(store: Store, tenant: str | None = None) -> list[DeadUnit]:
    """Return what is dead, the longest first: of one tenant, or for the operator."""
    with store.read() as connection:
        return units.dead(connection, tenant)


def _require_going(batch: Batch, what: str) -> None:
    if batch.state not in {BatchState.STAGING, BatchState.RUNNING}:
        message = (
            f"Batch {batch.key.number} is {batch.state}: there is nothing to {what}."
        )
        raise IllegalMoveError(message)
