"""Days written in digits: in which order day, month and year can stand.

``03/04/2026`` can be read in two orders, and no cell says which is meant. What is said
of the column decides, or else the column's other values; see `pipeline.days`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

import polars as pl

from batchfx.pipeline.years import CENTURY, Window, year_of

ORDERS = ("dmy", "mdy", "ymd")
IN_WORDS = {"dmy": "DD/MM/YYYY", "mdy": "MM/DD/YYYY", "ymd": "YYYY/MM/DD"}
STRPTIME = {"dmy": "%d-%m-%Y", "mdy": "%m-%d-%Y", "ymd": "%Y-%m-%d"}

NUMERIC = re.compile(r"([0-9]{1,4})(\. ?|[/ -])([0-9]{1,2})\2([0-9]{1,4})")
LAST_MONTH, LAST_DAY = 12, 31
LONG, SHORT = 4, 2

SURE_YEAR = "[1-9][0-9]{3}"
SURE_PART = "[0-9]{1,2}"
SURE_CLOCK = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
SURE_HALVES = "(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9])? ?[AaPp][Mm]"
# The years that any of the calendar's and Polars's own rules take alike.
FIRST_YEAR, FINAL_YEAR = 1000, 9999


class Parts(NamedTuple):
    """The parts of a date; the year in its digits, two or four."""

    year: str
    month: int
    day: int


def readings(text: str) -> dict[str, Parts] | None:
    """Return the orders in which *text* can be read, each with its parts.

    None where the text is no date in digits; nothing in it where it is one, but has no
    month and day in any order. Whether the calendar has the day is not looked at.
    """
    match = NUMERIC.fullmatch(text)
    if match is None:
        return None
    first, _, second, third = match.groups()
    orders = _orders(first, third)
    if not orders:
        return None
    parts = {
        "dmy": Parts(third, int(second), int(first)),
        "mdy": Parts(third, int(first), int(second)),
        "ymd": Parts(first, int(second), int(third)),
    }
    return {order: parts[order] for order in orders if _is_possible(parts[order])}


def _orders(first: str, third: str) -> tuple[str, ...]:
    """Return the orders that the lengths of the outer parts allow."""
    if len(third) == LONG and len(first) <= SHORT and third[0] != "0":
        return ("dmy", "mdy")
    if len(first) == LONG and len(third) <= SHORT and first[0] != "0":
        return ("ymd",)
    if len(first) > SHORT or len(third) > SHORT:
        return ()
    by_last = ("dmy", "mdy") if len(third) == SHORT else ()
    return (*by_last, "ymd") if len(first) == SHORT else by_last


def _is_possible(parts: Parts) -> bool:
    return 1 <= parts.month <= LAST_MONTH and 1 <= parts.day <= LAST_DAY


def is_short(found: Mapping[str, Parts]) -> bool:
    """Tell whether the year of a text has two digits."""
    return any(len(parts.year) == SHORT for parts in found.values())


def day_of(parts: Parts, window: Window | None) -> date | None:
    """Return the day; None where the calendar, or the window of years, has none."""
    year = int(parts.year)
    try:
        if len(parts.year) == SHORT:
            if window is None:
                return None
            year = year_of(year, parts.month, parts.day, window)
        return date(year, parts.month, parts.day)
    except ValueError:
        return None


def typed_days(cell: pl.Expr, order: str, window: Window | None) -> pl.Expr:
    """Return the days of the cells that are surely written in *order*, else null."""
    # Polars makes all branches, so what is rare is left to be read one by one.
    whole: pl.Expr = pl.when(cell.str.contains(_sure(order, SURE_YEAR))).then(cell)
    if window is not None:
        short = pl.when(cell.str.contains(_sure(order, "[0-9]{2}"))).then(cell)
        whole = pl.coalesce(whole, _with_century(short, order, window))
    even = whole.str.replace_all("[./ ]", "-")
    return even.str.to_date(STRPTIME[order], strict=False)


def _sure(order: str, year: str, separators: str = "./- ") -> str:
    first, third = (year, SURE_PART) if order == "ymd" else (SURE_PART, year)
    inner = "|".join(f"{mark}{SURE_PART}{mark}" for mark in map(re.escape, separators))
    return f"^{first}(?:{inner}){third}$"


def _with_century(cell: pl.Expr, order: str, window: Window) -> pl.Expr:
    """Return texts with two-digit years as texts with four digits."""
    at_end = order != "ymd"
    digits = cell.str.tail(SHORT) if at_end else cell.str.head(SHORT)
    rest = cell.str.head(-SHORT) if at_end else cell.str.tail(-SHORT)
    century = _century(digits.cast(pl.Int32, strict=False), window)
    parts = (rest, century, digits) if at_end else (century, digits, rest)
    return pl.concat_str(parts)


def _century(digits: pl.Expr, window: Window) -> pl.Expr:
    """Return the first digits of the year; null where month and day have a say."""
    year = window if isinstance(window, int) else window.year
    if not FIRST_YEAR + CENTURY <= year <= FINAL_YEAR - CENTURY:
        return pl.lit(None, pl.String)
    century, turn = divmod(year, CENTURY)
    if isinstance(window, int):
        later = pl.lit(str(century + 1))
        return pl.when(digits >= turn).then(pl.lit(str(century))).otherwise(later)
    past = pl.when(digits < turn).then(pl.lit(str(century)))
    return past.when(digits > turn).then(pl.lit(str(century - 1)))


def typed_moments(cell: pl.Expr, order: str) -> pl.Expr:
    """Return the moments of the cells that are surely a day in *order* and a time."""
    day = _sure(order, SURE_YEAR, "./-").removesuffix("$")
    clock = pl.when(cell.str.contains(f"{day}[T ]{SURE_CLOCK}$")).then(cell)
    halved = pl.when(cell.str.contains(f"{day} {SURE_HALVES}$")).then(cell)
    times = _seconds_added(clock)
    halves = pl.concat_str(
        _seconds_added(halved.str.head(-SHORT).str.strip_chars_end(" ")),
        halved.str.tail(SHORT),
    )
    return pl.coalesce(
        _moments(times, f"{STRPTIME[order]}-%H:%M:%S"),
        _moments(halves, f"{STRPTIME[order]}-%I:%M:%S%p"),
    )


def _seconds_added(text: pl.Expr) -> pl.Expr:
    whole = text.str.contains(":[0-9]{2}:")
    return pl.when(whole).then(text).otherwise(pl.concat_str(text, pl.lit(":00")))


def _moments(text: pl.Expr, written: str) -> pl.Expr:
    even = text.str.replace_all("[./ T]", "-")
    return even.str.to_datetime(written, time_unit="us", strict=False)
