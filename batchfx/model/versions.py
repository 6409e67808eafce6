"""What of an importer decides whether it can go on with a batch that another began.

Code may change while a batch waits, and two versions may run at once. A check that was
mended makes no difference here: it does no harm that some rows were checked without.
What counts is what the batch was mapped and prepared by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

NAMES_SHOWN = 5
KIND = "kind"


@dataclass(frozen=True, slots=True)
class Version:
    """The part of an importer that a batch depends on.

    Attributes:
        fields: What the values of each field are, and what is said of how they are
            written as far as a text means another value by it.
        required: Fields that need a column.
        unique: The sets of fields whose values no two rows may share.

    """

    fields: Mapping[str, Mapping[str, Any]]
    required: Sequence[str]
    unique: Sequence[Sequence[str]]

    def dump(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return asdict(self)

    @classmethod
    def load(cls, content: Mapping[str, Any] | None) -> Version | None:
        """Return what was dumped; None for nothing."""
        return None if content is None else cls(**content)

    def lacks(self, mapping: Mapping[str, int]) -> tuple[str, ...]:
        """Return why rows of these columns can't be run by it, whatever is prepared."""
        missing = [name for name in self.required if name not in mapping]
        gone = [name for name in mapping if name not in self.fields]
        return tuple(_told_of_columns(missing, gone))

    def differs(
        self, mapping: Mapping[str, int], other: Version | None
    ) -> tuple[str, ...]:
        """Return why rows that *other* prepared mean something else by it."""
        if other is None:
            return ()
        return tuple(_told_of_meanings(self, other, mapping))


def _told_of_columns(missing: Sequence[str], gone: Sequence[str]) -> Iterator[str]:
    if missing:
        yield f"it requires {_listed(missing)}, for which no column was mapped"
    if gone:
        yield f"it has no {_listed(gone)}, for which a column was mapped"


def _told_of_meanings(
    here: Version, there: Version, mapping: Mapping[str, int]
) -> Iterator[str]:
    both = [name for name in mapping if name in here.fields and name in there.fields]
    other = [name for name in both if here.fields[name] != there.fields[name]]
    for name in other[:NAMES_SHOWN]:
        kind, before = here.fields[name][KIND], there.fields[name][KIND]
        how = "in another notation" if kind == before else f"as {kind}, not as {before}"
        yield f"it reads '{name}' {how}"
    if {*map(tuple, here.unique)} != {*map(tuple, there.unique)}:
        yield "it wants other fields to be unique"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
