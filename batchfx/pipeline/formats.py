"""Formats in the letters of ``strptime``.

Days, months and hours may lack their leading zero, a year has four digits. What a
two-digit year is, a stated window of years tells: never the one of ``strptime``.
"""

from __future__ import annotations

import re
from datetime import date, datetime

from batchfx.pipeline.years import CENTURY, Window, year_of

# Formats that say no more than ISO 8601 does, and texts that show which others clash.
ISO_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%H:%M:%S")
ISO_EXAMPLES = ("2024-02-03", "2024-02-03 04:05", "2024-02-03 04:05:06")

FORMS = {"Y": "[1-9][0-9]{3}"} | dict.fromkeys("mdHMS", "[0-9]{1,2}")
WORDS = {
    "Y": "YYYY",
    "y": "YY",
    "m": "MM",
    "d": "DD",
    "H": "hh",
    "M": "mm",
    "S": "ss",
    "b": "Jan",
    "B": "January",
    "p": "AM",
    "I": "hh",
    "z": "+hh:mm",
    "%": "%",
}
SAMPLE = date(1999, 12, 31)
DAYS = set("djxcUWVuwaA")
MONTHS = set("mbB")


def in_words(written: str) -> str:
    """Return a format of ``strptime`` as a person writes it: ``DD.MM.YYYY``."""
    return re.sub("%(.)", lambda match: WORDS.get(match[1], match[0]), written)


def letters(written: str) -> set[str]:
    """Return the letters of a format."""
    return set(re.findall("%(.)", written))


def names_day(written: str) -> bool:
    """Tell whether a format has day, month and year."""
    found = letters(written)
    by_month = "d" in found and bool(found & MONTHS)
    return bool(found & {"x", "c"}) or (
        bool(found & {"Y", "y"}) and (by_month or "j" in found)
    )


def has_short_year(written: str) -> bool:
    """Tell whether a format has the year in two digits."""
    found = letters(written)
    local = (f"%{letter}" for letter in sorted(found & {"x", "c"}))
    return "y" in found or any(SAMPLE.strftime(each).find("1999") < 0 for each in local)


def names_time_alone(written: str) -> bool:
    """Tell whether a format has the hour, and nothing of a day."""
    found = letters(written)
    return bool(found & {"H", "I", "X"}) and not found & (DAYS | MONTHS | {"Y", "y"})


def other_than_iso(written: str | None) -> str | None:
    """Return the format, if it is another one than ISO 8601."""
    return None if written in ISO_FORMATS else written


def sure_form(written: str) -> str | None:
    """Return the regular expression of a format, if Polars reads it as Python does."""
    parts = re.split("%(.)", written)
    named, between = parts[1::2], parts[0::2]
    # Without something between them Polars may share the digits out in another way.
    if not FORMS.keys() >= set(named) or "" in between[1:-1] or clashes(written):
        return None
    forms = [*(FORMS[letter] for letter in named), ""]
    pairs = zip(map(re.escape, between), forms, strict=True)
    return "^" + "".join(text + form for text, form in pairs) + "$"


def clashes(written: str) -> bool:
    """Tell whether a text of ISO 8601 could be read by the format too."""
    return any(parsed(text, written) for text in ISO_EXAMPLES)


def parsed(text: str, written: str, window: Window | None = None) -> datetime | None:
    """Return what the format makes of *text*; None where it doesn't fit.

    The moment has no zone unless the format has one. Without a *window* of years, the
    century of a two-digit year means nothing.
    """
    try:
        moment = datetime.strptime(text, written) if text.isascii() else None  # noqa: DTZ007 - the field's rules say whether it must have one
        if moment is None or window is None or not has_short_year(written):
            return moment
        digits = moment.year % CENTURY
        return moment.replace(year=year_of(digits, moment.month, moment.day, window))
    except ValueError:
        return None
