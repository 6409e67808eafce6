"""Times of day: ``19:05``, ``19:05:30.5``, ``7:05 PM``, ``19:05:30+02:00``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from typing import Any

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.model.notations import Notation
from batchfx.pipeline.formats import (
    in_words,
    names_time_alone,
    other_than_iso,
    parsed,
)
from batchfx.pipeline.reading import Complaint, Reader
from batchfx.pipeline.suggestions import clock_meant, clock_of_serial

HOUR = "(?:[01][0-9]|2[0-3])"
MINUTE = "[0-5][0-9]"
CLOCK = rf"{HOUR}:{MINUTE}(?::{MINUTE}(?:\.[0-9]{{1,6}})?)?"

# A blank before the zone, the zone's name for Z and a decimal comma are what databases
# and logs write; more than microseconds can't be kept, unless they are zeros.
FREE_CLOCK = re.compile(
    rf"(?P<hour>[01]?[0-9]|2[0-3])"
    rf"(?::(?P<minute>{MINUTE})(?::(?P<second>{MINUTE})"
    r"(?:[.,](?P<fraction>[0-9]{1,6})0*)?)?)?"
    r"(?: ?(?P<half>[AaPp])(?:[Mm]|\.[Mm]\.))?"
    rf"(?: ?(?P<zone>[Zz]|UTC|GMT|[+-]{HOUR}(?::?{MINUTE})?))?"
)
# Decimals of a second beyond the sixth.
TOO_FINE = re.compile("(.{1,40}:[0-9]{2}[.,][0-9]{6})[0-9]+((?:[^0-9].{0,20})?)")
FINER = "The time is finer than microseconds; write no more than six decimals"
NOON = 12


def clock_of(text: str) -> time | None:
    """Return the time that *text* is, with the zone it names, or None."""
    match = FREE_CLOCK.fullmatch(text)
    if match is None or not (match["minute"] or match["half"]):
        return None
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= NOON:
            return None
        hour = hour % NOON + (NOON if match["half"] in "Pp" else 0)
    return time(
        hour,
        int(match["minute"] or 0),
        int(match["second"] or 0),
        int((match["fraction"] or "").ljust(6, "0")),
        _zone(match["zone"]),
    )


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].removeprefix(":") or 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset) if offset else UTC


def with_seconds(text: pl.Expr, without: str) -> pl.Expr:
    """Return *text* with seconds where it is as long as the form *without* them."""
    short = text.str.len_bytes() == len(without)
    return pl.when(short).then(pl.concat_str(text, pl.lit(":00"))).otherwise(text)


def time_reader(written: str | None, notation: Notation) -> Reader:
    """Read times of day; *written* is the column's format."""
    written = other_than_iso(written)
    stated = tuple(filter(names_time_alone, notation.date_formats))
    formats = (written, *stated) if written else stated

    def typed(cell: pl.Expr) -> pl.Expr:
        if formats:
            return pl.lit(None, pl.Time)
        text = pl.when(cell.str.contains(f"^{CLOCK}$")).then(cell)
        return with_seconds(text, "hh:mm").str.to_time("%H:%M:%S%.f", strict=False)

    def read(text: str, kind: str) -> Any:
        moment = _by_format(text, formats) if kind != Kind.DATE else None
        found = moment.timetz() if moment else clock_of(text)
        return found if found is not None else _no_time(text, kind, written)

    def fits(value: Any) -> bool:
        return type(value) is time and value.tzinfo is None

    return Reader("time", pl.Time(), typed, read, fits)


def _by_format(text: str, formats: tuple[str, ...]) -> datetime | None:
    """Return what the first of the *formats* that fits makes of *text*."""
    return next((found for each in formats if (found := parsed(text, each))), None)


def _no_time(text: str, kind: str, written: str | None) -> Complaint:
    fine = TOO_FINE.fullmatch(text)
    if fine and kind == Kind.TEXT and clock_of(shorter := f"{fine[1]}{fine[2]}"):
        return Complaint("time_parsing", FINER, {}, shorter)
    form = in_words(written or "%H:%M:%S")
    message = f"Write the time as {form}"
    if kind == Kind.NUMBER:
        message = f"The cell holds a number, not a time; write the time as {form}"
        meant = clock_of_serial(text)
    else:
        meant = clock_meant(text)
    shown = meant.strftime(written or "%H:%M:%S") if meant else None
    return Complaint("time_parsing", message, {"format": form}, shown)
