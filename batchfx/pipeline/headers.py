"""A file's header while fields are being looked for in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from batchfx.columns import Column
from batchfx.model.names import folded
from batchfx.pipeline.likeness import CLOSE, COMPARED, nearest

NAMES_SHOWN = 12
NAME_LENGTH = 40
CANDIDATES = 500  # columns that a missing one is looked for among

Columns = Mapping[str, Column]
Given = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Saved:
    """A mapping that was made for an earlier file.

    *columns* gives the field of each header, None where the column was left out on
    purpose; *others* are the headers that were no field's.
    """

    name: str
    version: int
    columns: Given
    others: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The mapping as a person names it, ``crm@2``."""
        return f"{self.name}@{self.version}"

    def headers_of(self, field: str) -> list[str]:
        """Return the columns that were the field's."""
        return [header for header, name in self.columns.items() if name == field]


class Search:
    """The fields to find in a header, and which column each has so far."""

    def __init__(self, columns: Columns, header: Sequence[str]) -> None:
        self.columns = columns
        self.header = header
        self.positions: dict[str, int] = {}
        self.left_out: set[int] = set()
        self.ways: dict[str, str] = {}
        self._exact = _index(header, header)
        self._folded = _index(header, [folded(name) for name in header])

    def free(self) -> list[int]:
        """Return the positions of named columns that are nobody's."""
        taken = {*self.positions.values(), *self.left_out}
        return [p for p, name in enumerate(self.header) if name and p not in taken]

    def unmapped(self) -> list[str]:
        """Return the fields that have no column yet."""
        return [name for name in self.columns if name not in self.positions]

    def names(self, positions: Iterable[int]) -> list[str]:
        """Return the headers at *positions*."""
        return [self.header[position] for position in positions]

    def called(self, names: Iterable[str], *, exactly: bool) -> list[int]:
        """Return the positions of the columns that have one of *names*."""
        if exactly:
            found = {p for name in names for p in self._exact.get(name, ())}
        else:
            found = {p for name in names for p in self._folded.get(folded(name), ())}
        return sorted(found)

    def named(self, name: str) -> list[int]:
        """Return the positions of the columns of this very name, or else folded."""
        exact = self.called([name], exactly=True)
        return exact or self.called([name], exactly=False)

    def is_taken(self, position: int) -> bool:
        """Tell whether the column is somebody's, or left out on purpose."""
        return position in self.left_out or position in self.positions.values()

    def take(self, position: int, name: str | None, way: str) -> None:
        """Give the column to the field called *name*; to none when that is None.

        The *way* tells how it was found.
        """
        if name is None:
            self.left_out.add(position)
        else:
            self.positions[name] = position
            self.ways[name] = way

    def proposed(
        self,
        wanted: Sequence[str],
        saved: Saved | None = None,
        cutoff: float = CLOSE,
    ) -> dict[str, str]:
        """Return, for fields without a column, the free column that is most like it.

        It may be like the field's names, or like what the *saved* mapping has for it.
        """
        free = [
            name
            for name in self.names(self.free())[:CANDIDATES]
            if len(name) <= COMPARED
        ]
        scored: list[tuple[float, str, str]] = []
        for name in wanted:
            before = () if saved is None else saved.headers_of(name)
            names = [*names_of(name, self.columns[name]), *before]
            near = nearest(names, free, cutoff)
            if near is not None:
                scored.append((near[0], name, near[1]))
        proposed: dict[str, str] = {}
        for _, name, header in sorted(scored, key=lambda each: -each[0]):
            if header not in proposed.values():
                proposed[name] = header
        return {name: proposed[name] for name in wanted if name in proposed}


def names_of(name: str, column: Column) -> tuple[str, ...]:
    """Return everything that a file may call the field *name*."""
    return (column.header(name), *column.aliases, name)


def map_option(header: str, name: str) -> str:
    """Return what to write on a command line to read *name* from the column."""
    quote = "'" if set(header) & set('"$`\\!') else '"'
    return f"--map {quote}{header}={name}{quote}"


def listed(header: Sequence[str]) -> str:
    """Return the first names, cut short: a file may have thousands, of any length."""
    names = [name for name in header if name]
    shown = ", ".join(f"'{shorten(name)}'" for name in names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def shorten(name: str) -> str:
    """Return *name*, cut off where it gets too long for a sentence."""
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _index(header: Sequence[str], keys: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, (name, key) in enumerate(zip(header, keys, strict=True)):
        if name:
            found.setdefault(key, []).append(position)
    return found
