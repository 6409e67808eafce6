"""Numbers as people write them: with groups, a comma, a currency, brackets.

A text is taken apart first: sign, currency, per cent, and the digits with the marks
between them. What the marks mean depends on the decimal mark, which is the column's
(see `pipeline.number_evidence`). Where that is not settled, both are tried, and a text
is read if only one of them makes sense of it, or both make the same number.

Digits are grouped well in threes after a first group that has no zero in front, or, by
commas, in the Indian way (12,34,567). No number passes through binary floating point on
its way to a Decimal or an int.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from batchfx.model.notations import Notation
from batchfx.pipeline.currencies import CURRENCY

POINT, COMMA = ".", ","
MARKS = (POINT, COMMA)
BLANK = r"[ \u00a0\u2007\u2009\u202f]"
APOSTROPHE = "['\u2019\u02bc]"
# What a group's sign may look like, by the name that a notation has for it.
SIGNS = {POINT: r"\.", COMMA: ",", " ": BLANK, "'": APOSTROPHE}
# Rarer ones, that group only where they are named.
RARE_SIGNS = {"_": "_", "\u00b7": "\u00b7", "`": "`", "\u00b4": "\u00b4"}

MINUS = "[-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d]"
SIGN = rf"(?:\+|{MINUS})"
NO_CENTS = r"[-\u2012\u2013\u2014]{1,2}"  # 250,- and 250,--
WITHIN = r"[0-9.,'\u2019\u02bc \u00a0\u2007\u2009\u202f_\u00b7`\u00b4]"

WRITTEN = re.compile(
    rf"(?P<guard>'(?=[-+]))?(?P<sign1>{SIGN})?(?P<currency1>{CURRENCY})?(?P<ahead>%)?"
    rf"(?P<open>\()?(?P<currency2>{CURRENCY})?(?P<sign2>{SIGN})?"
    rf"(?P<currency3>{CURRENCY})?"
    rf"(?P<digits>[.,]?[0-9](?:{WITHIN}*[0-9])?)(?P<cents>[.,]{NO_CENTS})?"
    rf"(?P<power>[eE][+-]?[0-9]{{1,3}})?(?P<percent>%)?"
    rf"(?P<currency4>{CURRENCY})?(?P<close>\))?(?P<sign3>{SIGN})?"
    rf"(?P<currency5>{CURRENCY})?"
)
LONGEST = 100  # of a number with something beside it
BLANKS = re.compile(rf"{BLANK}+")
# Most numbers have none of all that, and the pattern above takes its time.
BARE = re.compile(rf"(?P<sign>{SIGN})?(?P<digits>[.,]?[0-9](?:{WITHIN}*[0-9])?)")
CURRENCIES = tuple(f"currency{n}" for n in range(1, 6))
SIGNED = ("sign1", "sign2", "sign3")


@dataclass(frozen=True, slots=True)
class Parts:
    """A number's text, taken apart.

    *digits* has the digits and the marks between them, with the mark before a dash that
    stands for no cents. Those of a *scientific* number, 1.250E3, are never grouped.
    """

    negative: bool
    digits: str
    power: int
    currency: str | None
    percent: bool
    scientific: bool = False

    def number(self, digits: str) -> Decimal:
        """Return the number with these plain *digits*, exactly."""
        sign, figures, exponent = Decimal(digits).as_tuple()
        number = Decimal((int(self.negative) or sign, figures, int(exponent)))
        return shifted(number, self.power)


def shifted(number: Decimal, power: int) -> Decimal:
    """Return the finite *number* times a power of ten, exactly and written out."""
    sign, figures, exponent = number.as_tuple()
    power += int(exponent)
    if power > 0:
        zeros = 0 if figures == (0,) else power
        figures, power = (*figures, *(0,) * zeros), 0
    return Decimal((sign, figures, power))


class Reading(NamedTuple):
    """The number that a text is by each decimal mark, None where it is none."""

    point: Decimal | None
    comma: Decimal | None

    @property
    def only(self) -> Decimal | None:
        """The number, if the marks leave one alone."""
        if self.point is None or self.comma is None:
            return self.comma if self.point is None else self.point
        return self.point if self.point == self.comma else None

    @property
    def is_ambiguous(self) -> bool:
        """True when the text is one number or another."""
        return self.point is not None and self.comma is not None and self.only is None


def taken_apart(text: str) -> Parts | None:
    """Return the parts of a number's text; None when it is no number."""
    if bare := BARE.fullmatch(text):
        negative = bare["sign"] not in (None, "+")
        return Parts(negative, bare["digits"], 0, None, percent=False)
    if len(text) > LONGEST:
        return None
    match = WRITTEN.fullmatch(BLANKS.sub(_between_digits, text))
    if match is None or not _fits_together(match):
        return None
    if match["power"] and match["digits"][-1] + match["power"] not in text:
        return None
    currencies = [match[name] for name in CURRENCIES if match[name]]
    # A balance of nothing in brackets is no negative zero.
    negative = bool(match["open"] and re.search("[1-9]", match["digits"]))
    return Parts(
        negative=negative or any(match[name] not in (None, "+") for name in SIGNED),
        digits=match["digits"] + (match["cents"] or "")[:1],
        power=int((match["power"] or "e0")[1:]),
        currency=currencies[0] if currencies else None,
        percent=bool(match["percent"] or match["ahead"]),  # %12 in Turkish
        scientific=bool(match["power"]),
    )


