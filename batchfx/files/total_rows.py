"""Rows that are called totals, anywhere in a table, and what makes one for sure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from batchfx.files.column_sums import Sums, are_amounts, are_numbers
from batchfx.files.csv_notes import BLANKS
from batchfx.files.total_names import (
    MAY_BE_CALLED,
    folded_key,
    group_named_by,
    is_total_name,
)
from batchfx.model.blocks import FAULTS, KINDS, ROW, Block, Fault, Kind, column_name

DOUBT = "possible_total"
TYPELESS = frozenset({"csv", "html"})  # where every cell is text
MOST_NUMBERS = 100  # of a row, that are compared
SEVERAL = 2  # records whose sum is no record's own number
KNOWN_KEYS = 50  # of the records above, that a total may be of
LABELS = 8  # columns at the left, the first of which that is filled names a row
NUMBERS = frozenset({Kind.NUMBER, Kind.CODE, Kind.PERCENT})


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table's blocks.

    Numbers in *texts* are none, and where cells are *typed*, those that are text.
    """

    names: Sequence[str]
    texts: Collection[str] = ()
    typed: bool = False

    @classmethod
    def of(cls, form: str, width: int, texts: Collection[int]) -> Columns:
        """Return the columns of a table in the format *form*."""
        names = [column_name(place) for place in range(width)]
        said = {column_name(place) for place in texts}
        return cls(names, said, form not in TYPELESS)

    def cells(self, frame: pl.DataFrame, index: int) -> list[str]:
        """Return the cells of a row; those without content are empty."""
        # As `block_schema` has it: to select thousands of columns takes long.
        return [cell or "" for cell in frame.row(index)[1 : len(self.names) + 1]]

    def are_numbers(
        self, frame: pl.DataFrame, index: int, own: Mapping[str, str]
    ) -> bool:
        """Tell whether the cells *own* of a row are numbers that can be added up."""
        if any(name in self.texts for name in own):
            return False
        kinds = frame.item(index, KINDS)
        if self.typed:
            places = (int(name[1:]) for name in own)
            if kinds is None or any(kinds[place] not in NUMBERS for place in places):
                return False
        return are_numbers([*own.values()])


@dataclass(frozen=True, slots=True)
class Closing:
    """A row that may be a line of totals: what it is called, and its numbers.

    It is *marked* when its name alone asks for a warning.
    """

    row: int
    label: str | None
    numbers: Mapping[str, str]
    cells: tuple[str, ...]
    marked: bool

    def is_total(self, sums: Sums) -> bool:
        """Tell whether the numbers are the *sums* of the records above for sure."""
        meant = sums.meant_by(self.numbers)
        if self.label is None:
            known = sums.rows >= SEVERAL and not sums.gaps
            return known and len(meant) == len(self.numbers)
        return bool(meant) and max(sums.rows, len(meant)) >= SEVERAL


def closing_of(frame: pl.DataFrame, index: int, columns: Columns) -> Closing | None:
    """Return what a row is as a line of totals; None when it is none in any case."""
    cells = columns.cells(frame, index)
    pairs = zip(columns.names, cells, strict=True)
    filled = [(name, text) for name, text in pairs if text.strip(BLANKS)]
    if not filled:
        return None
    label = filled[0][1].strip(BLANKS)
    is_called = label.endswith(":") or is_total_name(label)
    numbers = dict(filled[is_called:][:MOST_NUMBERS])
    has_gap = is_called or not cells[0].strip(BLANKS)
    if not numbers or not has_gap or not columns.are_numbers(frame, index, numbers):
        return None
    row = frame.item(index, ROW)
    marked = is_called and _is_doubtful(cells)
    return Closing(row, label if is_called else None, numbers, tuple(cells), marked)


