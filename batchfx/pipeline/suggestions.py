"""Values that would be right, proposed only where one reading is possible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from uuid import UUID

from batchfx.pipeline.digits import in_ascii

# How alike a word and a proposal must be, from 0 to 1.
CLOSE = 0.75

# A sheet counts days from here; it believes in a 29 February 1900, its day 60.
SHEET_EPOCH = date(1899, 12, 30)
FIRST_SURE_DAY, LAST_DAY = 61, 2_958_465

COMPACT_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
DOTTED_CLOCK = re.compile(r"([01]?[0-9]|2[0-3])[.hH]([0-5][0-9])(?: ?[Uu]hr)?")
UNITS = re.compile(
    r"(?:([0-9]{1,6}) ?h(?:ours?|rs?)?)?,? ?"
    r"(?:([0-9]{1,6}) ?m(?:in(?:utes?)?)?)?,? ?(?:([0-9]{1,6}) ?s(?:ec(?:onds?)?)?)?"
)
DAY_SECONDS, DAY_HOURS = 86_400, 24


def number_in_ascii(text: str, form: str) -> str | None:
    """Propose *text* in ASCII digits and with a decimal point, if it then has *form*.

    A comma becomes a point only where it can't group thousands.
    """
    plain = re.sub(r"[ \xa0\u2007\u2009\u202f]", "", in_ascii(text))
    plain = plain.replace("\u2212", "-")
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
    """Propose the one of the *allowed* words that *text* was meant to be.

    Case, accents and the number of blanks make no difference.
    """
    folded: Mapping[str, str] = {_folded(word): word for word in reversed(allowed)}
    close = get_close_matches(_folded(text), folded, n=1, cutoff=CLOSE)
    return folded[close[0]] if close else None


def _folded(word: str) -> str:
    bare = unicodedata.normalize("NFKD", word.casefold())
    return " ".join("".join(c for c in bare if not unicodedata.combining(c)).split())


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
    seconds = round(float(f"0.{fraction or 0}") * DAY_SECONDS)
    return datetime.combine(day, datetime.min.time()) + timedelta(seconds=seconds)


def clock_of_serial(text: str) -> time | None:
    """Return the time, to the second, that a sheet's part of a day means."""
    if not re.fullmatch(r"0(?:\.[0-9]+)?", text):
        return None
    minutes, second = divmod(round(Decimal(text) * DAY_SECONDS), 60)
    hour, minute = divmod(minutes, 60)
    return time(hour, minute, second) if hour < DAY_HOURS else None


def clock_meant(text: str) -> time | None:
    """Return the time of day that is written as ``19.05`` or ``19h05``."""
    match = DOTTED_CLOCK.fullmatch(text)
    return time(int(match[1]), int(match[2])) if match else None


def duration_of_serial(text: str) -> str | None:
    """Propose the hours of a sheet's number, which counts days: 1.5 is 36:00:00."""
    if not re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]+)?", text):
        return None
    minutes, seconds = divmod(round(Decimal(text) * DAY_SECONDS), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def duration_meant(text: str) -> str | None:
    """Propose the ISO form of a duration in units, such as ``1h 30m``."""
    match = UNITS.fullmatch(text.lower())
    if match is None or not any(match.groups()):
        return None
    parts = zip(match.groups(), "HMS", strict=True)
    return "PT" + "".join(f"{int(number)}{unit}" for number, unit in parts if number)


def day_meant(text: str) -> date | None:
    """Return the day that digits alone mean: ``20240131``, or as sheets count days."""
    if match := COMPACT_DATE.fullmatch(text):
        return _day(int(match[1]), int(match[2]), int(match[3]))
    return day_of_serial(text) if re.fullmatch("[1-9][0-9]{4}", text) else None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