def _between_digits(blanks: re.Match[str]) -> str:
    """Return blanks that may group digits; the others mean nothing."""
    text, start, end = blanks.string, blanks.start(), blanks.end()
    if start == 0 or end == len(text):
        return ""
    is_within = text[start - 1].isdigit() and text[end].isdigit()
    return blanks[0] if is_within else ""


def _fits_together(match: re.Match[str]) -> bool:
    """Tell whether a number has each thing beside it once."""
    once = [
        (*SIGNED, "open"),
        (*SIGNED, "close"),
        CURRENCIES,
        ("percent", "ahead"),
        ("power", "cents"),
    ]
    in_brackets = bool(match["open"]) == bool(match["close"])
    return in_brackets and all(
        sum(bool(match[name]) for name in names) <= 1 for names in once
    )


def reading(parts: Parts, thousands: str | None = None) -> Reading:
    """Return what the number is by each decimal mark."""
    groups = "" if parts.scientific else thousands
    plain = [plain_digits(parts.digits, mark, groups) for mark in MARKS]
    return Reading(*(None if each is None else parts.number(each) for each in plain))


def plain_digits(digits: str, mark: str, thousands: str | None) -> str | None:
    """Return digits with the decimal *mark* in plain ones, if they are grouped well."""
    if not _form(mark, thousands).fullmatch(digits):
        return None
    whole, _, fraction = digits.partition(mark)
    whole = re.sub("[^0-9]", "", whole) or "0"
    return f"{whole}.{fraction}" if fraction else whole


@cache
def _form(mark: str, thousands: str | None) -> re.Pattern[str]:
    whole, point = whole_form(mark, thousands), re.escape(mark)
    # A mark at the end is the one before a dash for no cents.
    return re.compile(rf"(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+")


def whole_form(mark: str, thousands: str | None) -> str:
    """Return the pattern of a whole number whose decimals would follow *mark*."""
    signs = SIGNS if thousands is None else _signs_named(thousands)
    forms = [form for name, form in signs.items() if name != mark]
    grouped = [rf"[1-9][0-9]{{0,2}}(?:{form}[0-9]{{3}})+" for form in forms]
    if COMMA in signs and mark != COMMA:
        grouped.append("[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}")
    return "|".join([*grouped, "[0-9]+"])


def _signs_named(thousands: str) -> dict[str, str]:
    """Return the sign that a notation names: any blank stands for all of them."""
    known = {**SIGNS, **RARE_SIGNS}
    return {
        name: form
        for name, form in known.items()
        if thousands and re.fullmatch(form, thousands)
    }


def mark_of(notation: Notation) -> str | None:
    """Return the decimal mark that *notation* names, or that its groups leave."""
    other = {COMMA: POINT, POINT: COMMA}
    return notation.decimal or other.get(notation.thousands or "")


def is_plain(notation: Notation) -> bool:
    """Tell whether nothing is said or known of how the numbers are written."""
    said = (notation.decimal, notation.thousands, notation.currency, notation.percent)
    return all(each is None for each in said) and "decimal" not in notation.unsettled
