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
SEVERAL = 2
DIGIT, SIGN = "\1", "\2"  # in the place of literals that have digits or letters
WHOLE = re.compile(r"[^.%e]*", re.IGNORECASE)
OTHER = re.compile(r"[^0#?]")
GROUPED = re.compile(r"[0#?](?:[0#?,() +'-]*[0#?)])?")
CONDITION = re.compile(r"\[[<>=]")


class Shape(Enum):
    """What a number stands for."""

    NUMBER = auto()
    DATE = auto()  # with or without a time of day
    TIME = auto()  # shown without its date
    DURATION = auto()


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What a format makes of a number.

    *digits* is how many a whole number shows at least, whatever stands between them; of
    a number with less than *least* digits that is not sure. *coded* says that zeros or
    other signs are shown that can't be told as surely. With *percent*, the number is
    shown times 100.
    """

    shape: Shape
    digits: int = 0
    least: int = 0
    coded: bool = False
    percent: bool = False


GENERAL = NumberFormat(Shape.NUMBER)
PERCENT = NumberFormat(Shape.NUMBER, percent=True)


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
    yield from ((number, PERCENT) for number in (9, 10))
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
    sections = LITERAL.sub(_mark, code).split(";")
    marked = sections[0].strip()
    positive = marked.translate({ord(DIGIT): None, ord(SIGN): None}).strip()
    if ELAPSED.search(positive):
        return NumberFormat(Shape.DURATION)
    bare = FRACTION.sub("", positive)
    if not LETTER.search(bare) or not MOMENT.fullmatch(bare):
        return _numeric(sections if CONDITION.search(code) else [marked])
    only_clock = CLOCK.search(bare) and not DAY.search(bare)
    return NumberFormat(Shape.TIME if only_clock else Shape.DATE)


def _mark(literal: re.Match[str]) -> str:
    text = literal[0]
    if text[0] in "[_":
        return ""
    if any(map(str.isdigit, text)):
        return DIGIT
    return SIGN if any(map(str.isalpha, text)) else ""


def _numeric(sections: list[str]) -> NumberFormat:
    """Return what a format of numbers shows; several *sections* have conditions."""
    marked = sections[0].strip()
    if all("%" in section for section in sections):
        return PERCENT
    before = re.split("[0#?g]", marked, maxsplit=1, flags=re.IGNORECASE)
    places = [_places(section) for section in sections]
    digits = max(map(len, places))
    if digits < SEVERAL:
        is_coded = DIGIT in before[0] and len(before) > 1
        return NumberFormat(Shape.NUMBER, coded=is_coded)
    if len(sections) > 1 or not GROUPED.fullmatch(marked.lstrip("(+ ")):
        return NumberFormat(Shape.NUMBER, coded=True)
    rest = places[0].lstrip("0")  # a # behind a 0, as in French telephone numbers
    return NumberFormat(Shape.NUMBER, digits, len(rest))


def _places(section: str) -> str:
    """Return the places of a whole number's digits, from the first 0 on."""
    whole = WHOLE.match(section)
    places = OTHER.sub("", whole[0]) if whole else ""
    return places[places.find("0") :] if "0" in places else ""


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
