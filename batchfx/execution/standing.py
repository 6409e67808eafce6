"""How far a batch is, how it ends, and what its followers are told of that."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection

from batchfx.model.events import ENDINGS, EventKind, Standing
from batchfx.model.states import BATCH_MOVES, BatchState
from batchfx.store import batches, events, units
from batchfx.store.schema import BatchKey


def standing(connection: Connection, key: BatchKey) -> Standing:
    """Return how far the batch is now."""
    return Standing(*batches.standing(connection, key))


def tell(connection: Connection, key: BatchKey, kind: EventKind, **more: Any) -> None:
    """Write that *kind* has happened, with how far the batch is and *more* about it.

    Last in the transaction: the batch is locked from here on.
    """
    content = standing(connection, key).content() | more
    events.add(connection, key, kind, content)


def settle(connection: Connection, key: BatchKey) -> BatchState | None:
    """End the batch if nothing of it is left; otherwise publish how far it is.

    For the end of a transaction that ended a unit of its work. Returns the state that
    the batch has come to, or None while it goes on.
    """
    batches.lock(connection, key)
    outlook = events.outlook(connection, key)
    ending = None if outlook.is_queued else batches.ending(connection, key)
    if ending is not None:
        reason = units.causes_of_death(connection, key) if ending == "fail" else None
        end(connection, key, ending, reason)
        return BATCH_MOVES[ending].target
    if outlook.is_due:
        tell(connection, key, EventKind.PROGRESSED)
    return None


def end(connection: Connection, key: BatchKey, move: str, reason: str | None) -> None:
    """Make a *move* that ends the batch, with the event that says so."""
    batches.move(connection, key, move, reason=reason)
    kind = ENDINGS[BATCH_MOVES[move].target]
    tell(connection, key, kind, **({} if reason is None else {"reason": reason}))


def end_early(connection: Connection, key: BatchKey, move: str, reason: str) -> None:
    """End the batch although work is left: whoever is at it can't commit any more."""
    units.take_back(connection, key)
    end(connection, key, move, reason)
