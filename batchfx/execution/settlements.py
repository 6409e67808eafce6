"""What becomes of a claim whose handler did not end it itself."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from batchfx.errors import LeaseLostError
from batchfx.execution import standing
from batchfx.model.events import EventKind
from batchfx.model.states import ChunkState
from batchfx.store import batches, claims, lanes
from batchfx.store.claims import Claim, Failure
from batchfx.store.engine import up_for

OUTAGE = "store"  # the reason of a failure that may be the database's


@dataclass(frozen=True, slots=True)
class Release:
    """It is given back, with nothing charged; *is_lost* when its lease was.

    With *misfit* the importer here can't run its batch; that says why.
    """

    claim: Claim
    is_lost: bool = False
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Its process vanished, *how* is told in words; a loss is charged."""

    claim: Claim
    how: str


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The system, or the application's code, broke under it; a failure is charged.

    Not so when the database's server was started anew after the work began, *since* a
    moment of the monotonic clock: then its connection was cut, which is nobody's fault.
    """

    claim: Claim
    failure: Failure
    since: float = math.inf


Settlement = Release | Loss | Breakdown


def settle(connection: Connection, settlement: Settlement) -> str | None:
    """Write *settlement*; return what to tell of it, None when that is nothing.

    Last in the transaction: the batch may end with it.
    """
    claim = settlement.claim
    try:
        match settlement:
            case Release():
                _release(connection, claim, is_lost=settlement.is_lost)
                return settlement.misfit
            case Loss():
                state = claims.lose(connection, claim, settlement.how)
                _end(connection, claim, state, EventKind.LEASE_LOST)
                return f"{told(claim)}: {settlement.how}; {_fate(state)}."
            case Breakdown() if _was_cut_off(connection, settlement):
                _release(connection, claim, is_lost=False)
                return (
                    f"{told(claim)}: the database was restarted; nothing was charged."
                )
            case Breakdown():
                state = claims.fail(connection, claim, settlement.failure)
                _end(connection, claim, state, EventKind.CHUNK_RETRIED)
                return f"{told(claim)}: {_what(settlement.failure)}; {_fate(state)}."
    except LeaseLostError:
        return f"lease lost: {told(claim)}; nothing was charged."


def after_outage(settlement: Settlement) -> Settlement:
    """Return *settlement* as it is when the database did not take it at once.

    What broke for want of a database was not the chunk's fault.
    """
    if isinstance(settlement, Breakdown) and settlement.failure.reason == OUTAGE:
        return Release(settlement.claim)
    return settlement


def told(claim: Claim) -> str:
    """Return the name of a claim's work, for a person."""
    what = "preparation" if claim.is_preparation else f"chunk {claim.ordinal}"
    return f"batch {claim.key.number}, {what}"


def _was_cut_off(connection: Connection, settlement: Breakdown) -> bool:
    if settlement.failure.reason != OUTAGE:
        return False
    return up_for(connection) < time.monotonic() - settlement.since


def _release(connection: Connection, claim: Claim, *, is_lost: bool) -> None:
    if claims.release(connection, claim):
        if is_lost:
            _tell(connection, claim, EventKind.LEASE_LOST)
        lanes.wake(connection, claim.key.tenant)


def _end(
    connection: Connection, claim: Claim, state: ChunkState, kind: EventKind
) -> None:
    is_dead = state is ChunkState.DEAD
    _tell(connection, claim, EventKind.CHUNK_DIED if is_dead else kind)
    standing.settle(connection, claim.key)


def _tell(connection: Connection, claim: Claim, kind: EventKind) -> None:
    batches.lock(connection, claim.key)  # or it could tell of less than one before it
    standing.tell(connection, claim.key, kind, chunk=claim.ordinal)


def _what(failure: Failure) -> str:
    return f"{failure.reason}: {failure.error}".rstrip(".")


def _fate(state: ChunkState) -> str:
    return "it is dead" if state is ChunkState.DEAD else "it will be tried again"
