"""How far a batch is: a view, computed from the tally and the clock."""

from __future__ import annotations

from dataclasses import dataclass

from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an attempt stands after *seconds*.

    *examined* counts the rows that have been gone through: those that are decided, and
    in a dry run also those that were found to be good. *before* is what it was when the
    attempt began, so that rate and time left speak of this attempt alone. While the
    source is staged, *tally* has the rows read so far: the total is not known yet.
    *underway* rows of the chunk at work were processed and wait for its commit.
    """

    state: BatchState
    tally: Tally
    examined: int
    before: int
    seconds: float
    underway: int = 0

    @property
    def reached(self) -> int:
        """Rows gone through, with those underway; all of them only at the end."""
        if not self.underway:
            return self.examined
        return min(self.examined + self.underway, self.tally.total - 1)

    @property
    def is_counted(self) -> bool:
        """True when the total is known."""
        return self.state is not BatchState.STAGING

    @property
    def share(self) -> float:
        """What part of all rows was gone through, 0 to 1; 1 only when none is left."""
        return self.reached / self.tally.total if self.tally.total else 0.0

    @property
    def rate(self) -> float:
        """Rows a second in this attempt: read while staging, else gone through."""
        done = self.reached - self.before if self.is_counted else self.tally.total
        return max(0, done) / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last row at the present rate; None if that says nothing."""
        if not self.is_counted or self.rate <= 0:
            return None
        return (self.tally.total - self.reached) / self.rate
