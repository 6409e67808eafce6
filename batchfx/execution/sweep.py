"""The sweep: what a dead worker left is mended, by whoever comes by.

Every step is a statement that changes only what is still as it was found, so any number
of processes may sweep at once, and one that dies in the middle has lost nothing. It
runs in every worker, and by `batchfx sweep` where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from batchfx.execution.standing import settle, tell
from batchfx.model.events import EventKind
from batchfx.model.states import ChunkState
from batchfx.store import access, batches, claims, effects, events, lanes, units
from batchfx.store.engine import Store

AT_ONCE = 500  # units or batches in one step
WORKERS_KEPT_FOR = 86_400.0  # seconds after the end of a worker, or its last sign
KEPT_FOR = 30 * 86_400.0  # seconds that the events of a batch are kept after its end


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has done: how many units, batches, tenants and so on it was."""

    lost: int = 0  # leases that had run out
    died: int = 0  # of these, what is dead now
    due: int = 0  # units whose time to be tried again had come
    astray: int = 0  # units in a state that their batch has left
    ended: int = 0  # batches of which nothing was left to be done
    woken: int = 0  # tenants with work that nobody knew of
    expired: int = 0  # events that were old enough to be removed
    abandoned: int = 0  # effects of which nobody knows whether they have happened
    forgotten: int = 0  # workers that ended, or vanished, long ago

    @property
    def has_work(self) -> bool:
        """True when units may wait for a worker because of it."""
        return bool(self.lost - self.died or self.due or self.astray or self.woken)


def sweep(store: Store, *, keep_events_for: float = KEPT_FOR) -> Swept:
    """Mend everything that can be mended now; return what was done.

    Raises:
        StoreError: The database can't be used; what was mended is kept.

    """
    lost, died = _reclaim(store)
    with store.write() as connection:
        due = units.make_due(connection, AT_ONCE)
    with store.write() as connection:
        astray = units.bring_back(connection, AT_ONCE)
    ended = _end(store)
    with store.write() as connection:
        neglected = lanes.neglected(connection)
        for tenant in neglected:
            lanes.wake(connection, tenant)
    with store.write() as connection:
        expired = events.expire(connection, keep_events_for, AT_ONCE)
    with store.write() as connection:
        abandoned = effects.abandon(connection, AT_ONCE)
    with store.write() as connection:
        forgotten = access.forget(connection, WORKERS_KEPT_FOR, AT_ONCE)
    woken = len(neglected)
    return Swept(lost, died, due, astray, ended, woken, expired, abandoned, forgotten)


def _reclaim(store: Store) -> tuple[int, int]:
    """Take back what nobody has heard of any more; count that, and what is dead.

    Each in a transaction of its own: one that can't be mended keeps no other waiting.
    """
    lost = died = 0
    while True:
        with store.write() as connection:
            found = claims.reclaim(connection, 1)
            for key, ordinal, state in found:
                is_dead = state is ChunkState.DEAD
                kind = EventKind.CHUNK_DIED if is_dead else EventKind.LEASE_LOST
                batches.lock(connection, key)  # or it could tell of an earlier moment
                tell(connection, key, kind, chunk=ordinal)
                settle(connection, key)
                died += is_dead
        if not found:
            return lost, died
        lost += 1


def _end(store: Store) -> int:
    """End the batches of which nothing is left to be done; return how many."""
    with store.read() as connection:
        found = batches.unfinished(connection, AT_ONCE)
    ended = 0
    for key in found:
        with store.write() as connection:
            ended += settle(connection, key) is not None
    return ended
