"""One record of a text file, cut out of its lines with care.

This is the definition of what batchfx takes a CSV record to be; the fast ways in
`batchfx.files.csv` give what this gives. The grammar is RFC 4180's, and strict where
leniency would move a value into another column:

- A cell that starts with the quotation mark ends at the next one that isn't doubled,
  and the delimiter or the end of the line must follow. Elsewhere the mark is text.
- Where it is found or said so, blanks in front of a cell are no part of it, and a
  quotation mark behind them opens it. They are text otherwise.
- A quoted cell may span lines. When it isn't closed as it should be, only the line on
  which its record starts is at fault, and the next line starts a record.
- A backslash is text, unless it is said to be the escape: then the quotation mark, the
  delimiter, a line end within quotation marks or another escape behind it is text.
  Before anything else the escape is text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate

from batchfx.files.csv_notes import BLANKS, is_total
from batchfx.files.text import AFTER_CR

__all__ = ["BLANKS", "is_total"]  # for who reads other formats as text

SPAN = 2 << 20  # characters that an open quotation mark may go on for

# Noncharacters: what a file doesn't have, be it the delimiter (it has one column), the
# quotation mark or the escape; and what stands for a delimiter of several characters.
NEVER = "\ufdd1"
LONG = "\ufdd2"

SPACE = " "  # what may stand before a cell that is spaced, as for the csv module

# What may stand before a record and is no part of it: the byte-order mark of a file
# that was put behind another, and what `batchfx.files.text` puts after a CR alone.
LEADING = f"\ufeff{AFTER_CR}"

# Characters that no text holds; the tab and the line ends are not among them.
CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How lines hold cells. `NEVER` stands for what the file doesn't have.

    Where they are *spaced*, blanks in front of a cell are no part of it. Where nobody
    knows (None), they are text, but a cell with all of it in quotation marks behind
    them is at fault.
    """

    delimiter: str = ","
    quote: str = '"'
    newline: str = "\n"
    escape: str = NEVER
    spaced: bool | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A record as it was cut out: its cells, or what is wrong in which column.

    *lines* is the number of lines that it takes. *stray* are the columns whose cell has
    a line end outside quotation marks, *apart* those with blanks before quotation marks
    that should be right behind the delimiter.
    """

    cells: tuple[str, ...]
    lines: int = 1
    flaw: str | None = None
    column: int | None = None
    stray: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()


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
    apart: tuple[int, ...] = ()


@dataclass(frozen=True)
class Grammar:
    """A dialect's cells as regular expressions."""

    dialect: Dialect

    @cached_property
    def cell(self) -> re.Pattern[str]:
        """A whole cell, quoted (group 1) or bare (2), with its delimiter (3) if any."""
        return re.compile(
            f"(?:{self._opening}({self._within}){self._mark}"
            f"|((?:(?!{self._opening}){self._bare})?)){self._after}"
        )

    @cached_property
    def opened(self) -> re.Pattern[str]:
        """A quoted cell that the line doesn't close."""
        return re.compile(rf"{self._opening}{self._within}{self._escape}?\Z")

    @cached_property
    def closing(self) -> re.Pattern[str]:
        """The rest of a quoted cell that began on an earlier line."""
        return re.compile(f"({self._within}){self._mark}{self._after}")

    @cached_property
    def crossing(self) -> re.Pattern[str]:
        """A line that is all within a quoted cell."""
        return re.compile(rf"{self._within}{self._escape}?\Z")

    @cached_property
    def escaped(self) -> re.Pattern[str]:
        """An escaped character (group 1), or a doubled quotation mark (2)."""
        marks = f"{self._mark}{self._escape}{self._comma}"
        return re.compile(rf"{self._escape}([{marks}\r\n])|{self._mark}({self._mark})")

    @cached_property
    def apart(self) -> re.Pattern[str] | None:
        """A bare cell that blanks keep from being a quoted one; None if it may be."""
        if self.dialect.spaced is not None or self.dialect.quote == NEVER:
            return None
        return re.compile(f"{SPACE}++{self._mark}{self._within}{self._mark}{SPACE}*+")

    @cached_property
    def _odd(self) -> re.Pattern[str]:
        """What a line of bare cells that are just their text doesn't have."""
        return re.compile(f"[{self._mark}{self._escape}\r\n]")

    @property
    def _mark(self) -> str:
        return re.escape(self.dialect.quote)

    @property
    def _opening(self) -> str:
        return f"{SPACE}*+{self._mark}" if self.dialect.spaced else self._mark

    @property
    def _comma(self) -> str:
        return re.escape(self.dialect.delimiter)

    @property
    def _escape(self) -> str:
        return re.escape(self.dialect.escape)

    @property
    def _within(self) -> str:
        # Possessive: a long cell costs no memory, and nothing is tried twice.
        mark, escape = self._mark, self._escape
        text = f"[^{mark}{escape}]*+"
        return rf"{text}(?:(?:{mark}{mark}|{escape}[\s\S]){text})*+"

    @property
    def _bare(self) -> str:
        if self.dialect.escape == NEVER:
            return f"[^{self._comma}]++"
        return rf"(?:[^{self._comma}{self._escape}]|{self._escape}[\s\S]?)++"

    @property
    def _after(self) -> str:
        return rf"(?:({self._comma})|\r*\Z)"

    def scan(self, line: str, at: int = 0) -> Scan:
        """Return the cells of *line* from *at* on, where a cell begins."""
        if not self._odd.search(line, at, len(line.rstrip("\r"))):
            texts = line[at:].rstrip("\r").split(self.dialect.delimiter)
            return Scan(End.DONE, tuple(map(self._tidy, texts)))
        cells: list[str] = []
        stray: list[int] = []
        apart: list[int] = []
        while found := self.cell.match(line, at):
            quoted, bare, delimiter = found.groups()
            if quoted is None:
                value = bare if delimiter else bare.rstrip("\r")
                if "\r" in value or "\n" in value:
                    stray.append(len(cells))
                if self.apart and self.apart.fullmatch(value):
                    apart.append(len(cells))
                value = self._unescape(self._tidy(value))
            else:
                value = self._unescape(quoted, doubled=True)
            cells.append(value)
            if not delimiter:
                return Scan(End.DONE, tuple(cells), tuple(stray), tuple(apart))
            at = found.end()
        end = End.OPEN if self.opened.match(line, at) else End.BAD
        return Scan(end, tuple(cells))

    def _tidy(self, cell: str) -> str:
        return cell.lstrip(SPACE) if self.dialect.spaced else cell

    def _unescape(self, cell: str, *, doubled: bool = False) -> str:
        quote, escape = self.dialect.quote, self.dialect.escape
        if escape not in cell:
            return cell.replace(quote * 2, quote) if doubled else cell
        return self.escaped.sub(
            lambda found: found[1] or (found[2] if doubled else found[0]), cell
        )

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
        scan = self.grammar.scan(self.lines[first].lstrip(LEADING))
        if scan.end is End.DONE:
            return Cut(scan.cells, stray=scan.stray, apart=scan.apart)
        if scan.end is End.BAD:
            return Cut((), flaw="bad_quote", column=len(scan.cells))
        last, end = self._follow(first)
        if end is End.DONE:
            text = self.grammar.dialect.newline.join(self.lines[first : last + 1])
            whole = self.grammar.scan(text.lstrip(LEADING))
            return Cut(
                whole.cells, last - first + 1, stray=whole.stray, apart=whole.apart
            )
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
