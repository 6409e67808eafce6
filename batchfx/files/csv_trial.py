"""Which delimiter and which quotation mark a text is written with, by trial.

The sample is cut with each of them; the best cuts the most records into the same number
of cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter

from batchfx.files.csv_record import (
    BLANKS,
    LONG,
    NEVER,
    Cut,
    Cutter,
    Dialect,
    Grammar,
    cut_all,
)
from batchfx.files.text import Piece

RECORDS = 500  # of the sample, for each dialect that is tried
COLUMNS = 16_384  # as many as a sheet has

# Of two that fit equally well, the first: it is more rarely a part of the text.
DELIMITERS = ("\t", ";", "|", ",")
RARE_DELIMITERS = ("^", "~", "\x1f", "\x01", ":")
DOUBLED = ("|", "^", "~", ":", ";")  # when they aren't one, but a half of one
STRANGE_DELIMITERS = ("#", "!", "/", "§", "¦")  # asked about, not taken
FEW = 3  # lines that are alike by chance
MOST = 0.9
NAME = re.compile(r"[^\W\d][\w .-]*")


@dataclass(frozen=True, slots=True)
class Found:
    """A record of the sample, with the number of its line."""

    row: int
    cut: Cut

    @property
    def filled(self) -> list[int]:
        """The columns in which something can be seen."""
        cells = self.cut.cells
        return [column for column, cell in enumerate(cells) if cell.strip(BLANKS)]

    @property
    def blank(self) -> bool:
        """True when nothing can be seen of it."""
        return not self.cut.flaw and not self.filled

    @property
    def after(self) -> int:
        """The number of the line after it."""
        return self.row + self.cut.lines


@dataclass(frozen=True, slots=True)
class Trial:
    """The records of the sample as a dialect cuts them.

    *width* is their usual number of cells, if they have several; *usual* are those that
    have it, and *share* is their share of the records that aren't blank. *long* is the
    delimiter when it has several characters, and *possible* what is rarely one, but
    cuts all lines alike when nothing else does.
    """

    dialect: Dialect
    records: tuple[Found, ...]
    seen: tuple[Found, ...]
    width: int
    usual: tuple[Found, ...]
    long: str | None = None
    possible: str | None = None

    @classmethod
    def of(
        cls, dialect: Dialect, lines: Sequence[str], row: int, *, last: bool
    ) -> Trial:
        """Cut the *lines*, the first of which is number *row*."""
        cutter = Cutter(lines, Grammar(dialect), last)
        cuts = _cuts(cutter)
        if lines and not cuts:
            cuts = [(0, Cut((), flaw="unterminated_quote"))]
        records = tuple(Found(row + index, cut) for index, cut in cuts)
        seen = tuple(each for each in records if not each.blank)
        counts = Counter(len(each.cut.cells) for each in seen)
        several = [width for width in counts if width > 1]
        width = max(several, key=lambda width: counts[width], default=1)
        usual = tuple(each for each in seen if len(each.cut.cells) == width)
        return cls(dialect, records, seen, width, usual)

    @property
    def share(self) -> float:
        """The share of the records that have the usual number of cells."""
        return len(self.usual) / max(len(self.seen), 1)

    @property
    def fits(self) -> bool:
        """True when this may well be how the lines are meant.

        Above the first usual record there may be titles, but fewer than what follows,
        and then the delimiter must not be the punctuation of a sentence.
        """
        if self.width == 1:
            return False
        above = self.seen.index(self.usual[0])
        half = 2 * len(self.usual) >= len(self.seen) - above
        if not above:
            return half
        return half and len(self.usual) >= max(above, 2) and not self._punctuates

    @property
    def is_doubled(self) -> bool:
        """True when every other cell is empty: the delimiter is twice this one."""
        if self.dialect.delimiter not in DOUBLED or self.width <= len("::"):
            return False
        halves = [
            len(each.cut.cells) % 2 == 1 and not any(each.cut.cells[1::2])
            for each in self.seen
        ]
        named = all(self.seen[0].cut.cells[::2])
        return halves[0] and named and sum(halves) >= MOST * len(halves)

    @property
    def is_even(self) -> bool:
        """True when it cuts all lines alike, not as sentences, and names columns."""
        if self.width == 1 or self.share < 1 or len(self.seen) < FEW:
            return False
        names = self.seen[0].cut.cells
        named = len(set(names)) == len(names) and all(map(NAME.fullmatch, names))
        cells = [cell for each in self.seen for cell in each.cut.cells]
        return named and all(cell == cell.strip() for cell in cells)

    @property
    def _punctuates(self) -> bool:
        cells = (cell for each in self.usual for cell in each.cut.cells[1:])
        return all(cell.startswith(" ") for cell in cells)


def _cuts(cutter: Cutter) -> list[tuple[int, Cut]]:
    """Cut the records, none wider than just too wide; two of these tell enough."""
    cuts: list[tuple[int, Cut]] = []
    wide = 0
    for line, cut in islice(cut_all(cutter), RECORDS):
        is_wide = len(cut.cells) > COLUMNS
        kept = replace(cut, cells=cut.cells[: COLUMNS + 1]) if is_wide else cut
        cuts.append((line, kept))
        wide += is_wide
        if wide == len(cuts) == 2:  # noqa: PLR2004 - the header and the first record
            break
    return cuts


@dataclass(frozen=True)
class _Attempt:
    """The lines of the sample from number *row* on, to be cut in one way or another."""

    sample: Piece
    row: int
    escape: str

    @cached_property
    def lines(self) -> list[str]:
        return self.sample.lines()[self.row - 1 :]

    def cut(self, delimiters: Iterable[str], quote: str) -> list[Trial]:
        """Return a trial with each of the *delimiters* of one character."""
        lines, ends, last = self.lines, self.sample.ends, self.sample.last
        dialects = [Dialect(each, quote, ends, self.escape) for each in delimiters]
        return [Trial.of(each, lines, self.row, last=last) for each in dialects]

    def cut_long(self, delimiter: str, quote: str) -> Trial:
        """Return the trial with a *delimiter* of several characters."""
        lines = [line.replace(delimiter, LONG) for line in self.lines]
        dialect = Dialect(LONG, quote, self.sample.ends, self.escape)
        trial = Trial.of(dialect, lines, self.row, last=self.sample.last)
        return replace(trial, long=delimiter)


def choose_trial(
    sample: Piece,
    row: int,
    delimiter: str | None,
    quote: str | None,
    escape: str | None = None,
) -> Trial:
    """Return the trial that fits the lines from number *row* on best.

    A *delimiter* or *quote* that is given is taken as it is. When none fits, there is
    one column.
    """
    attempt = _Attempt(sample, row, escape or NEVER)
    mark = '"' if quote is None else quote or NEVER
    best = _choose_delimiter(attempt, delimiter, mark)
    lines = attempt.lines
    if quote is None and not any('"' in line for line in lines):
        common = [delimiter] if delimiter else DELIMITERS
        if delimiter and len(delimiter) > 1:
            others = [attempt.cut_long(delimiter, "'")]
        else:
            others = attempt.cut(common, "'")
        other = _best(others, share=best.share)
        if other and _is_quoted(other, lines):
            return other
    return best


def _choose_delimiter(attempt: _Attempt, delimiter: str | None, quote: str) -> Trial:
    if delimiter and len(delimiter) > 1:
        return attempt.cut_long(delimiter, quote)
    if delimiter:
        return attempt.cut([delimiter], quote)[0]
    best = _best(attempt.cut(DELIMITERS, quote))
    best = best or _best(attempt.cut(RARE_DELIMITERS, quote), share=1)
    if not best:
        strange = attempt.cut(STRANGE_DELIMITERS, quote)
        found = next((each.dialect.delimiter for each in strange if each.is_even), None)
        return replace(attempt.cut([NEVER], quote)[0], possible=found)
    if best.is_doubled:
        return attempt.cut_long(best.dialect.delimiter * 2, quote)
    return best


def _best(trials: Sequence[Trial], share: float = 0) -> Trial | None:
    """Return the trial that fits best, but one that sees only blanks at once."""
    blank = next((each for each in trials if not each.seen), None)
    fitting = [each for each in trials if each.fits and each.share >= share]
    return blank or max(fitting, key=attrgetter("share"), default=None)


def _is_quoted(trial: Trial, lines: Sequence[str]) -> bool:
    """Tell whether the trial's quotation mark is one: used repeatedly, never amiss."""
    mark, comma = re.escape(trial.dialect.quote), re.escape(trial.dialect.delimiter)
    quoted = f"{mark}[^{mark}]*(?:{mark}{mark}[^{mark}]*)*{mark}"
    cell = re.compile(rf"(?:^|{comma}){quoted}(?={comma}|\r*\Z)")
    uses = sum(len(cell.findall(line)) for line in lines[:RECORDS])
    plain = all(each.cut.lines == 1 and not each.cut.flaw for each in trial.records)
    return uses > 1 and plain
