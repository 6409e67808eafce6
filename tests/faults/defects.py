"""Faults as changes of the product: each function makes one, in this process."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from batchfx.errors import StoreError
from batchfx.execution import effects as running
from batchfx.execution import lease, standing
from batchfx.execution import sweep as sweeping
from batchfx.execution.holdings import Holdings
from batchfx.execution.process_trees import Tree
from batchfx.execution.worker import Worker
from batchfx.store import (
    claims,
    engine,
    events,
    lanes,
    migrations,
    schema,
    triggers,
    turns,
)
from batchfx.store.engine import now_epoch
from batchfx.store.schema import BATCH, CHUNK, EVENT, LANE, WORKER, scope

Conditions = tuple[Any, ...]


def replace(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
    """Put what *made* makes of the real thing in its place, wherever it is known."""
    real = getattr(owner, name)
    false = made(real)
    modules = [m for n, m in sys.modules.items() if n.startswith("batchfx.")]
    for each in (owner, *modules):
        if vars(each).get(name) is real:
            setattr(each, name, false)


def ack_by_number() -> None:
    """Ask for the unit only."""

    def owned(claim: Any) -> Conditions:
        return CHUNK.c.batch == scope(claim.key), CHUNK.c.ordinal == claim.ordinal

    replace(claims, "owned", lambda real: owned)


def ack_by_state() -> None:
    """Ask for the unit and its state."""

    def owned(claim: Any) -> Conditions:
        unit = (CHUNK.c.batch == scope(claim.key), CHUNK.c.ordinal == claim.ordinal)
        return *unit, CHUNK.c.state == "leased"

    replace(claims, "owned", lambda real: owned)


def ack_by_worker() -> None:
    """Ask for the worker, not for the fence."""

    def owned(claim: Any) -> Conditions:
        unit = (CHUNK.c.batch == scope(claim.key), CHUNK.c.ordinal == claim.ordinal)
        return *unit, CHUNK.c.state == "leased", CHUNK.c.worker == claim.worker

    replace(claims, "owned", lambda real: owned)


def reclaim_unguarded() -> None:
    """Look for leases that ran out, and end by number what was found."""

    def reclaim(connection: Any, limit: int) -> list[Any]:
        units = sa.select(CHUNK).where(
            CHUNK.c.state == "leased", CHUNK.c.lease_until < now_epoch()
        )
        for row in connection.execute(units).all():
            this = (CHUNK.c.batch == row.batch, CHUNK.c.ordinal == row.ordinal)
            connection.execute(
                sa.update(CHUNK)
                .where(*this)
                .values(
                    state="retrying", worker=None, fence=CHUNK.c.fence + 1, due_at=0.0
                )
            )
        return []

    replace(claims, "reclaim", lambda real: reclaim)


def end_unasked() -> None:
    """End a claim whoever has the unit now."""

    def end(connection: Any, claim: Any, **values: Any) -> bool:
        statement = (
            sa.update(CHUNK)
            .where(
                CHUNK.c.batch == scope(claim.key),
                CHUNK.c.ordinal == claim.ordinal,
                CHUNK.c.state == "leased",
            )
            .values(worker=None, lease_until=None, fence=CHUNK.c.fence + 1, **values)
        )
        return bool(connection.execute(statement).rowcount == 1)

    replace(claims, "_end", lambda real: end)


def identity_is_host() -> None:
    """Name a worker after its machine."""
    replace(lease, "new_worker", lambda real: socket.gethostname)


def leases_of_those_present() -> None:
    """Take back only what a worker has that has not left."""

    def made(real: Callable[..., Any]) -> Callable[..., Any]:
        def reclaim(connection: Any, limit: int) -> Any:
            is_there = sa.exists().where(
                WORKER.c.id == CHUNK.c.worker, WORKER.c.ended_at.is_(None)
            )
            gone = sa.select(CHUNK.c.worker).where(CHUNK.c.state == "leased", ~is_there)
            return [] if connection.execute(gone).first() else real(connection, limit)

        return reclaim

    replace(claims, "reclaim", made)


def sweep_swallows() -> None:
    """Take a database that is down for one in which nothing is to be mended."""

    def made(real: Callable[..., Any]) -> Callable[..., Any]:
        def sweep(store: Any, **options: Any) -> Any:
            try:
                return real(store, **options)
            except StoreError:
                return sweeping.Swept()

        return sweep

    replace(sweeping, "sweep", made)


def failed_claim_counts() -> None:
    """Work on what was picked, whether or not it was got."""

    def made(real: Callable[..., Any]) -> Callable[..., Any]:
        def serve(connection: Any, *rest: Any) -> Any:
            is_queued = CHUNK.c.state == "queued"
            unit = (CHUNK.c.batch, CHUNK.c.ordinal)
            first = sa.select(*unit).where(is_queued).order_by(*unit).limit(1)
            picked = connection.execute(first).first()
            got = real(connection, *rest)
            if picked is None or not got:
                return got
            names = (CHUNK.c[name] for name in claims.CLAIMED)
            whole = sa.select(CHUNK.c.tenant, CHUNK.c.batch, *names)
            this = sa.tuple_(*unit) == sa.tuple_(*picked)
            return connection.execute(whole.where(this).with_for_update()).all()

        return serve

    replace(turns, "serve", made)


def event_number_read() -> None:
    """Give an event the number after the highest one that is seen."""

    def add(connection: Any, key: Any, kind: Any, content: Any) -> int:
        events.bounds(connection, key)  # as the tenant's own
        top = sa.select(sa.func.coalesce(sa.func.max(EVENT.c.seq), 0) + 1)
        seq = int(connection.scalar(top.where(EVENT.c.batch == key.number)))
        values = {"batch": key.number, "seq": seq, "kind": kind}
        more = {"at": now_epoch(), "content": dict(content)}
        connection.execute(sa.insert(EVENT).values(**values, **more))
        told = {"progress_at": now_epoch()} if kind == "progressed" else {}
        newest = sa.update(BATCH).where(BATCH.c.id == key.number)
        connection.execute(newest.values(event_seq=seq, **told))
        return seq

    replace(events, "add", lambda real: add)


def hints_only() -> None:
    """Look for work when a hint comes, and at no other time."""

    def made(real: Callable[..., None]) -> Callable[..., None]:
        def take(self: Any, answer: Any) -> None:
            real(self, answer)
            if not answer.claims:
                self._next_ask = float("inf")

        return take

    replace(Worker, "_take_claims", made)


def renewal_only_logged() -> None:
    """Go on when a lease could not be renewed."""
    replace(Holdings, "left", lambda real: lambda self, claim, now: float("inf"))


def client_clock() -> None:
    """Tell leases by the clock of the machine."""
    replace(claims, "now_epoch", lambda real: lambda: sa.literal(time.time()))  # noqa: TID251


def kill_child_only() -> None:
    """End the process that was started, and none below it."""

    def strike(self: Any) -> bool:
        if self._root is not None and self._root.is_running():
            self._root.kill()
        return self._root is None or not self._root.is_running()

    replace(Tree, "strike", lambda real: strike)


def lost_is_failed() -> None:
    """Give up a unit when the first worker vanishes with it."""
    replace(claims, "LOSSES", lambda real: 1)


def losses_uncounted() -> None:
    """Try a unit again however many workers vanish with it."""
    replace(claims, "LOSSES", lambda real: 10**9)


def tables_before_lock() -> None:
    """Make the tables without asking who else does."""
    replace(migrations, "_take_lock", lambda real: lambda connection: None)


def deferred_write() -> None:
    """Begin a writing transaction of SQLite as a reading one."""

    def made(real: Callable[..., None]) -> Callable[..., None]:
        def begin_with(made_engine: Any, *, read: str, write: str) -> None:
            real(made_engine, read=read, write=write.replace(" IMMEDIATE", ""))

        return begin_with

    replace(engine, "_begin_with", made)


def lane_locked() -> None:
    """Lock the lanes that are chosen from."""

    def made(real: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        def order(connection: Any, *rest: Any) -> Iterator[str]:
            connection.execute(sa.select(LANE.c.tenant).with_for_update())
            yield from real(connection, *rest)

        return order

    replace(lanes, "order", made)


def settled_unlocked() -> None:
    """Ask whether a batch has come to its end without locking it."""

    class Unlocked:
        """The module of batches, but for its lock."""

        def __init__(self, real: Any) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return (lambda *_: None) if name == "lock" else getattr(self._real, name)

    replace(standing, "batches", Unlocked)


def tenant_unasked() -> None:
    """Find a batch by its number, whoever's it is."""

    def any_tenant(key: Any) -> Any:
        return sa.select(BATCH.c.id).where(BATCH.c.id == key.number).scalar_subquery()

    replace(schema, "scope", lambda real: any_tenant)


