"""The sums of columns of text, and whether numbers below them are these.

A text says what number it is only with its decimal mark, which the rest of a column may
leave open: so each column is added up in both ways, and either may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import polars as pl

from batchfx.files.csv_notes import BLANKS, CURRENCIES
from batchfx.model.blocks import FAULTS

# The decimal mark of each way, and the other mark, which groups digits.
WAYS = ((".", ","), (",", "."))
BOTH = range(len(WAYS))

SIGNS = rf"[\s\x{{a0}}\x{{202f}}'\x{{2019}}€$£¥%]|(?i:\b(?:{'|'.join(CURRENCIES)})\b)"
MINUS = "\u2212"
PLACES = 10  # behind the decimal mark
LONGEST = 24  # digits and marks of a number that can be added up
NOISE = Decimal("1e-12")  # of the sum: what binary numbers of a sheet leave

SPAN = re.compile(r"-?[0-9]+:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?|-?P[0-9TDHMS.]+")

TEXT = "text"


@dataclass
class Sums:
    """What the *columns* add up to in each of `WAYS`; None where a cell is no number.

    *rows* is how many records were added up, and *gaps* how many of these have nothing
    in the column *first*.
    """

    first: str
    columns: Sequence[str]
    rows: int = 0
    gaps: int = 0
    found: dict[tuple[str, int], Decimal | None] = field(default_factory=dict)

    def add(self, frame: pl.DataFrame) -> None:
        """Add the records of a block's *frame* that have no fault."""
        frame = frame.filter(pl.col(FAULTS).is_null())
        self.rows += frame.height
        self.gaps += frame.select(_is_blank(pl.col(self.first)).sum()).item()
        for name in self.columns if frame.height else ():
            texts = frame.select(pl.col(name).alias(TEXT))
            texts = texts.filter(pl.col(TEXT).str.strip_chars() != "")
            for way in BOTH:
                before = self.found.get((name, way), Decimal())
                more = _sum(texts, way)
                self.found[name, way] = _added(before, more)

    def meant_by(self, numbers: Mapping[str, str]) -> list[str]:
        """Return the columns of which *numbers* has the sum, by column; none of 0."""
        return [
            name
            for name, text in numbers.items()
            if any(_is_sum(text, way, self.found.get((name, way))) for way in BOTH)
        ]


def _added(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def are_amounts(texts: Sequence[str]) -> bool:
    """Tell whether each of *texts* is a number, or a span of time."""
    numbers = [text for text in texts if not SPAN.fullmatch(text)]
    return not numbers or are_numbers(numbers)


def are_numbers(texts: Sequence[str]) -> bool:
    """Tell whether each of *texts* is a number in one of the ways."""
    ways = [_numbers(way).is_not_null() for way in BOTH]
    return bool(
        pl.DataFrame({TEXT: texts}).select(pl.any_horizontal(ways)).min().item()
    )


def _is_sum(text: str, way: int, total: Decimal | None) -> bool:
    value = _value(text, way)
    if value is None or not total:
        return False
    return abs(value - total) <= abs(total) * NOISE


def _value(text: str, way: int) -> Decimal | None:
    return _sum(pl.DataFrame({TEXT: [text]}), way)


def _sum(texts: pl.DataFrame, way: int) -> Decimal | None:
    """Return what *texts* add up to; None when one of them is no number."""
    values = texts.select(_numbers(way)).to_series()
    if values.null_count():
        return None
    return Decimal(values.sum()) if len(values) else Decimal()


def _is_blank(texts: pl.Expr) -> pl.Expr:
    return texts.is_null() | (texts.str.strip_chars(BLANKS) == "")


def _numbers(way: int) -> pl.Expr:
    decimal, other = WAYS[way]
    bare = pl.col(TEXT).str.replace_all(SIGNS, "")
    bare = bare.str.replace(MINUS, "-", literal=True).str.strip_prefix("+")
    bare = bare.str.replace(r"^\((.*)\)$", "-${1}")
    grouped = rf"[1-9][0-9]{{0,2}}(?:\{other}[0-9]{{3}})+"
    # Zeros in front make a code of it. What binary numbers leave is cut off.
    sound = rf"^-?(?:0|[1-9][0-9]*|{grouped})(?:\{decimal}[0-9]+)?$"
    plain = bare.str.replace_all(other, "", literal=True)
    plain = plain.str.replace(decimal, ".", literal=True)
    plain = plain.str.replace(rf"(\.[0-9]{{{PLACES}}})[0-9]+$", "${1}")
    fits = bare.str.contains(sound) & (bare.str.len_bytes() <= LONGEST)
    return pl.when(fits).then(plain).cast(pl.Decimal(38, PLACES), strict=False)
