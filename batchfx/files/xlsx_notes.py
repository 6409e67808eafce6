"""Rows of a sheet that are no records of its table: totals, notes, other tables.

A blank row is what people set things apart with, so what stands behind one is looked at
more closely than what stands among the records. All of it is judged with a view to the
rest of the sheet: what fits the table further down makes records of all that is above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from batchfx.errors import SourceError
from batchfx.files.csv_notes import BLANKS, is_total
from batchfx.files.subtotals import has_subtotal
from batchfx.files.total_names import is_total_name
from batchfx.files.xlsx_cells import Cells
from batchfx.files.xlsx_header import SeenRow
from batchfx.files.xlsx_stretches import Stretch
from batchfx.model.blocks import Fault, Kind

HELD_NOTES = 100  # rows at the end of a sheet that may be notes
LEAST_WIDTH = 3  # of a table where a row with one cell is remarkable
LEAST_ROWS = 2  # that show what a table's rows are like
NUMBERS = frozenset({Kind.NUMBER, Kind.CODE, Kind.PERCENT})
NOTE = "This is a line of totals or a note, not a record."
OF_SUBTOTALS = (
    "This is a line of totals, not a record: it has the formula SUBTOTAL over other "
    "rows."
)
ALIKE = str.maketrans(dict.fromkeys(map(str, NUMBERS), str(Kind.NUMBER)))


class Record(NamedTuple):
    """A row laid out in the table's columns; *outside* are its other cells.

    A row with a *fault* is no record, and has no cells; *noted* are such rows below the
    last record.
    """

    number: int
    attributes: Sequence[str]
    stored: Sequence[str]
    outside: tuple[tuple[str, str, str], ...] = ()
    fault: Fault | None = None
    noted: bool = False


class Profile(NamedTuple):
    """What the first records of a table are like, column by column.

    *kinds* are the kinds of cell that each column has, *full* the columns without an
    empty one; each record has *least* filled cells. Of less than two records, or of a
    single column, nothing is known.
    """

    kinds: Sequence[str] = ()
    full: Sequence[int] = ()
    least: int = 0

    def fits(self, kinds: Sequence[str]) -> bool:
        """Tell whether a row whose cells are of these *kinds* looks like a record.

        Most of its cells are of kinds that their columns have, half of them are no
        words in place of numbers, and where it has fewer cells than any other record,
        there is a number or date among them, if others have such, or half of the cells
        that no other lacks.
        """
        if not self.kinds:
            return True
        filled = [place for place, kind in enumerate(kinds) if kind != Kind.EMPTY]
        strange = [i for i in filled if self.kinds[i] and kinds[i] not in self.kinds[i]]
        words = [i for i in strange if kinds[i] == Kind.TEXT]
        if 2 * len(strange) > len(filled) or 2 * len(words) >= len(filled):
            return False
        typed = [place for place in self.full if Kind.TEXT not in self.kinds[place]]
        missing = [place for place in typed or self.full if kinds[place] == Kind.EMPTY]
        allowed = len(typed) - 1 if typed else len(self.full) // 2
        return len(filled) >= self.least or len(missing) <= allowed


def kinds_in(row: SeenRow, columns: Sequence[int]) -> str:
    """Return the kinds of a row's cells in *columns*."""
    kinds = "".join(row.cells.get(each, ("", Kind.EMPTY))[1] for each in columns)
    return kinds.translate(ALIKE)


def profile_of(rows: Sequence[SeenRow], columns: Sequence[int]) -> Profile:
    """Return what the first of *rows* are like, up to a blank one, but for totals."""
    run = [
        kinds_in(row, columns)
        for place, row in enumerate(rows)
        if row.number == rows[0].number + place and not _begins_total(row)
    ]
    if len(run) < LEAST_ROWS or len(columns) == 1:
        return Profile()
    columns_kinds = list(zip(*run, strict=True))
    kinds = ["".join(sorted({*column} - {Kind.EMPTY})) for column in columns_kinds]
    full = [place for place, each in enumerate(columns_kinds) if Kind.EMPTY not in each]
    least = min(len(each) - each.count(Kind.EMPTY) for each in run)
    return Profile(kinds, full, least)


def _begins_total(row: SeenRow) -> bool:
    text = row.cells[min(row.cells)][0] if row.cells else ""
    return is_total_name(text.strip())


def judged(
    found: Iterable[Record | Stretch],
    profile: Profile,
    cells: Cells,
    after: int,
    *,
    noted: bool,
) -> Iterator[Record | Stretch]:
    """Yield *found*, with the fault ``not_a_record`` for totals and notes.

    These are lines of totals, as in text files, and at the end of the sheet: rows with
    a word for a total, few cells and otherwise numbers, and below a blank row those
    with such a word and an empty cell, with a single cell, with numbers alone beside
    empty cells, or unlike the records above. Other rows that may be totals are judged
    in `batchfx.files.strays`.
    """
    judge = _Judge(profile, cells, after, noted=noted)
    try:
        for each in found:
            if isinstance(each, Record):
                yield from judge.record(each)
            elif judge.is_sure(each):
                yield from judge.stretch(each)
            else:
                for record in records_of(each):
                    yield from judge.record(record)
    except SourceError:  # the end of the table is not known
        yield from judge.released()
        raise
    yield from judge.rest()


