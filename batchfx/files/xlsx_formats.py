"""Number formats: which of them make a number a date, a time, a duration or a code.

Codes follow ECMA-376 part 1, 18.8.31; the numbers of the built-in ones 18.8.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_xml import refuse_size, tags

STYLE_LIMIT = 100_000  # Excel stops at 65,490
CODE_LIMIT = 255  # characters, which is Excel's
STYLE_TAGS = frozenset({"numFmt", "xf"})

LITERAL = re.compile(r'"[^"]*"?|\\.|[_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]?', re.IGNORECASE)
ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
FRACTION = re.compile(r"(?<=s)[.,]0+", re.IGNORECASE)
MOMENT = re.compile(r"(?:[ymdhsegb]|am/pm|a/p|a{3,4}|[^a-z0#?@])++", re.IGNORECASE)
CLOCK = re.compile(r"[hs]|am/pm|a/p", re.IGNORECASE)
DAY = re.compile(r"[ydegb]|aaa|mmm", re.IGNORECASE)  # a short m may be minutes
LETTER = re.compile(r"[a-z]", re.IGNORECASE)
NUMBER = re.compile(r"[0-9]{1,9}")
ZEROS = re.compile(r"0{2,}")


class Shape(Enum):
    """What a number stands for."""

    NUMBER = auto()
    DATE = auto()  # with or without a time of day
    TIME = auto()  # shown without its date
    DURATION = auto()


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What a format makes of a number; *digits* is how many a whole number shows."""

    shape: Shape
    digits: int = 0


GENERAL = NumberFormat(Shape.NUMBER)


def _builtin() -> Iterator[tuple[int, NumberFormat]]:
    days = [
        *range(14, 18),
        22,
        *range(27, 32),
        36,
        *range(50, 59),
        *range(71, 75),
        77,
        81,
    ]
    times = [*range(18, 22), *range(32, 36), 45, 47, 75, 76, 78, 80]
    yield from ((number, NumberFormat(Shape.DATE)) for number in days)
    yield from ((number, NumberFormat(Shape.TIME)) for number in times)
    yield from ((number, NumberFormat(Shape.DURATION)) for number in (46, 79))


BUILTIN = dict(_builtin())


@lru_cache(maxsize=1024)
def read_format(code: str) -> NumberFormat:
    """Return what the format *code* makes of a positive number.

    Quoted and escaped letters, colours, conditions and locales mean nothing:
    ``[Red]0.00" days"`` is a number.
    """
    if len(code) > CODE_LIMIT:
        return GENERAL
    positive = LITERAL.sub("", code).partition(";")[0].strip()
    if ELAPSED.search(positive):
        return NumberFormat(Shape.DURATION)
    bare = FRACTION.sub("", positive)
    if not LETTER.search(bare) or not MOMENT.fullmatch(bare):
        return NumberFormat(Shape.NUMBER, len(bare) if ZEROS.fullmatch(bare) else 0)
    only_clock = CLOCK.search(bare) and not DAY.search(bare)
    return NumberFormat(Shape.TIME if only_clock else Shape.DATE)


def read_formats(package: Package, part: str | None) -> tuple[NumberFormat, ...]:
    """Return the number format of every cell style, by the style's number.

    Raises:
        SourceError: The styles are damaged (``corrupt``) or too many.

    """
    if part is None:
        return ()
    known = dict(BUILTIN)
    styles = []
    for tag in tags(package.chunks(part), part, STYLE_TAGS):
        number = _number(tag.attributes.get("numFmtId", "0"))
        if tag.name == "numFmt" and tag.parent == "numFmts":
            known[number] = read_format(tag.attributes.get("formatCode", ""))
        elif tag.name == "xf" and tag.parent == "cellXfs":
            styles.append(number)
        if max(len(known), len(styles)) > STYLE_LIMIT:
            refuse_size(part)
    return tuple(known.get(number, GENERAL) for number in styles)


def _number(text: str) -> int:
    return int(text) if NUMBER.fullmatch(text) else 0
