"""The text of numbers, dates, times and durations that a workbook keeps as numbers.

Serial numbers count days. In the 1900 system day 1 is 1900-01-01 and day 60 the
29 February 1900 that never was, so days from 61 on are one late (ECMA-376 part 1,
18.17.4.1); in the 1904 system day 0 is 1904-01-01. Excel itself keeps milliseconds,
and so a time is rounded to them: 10:00 is stored as 0.41666666666666669.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal

CANONICAL = re.compile(r"(?:0|-?[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
SURE_LENGTH = 16  # 15 digits and a point
INTEGER = re.compile(r"-?[1-9][0-9]{0,399}")
NUMBER = re.compile(
    r"[ \t\r\n]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?[ \t\r\n]*"
)
NUMBER_LENGTH = 400
LONG_FRACTION = re.compile(r"(?<=:[0-9]{2})[.,]([0-9]{7,40})")  # no whole microseconds
SHOWN = Context(prec=15, rounding=ROUND_HALF_EVEN)  # the digits that a sheet shows
CALCULATED = 10  # digits before the point, up to which more than 15 are a calculation's

DAY_MILLISECONDS = 86_400_000
LAST_DAY = 2_958_465  # 9999-12-31 in the 1900 system
DAYS_1904 = 1_462  # from the 1900 system's day 0 to the 1904 system's
LEAP_DAY = 60
ONE_YEAR = 366
EPOCH = date(1899, 12, 30)
EPOCH_DAY = EPOCH.toordinal()


def number_text(text: str) -> str | None:
    """Return the decimal text of a stored number, without exponent and idle zeros.

    Its digits are those that are stored. What has more than a sheet shows is rounded to
    these if it is what binary arithmetic left of a shorter number (1234.5599999999999):
    if its point is behind the tenth digit or before, or the shorter number is kept as
    the same binary one. None when *text* is no finite number.
    """
    if CANONICAL.fullmatch(text) and len(text) <= SURE_LENGTH:
        return text
    if INTEGER.fullmatch(text):
        return text
    binary = read_float(text)
    if not binary:  # not even the least
        return None if binary is None else "0"
    number = Decimal(text.strip())
    shown = SHOWN.plus(number)
    if number.adjusted() < CALCULATED or float(shown) == binary:
        number = shown
    plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def read_float(text: str) -> float | None:
    """Return the number that *text* is, or None when it is no finite one."""
    if len(text) > NUMBER_LENGTH or not NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def moment_text(serial: float, *, clock: bool, date1904: bool) -> str | None:
    """Return the ISO 8601 text of a date, a time or both; None when there is none.

    A date has no time of day when that is midnight. With *clock* (a format that shows
    no day) a number from one day to a year is none: it is a duration in the wrong
    format or a slip, and no moment that anybody meant.
    """
    if not 0 <= serial <= LAST_DAY + 1:
        return None
    if serial < 1 and (clock or (serial and not date1904)):
        return _clock_text(round(serial * DAY_MILLISECONDS) % DAY_MILLISECONDS)
    if clock and serial < ONE_YEAR:
        return None
    days = serial + DAYS_1904 if date1904 else serial
    day, milliseconds = int(days), 0
    if days != day:  # which takes longer, and most are whole
        day, milliseconds = divmod(round(days * DAY_MILLISECONDS), DAY_MILLISECONDS)
    if not 0 < day <= LAST_DAY:
        return None
    calendar = _calendar_text(day)
    return f"{calendar}T{_clock_text(milliseconds)}" if milliseconds else calendar


def duration_text(serial: float) -> str | None:
    """Return the ISO 8601 text of a duration of *serial* days, in hours and below."""
    if abs(serial) > LAST_DAY:
        return None
    total = round(abs(serial) * DAY_MILLISECONDS)
    minutes, milliseconds = divmod(total, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".")
    parts = [
        f"{hours}H" if hours else "",
        f"{minutes}M" if minutes else "",
        f"{seconds}S" if milliseconds or not total else "",
    ]
    sign = "-" if serial < 0 and total else ""
    return f"{sign}PT{''.join(parts)}"


def iso_text(text: str) -> str | None:
    """Return the text of a cell that keeps ISO 8601 text itself; None if it doesn't.

    A spreadsheet knows no zones: "Z" behind a moment, as some programs write it, says
    nothing of what the cell shows.
    """
    stripped = text.strip()
    if fraction := LONG_FRACTION.search(stripped):
        whole = stripped[: fraction.start()] + stripped[fraction.end() :]
        rest = timedelta(milliseconds=round(Decimal(f"0.{fraction[1]}") * 1000))
        return _later(whole, rest)
    for read in (_date_of, _moment_of, _time_of):
        try:
            return read(stripped)
        except ValueError:
            continue
    return None


def _later(text: str, rest: timedelta) -> str | None:
    """Return the moment or time in *text*, with *rest* added."""
    try:
        clock = time.fromisoformat(text)
    except ValueError:
        try:
            return _shown(datetime.fromisoformat(text) + rest)
        except (ValueError, OverflowError):
            return None
    return (datetime.combine(EPOCH, clock) + rest).timetz().isoformat()


def _date_of(text: str) -> str:
    return date.fromisoformat(text).isoformat()


def _moment_of(text: str) -> str:
    return _shown(datetime.fromisoformat(text))


def _shown(moment: datetime) -> str:
    if moment.utcoffset() == timedelta():
        moment = moment.replace(tzinfo=None)
    if moment.tzinfo is None and moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat()


def _time_of(text: str) -> str:
    return time.fromisoformat(text).isoformat()


def _calendar_text(day: int) -> str:
    if day == LEAP_DAY:
        return "1900-02-29"
    return date.fromordinal(EPOCH_DAY + day + (day < LEAP_DAY)).isoformat()


def _clock_text(milliseconds: int) -> str:
    seconds, fraction = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    clock = time(*divmod(minutes, 60), second, fraction * 1000)
    return clock.isoformat("milliseconds" if fraction else "seconds")