def records_of(stretch: Stretch) -> Iterator[Record]:
    """Yield the rows of a stretch one by one."""
    attributes = zip(*stretch.attributes, strict=True)
    stored = zip(*stretch.stored, strict=True)
    numbers = range(stretch.first, stretch.last + 1)
    yield from map(Record, numbers, attributes, stored)


class _Judge:
    """Holds rows back as long as those below may say what they are."""

    def __init__(
        self, profile: Profile, cells: Cells, after: int, *, noted: bool
    ) -> None:
        self._profile = profile
        self._cells = cells
        self._after = after
        self._noted = noted
        self._held: list[Record] = []

    def record(self, record: Record) -> Iterator[Record]:
        apart = record.number > self._after + 1 or self._noted or bool(self._held)
        self._after, self._noted = record.number, False
        doubtful = (apart or "" in record.stored) and len(self._held) < HELD_NOTES
        if doubtful and _may_be_note(record, self._profile, self._cells, apart=apart):
            self._held.append(record)
            return
        yield from self.released()
        yield _without_totals(record, self._cells)

    def is_sure(self, stretch: Stretch) -> bool:
        """Tell whether a stretch is nothing but records, wherever the sheet ends."""
        apart = stretch.first > self._after + 1 or self._noted or bool(self._held)
        return not apart and _has_no_total(stretch, self._cells)

    def stretch(self, stretch: Stretch) -> Iterator[Record | Stretch]:
        self._after = stretch.last
        yield stretch

    def released(self) -> Iterator[Record]:
        yield from (_without_totals(each, self._cells) for each in self._held)
        self._held.clear()

    def rest(self) -> Iterator[Record]:
        notes = (_as_note(each, self._cells) for each in self._held)
        yield from (note._replace(noted=True) for note in notes)


def _has_no_total(stretch: Stretch, cells: Cells) -> bool:
    """Tell whether no row of a stretch can be taken for a total or a note at once.

    Nearly all tables have a word in the second column or no such word in the first.
    """
    width = len(stretch.stored)
    if width < LEAST_WIDTH:
        return True
    first, second, *_ = stretch.stored
    if "" in first:
        return False
    gaps = sum("" in column for column in stretch.stored)
    if gaps < width // 2 and "" not in second:
        kinds = {cells.reading(each).kind for each in set(stretch.attributes[1])}
        if NUMBERS.isdisjoint(kinds):
            return True
    return not any(map(_may_label, cells.column(stretch.attributes[0], first).values))


def _may_label(text: str | None) -> bool:
    """Tell whether a row that begins with *text* may be a line of totals or a note."""
    label = text.strip().strip(BLANKS) if text else ""
    if not label or (label[0].isdecimal() and label[-1] != ":"):
        return not label
    return is_total((label,), LEAST_WIDTH)


def _may_be_note(
    record: Record, profile: Profile, cells: Cells, *, apart: bool
) -> bool:
    width = len(record.stored)
    empty = record.stored.count("")
    if has_subtotal(record.attributes):
        return apart
    if not apart:
        return width < 2 * empty and _has_total(record, cells)
    if empty == width - 1 and width >= LEAST_WIDTH:
        return True
    if empty and _has_total(record, cells):
        return True
    return _is_strange(record, profile, cells)


def _is_strange(record: Record, profile: Profile, cells: Cells) -> bool:
    pairs = zip(record.attributes, record.stored, strict=True)
    read = "".join(cells.cell(*pair).kind for pair in pairs)
    kinds = read.translate(ALIKE)
    if Kind.EMPTY not in kinds and profile.kinds:  # keys may be numbers and words
        kinds = (profile.kinds[0] or kinds)[0] + kinds[1:]
    filled = [kind for kind in kinds if kind != Kind.EMPTY]
    sums = kinds[0] == Kind.EMPTY and NUMBERS.issuperset(filled) and 0 in profile.full
    return sums or not profile.fits(kinds)


def _has_total(record: Record, cells: Cells) -> bool:
    """Tell whether a row has a word for a total, and otherwise numbers."""
    first, *second = record.stored[:2]
    if (
        first
        and any(second)
        and cells.reading(record.attributes[1]).kind not in NUMBERS
    ):
        return False  # which is true of nearly all rows, and quickly seen
    pairs = zip(record.attributes, record.stored, strict=True)
    label, *rest = [pair for pair in pairs if pair[1]] or [("", "")]
    if not is_total_name(cells.cell(*label).text.strip()):
        return False
    is_told = bool(rest) or len(record.stored) >= LEAST_WIDTH
    return is_told and all(cells.cell(*each).kind in NUMBERS for each in rest)


def _without_totals(record: Record, cells: Cells) -> Record:
    if has_subtotal(record.attributes):
        return _as_note(record, cells, "total", OF_SUBTOTALS)
    width = len(record.stored)
    if width < LEAST_WIDTH or 2 * record.stored.count("") <= width:
        return record
    return _as_note(record, cells) if is_total(_texts(record, cells), width) else record


def _as_note(
    record: Record, cells: Cells, cause: str = "note", message: str = NOTE
) -> Record:
    texts = _texts(record, cells)
    label = next(filter(None, texts), None)
    why = {"cause": cause}
    fault = Fault("not_a_record", message, None, label, why, tuple(texts))
    empty = ("",) * len(texts)
    return Record(record.number, empty, empty, fault=fault)


def _texts(record: Record, cells: Cells) -> list[str]:
    pairs = zip(record.attributes, record.stored, strict=True)
    return [cells.cell(*pair).text.strip() for pair in pairs]
