"""Values that would be right, proposed only where one reading is possible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from uuid import UUID

# How alike a word and a proposal must be, from 0 to 1.
CLOSE = 0.75

# A sheet counts days from here; it believes in a 29 February 1900, its day 60.
SHEET_EPOCH = date(1899, 12, 30)
FIRST_SURE_DAY, LAST_DAY = 61, 2_958_465

COMPACT_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
YEAR_FIRST = re.compile(r"([0-9]{4})[./-]([0-9]{1,2})[./-]([0-9]{1,2})")
YEAR_LAST = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
MONTHS = 12


def number_in_ascii(text: str, form: str) -> str | None:
    """Propose *text* in ASCII digits and with a decimal point, if it then has *form*.

    A comma becomes a point only where it can't group thousands.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace(" ", "")
    if "." not in plain and re.search(r"^[+-]?[0-9]+,(?![0-9]{3}$)[0-9]+$", plain):
        plain = plain.replace(",", ".")
    return plain if plain != text and re.fullmatch(form, plain) else None


def plain_integer(text: str) -> str | None:
    """Propose *text* without a fraction of zeros, or in ASCII digits."""
    whole = re.fullmatch(r"^([+-]?[0-9]+)\.0*$", text)
    return whole[1] if whole else number_in_ascii(text, r"^[+-]?[0-9]+$")


def plain_uuid(text: str) -> str | None:
    """Propose the canonical form of a UUID in braces or without hyphens."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def nearest(text: str, allowed: Sequence[str]) -> str | None:
    """Propose the one of the *allowed* words that *text* was meant to be."""
    folded: Mapping[str, str] = {word.casefold(): word for word in reversed(allowed)}
    close = get_close_matches(text.casefold(), folded, n=1, cutoff=CLOSE)
    return folded[close[0]] if close else None


def day_of_serial(text: str) -> date | None:
    """Return the day that a sheet's number means, counted from the end of 1899."""
    number = re.fullmatch(r"([0-9]{1,7})(?:\.0*)?", text)
    if number is None or not FIRST_SURE_DAY <= int(number[1]) <= LAST_DAY:
        return None
    return SHEET_EPOCH + timedelta(days=int(number[1]))


def moment_of_serial(text: str) -> datetime | None:
    """Return the moment, to the second, that a sheet's number means."""
    whole, _, fraction = text.partition(".")
    day = day_of_serial(whole)
    if day is None or not re.fullmatch("[0-9]*", fraction):
        return None
    seconds = round(float(f"0.{fraction or 0}") * 86_400)
    return datetime.combine(day, datetime.min.time()) + timedelta(seconds=seconds)


def day_meant(text: str) -> date | None:
    """Return the day of a date in another form, if it can be read in one way only."""
    if match := COMPACT_DATE.fullmatch(text) or YEAR_FIRST.fullmatch(text):
        return _day(int(match[1]), int(match[2]), int(match[3]))
    if match := YEAR_LAST.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if first > MONTHS or first == second:
            return _day(year, second, first)
        if second > MONTHS:
            return _day(year, first, second)
    return None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
