"""Dates, times and durations.

ISO 8601 is read always. Where a column names a format, in the letters of ``strptime``,
its text is read by that format first; days, months and hours may lack their leading
zero, a year has four digits. ISO text is then still read, unless the format would read
it as another day. A two-digit year is what ``strptime`` takes it
for: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068. A cell that a sheet holds as
a date needs no format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.pipeline.reading import Complaint, Reader, each, exactly
from batchfx.pipeline.suggestions import (
    day_meant,
    day_of_serial,
    moment_of_serial,
)

HOUR = "(?:[01][0-9]|2[0-3])"
MINUTE = "[0-5][0-9]"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = rf"{HOUR}:{MINUTE}(?::{MINUTE}(?:\.[0-9]{{1,6}})?)?"
ZONE = rf"(?:Z|[+-]{HOUR}:{MINUTE})"
MIDNIGHT = r"00:00(?::00(?:\.0+)?)?"

ISO_DAY = re.compile(DAY)
ISO_MIDNIGHT = re.compile(rf"({DAY})[T ]{MIDNIGHT}Z?")
ISO_MOMENT = re.compile(rf"{DAY}[T ]{CLOCK}{ZONE}?")
ISO_TIME = re.compile(rf"{CLOCK}{ZONE}?")
CLOCK_DURATION = re.compile(
    rf"([+-]?)([0-9]+):({MINUTE}):({MINUTE})(?:\.([0-9]{{1,6}}))?"
)
ISO_DURATION = re.compile(
    r"([+-]?)P(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,6}))?S)?)?"
)

# For the columns that Polars reads: no year before 1000, which it would take as well.
SURE_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"

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


def in_words(written: str) -> str:
    """Return a format of ``strptime`` as a person writes it: ``DD.MM.YYYY``."""
    return re.sub("%(.)", lambda match: WORDS.get(match[1], match[0]), written)


def _sure_form(written: str) -> str | None:
    """Return the regular expression of a format, if Polars reads it as Python does."""
    parts = re.split("%(.)", written)
    letters, between = parts[1::2], parts[0::2]
    # Without something between them Polars may share the digits out in another way.
    if not FORMS.keys() >= set(letters) or "" in between[1:-1] or _clashes(written):
        return None
    forms = [*(FORMS[letter] for letter in letters), ""]
    pairs = zip(map(re.escape, between), forms, strict=True)
    return "^" + "".join(text + form for text, form in pairs) + "$"


def _own(written: str | None) -> str | None:
    """Return the format, if it is another one than ISO 8601."""
    return None if written in ISO_FORMATS else written


def _clashes(written: str) -> bool:
    """Tell whether a text of ISO 8601 could be read by the format too."""
    return any(_strptime(text, written) for text in ISO_EXAMPLES)


def _strptime(text: str, written: str) -> datetime | None:
    try:
        # Without a zone unless the format has one: the field's rules say if it must.
        return datetime.strptime(text, written) if text.isascii() else None  # noqa: DTZ007
    except ValueError:
        return None


def date_reader(written: str | None) -> Reader:
    """Read days; *written* is the column's format."""
    written = _own(written)

    def iso(cell: pl.Expr) -> pl.Expr:
        sure = cell.str.contains(rf"^{SURE_DAY}(?:T00:00:00)?$")
        day = pl.when(sure).then(cell.str.slice(0, 10))
        return day.str.to_date("%Y-%m-%d", strict=False)

    def typed(cell: pl.Expr) -> pl.Expr:
        if written is None:
            return iso(cell)
        form = _sure_form(written)
        if form is None:
            return pl.lit(None, pl.Date)
        own = pl.when(cell.str.contains(form)).then(cell)
        return pl.coalesce(own.str.to_date(written, strict=False), iso(cell))

    return Reader("date", pl.Date(), typed, _date_reading(written), exactly(date))


def _date_reading(written: str | None) -> Callable[[str, str], Any]:
    clashes = written is not None and _clashes(written)

    def read(text: str, kind: str) -> Any:
        if written and kind != Kind.DATE:
            moment = _strptime(text, written)
            if moment is not None:
                return _day_of(moment, written)
        if kind == Kind.DATE or not clashes:
            found = _iso_day(text, written)
            if found is not None:
                return found
        return _no_date(text, kind, written)

    return read


def _iso_day(text: str, written: str | None) -> date | Complaint | None:
    midnight = ISO_MIDNIGHT.fullmatch(text)
    try:
        if midnight:
            return date.fromisoformat(midnight[1])
        if ISO_DAY.fullmatch(text):
            return date.fromisoformat(text)
        if ISO_MOMENT.fullmatch(text):
            return _day_of(datetime.fromisoformat(text), written)
    except ValueError:
        return None
    return None


def _day_of(moment: datetime, written: str | None) -> date | Complaint:
    if moment.timetz() == time():
        return moment.date()
    return Complaint(
        "date_from_datetime_inexact",
        "The cell has a time of day beside the date; write the date alone",
        suggestion=_show(moment.date(), written),
    )


def _show(day: date | None, written: str | None) -> str | None:
    if day is None:
        return None
    return day.strftime(written) if written else day.isoformat()


def _no_date(text: str, kind: str, written: str | None) -> Complaint:
    form = in_words(written or "%Y-%m-%d")
    meant = day_of_serial(text) if kind == Kind.NUMBER else day_meant(text)
    message = f"Write the date as {form}"
    if kind == Kind.NUMBER:
        message = f"The cell holds a number, not a date; write the date as {form}"
    elif ISO_DAY.fullmatch(text) and not written:
        message = "There is no such day in the calendar"
    return Complaint("date_parsing", message, {"format": form}, _show(meant, written))


