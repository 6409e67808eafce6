"""What became of a row, and how many rows each thing became of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Self

from batchfx.model.issues import Issue


class Verdict(StrEnum):
    """The end of a row in one attempt."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    INVALID = "invalid"  # the data is wrong
    FAILED = "failed"  # the processor raised
    UNKNOWN = "unknown"  # an outside effect may or may not have happened


TERMINAL = frozenset(
    {Verdict.CREATED, Verdict.UPDATED, Verdict.UNCHANGED, Verdict.SKIPPED}
)
"""Verdicts on rows that no later attempt may touch."""


class Outcome(NamedTuple):
    """The verdict on one row, with the record it led to or the reason it did not."""

    row: int
    verdict: Verdict
    record_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of *total* rows have each verdict; the others are pending."""

    total: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    invalid: int = 0
    failed: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, total: int, counts: Mapping[str, int]) -> Self:
        """Make a tally from the number of rows counted under each verdict's name."""
        return cls(
            total, **{str(verdict): counts.get(verdict, 0) for verdict in Verdict}
        )

    def count(self, verdict: Verdict) -> int:
        """Return how many rows have *verdict*."""
        number: int = getattr(self, verdict.value)
        return number

    @property
    def decided(self) -> int:
        """Rows that have a verdict."""
        return sum(self.count(verdict) for verdict in Verdict)

    @property
    def pending(self) -> int:
        """Rows that have no verdict yet."""
        return self.total - self.decided

    @property
    def faulty(self) -> int:
        """Rows that a person has to look at."""
        return self.invalid + self.failed + self.unknown

    @property
    def all_well(self) -> bool:
        """True when every row ended in a terminal verdict."""
        return self.pending == 0 and self.faulty == 0

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of the rows of both."""
        return Tally(
            self.total + other.total,
            *(self.count(verdict) + other.count(verdict) for verdict in Verdict),
        )

    def counts(self) -> dict[str, int]:
        """Return every verdict's count by name, pending included."""
        named = {str(verdict): self.count(verdict) for verdict in Verdict}
        return {**named, "pending": self.pending}


@dataclass(frozen=True, slots=True)
class Created:
    """What a processor returns for a record that it created; bare it means the same.

    *record* is the record's id (a number, a text or a UUID), or the record itself as it
    was added to the session.
    """

    record: Any


@dataclass(frozen=True, slots=True)
class Updated:
    """What a processor returns for a record that it changed."""

    record: Any


@dataclass(frozen=True, slots=True)
class Unchanged:
    """What a processor returns for a record that was already as the row says."""

    record: Any


@dataclass(frozen=True, slots=True)
class Decision:
    """What a processor decided on the rows it was given.

    *waiting* are rows that refer to a record which a later row of the file may make;
    they get no outcome yet.
    """

    outcomes: Sequence[Outcome] = ()
    issues: Sequence[Issue] = ()
    waiting: Sequence[int] = ()
