"""One record of a text file: cut out of its lines, and judged, with care.

This is the definition of what batchfx takes a CSV record to be; the fast ways in
`batchfx.files.csv` give what this gives. The grammar is RFC 4180's, and strict where
leniency would move a value into another column:

- A cell that starts with the quotation mark ends at the next one that isn't doubled,
  and the delimiter or the end of the line must follow. Elsewhere the mark is text.
- A quoted cell may span lines. When it isn't closed as it should be, only the line on
  which its record starts is at fault, and the next line starts a record.
- A backslash is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate

from batchfx.files.text import UNDECODABLE
from batchfx.model.blocks import Fault

SPAN = 2 << 20  # characters that an open quotation mark may go on for

# A noncharacter: the delimiter of a file of one column, or the quotation mark of a file
# that quotes nothing.
NEVER = "\ufdd1"

# What leaves a cell blank: white space, and characters that nobody can see.
BLANKS = (
    " \t\n\r\x0b\x0c\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200C)))
    + "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)

# Characters that no text holds; the tab and the line ends are not among them.
CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
CONTROL = re.compile(f"[{CONTROLS}]")
STRAY = re.compile(rf"[{CONTROLS}\r\n]")

# ="04507" is how exporters keep a spreadsheet from taking text for a number.
FORCED_TEXT = re.compile(r'="([^"]*+(?:""[^"]*+)*+)"\Z')

TOTALS = (
    *("total", "totals", "grand total", "subtotal", "sub-total", "sum", "summe"),
    *("gesamt", "gesamtsumme", "zwischensumme", "somme", "suma", "totale", "totaal"),
    *("итого", "合计", "合計", "总计", "小计"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How lines hold cells. `NEVER` stands for what the file doesn't have."""

    delimiter: str = ","
    quote: str = '"'
    newline: str = "\n"


@dataclass(frozen=True, slots=True)
class Cut:
    """A record as it was cut out: its cells, or what is wrong in which column.

    *lines* is the number of lines that it takes. *stray* are the columns whose cell has
    a line end outside quotation marks.
    """

    cells: tuple[str, ...]
    lines: int = 1
    flaw: str | None = None
    column: int | None = None
    stray: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """How many columns there are, and how many a record can't do without."""

    width: int
    required: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record that isn't blank. Its cells are all None when they don't fit."""

    row: int
    cells: tuple[str | None, ...]
    faults: tuple[Fault, ...] = ()


class End(Enum):
    """How a line ends for a record that goes through it."""

    DONE = 1
    OPEN = 2  # within quotation marks
    BAD = 3  # at a quotation mark that shouldn't be there


@dataclass(frozen=True, slots=True)
class Scan:
    """The whole cells found in a line, and how it ends."""

    end: End
    cells: tuple[str, ...]
    stray: tuple[int, ...] = ()


@dataclass(frozen=True)
class Grammar:
    """A dialect's cells as regular expressions."""

    dialect: Dialect

    @cached_property
    def cell(self) -> re.Pattern[str]:
        """A whole cell, quoted (group 1) or bare (2), with its delimiter (3) if any."""
        return re.compile(
            f"(?:{self._mark}({self._within}){self._mark}"
            f"|((?:(?!{self._mark})[^{self._comma}]++)?)){self._after}"
        )

    @cached_property
    def opened(self) -> re.Pattern[str]:
        """A quoted cell that the line doesn't close."""
        return re.compile(rf"{self._mark}{self._within}\Z")

    @cached_property
    def closing(self) -> re.Pattern[str]:
        """The rest of a quoted cell that began on an earlier line."""
        return re.compile(f"({self._within}){self._mark}{self._after}")

    @cached_property
    def crossing(self) -> re.Pattern[str]:
        """A line that is all within a quoted cell."""
        return re.compile(rf"{self._within}\Z")

    @property
    def _mark(self) -> str:
        return re.escape(self.dialect.quote)

    @property
    def _comma(self) -> str:
        return re.escape(self.dialect.delimiter)

    @property
    def _within(self) -> str:
        # Possessive: a long cell costs no memory, and nothing is tried twice.
        mark = self._mark
        return f"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+"

    @property
    def _after(self) -> str:
        return rf"(?:({self._comma})|\r*\Z)"

    def scan(self, line: str, at: int = 0) -> Scan:
        """Return the cells of *line* from *at* on, where a cell begins."""
        cells: list[str] = []
        stray: list[int] = []
        while found := self.cell.match(line, at):
            quoted, bare, delimiter = found.groups()
            if quoted is None:
                value = bare if delimiter else bare.rstrip("\r")
                if "\r" in value or "\n" in value:
                    stray.append(len(cells))
            else:
                value = quoted.replace(self.dialect.quote * 2, self.dialect.quote)
            cells.append(value)
            if not delimiter:
                return Scan(End.DONE, tuple(cells), tuple(stray))
            at = found.end()
        end = End.OPEN if self.opened.match(line, at) else End.BAD
        return Scan(end, tuple(cells))

    def cross(self, line: str) -> End:
        """Return how *line* ends when a quoted cell is open where it begins."""
        if self.crossing.match(line):
            return End.OPEN
        found = self.closing.match(line)
        if not found:
            return End.BAD
        return self.scan(line, found.end()).end if found[2] else End.DONE


