"""Every pair of operations on one chunk, in all orders of their steps, or many of them.

    python -m tests.faults.duels --orders 100 --database postgresql

Plays the orders and judges after each; prints for each pair how many there are, how
many were played and in how many of these one waited for the other.
"""

from __future__ import annotations

import gc
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click
import psycopg
import sqlalchemy as sa

from batchfx import Report, cancel, rerun
from batchfx.errors import BatchfxError
from batchfx.execution.job import job_of
from batchfx.execution.run import run_chunk
from batchfx.execution.settlements import Breakdown, settle
from batchfx.execution.sweep import sweep
from batchfx.store import batches, claims
from batchfx.store.claims import Claim
from batchfx.store.engine import Store
from batchfx.store.schema import CHUNK
from tests.faults import worlds
from tests.faults.kills import places
from tests.faults.ledgers import FEED, LEDGER, LedgerImporter
from tests.faults.operations import bring_to_end, held, judge
from tests.faults.sessions import Begin, Duel, Session, orders, paths
from tests.faults.worlds import BROKE, OTHER, WORKER, Place, Roaming, claim, the_batch
from tests.oracle import check_history

TTL = 30.0
FENCE = 2  # of the claim on the first chunk: it was queued, then claimed


def begin_claim(store: Store) -> Callable[[], object]:
    """Claim what waits."""
    return partial(claim, store, OTHER, TTL)


def begin_renewal(store: Store) -> Callable[[], object]:
    """Prolong the claim on the first chunk."""

    def renew() -> object:
        with store.write() as connection:
            return claims.renew(connection, WORKER, TTL, is_granted=True)

    return renew


def begin_commit(store: Store, ordinal: int = 0) -> Callable[[], object]:
    """Run a chunk to its commit."""
    found = held(store, ordinal)
    with store.read() as connection:
        job = job_of(store, batches.read(connection, found.key), LedgerImporter)
    return partial(run_chunk, job, found)


def begin_cancel(store: Store) -> Callable[[], object]:
    """Cancel the batch."""
    return partial(cancel, store, the_batch(store))


def begin_sweep(store: Store) -> Callable[[], object]:
    """Sweep."""
    return partial(sweep, store)


def begin_rerun(store: Store) -> Callable[[], object]:
    """Have the batch run again, by workers."""
    return partial(rerun, store, the_batch(store), detached=True)


def begin_death(store: Store) -> Callable[[], object]:
    """Let the first chunk break, for the last time."""
    found = held(store)

    def die() -> object:
        with store.write() as connection:
            return settle(connection, Breakdown(found, BROKE))

    return die


SIDES: dict[str, Begin] = {
    "claim": begin_claim,
    "renew": begin_renewal,
    "commit": begin_commit,
    "cancel": begin_cancel,
    "sweep": begin_sweep,
    "rerun": begin_rerun,
    "die": begin_death,
    "commit the other": partial(begin_commit, ordinal=1),
}
PAIRS = [
    *itertools.combinations_with_replacement(list(SIDES)[:-1], 2),
    ("commit", "commit the other"),
]


@dataclass
class Counts:
    """What was played of a pair."""

    orders: int = 0  # all that there are
    played: int = 0
    waited: int = 0  # in which one waited for the other


@dataclass
class Arena:
    """Where duels are played: databases of one kind, and three stores that go there."""

    place: Place
    monitor: psycopg.Connection[Any] | None
    made: dict[str, str] = field(default_factory=dict)
    stores: list[Roaming] = field(default_factory=list)
    steps: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def count(self, side: str, state: str) -> tuple[int, int]:
        """Return how many steps an operation has alone, and before it writes."""
        if (side, state) not in self.steps:
            url, (store, *_) = self._open(state)
            with Duel([Session(store, SIDES[side])], self.monitor) as duel:
                duel.play([])
                (alone,) = duel.sessions
                self.steps[side, state] = alone.steps, alone.looked or 1
            self._close(url)
        return self.steps[side, state]

    def play_pair(self, pair: tuple[str, str], wanted: int, *, to_end: bool) -> Counts:
        """Play so many orders of a pair, and judge."""
        state = "last two" if pair[1] not in list(SIDES)[:-1] else "dueling"
        (first, one), (second, two) = (self.count(side, state) for side in pair)
        counts = Counts(paths(first, second))
        for number, order in enumerate(orders(first, second, wanted, (one, two))):
            duel = self.play(pair, order, state, to_end=to_end or number == 0)
            counts.played += 1
            counts.waited += any(session.waited for session in duel.sessions)
        return counts

    def play(
        self, pair: tuple[str, str], order: tuple[int, ...], state: str, *, to_end: bool
    ) -> Duel:
        """Play one order and judge; with *to_end*, the batch is brought to its end."""
        url, (judging, *others) = self._open(state)
        begun = zip(others, (SIDES[name] for name in pair), strict=True)
        sides = [Session(store, begin) for store, begin in begun]
        try:
            with Duel(sides, self.monitor) as duel:
                duel.play(order)
            judge_duel(judging, dict(enumerate(pair)), duel)
            if to_end:
                end(judging)
        except BaseException:
            print(f"{pair}: {order} made {duel.made}", file=sys.stderr)
            raise
        self._close(url)
        return duel

    def _open(self, state: str) -> tuple[str, list[Store]]:
        if state not in self.made:
            self.made[state] = self.place.empty()
            worlds.make(self.made[state], state)
        url = self.place.copy(self.made[state])
        if not self.stores:
            self.stores = [Roaming(url) for _ in range(3)]
        return url, [each.go(url) for each in self.stores]

    def _close(self, url: str) -> None:
        for each in self.stores:
            each.store.close()
        self.place.drop(url)