class Keys:
    """The keys of the last records, by the columns they may stand in.

    Where the reading goes on somewhere, *again* reads the table from its start; that is
    done only where a row asks for what was before.
    """

    def __init__(self, again: Callable[[], Iterable[Block]] | None = None) -> None:
        self._last = deque[pl.DataFrame]()
        self._again = again

    def add(self, frame: pl.DataFrame) -> None:
        """Take the keys of a block's *frame*."""
        last = self._last
        last.append(frame.tail(KNOWN_KEYS))
        while _height(last) - last[0].height >= KNOWN_KEYS:
            last.popleft()

    def has(self, name: str, key: str, frame: pl.DataFrame, index: int) -> bool:
        """Tell whether a record not far above row *index* of *frame* has the *key*."""
        if self._again and _height(self._last) + index < KNOWN_KEYS:
            first = next((each for each in self._last if each.height), frame)
            self._recall(self._again(), first.item(0, ROW))
        frames = [*self._last, frame.head(index)]
        above = [text for each in frames for text in each[name].tail(KNOWN_KEYS)]
        return key in [folded_key(text or "") for text in above[-KNOWN_KEYS:]]

    def _recall(self, blocks: Iterable[Block], first: int) -> None:
        """Take the keys of the records before row *first*."""
        before = Keys()
        for block in blocks:
            before.add(block.frame.filter(pl.col(ROW) < first))
            if block.frame.height and block.frame.item(-1, ROW) >= first:
                break
        if isinstance(blocks, Generator):
            blocks.close()  # which gives the source back to the reader in between
        self._last.extendleft(reversed(before._last))
        self._again = None


def _height(frames: Iterable[pl.DataFrame]) -> int:
    return sum(each.height for each in frames)


def doubts(
    frame: pl.DataFrame, columns: Columns, keys: Keys | None = None
) -> dict[int, Fault]:
    """Return the fault ``possible_total`` of rows that are called so, by their numbers.

    The other cells are amounts, or some are empty. What only has a colon leaves half of
    them empty. "North Total" is one below records with the key "North", of which *keys*
    has those above the *frame*.
    """
    keys = keys or Keys()
    if len(columns.names) < SEVERAL or not frame.height:
        return {}
    near = columns.names[:LABELS]
    label = pl.coalesce(near) if frame[near[0]].has_nulls() else pl.col(near[0])
    called = label.str.contains(MAY_BE_CALLED) & pl.col(FAULTS).is_null()
    found: dict[int, Fault] = {}
    for index in frame.select(called).to_series().arg_true().to_list():
        cells = columns.cells(frame, index)
        place = next(place for place, cell in enumerate(cells) if cell.strip(BLANKS))
        name = cells[place].strip(BLANKS)
        group = group_named_by(name)
        is_of_group = (
            group is not None
            and place < LABELS
            and keys.has(columns.names[place], group, frame, index)
            and _is_total_of(cells)
        )
        if is_of_group or _is_doubtful(cells):
            found[frame.item(index, ROW)] = doubt_of(name)
    return found


def _is_total_of(cells: Sequence[str]) -> bool:
    """Tell whether a row that is called a total has amounts, or empty cells."""
    filled = [cell.strip(BLANKS) for cell in cells if cell.strip(BLANKS)]
    return len(filled) < len(cells) or are_amounts(filled[1:])


def doubt_of(label: str) -> Fault:
    """Return the warning of a row that is called *label*."""
    message = (
        f"This row is called '{label}', like a line of totals, but can't be told for "
        "one for sure, so it was read as a record. Take it out if it is none."
    )
    return Fault(DOUBT, message, value=label)


def _is_doubtful(cells: Sequence[str]) -> bool:
    filled = [cell.strip(BLANKS) for cell in cells if cell.strip(BLANKS)]
    label, *rest = filled or [""]
    amounts = bool(rest) and are_amounts(rest)
    if is_total_name(label):
        return _is_total_of(cells)
    return label.endswith(":") and amounts and 2 * len(filled) <= len(cells) > SEVERAL