@dataclass
class Cutter:
    """Cuts records out of *lines*, CR at their end and all; *ended* if no more follow.

    The time is linear in the text, whatever it holds. A quoted cell that comes to no
    good end is found out only some lines further on, and each of the lines between may
    begin another one; but all of them go the same way, so the way is gone once.
    """

    lines: Sequence[str]
    grammar: Grammar
    ended: bool
    _known: range = field(default=range(0), init=False)
    _end: End = field(default=End.OPEN, init=False)

    def cut(self, first: int) -> Cut | None:
        """Cut the record that starts on line *first*; None if it needs more lines."""
        scan = self.grammar.scan(self.lines[first])
        if scan.end is End.DONE:
            return Cut(scan.cells, stray=scan.stray)
        if scan.end is End.BAD:
            return Cut((), flaw="bad_quote", column=len(scan.cells))
        last, end = self._follow(first)
        if end is End.DONE:
            text = self.grammar.dialect.newline.join(self.lines[first : last + 1])
            whole = self.grammar.scan(text)
            return Cut(whole.cells, last - first + 1, stray=whole.stray)
        cut_off = last == len(self.lines) and not self._too_long(first, last)
        if cut_off and not self.ended:
            return None
        return Cut((), flaw="unterminated_quote", column=len(scan.cells))

    def _follow(self, first: int) -> tuple[int, End]:
        """Follow a quoted cell that is open after line *first* to the line it ends on.

        It ends, well or badly, or it is still open when it is too long or nothing is
        left; the line is then the next one.
        """
        line, end = first + 1, End.OPEN
        if line in self._known:
            line, end = self._known[-1], self._end
        while end is End.OPEN and line < len(self.lines):
            if self._too_long(first, line):
                break
            end = self.grammar.cross(self.lines[line])
            line += end is End.OPEN
        self._known, self._end = range(first + 1, line + 1), end
        return line, end

    def _too_long(self, first: int, line: int) -> bool:
        return self._lengths[line] - self._lengths[first] > SPAN

    @cached_property
    def _lengths(self) -> list[int]:
        return list(accumulate(map(len, self.lines), initial=0))


def cut_all(cutter: Cutter, first: int = 0) -> Iterator[tuple[int, Cut]]:
    """Cut one record after another, each with the number of its line in the lines."""
    while first < len(cutter.lines) and (cut := cutter.cut(first)):
        yield first, cut
        first += cut.lines


