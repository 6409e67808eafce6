"""What is known of a chunk's rows while they are written, by place in the chunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from batchfx.columns import Column
from batchfx.model.issues import Issue, Phase
from batchfx.model.verdicts import Outcome, Verdict
from batchfx.tables.target import Key, Target

HIDDEN = "•••"


class Wait(NamedTuple):
    """A cell that names a record of this file, and the row that makes it."""

    place: int
    field: str
    maker: int | None


class Record(NamedTuple):
    """A record that a row was matched with: its key, and its values of some fields."""

    key: Key
    values: tuple[Any, ...]


@dataclass(slots=True)
class Ledger:
    """The rows of a chunk, and what is decided and open about them.

    Attributes:
        target: Where the rows go.
        columns: How the fields are called.
        numbers: The rows' numbers.
        cells: The typed values of each field.
        values: The same as the driver takes them; a look-up's are keys, once found.
        mapped: The fields that the file has.
        missing: The rows that say nothing of a field, as a record of JSON may.
        issues: What is wrong with a row, so that it isn't written.
        outcomes: The verdicts there are.
        found: What is wrong with the rows that have their verdict.
        waits: Rows that name a record which is not there yet.
        blocked: Rows that want a value which another row of the chunk will give up:
            that row's place, and what is wrong while it does not.
        followers: The rows that wait for, or are blocked by, the row at a place.
        contested: Rows that wanted a value which the database says is taken.
        again: Those of them that are to be looked at once more.

    """

    target: Target
    columns: Mapping[str, Column]
    numbers: list[int]
    cells: Mapping[str, list[Any]]
    values: dict[str, list[Any]]
    mapped: frozenset[str]
    missing: Mapping[str, Sequence[int]] = field(default_factory=dict)
    issues: dict[int, list[Issue]] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    found: list[Issue] = field(default_factory=list)
    waits: dict[int, list[Wait]] = field(default_factory=dict)
    blocked: dict[int, tuple[int, Issue]] = field(default_factory=dict)
    followers: dict[int, list[int]] = field(default_factory=dict)
    contested: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)

    def places(self) -> list[int]:
        """Return the rows that nothing holds up."""
        return [p for p in range(len(self.numbers)) if p not in self.waits]

    def good(self, places: Iterable[int]) -> list[int]:
        """Return those of *places* that can be written."""
        if not self.issues and not self.blocked and not self.again:
            return list(places)
        held = {*self.issues, *self.blocked, *self.again}
        return [p for p in places if p not in held]

    def pick(self, name: str, places: Sequence[int]) -> list[Any]:
        """Return a field's values of *places*, as the driver takes them."""
        values = self.values[name]
        if len(places) == len(values):
            return values
        return [values[place] for place in places]

    def tuples(self, names: Sequence[str], places: Sequence[int]) -> list[Any]:
        """Return each place's value of one field, or its tuple of several."""
        lists = [self.pick(name, places) for name in names]
        return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))

    def keep(self, name: str, kept: Mapping[int, Any]) -> None:
        """Take what the record has for the cells, by place, that say nothing."""
        values = enumerate(self.values[name])
        self.values[name] = [kept.get(place, value) for place, value in values]

    def issue(
        self, place: int, code: str, name: str, message: str, **parameters: Any
    ) -> Issue:
        """Make an issue about a row's cell."""
        value = self.cells[name][place]
        return Issue(
            code=code,
            message=message,
            phase=Phase.PROCESS,
            row=self.numbers[place],
            field=name,
            value=None if value is None else self.shown(place, name),
            parameters=parameters,
        )

    def shown(self, place: int, name: str) -> str:
        """Return a cell as it may be shown."""
        if self.columns[name].sensitive:
            return HIDDEN
        return str(self.cells[name][place])

    def accuse(self, place: int, issue: Issue) -> None:
        """Keep the row out."""
        self.issues.setdefault(place, []).append(issue)

    def decide(
        self, verdict: Verdict, places: Sequence[int], record_ids: Sequence[str] = ()
    ) -> None:
        """Give the rows at *places* their verdict."""
        numbers = self.numbers
        if len(places) != len(numbers):
            numbers = [numbers[place] for place in places]
        ids = record_ids or repeat(None)
        self.outcomes += map(
            partial(tuple.__new__, Outcome),  # what Outcome._make does, but in C
            zip(numbers, repeat(verdict), ids, repeat(None), strict=False),
        )

    def wait(self, wait: Wait) -> None:
        """Hold the row up until the record that its cell names is there."""
        self.waits.setdefault(wait.place, []).append(wait)
        if wait.maker is not None:
            self.followers.setdefault(wait.maker, []).append(wait.place)

    def forgo(self, place: int, name: str) -> None:
        """Hold the row up no longer for the record that its cell *name* names."""
        left = [wait for wait in self.waits.pop(place) if wait.field != name]
        if left:
            self.waits[place] = left

    def block(self, place: int, owner: int, issue: Issue) -> None:
        """Hold the row up until the row at *owner* has given up its value."""
        self.blocked[place] = (owner, issue)
        self.followers.setdefault(owner, []).append(place)

    def refuse(self, place: int, issue: Issue) -> None:
        """Keep out the row that can't be stored, for good at the second time.

        Another transaction may just have stored the value that the row wants as its
        own. Then the record is there to be matched, or to be named.
        """
        if issue.code != "unique_violation" or place in self.contested:
            self.accuse(place, issue)
        else:
            self.again.add(place)

    def take_again(self) -> list[int]:
        """Return the rows to be looked at once more, and take them off the list."""
        places, self.again = sorted(self.again), set()
        self.contested.update(places)
        return places

    def release(self, written: Mapping[int, Key]) -> list[int]:
        """Return the rows that were held up by nothing but the rows *written* now."""
        if not self.followers:
            return []
        freed: set[int] = set()
        for maker, key in written.items():
            for place in self.followers.pop(maker, ()):
                if self.blocked.pop(place, None) or self._fill(place, maker, key):
                    freed.add(place)
        return sorted(freed)

    def _fill(self, place: int, maker: int, key: Key) -> bool:
        """Enter the key where the row names it; return whether nothing is left."""
        waits = self.waits.pop(place, [])
        for wait in waits:
            if wait.maker == maker:
                self.values[wait.field][place] = key[0]
        left = [wait for wait in waits if wait.maker != maker]
        if left:
            self.waits[place] = left
        return not left
