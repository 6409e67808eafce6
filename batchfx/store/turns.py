"""Turns: the lanes in their order, gone along until one of them gives something.

Lanes are read without a lock. Who takes from one reserves it first: its virtual time
goes on only if it still is what was read and nobody else is at it. Where somebody is,
the lane counts as served, and the next turn is looked for in what was read: so those
who claim at one moment spread as if they had come one after the other. A lane whose
turn it is even so is taken from without a reservation, and charged afterwards.

Who holds a lane asks for nothing that another transaction could keep from him: units
and further lanes that are locked are skipped. Only who holds none waits for one, to
charge it, with his units in hand; and all others, too, take units before lanes. So
nobody waits in a circle, and nobody is sent away empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.store import lanes
from batchfx.store.lanes import Top, Turn

FEW = 2  # lanes without work for a claimer, before it asks which ones have some
Rows = Sequence[sa.Row[Any]]
Take = Callable[[str, str], Rows]
"""What takes units of a tenant and an importer; it returns them, each with *rows*."""


class Order:
    """Lanes in the order of their turns, some of them put off on the way."""

    def __init__(self, lanes_read: Iterator[Turn]) -> None:
        self._unread = lanes_read
        self._put_off: list[Turn] = []
        self._count = 0  # of the lanes that were read

    @property
    def is_alone(self) -> bool:
        """True while no second lane was come to."""
        return self._count <= 1

    def __iter__(self) -> Iterator[Turn]:
        """Yield each lane when its turn comes; again, if it was put off."""
        upcoming = self._read()
        while upcoming is not None or self._put_off:
            if upcoming is None or (self._put_off and self._put_off[0] < upcoming):
                yield heappop(self._put_off)
            else:
                yield upcoming
                upcoming = self._read()

    def _read(self) -> Turn | None:
        turn = next(self._unread, None)
        self._count += turn is not None
        return turn

    def put_off(self, turn: Turn, cost: float) -> None:
        """Let the lane come when it would after it was served at that cost."""
        vtime = turn.after(cost)
        heappush(self._put_off, replace(turn, vtime=vtime, start=vtime, is_again=True))


def serve(
    connection: Connection,
    worker: str,
    importers: Collection[str],
    limit: int,
    take: Take,
) -> Rows:
    """Have *take* called for the lane whose turn it is, until one gives something.

    Returns what was taken. The lane is charged for it, and the lanes that were found to
    have no work are noted. *limit* is how many units *take* takes at most.
    """
    names, idle = sorted(importers), list[str]()
    order = Order(lanes.order(connection, worker))
    sieve = _Sieve(connection, names)
    visit = _Visit(connection, take, order)
    found: Rows = []
    for turn in order:
        if not sieve.passes(turn.tenant):
            continue
        tops = lanes.tops(connection, worker, turn.tenant, names)
        sieve.misses += not tops
        expected = limit * lanes.cost_of([top.rows for top in tops[:1]])
        if tops and not visit.may_take(turn, expected):
            order.put_off(turn, expected)
            continue
        found = visit.take(turn, tops, expected)
        if found:
            break
        idle.append(turn.tenant)
    for tenant in lanes.empty(connection, idle):
        lanes.rest(connection, tenant)
    return found


@dataclass(slots=True)
class _Sieve:
    """Keeps a claimer from lanes that can't give it anything, once there were `FEW`.

    Of all others it asks at once then, so that work which no worker has the importer
    for costs the claims the same, whatever number of lanes it is in.
    """

    connection: Connection
    names: Sequence[str]
    misses: int = 0
    promising: frozenset[str] | None = None

    def passes(self, tenant: str) -> bool:
        """Tell whether the tenant's lane may give something, or is to be rested."""
        if self.misses < FEW:
            return True
        if self.promising is None:
            self.promising = lanes.promising(self.connection, self.names)
        return tenant in self.promising


@dataclass(slots=True)
class _Visit:
    """One claimer at the lanes; *holds* tells whether one of them is held in vain."""

    connection: Connection
    taking: Take
    order: Order
    holds: bool = False

    def may_take(self, turn: Turn, expected: float) -> bool:
        """Reserve the lane, unless it still is its turn though somebody is at it."""
        return turn.is_again or lanes.reserve(self.connection, turn, expected)

    def take(self, turn: Turn, tops: Sequence[Top], expected: float) -> Rows:
        """Take from the lane, the most urgent first, and charge it for that."""
        found: Rows = []
        for top in tops:
            found = found or self.taking(turn.tenant, top.importer)
        cost = lanes.cost_of([row.rows for row in found])
        if turn.is_again and found:
            # Nobody is wronged where a lane that is alone is not charged.
            waits = not (self.holds or self.order.is_alone)
            lanes.charge(self.connection, turn.tenant, cost, waits=waits)
        elif tops and not turn.is_again:
            self.holds = True
            if cost != expected:
                lanes.correct(self.connection, turn, cost)
        return found