def end(store: Store) -> None:
    """Bring the batch to its end, however it was left, and judge that."""
    expired = sa.update(CHUNK).where(CHUNK.c.state == "leased").values(lease_until=0)
    with store.write() as connection:
        connection.execute(expired)
        is_cancelled = batches.read(connection, the_batch(store)).state == "cancelled"
    ends = "cancelled" if is_cancelled else "completed"
    bring_to_end(store, ends)
    judge(store, ends)


def judge_duel(store: Store, names: dict[int, str], duel: Duel) -> None:
    """Assert that of those who want the same, one has won, and that nobody lies."""
    key = the_batch(store)
    check_history(store, key)
    with store.read() as connection:
        state = batches.read(connection, key).state
        left = list(connection.execute(_left_first_chunk(key.number)))
        rows = connection.scalar(
            sa.select(sa.func.count()).select_from(LEDGER).where(LEDGER.c.row <= 5)
        )
    results = [session.result for session in duel.sessions]
    won = [name for number, name in names.items() if _has_won(name, results[number])]
    assert len(left) <= 1, left
    how = left[0].state if left else None
    assert won.count("commit") == (how == "done"), (won, how)
    assert rows == (4 if how == "done" else 0)
    assert won.count("die") == (how == "dead"), (won, how)
    assert not ("renew" in won and how == "retrying"), (won, how)
    assert ("cancel" in won) == (state == "cancelled"), (won, state)
    assert ("sweep" in names.values()) == ("sweep" in won), results
    assert _distinct(results)
    if names[1] == "commit the other":
        assert won == ["commit", "commit the other"]
        assert state == "completed"


def _has_won(name: str, result: object) -> bool:
    """Tell whether an operation says that it took effect."""
    match name:
        case "die":
            return isinstance(result, str) and not result.startswith("lease lost")
        case "renew":
            return bool(result)
        case "cancel" | "rerun":
            return isinstance(result, Report)
        case _:
            return not isinstance(result, BatchfxError)


def _distinct(results: list[object]) -> bool:
    taken = [(r.ordinal, r.fence) for r in results if isinstance(r, Claim)]
    return len(taken) == len(set(taken))


def _left_first_chunk(batch: int) -> sa.Select[Any]:
    """Return how the claim on the first chunk has ended, which it may do once."""
    return sa.select(FEED.c.state, FEED.c.fence).where(
        FEED.c.what == "chunk",
        FEED.c.batch == batch,
        FEED.c.number == 0,
        FEED.c.before == "leased",
        FEED.c.state != "leased",
        FEED.c.fence_before == FENCE,
    )


@contextmanager
def arena(place: Place) -> Iterator[Arena]:
    """Make an arena, with a connection that looks who waits for whom."""
    if place.server is None:
        yield Arena(place, None)
        return
    with psycopg.connect(place.server, autocommit=True) as monitor:
        yield Arena(place, monitor)


@click.command()
@click.option("--orders", "wanted", default=50, help="Of each pair, at most.")
@click.option("--database", "kinds", multiple=True, default=["sqlite", "postgresql"])
@click.option("--pair", "names", multiple=True, help="Only these, as 'claim,sweep'.")
def main(*, wanted: int, kinds: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Play; print what was played."""
    gc.freeze()
    told: dict[str, Any] = {}
    with places(kinds) as found:
        for place in found:
            with arena(place) as each:
                for pair in PAIRS:
                    if names and ",".join(pair) not in names:
                        continue
                    counts = each.play_pair(pair, wanted, to_end=True)
                    told[f"{place.name}: {' / '.join(pair)}"] = vars(counts)
    json.dump(told, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
