"""Lengths of time: ``32:15``, ``32:15:00.5``, or ISO 8601 without months and years."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Any

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.pipeline.reading import Complaint, Reader
from batchfx.pipeline.suggestions import duration_meant, duration_of_serial

CLOCK_DURATION = re.compile(
    r"([+-]?)([0-9]+):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?"
)
# The last part may have decimals, the others not.
AMOUNT, LAST = "([0-9]+(?:[.,][0-9]+(?={}$))?){}", "WDHMS"
WEEKS, DAYS, HOURS, MINUTES, SECONDS = (f"(?:{AMOUNT.format(x, x)})?" for x in LAST)
ISO_DURATION = re.compile(
    f"([+-]?)P{WEEKS}{DAYS}(?:T(?=[0-9]){HOURS}{MINUTES}{SECONDS})?"
)
UNITS = [  # in microseconds
    timedelta(**{unit: 1}) // timedelta(microseconds=1)
    for unit in ("weeks", "days", "hours", "minutes", "seconds")
]
LONGEST_PART = 40  # characters
LONGEST = timedelta(microseconds=2**63 - 1)


def duration_reader() -> Reader:
    """Read durations, as ``[h]:mm:ss`` or in ISO 8601 without months and years."""

    def fits(value: Any) -> bool:
        return type(value) is timedelta and -LONGEST <= value <= LONGEST

    dtype = pl.Duration("us")
    return Reader("duration", dtype, lambda _: pl.lit(None, dtype), _duration, fits)


def _duration(text: str, kind: str) -> Any:
    try:
        for read in (_clock_duration, _iso_duration):
            length = read(text)
            if length is not None:
                return length
    except (OverflowError, ValueError):  # more than a timedelta, or than an int, takes
        return Complaint("time_delta_parsing", "The duration is too long")
    message = "Write the duration as hours:mm:ss, such as 32:15:00, or as PT32H15M"
    if kind == Kind.NUMBER:
        message = f"The cell holds a number, not a duration. {message}"
        return Complaint("time_delta_parsing", message, {}, duration_of_serial(text))
    return Complaint("time_delta_parsing", message, {}, duration_meant(text))


def _clock_duration(text: str) -> timedelta | None:
    match = CLOCK_DURATION.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    return _signed(sign, hours, minutes, seconds, fraction)


def _iso_duration(text: str) -> timedelta | None:
    match = ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        return None
    sign, *parts = match.groups()
    if any(len(part or "") > LONGEST_PART for part in parts):
        raise OverflowError
    amounts = (Fraction((part or "0").replace(",", ".")) for part in parts)
    length = sum(a * unit for a, unit in zip(amounts, UNITS, strict=True))
    if length.denominator != 1:  # finer than it can be kept
        return None
    return timedelta(microseconds=int(-length if sign == "-" else length))


def _signed(sign: str, *parts: str | None) -> timedelta:
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    length = timedelta(
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        microseconds=int((parts[3] or "0").ljust(6, "0")),
    )
    return -length if sign == "-" else length
