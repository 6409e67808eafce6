"""What batches and their units should be after each operation, in plain Python.

Written from the promises and not from the code: it shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PREPARATION = -1
TRIES, LOSSES = 5, 3
GOING = ("staging", "running")
GOOD, BAD = "created", "invalid"


class RefusedError(Exception):
    """The operation must be refused, as *kind* says."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Unit:
    """A unit of work; *verdicts* are its rows', *counted* what its tally says."""

    ordinal: int
    rows: range
    state: str = "held"
    fence: int = 0
    worker: str | None = None
    round: int = 0
    failures: int = 0
    losses: int = 0
    is_expired: bool = False
    is_due: bool = False
    verdicts: dict[int, str] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)

    def move(self, state: str, *, raises_fence: bool = True) -> None:
        """Come to *state*; whoever had it has it no more."""
        self.state, self.worker = state, None
        self.is_expired = self.is_due = False
        self.fence += raises_fence

    def refresh(self) -> None:
        """Forget what broke before."""
        self.failures = self.losses = 0

    def count(self) -> None:
        """Count the tally anew."""
        found = list(self.verdicts.values())
        self.counted = {name: found.count(name) for name in (GOOD, BAD)}

    @property
    def is_final(self) -> bool:
        """True when no operation may change it any more."""
        all_good = self.counted.get(GOOD, 0) == len(self.rows)
        is_done = self.state == "done" and self.ordinal != PREPARATION and all_good
        return is_done or self.state == "cancelled"