def datetime_reader(written: str | None, *, aware: bool) -> Reader:
    """Read moments. Polars holds those in UTC when the field is *aware*, else naive."""
    written = _own(written)
    dtype = pl.Datetime("us", "UTC" if aware else None)
    zone = r"(?:Z|\+00:00)" if aware else ""
    sure = rf"^{SURE_DAY}[T ]{CLOCK}{zone}$"

    def typed(cell: pl.Expr) -> pl.Expr:
        if written is not None:
            return _formatted(cell, written, dtype)
        text: pl.Expr = pl.when(cell.str.contains(sure)).then(cell)
        if aware:
            text = text.str.replace(r"(?:Z|\+00:00)$", "")
        text = text.str.replace(" ", "T", literal=True)
        naive = _with_seconds(text, "YYYY-MM-DDThh:mm").str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
        )
        return naive.dt.replace_time_zone("UTC") if aware else naive

    def fits(value: Any) -> bool:
        if type(value) is not datetime:
            return False
        return value.tzinfo is UTC if aware else value.tzinfo is None

    by_iso = written is None
    return Reader(
        "datetime",
        dtype,
        typed,
        _datetime_reading(written),
        fits,
        values=each(datetime.fromisoformat) if by_iso else pl.Series.to_list,
        from_text=by_iso,
    )


def _with_seconds(text: pl.Expr, without: str) -> pl.Expr:
    """Return *text* with seconds where it is as long as the form *without* them."""
    short = text.str.len_bytes() == len(without)
    return pl.when(short).then(pl.concat_str(text, pl.lit(":00"))).otherwise(text)


def _formatted(cell: pl.Expr, written: str, dtype: pl.Datetime) -> pl.Expr:
    form = _sure_form(written)
    if form is None or dtype.time_zone:
        return pl.lit(None, dtype)
    own = pl.when(cell.str.contains(form)).then(cell)
    # Polars wants an hour and a minute in the format; without them read each cell.
    if not {"%H", "%M"} <= set(re.findall("%.", written)):
        return pl.lit(None, dtype)
    return own.str.to_datetime(written, time_unit="us", strict=False)


def _datetime_reading(written: str | None) -> Callable[[str, str], Any]:
    clashes = written is not None and _clashes(written)

    def read(text: str, kind: str) -> Any:
        if written and kind != Kind.DATE:
            moment = _strptime(text, written)
            if moment is not None:
                return moment
        if kind == Kind.DATE or not clashes:
            moment = _iso_moment(text, kind)
            if moment is not None:
                return moment
        return _no_datetime(text, kind, written)

    return read


def _iso_moment(text: str, kind: str) -> datetime | None:
    if not ISO_MOMENT.fullmatch(text) and not (
        kind == Kind.DATE and ISO_DAY.fullmatch(text)
    ):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _no_datetime(text: str, kind: str, written: str | None) -> Complaint:
    form = in_words(written or "%Y-%m-%d %H:%M:%S")
    message = f"Write date and time as {form}"
    meant: datetime | None = None
    if kind == Kind.NUMBER:
        message = f"The cell holds a number, not a date; write date and time as {form}"
        meant = moment_of_serial(text)
    suggestion = meant.strftime(written or "%Y-%m-%d %H:%M:%S") if meant else None
    return Complaint("datetime_parsing", message, {"format": form}, suggestion)


def time_reader(written: str | None) -> Reader:
    """Read times of day."""
    written = _own(written)

    def typed(cell: pl.Expr) -> pl.Expr:
        if written is not None:
            return pl.lit(None, pl.Time)
        text = pl.when(cell.str.contains(f"^{CLOCK}$")).then(cell)
        return _with_seconds(text, "hh:mm").str.to_time("%H:%M:%S%.f", strict=False)

    def read(text: str, kind: str) -> Any:
        if written and kind != Kind.DATE:
            moment = _strptime(text, written)
            if moment is not None:
                return moment.timetz()
        if ISO_TIME.fullmatch(text):
            return time.fromisoformat(text)
        form = in_words(written or "%H:%M:%S")
        return Complaint("time_parsing", f"Write the time as {form}", {"format": form})

    def fits(value: Any) -> bool:
        return type(value) is time and value.tzinfo is None

    return Reader("time", pl.Time(), typed, read, fits)


LONGEST = timedelta(microseconds=2**63 - 1)


def duration_reader() -> Reader:
    """Read durations, as ``[h]:mm:ss`` or in ISO 8601 without months and years."""

    def fits(value: Any) -> bool:
        return type(value) is timedelta and -LONGEST <= value <= LONGEST

    dtype = pl.Duration("us")
    return Reader("duration", dtype, lambda _: pl.lit(None, dtype), _duration, fits)


def _duration(text: str, _kind: str) -> Any:
    try:
        for read in (_clock_duration, _iso_duration):
            length = read(text)
            if length is not None:
                return length
    except (OverflowError, ValueError):  # more than a timedelta, or than an int, takes
        return Complaint("time_delta_parsing", "The duration is too long")
    return Complaint(
        "time_delta_parsing",
        "Write the duration as hours:mm:ss, such as 32:15:00, or as PT32H15M",
    )


def _clock_duration(text: str) -> timedelta | None:
    match = CLOCK_DURATION.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    return _signed(sign, "0", "0", hours, minutes, seconds, fraction)


def _iso_duration(text: str) -> timedelta | None:
    match = ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        return None
    sign, weeks, days, hours, minutes, seconds, fraction = match.groups()
    return _signed(sign, weeks, days, hours, minutes, seconds, fraction)


def _signed(sign: str, *parts: str | None) -> timedelta:
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in parts[:5])
    length = timedelta(
        weeks=weeks,
        days=days,
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        microseconds=int((parts[5] or "0").ljust(6, "0")),
    )
    return -length if sign == "-" else length
