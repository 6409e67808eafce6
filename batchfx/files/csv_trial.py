"""Which delimiter and which quotation mark a text is written with, by trial.

The sample is cut with each of them; the best cuts the most records into the same number
of cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

# Of two that fit equally well, the first: it is more rarely a part of the text.
DELIMITERS = ("\t", ";", "|", ",")
RARE_DELIMITERS = ("^", "~", "\x1f", "\x01", ":")


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
    have it, and *share* is their share of the records that aren't blank.
    """

    dialect: Dialect
    records: tuple[Found, ...]
    seen: tuple[Found, ...]
    width: int
    usual: tuple[Found, ...]

    @classmethod
    def of(
        cls, dialect: Dialect, lines: Sequence[str], row: int, *, last: bool
    ) -> Trial:
        """Cut the *lines*, the first of which is number *row*."""
        cutter = Cutter(lines, Grammar(dialect), last)
        cuts = list(islice(cut_all(cutter), RECORDS))
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
    def _punctuates(self) -> bool:
        cells = (cell for each in self.usual for cell in each.cut.cells[1:])
        return all(cell.startswith(" ") for cell in cells)


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
    lines = sample.lines()[row - 1 :]
    if delimiter and len(delimiter) > 1:
        lines = [line.replace(delimiter, LONG) for line in lines]
        delimiter = LONG

    def attempt(delimiters: Iterable[str], quote: str) -> list[Trial]:
        dialects = [
            Dialect(each, quote, sample.newline, escape or NEVER) for each in delimiters
        ]
        return [Trial.of(each, lines, row, last=sample.last) for each in dialects]

    common = [delimiter] if delimiter else DELIMITERS
    mark = '"' if quote is None else quote or NEVER
    trials = attempt(common, mark)
    best = trials[0] if delimiter else _best(trials)
    best = best or _best(attempt(RARE_DELIMITERS, mark), share=1)
    best = best or attempt([NEVER], mark)[0]
    if quote is None and not any('"' in line for line in lines):
        other = _best(attempt(common, "'"), share=best.share)
        if other and _is_quoted(other, lines):
            return other
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