@dataclass
class Batch:
    """A batch and its units; the first one is the preparation."""

    number: int
    tenant: str
    units: list[Unit]
    dry_run: bool
    state: str = "staging"
    staged: bool = False
    attempt: int = 1
    endings: list[str] = field(default_factory=list)

    @property
    def preparation(self) -> Unit:
        """The unit before all others."""
        return self.units[0]

    @property
    def is_going(self) -> bool:
        """True while something of it may be begun."""
        return self.state in GOING

    def next_unit(self, *, preparation: bool) -> Unit | None:
        """Return what is claimed next."""
        if not self.is_going:
            return None
        waiting = [
            unit
            for unit in self.units
            if unit.state == "queued" and (unit.ordinal == PREPARATION) == preparation
        ]
        return min(waiting, key=lambda unit: (unit.round, unit.ordinal), default=None)

    def in_states(self, *states: str) -> Iterator[Unit]:
        """Yield the units in one of *states*."""
        return (unit for unit in self.units if unit.state in states)

    def move_all(self, target: str, *states: str) -> int:
        """Move all units in *states* to *target*; return how many there were."""
        found = list(self.in_states(*states))
        for unit in found:
            unit.move(target)
        return len(found)

    def end(self, state: str) -> None:
        """Come to a state in which nothing more happens by itself."""
        self.state = state
        self.endings.append(state)

    def settle(self) -> str | None:
        """End if nothing is left; return the state it comes to."""
        left = [unit.state for unit in self.units if unit.state != "done"]
        if not self.is_going:
            return None
        if self.preparation.state == "dead" or (left and set(left) == {"dead"}):
            self.end("failed")
        elif not left:
            self.end("checked" if self.dry_run else "completed")
        else:
            return None
        return self.state

    def queue(self) -> None:
        """Queue what is held: the preparation, or everything once that is done."""
        is_prepared = self.preparation.state == "done"
        for unit in self.in_states("held"):
            if is_prepared or unit is self.preparation:
                unit.move("queued")

    # --- What a worker does ----------------------------------------------------------

    def commit_preparation(self) -> str | None:
        """End the preparation: its batch begins."""
        self.preparation.move("done", raises_fence=False)
        self.staged = True
        if self.state == "staging":
            self.state = "running"
        self.queue()
        if not self.is_going:
            self.move_all("held", "queued")
        return self.settle()

    def commit(self, unit: Unit, good: Callable[[int], bool]) -> str | None:
        """Decide every row that is open, and end the unit."""
        for row, verdict in self.verdicts_on(unit, good).items():
            unit.verdicts[row] = verdict
        unit.count()
        unit.move("done", raises_fence=False)
        return self.settle()

    def verdicts_on(self, unit: Unit, good: Callable[[int], bool]) -> dict[int, str]:
        """Return a verdict on each open row; a dry run only says what is wrong."""
        found = {row: GOOD if good(row) else BAD for row in self.open_rows(unit)}
        if not self.dry_run:
            return found
        return {row: verdict for row, verdict in found.items() if verdict == BAD}

    @staticmethod
    def open_rows(unit: Unit) -> list[int]:
        """Return the rows without a verdict."""
        return [row for row in unit.rows if row not in unit.verdicts]

    def defer(self, unit: Unit) -> None:
        """Let the unit wait for a later row."""
        unit.count()
        unit.move("queued", raises_fence=False)
        unit.round += 1
        self.settle()

    def charge(self, unit: Unit, *, is_loss: bool) -> str | None:
        """Charge a failure or a loss."""
        if is_loss:
            unit.losses += 1
            is_over = unit.losses >= LOSSES
        else:
            unit.failures += 1
            is_over = unit.failures >= TRIES
        unit.move("dead" if is_over else "retrying")
        return self.settle()

    # --- What a person does ----------------------------------------------------------

    def pause(self) -> None:
        """Begin nothing more."""
        if self.state == "paused":
            return
        if not self.is_going:
            raise RefusedError("move")
        self.move_all("held", "queued", "retrying")
        self.state = "paused"

    def resume(self) -> None:
        """Go on."""
        if self.state != "paused":
            raise RefusedError("move")
        self.queue()
        self.state = "running" if self.staged else "staging"
        self.settle()

    def cancel(self) -> None:
        """End for good."""
        if self.state == "cancelled":
            return
        if self.state == "completed":
            raise RefusedError("move")
        self.move_all("cancelled", "held", "queued", "leased", "retrying", "dead")
        self.end("cancelled")

    def stop(self) -> None:
        """End early; the rest can be run again."""
        if not self.is_going:
            raise RefusedError("move")
        self.move_all("held", "queued", "leased", "retrying")
        self.end("stopped")

    def revive(self) -> int:
        """Let what is dead be tried again."""
        if self.state == "paused":
            raise RefusedError("move")
        dead = list(self.in_states("dead"))
        if not dead:
            raise RefusedError("usage")
        if self.state not in {"staging", "running", "failed"}:
            raise RefusedError("move")
        for unit in dead:
            unit.move("queued")
            unit.refresh()
        if self.state != "staging":
            self.state = "running" if self.staged else "staging"
        return len(dead)

    def rerun(self) -> bool:
        """Begin another attempt; return False if nothing is left to be done."""
        if self.state in {"paused", "cancelled"}:
            raise RefusedError("move")
        leased = list(self.in_states("leased"))
        if any(not unit.is_expired for unit in leased):
            raise RefusedError("move")
        for unit in leased:
            unit.move("queued")
        if not self.staged:
            self.state = "staging"
        elif self.is_all_well():
            return False
        else:
            self._reopen()
            self.state, self.dry_run = "running", False
        self.preparation.move("queued")
        self.preparation.refresh()
        self.attempt += 1
        return True

    def is_all_well(self) -> bool:
        """Tell whether every row has a verdict that is good."""
        return all(
            unit.counted.get(GOOD, 0) == len(unit.rows) for unit in self.units[1:]
        )

    def _reopen(self) -> None:
        for unit in self.units[1:]:
            is_open = unit.counted.get(GOOD, 0) < len(unit.rows)
            unit.verdicts = {r: v for r, v in unit.verdicts.items() if v == GOOD}
            if is_open:
                unit.move("held", raises_fence=False)
                unit.round = 0
                unit.refresh()
                unit.count()


def sweep(batches: list[Batch]) -> dict[str, int]:
    """Mend everything; return what was done, in numbers."""
    done = dict.fromkeys(("lost", "died", "due", "astray", "ended"), 0)
    for batch in batches:
        for unit in [unit for unit in batch.in_states("leased") if unit.is_expired]:
            batch.charge(unit, is_loss=True)
            done["lost"] += 1
            done["died"] += unit.state == "dead"
    for batch in batches:
        for unit in [unit for unit in batch.in_states("retrying") if unit.is_due]:
            unit.move("queued")
            done["due"] += 1
    for batch in batches:
        if not batch.is_going:
            done["astray"] += batch.move_all("held", "queued", "retrying")
    for batch in batches:
        done["ended"] += batch.settle() is not None
    return done
