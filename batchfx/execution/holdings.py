"""What a worker holds: its claims, and until when it may believe that it has them.

A deadline is counted from the moment before the database was asked, by the monotonic
clock, and comes a margin before the lease runs out. The two clocks are never compared,
so a wrong clock changes nothing, and whatever delays an answer only shortens the time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

from batchfx.store.claims import Claim

Name = tuple[int, int, int]
"""A claim: the number of its batch, its ordinal, its fence."""


def name_of(claim: Claim) -> Name:
    """Return the name of *claim*."""
    return claim.key.number, claim.ordinal, claim.fence


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things may take, in seconds.

    Attributes:
        ttl: From a renewal until others may take the work over.
        poll: Between two looks for work that nobody has hinted at.
        sweep: Between two sweeps.
        grace: For running chunks to finish after the first signal.
        boot: For a handler to import the application's importers.
        longest_backoff: Between two tries after something failed repeatedly.

    """

    ttl: float = 30.0
    poll: float = 2.0
    sweep: float = 5.0
    grace: float = 30.0
    boot: float = 120.0
    longest_backoff: float = 15.0

    @property
    def renewal(self) -> float:
        """Seconds between two renewals."""
        return self.ttl / 3

    def deadline(self, asked_at: float) -> float:
        """Return until when a lease is good that was asked for at *asked_at*."""
        return asked_at + self.ttl * 0.9


@dataclass(frozen=True, slots=True)
class Held:
    """A claim and its deadline; for ever once the work has been committed."""

    claim: Claim
    deadline: float
    is_lost: bool = False

    @property
    def has_landed(self) -> bool:
        """True when its commit took effect: what is left needs no lease."""
        return math.isinf(self.deadline)


class Holdings:
    """The claims of a worker; several threads use it."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._lock = threading.Lock()
        self._held: dict[Name, Held] = {}

    def add(self, claim: Claim, asked_at: float) -> None:
        """Enter a claim that was asked for at *asked_at*."""
        held = Held(claim, self._timing.deadline(asked_at))
        with self._lock:
            self._held[name_of(claim)] = held

    def drop(self, claim: Claim) -> None:
        """Forget a claim that has ended."""
        with self._lock:
            self._held.pop(name_of(claim), None)

    def names(self) -> frozenset[Name]:
        """Return what is held."""
        with self._lock:
            return frozenset(self._held)

    def leased(self) -> tuple[Claim, ...]:
        """Return the claims that need a lease."""
        with self._lock:
            held = tuple(self._held.values())
        return tuple(h.claim for h in held if not (h.is_lost or h.has_landed))

    def confirm(
        self,
        asked: Collection[Claim],
        renewed: Collection[Name],
        landed: Collection[Name],
        asked_at: float,
    ) -> None:
        """Enter the answer to a renewal.

        Args:
            asked: What was held before the question.
            renewed: What the database has prolonged.
            landed: What is missing there because its work has been committed.
            asked_at: The moment before the question.

        """
        deadline = self._timing.deadline(asked_at)
        with self._lock:
            for name in {name_of(claim) for claim in asked} & self._held.keys():
                held = self._held[name]
                if name in renewed:
                    self._held[name] = replace(held, deadline=deadline)
                elif name in landed:
                    self._held[name] = replace(held, deadline=math.inf)
                else:
                    self._held[name] = replace(held, is_lost=True)

    def left(self, claim: Claim, now: float) -> float:
        """Return the seconds until the deadline of *claim*; not above 0 once lost."""
        with self._lock:
            held = self._held.get(name_of(claim))
        if held is None or held.is_lost:
            return -math.inf
        return held.deadline - now