def is_blank(cells: Sequence[str]) -> bool:
    """Tell whether no cell holds anything that can be seen."""
    return not any(cell.strip(BLANKS) for cell in cells)


def is_total(cells: Sequence[str], width: int) -> bool:
    """Tell whether a record is a line of totals or a note below a table.

    It begins with a word for a total, or with a word and a colon, and leaves half of
    three columns or more empty.
    """
    filled = [cell for cell in cells if cell]
    if width < 3 or not filled or len(filled) > (width + 1) // 2:  # noqa: PLR2004
        return False
    label = filled[0].strip(BLANKS)
    return label.endswith(":") or label.casefold() in TOTALS


def free_text(cell: str) -> str:
    """Return the text of *cell* without the ``="…"`` that forces it to be text."""
    found = FORCED_TEXT.match(cell)
    return found[1].replace('""', '"') if found else cell


def judge(cut: Cut, row: int, line: str, shape: Shape) -> Record | None:
    """Return the record that *cut* is, None if it is blank.

    Args:
        cut: The record as it was cut out.
        row: The number of its line.
        line: The line that it starts on.
        shape: What the header asks for.

    """
    if cut.flaw:
        return _misfit(row, shape, _quote_fault(cut, line))
    cells = [free_text(cell) for cell in cut.cells]
    if is_blank(cells):
        return None
    if is_total(cells, shape.width):
        return _misfit(row, shape, _total_fault(cells))
    if len(cells) < shape.required or not is_blank(cells[shape.width :]):
        return _misfit(row, shape, _count_fault(cells, shape))
    cells = (cells + [""] * shape.width)[: shape.width]
    shown = tuple(show(cell) or None for cell in cells)
    return Record(row, shown, tuple(_cell_faults(cells, cut.stray)))


def show(text: str) -> str:
    """Return *text* with the usual sign for what couldn't be decoded."""
    return text.replace(UNDECODABLE, "\ufffd")


def _misfit(row: int, shape: Shape, fault: Fault) -> Record:
    return Record(row, (None,) * shape.width, (fault,))


def _quote_fault(cut: Cut, line: str) -> Fault:
    number = (cut.column or 0) + 1
    message = (
        f"In column {number} text follows a closing quotation mark. Within a quoted "
        "cell, double every quotation mark."
        if cut.flaw == "bad_quote"
        else f"The quotation mark that opens column {number} isn't closed as it should "
        "be. Close it, or double it if it is part of the text."
    )
    value = show(line.rstrip("\r"))
    # Of the whole record: what its other cells hold is not known either.
    return Fault(cut.flaw or "", message, None, value, {"column": number})


def _total_fault(cells: Sequence[str]) -> Fault:
    label = next(cell for cell in cells if cell)
    message = "This is a line of totals or a note, not a record."
    return Fault("not_a_record", message, value=show(label), fields=_shown(cells))


def _count_fault(cells: Sequence[str], shape: Shape) -> Fault:
    found, expected = len(cells), shape.width
    message = (
        f"This row has {_several(found, 'cell')} where the header has "
        f"{_several(expected, 'column')}. "
        "Look for a missing or stray delimiter, or a cell that needs quotation marks."
    )
    counts = {"expected": expected, "found": found}
    return Fault("field_count", message, parameters=counts, fields=_shown(cells))


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _shown(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(show, cells))


def _cell_faults(cells: Sequence[str], stray: Sequence[int]) -> Iterator[Fault]:
    for column, cell in enumerate(cells):
        if UNDECODABLE in cell:
            message = (
                "This cell has bytes that are no text in the file's encoding. "
                "Correct it, and save the whole file in one encoding."
            )
            yield Fault("encoding", message, column, show(cell))
        unwanted = STRAY if column in stray else CONTROL
        if control := unwanted.search(cell):
            code = f"U+{ord(control[0]):04X}"
            message = f"This cell has a control character ({code}). Take it out."
            yield Fault(
                "control_character", message, column, show(cell), {"character": code}
            )
