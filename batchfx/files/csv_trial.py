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
from itertools import islice, pairwise
from operator import attrgetter
from typing import Literal

from batchfx.files.csv_record import (
    BLANKS,
    LONG,
    NEVER,
    SPACE,
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
# Asked about, not taken: those of ASCII, of full width and of Arabic.
STRANGE_DELIMITERS = (
    "#",
    "!",
    "/",
    "§",
    "¦",
    "\uff0c",
    "\uff1b",
    "\u3001",
    "\u060c",
    "\u061b",
)
SEVERAL = 2
FEW = 3  # lines that are alike by chance
MOST, HALF = 0.9, 0.5
SIGN = re.compile(r"[~|^#*:;¦§!@]{1,3}")  # what only a delimiter has around or in it
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
        cells = self.cut.cells
        return not self.cut.flaw and not any(cell.strip(BLANKS) for cell in cells)

    @property
    def after(self) -> int:
        """The number of the line after it."""
        return self.row + self.cut.lines


@dataclass(frozen=True, slots=True)
class Trial:
    """The records of the sample as a dialect cuts them.

    *width* is their usual number of cells, if they have several; *usual* are those that
    have it, and *share* is their share of the records that aren't blank. *long* is the
    delimiter when it has several characters. *possible* is what may be one though there
    is one column, and what speaks for it: it cuts all lines alike, or the first one
    into names, or each line is quoted as a whole. It is *ragged* when only the header
    tells the delimiter: the lines below have other numbers of cells.
    """

    dialect: Dialect
    records: tuple[Found, ...]
    seen: tuple[Found, ...]
    width: int
    usual: tuple[Found, ...]
    long: str | None = None
    possible: tuple[str, Literal["alike", "names", "quoted"]] | None = None
    ragged: bool = False

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
    def flaws(self) -> int:
        """How many records have a quotation mark where none may be."""
        return sum(each.cut.flaw is not None for each in self.records)

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
    def whole_delimiter(self) -> str | None:
        """The delimiter that this one is a part of: ``::``, ``|~|`` or ``~|~``.

        Every other cell is nothing or the same sign, or such a sign stands on both
        sides of each.
        """
        first = self.seen[0].cut.cells
        mark = self.dialect.delimiter
        if mark in DOUBLED and len(first) > len("::") and all(first[::2]):
            sign = first[1]
            if not sign or SIGN.fullmatch(sign):
                alike = [_alternates(each.cut.cells, sign) for each in self.seen]
                # No name is a sign, but many a cell is empty.
                least = HALF if sign else MOST
                if alike[0] and sum(alike) >= least * len(alike):
                    return f"{mark}{sign}{mark}"
        sign = _around(first) if min(map(len, first), default=0) > 1 else ""
        alike = [_around(each.cut.cells) == sign for each in self.seen]
        if sign and sum(alike) >= HALF * len(alike):
            return f"{sign}{mark}{sign}"
        return None

    @property
    def is_even_throughout(self) -> bool:
        """True when it cuts all of some lines into as many cells."""
        return self.width > 1 and self.share == 1 and len(self.seen) > 1

    @property
    def names_all(self) -> bool:
        """True when the first line is cut into names, one for each column."""
        names = [name.strip(BLANKS) for name in self.seen[0].cut.cells]
        several = len(set(map(str.casefold, names))) == len(names) > 1
        return several and all(map(NAME.fullmatch, names))

    @property
    def is_even(self) -> bool:
        """True when it cuts all lines alike, not as sentences, and names columns."""
        if self.width == 1 or self.share < 1 or len(self.seen) < FEW:
            return False
        cells = [cell for each in self.seen for cell in each.cut.cells]
        return self.names_all and all(cell == cell.strip() for cell in cells)

    @property
    def _punctuates(self) -> bool:
        cells = (cell for each in self.usual for cell in each.cut.cells[1:])
        return all(cell.startswith(" ") for cell in cells)


def _alternates(cells: Sequence[str], sign: str) -> bool:
    return len(cells) % 2 == 1 and set(cells[1::2]) == {sign}


def _around(cells: Sequence[str]) -> str:
    """Return the sign on both sides of each delimiter between *cells*, if there is."""
    pairs = {(a[-1:], b[:1]) for a, b in pairwise(cells)}
    (before, after), *others = pairs or {("", "")}
    same = before == after and not others and SIGN.fullmatch(before)
    return before if same else ""


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
    spaced: bool | None = None

    @cached_property
    def lines(self) -> list[str]:
        return self.sample.lines()[self.row - 1 :]

    def may_be_spaced(self, quote: str) -> bool:
        """Tell whether a quotation mark stands behind a blank that may begin a cell."""
        opening = re.compile(rf"(?:^|[^\w\s]|\t){SPACE}+{re.escape(quote)}")
        return any(map(opening.search, self.lines[:RECORDS]))

    def cut(self, delimiters: Iterable[str], quote: str) -> list[Trial]:
        """Return a trial with each of the *delimiters* of one character."""
        lines, ends, last = self.lines, self.sample.ends, self.sample.last
        dialects = [
            Dialect(each, quote, ends, self.escape, self._spaced_at(each))
            for each in delimiters
        ]
        return [Trial.of(each, lines, self.row, last=last) for each in dialects]

    def _spaced_at(self, delimiter: str) -> bool | None:
        return False if delimiter == SPACE else self.spaced

    def cut_long(self, delimiter: str, quote: str) -> Trial:
        """Return the trial with a *delimiter* of several characters."""
        lines = [line.replace(delimiter, LONG) for line in self.lines]
        dialect = Dialect(LONG, quote, self.sample.ends, self.escape, self.spaced)
        trial = Trial.of(dialect, lines, self.row, last=self.sample.last)
        return replace(trial, long=delimiter)


def choose_trial(
    sample: Piece,
    row: int,
    delimiter: str | None,
    quote: str | None,
    escape: str | None = None,
    *,
    spaced: bool | None = None,
) -> Trial:
    """Return the trial that fits the lines from number *row* on best.

    A *delimiter* or *quote* that is given is taken as it is, and so is whether cells
    are *spaced*. When none fits, there is one column.
    """
    attempt = _Attempt(sample, row, escape or NEVER, spaced)
    mark = '"' if quote is None else quote or NEVER
    best = _choose_delimiter(attempt, delimiter, mark)
    if spaced is None and mark != NEVER and attempt.may_be_spaced(mark):
        best = _spaced(attempt, delimiter, mark, best) or best
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


def _spaced(
    attempt: _Attempt, delimiter: str | None, quote: str, plain: Trial
) -> Trial | None:
    """Return the trial with blanks before quotation marks, if it does better.

    There are such cells, it has no more faults than the *plain* one without them, and
    no less records of the usual number of cells.
    """
    trial = _choose_delimiter(replace(attempt, spaced=True), delimiter, quote)
    mark = trial.dialect.delimiter
    if trial.width == 1 or mark == SPACE:
        return None
    if trial.long:
        as_text = attempt.cut_long(trial.long, quote)
    else:
        (as_text,) = attempt.cut([mark], quote)
    behind = re.compile(f"{SPACE}+{re.escape(quote)}")
    cells = (cell for each in as_text.records for cell in each.cut.cells)
    if not any(map(behind.match, cells)) or trial.flaws > plain.flaws:
        return None
    return trial if trial.share >= plain.share or plain.width == 1 else None


def _choose_delimiter(attempt: _Attempt, delimiter: str | None, quote: str) -> Trial:
    if delimiter and len(delimiter) > 1:
        return attempt.cut_long(delimiter, quote)
    if delimiter:
        return attempt.cut([delimiter], quote)[0]
    best = _best(attempt.cut(DELIMITERS, quote))
    best = best or _best(attempt.cut(RARE_DELIMITERS, quote), share=1)
    best = best or _of_header(attempt.cut(DELIMITERS, quote))
    if not best:
        return _one_column(attempt, quote)
    if best.seen and (long := best.whole_delimiter):
        return attempt.cut_long(long, quote)
    return _doubled(attempt, best, quote) or best


def _doubled(attempt: _Attempt, best: Trial, quote: str) -> Trial | None:
    """Return the trial with the delimiter doubled, where that cuts more lines alike.

    The header is of names with nothing between.
    """
    mark = best.dialect.delimiter
    first = best.seen[0].cut.cells if best.seen else ()
    is_doubled = mark in DOUBLED and len(first) > SEVERAL and _alternates(first, "")
    if not is_doubled or best.share == 1 or not all(first[::2]):
        return None
    trial = attempt.cut_long(mark * 2, quote)
    return trial if trial.share == 1 else None


def _of_header(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial whose delimiter the header alone tells, if it does clearly.

    Only that one cuts the first line, into names, and most of the lines below have it.
    """
    cut = [each for each in trials if each.seen and len(each.seen[0].cut.cells) > 1]
    if len(cut) != 1 or not cut[0].names_all:
        return None
    (trial,) = cut
    first, *below = trial.seen
    have = [each for each in below if each.cut.flaw or len(each.cut.cells) > 1]
    spaced = [c for each in below for c in each.cut.cells[1:] if c.startswith(" ")]
    if 2 * len(have) <= len(below) or spaced:
        return None
    width = len(first.cut.cells)
    usual = [each for each in trial.seen if len(each.cut.cells) == width]
    return replace(trial, width=width, usual=tuple(usual), ragged=True)


def _one_column(attempt: _Attempt, quote: str) -> Trial:
    """Return the trial without a delimiter, and what may be one after all."""
    one = attempt.cut([NEVER], quote)[0]
    for each in attempt.cut(STRANGE_DELIMITERS, quote):
        if each.is_even:
            return replace(one, possible=(each.dialect.delimiter, "alike"))
    for each in attempt.cut(DELIMITERS, quote):
        if each.seen and each.names_all:
            return replace(one, possible=(each.dialect.delimiter, "names"))
    whole = f"{re.escape(quote)}[^{re.escape(quote)}]*{re.escape(quote)}\\s*"
    lines = [line for line in attempt.lines if line.strip()][:RECORDS]
    if all(re.fullmatch(whole, line) for line in lines):
        for each in attempt.cut(DELIMITERS, NEVER):
            if each.is_even_throughout:
                return replace(one, possible=(each.dialect.delimiter, "quoted"))
    return one


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