def answer_not_looked_for() -> None:
    """Take a commit whose answer was lost for one that failed."""
    replace(claims, "has_landed", lambda real: lambda connection, claim: False)


def no_triggers() -> None:
    """Leave it to the program to change nothing that is final."""
    replace(triggers, "make", lambda real: lambda connection: None)


def lock_order_turned() -> None:
    """Lock the batch before the unit, where all others do it the other way round."""

    def made(real: Callable[..., Any]) -> Callable[..., Any]:
        def fail(connection: Any, claim: Any, failure: Any) -> Any:
            locked = sa.select(BATCH.c.id).where(BATCH.c.id == claim.key.number)
            connection.execute(locked.with_for_update())
            return real(connection, claim, failure)

        return fail

    replace(claims, "fail", made)


def effect_done_again() -> None:
    """Do the effect of a dead worker once more, though nobody can be asked."""

    def reconcilers(_importer: Any) -> dict[str, Callable[[str], None]]:
        return {"pay": lambda _key: None}

    replace(running, "reconcilers", lambda real: reconcilers)


def effect_not_asked_after() -> None:
    """Do the effect of a dead worker once more, and ask nobody."""

    def made(real: Any) -> Any:
        return lambda asked, tried, taken: real(
            asked, tried, running.Taken(taken.claimed_at)
        )

    replace(running, "_run", made)
