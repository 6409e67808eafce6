"""Dates and moments.

ISO 8601 is read always; days in digits in the order of the column's notation, and
months by their names. Where a column names a format, in the letters of ``strptime``,
its text is read by that format first. ISO text is then still read, unless the format
would read it as another day. A cell that a sheet holds as a date needs no format. What
a text means never depends on the zone of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.model.notations import Notation
from batchfx.pipeline.clocks import CLOCK, FINER, HOUR, TOO_FINE, with_seconds
from batchfx.pipeline.formats import letters, sure_form
from batchfx.pipeline.orders import typed_days, typed_moments
from batchfx.pipeline.reading import Complaint, Reader, each, exactly
from batchfx.pipeline.suggestions import day_meant, day_of_serial, moment_of_serial
from batchfx.pipeline.written_days import Writing, taken_apart

# For the columns that Polars reads: no year before 1000, which it would take as well.
SURE_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
ISO_MOMENT = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{CLOCK}(?:Z|[+-]{HOUR}:[0-5][0-9])?"
)
# The years for which Polars has the same rules of summer time as the system's zones.
FIRST_ZONED, LAST_ZONED = 1970, 2037


def date_reader(written: str | None, notation: Notation) -> Reader:
    """Read days; *written* is the format that the field's author named."""
    writing = Writing.of(written, notation)

    def typed(cell: pl.Expr) -> pl.Expr:
        if not writing.formats:
            return _days(cell, writing)
        form = _only_form(writing)
        if form is None:
            return pl.lit(None, pl.Date)
        own = pl.when(cell.str.contains(form)).then(cell)
        day = own.str.to_date(writing.formats[0], strict=False)
        return pl.coalesce(day, _iso_days(cell))

    return Reader("date", pl.Date(), typed, _date_reading(writing), exactly(date))


def _only_form(writing: Writing) -> str | None:
    """Return the form of the only format, if no other reading can contradict it."""
    alone = len(writing.formats) == 1 and writing.order is None
    return sure_form(writing.formats[0]) if alone else None


def _days(cell: pl.Expr, writing: Writing) -> pl.Expr:
    if writing.order is None:
        return _iso_days(cell)
    own = typed_days(cell, writing.order, writing.window)
    return pl.coalesce(own, _iso_days(cell))


def _iso_days(cell: pl.Expr) -> pl.Expr:
    sure = cell.str.contains(rf"^{SURE_DAY}(?:T00:00:00)?$")
    day = pl.when(sure).then(cell.str.slice(0, 10))
    return day.str.to_date("%Y-%m-%d", strict=False)


def _date_reading(writing: Writing) -> Callable[[str, str], Any]:
    def read(text: str, kind: str) -> Any:
        moment = writing.by_format(text) if kind != Kind.DATE else None
        if isinstance(moment, datetime):
            return _without_clock(moment.date(), moment.timetz(), writing)
        if kind == Kind.NUMBER:
            return moment or _number(text, writing)
        return moment or _day(text, kind, writing)

    return read


def _day(text: str, kind: str, writing: Writing) -> date | Complaint:
    apart = taken_apart(text)
    day = writing.day(apart.day)
    if isinstance(day, Complaint):
        return day
    if day is None or (writing.hides_iso and kind != Kind.DATE):
        return writing.no_day(day or day_meant(text))
    return day if apart.clock is None else _without_clock(day, apart.clock, writing)


def _without_clock(day: date, clock: time, writing: Writing) -> date | Complaint:
    """Return the day as it is written; its zone, if it has one, doesn't shift it."""
    if clock.replace(tzinfo=None) == time():
        return day
    return Complaint(
        "date_from_datetime_inexact",
        "The cell has a time of day beside the date; write the date alone",
        suggestion=writing.show(day),
    )


def _number(text: str, writing: Writing) -> Complaint:
    message = f"The cell holds a number, not a date; write the date as {writing.form}"
    shown = writing.show(day_of_serial(text) or day_meant(text))
    return Complaint("date_parsing", message, {"format": writing.form}, shown)


def datetime_reader(
    written: str | None, notation: Notation, *, zoned: str | None
) -> Reader:
    """Read moments. Polars holds those of "aware" fields in UTC, others naive.

    Where the notation has a zone for those that name none, all of them are in UTC.

    Args:
        written: The format that the field's author named.
        notation: How the column is written.
        zoned: What the field's type says of zones: "aware", "naive" or nothing.

    """
    writing = Writing.of(written, notation)
    key = None if zoned == "naive" else notation.zone_for_naive
    zone = ZoneInfo(key) if key else None
    in_utc = zoned == "aware" or zone is not None
    dtype = pl.Datetime("us", "UTC" if in_utc else None)
    plain = not (writing.formats or writing.order or zone)

    def fits(value: Any) -> bool:
        if type(value) is not datetime:
            return False
        return value.tzinfo is UTC if in_utc else value.tzinfo is None

    def typed(cell: pl.Expr) -> pl.Expr:
        if writing.formats:
            return _formatted(cell, writing, dtype)
        found = [_iso_moments(cell, aware=in_utc)]
        if zone is not None:
            found.append(_zoned(_naive(cell, writing), zone))
        elif not in_utc and writing.order:
            found.append(typed_moments(cell, writing.order))
        return pl.coalesce(found) if len(found) > 1 else found[0]

    return Reader(
        "datetime",
        dtype,
        typed,
        _datetime_reading(writing, zone),
        fits,
        values=_values(plain=plain, in_utc=in_utc),
        from_text=plain,
    )


def _values(*, plain: bool, in_utc: bool) -> Callable[[pl.Series], list[Any]]:
    if plain:
        return each(datetime.fromisoformat)
    return each(_with_utc) if in_utc else pl.Series.to_list


def _with_utc(moment: datetime) -> datetime:
    """Return a moment of Polars, in UTC, with Python's own UTC."""
    return moment.replace(tzinfo=UTC)


def _iso_moments(cell: pl.Expr, *, aware: bool) -> pl.Expr:
    zone = r"(?:Z|\+00:00)" if aware else ""
    sure = rf"^{SURE_DAY}[T ]{CLOCK}{zone}$"
    text: pl.Expr = pl.when(cell.str.contains(sure)).then(cell)
    if aware:
        text = text.str.replace(r"(?:Z|\+00:00)$", "")
    text = text.str.replace(" ", "T", literal=True)
    naive = with_seconds(text, "YYYY-MM-DDThh:mm").str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
    )
    return naive.dt.replace_time_zone("UTC") if aware else naive


def _naive(cell: pl.Expr, writing: Writing) -> pl.Expr:
    iso = _iso_moments(cell, aware=False)
    if writing.order is None:
        return iso
    return pl.coalesce(typed_moments(cell, writing.order), iso)


def _zoned(naive: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """Return moments on the clocks of *zone* in UTC, null where that is in doubt."""
    sure = pl.when(naive.dt.year().is_between(FIRST_ZONED, LAST_ZONED)).then(naive)
    local = sure.dt.replace_time_zone(zone.key, ambiguous="null", non_existent="null")
    return local.dt.convert_time_zone("UTC")


def _formatted(cell: pl.Expr, writing: Writing, dtype: pl.Datetime) -> pl.Expr:
    form, written = _only_form(writing), writing.formats[0]
    if form is None or dtype.time_zone:
        return pl.lit(None, dtype)
    # Polars wants an hour and a minute in the format; without them read each cell.
    if not {"H", "M"} <= letters(written):
        return pl.lit(None, dtype)
    own = pl.when(cell.str.contains(form)).then(cell)
    return own.str.to_datetime(written, time_unit="us", strict=False)


def _datetime_reading(
    writing: Writing, zone: ZoneInfo | None
) -> Callable[[str, str], Any]:
    def read(text: str, kind: str) -> Any:
        moment = _moment(text, kind, writing)
        if zone is None or not isinstance(moment, datetime):
            return moment
        return _in_utc(moment, zone)

    return read


def _moment(text: str, kind: str, writing: Writing) -> datetime | Complaint:
    moment = writing.by_format(text) if kind != Kind.DATE else None
    if moment is not None:
        return moment
    if kind == Kind.NUMBER or (kind != Kind.DATE and writing.hides_iso):
        return _no_datetime(text, kind, writing, None)
    return _iso_moment(text) or _free_moment(text, kind, writing)


def _iso_moment(text: str) -> datetime | None:
    """Return the moment of most texts that Polars leaves: those with an offset."""
    try:
        return datetime.fromisoformat(text) if ISO_MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def _free_moment(text: str, kind: str, writing: Writing) -> datetime | Complaint:
    apart = taken_apart(text)
    day, clock = writing.day(apart.day), apart.clock
    if isinstance(day, Complaint):
        return _about_moment(day, clock)
    if day is not None and (clock is not None or kind == Kind.DATE):
        return datetime.combine(day, clock or time())
    fine = TOO_FINE.fullmatch(text) if day is None else None
    if fine:
        return _too_fine(f"{fine[1]}{fine[2]}", writing)
    meant = None if day is None else datetime.combine(day, time())
    return _no_datetime(text, kind, writing, meant)


def _too_fine(shorter: str, writing: Writing) -> Complaint:
    """Complain of parts of a second that can't be kept, if the rest is a moment."""
    moment = _moment(shorter, Kind.TEXT, writing)
    if isinstance(moment, Complaint):
        return moment
    return Complaint("datetime_parsing", FINER, {}, shorter)


def _about_moment(complaint: Complaint, clock: time | None) -> Complaint:
    """Return what is wrong with a day as what is wrong with a moment."""
    code = complaint.code.replace("date_parsing", "datetime_parsing")
    suggestion = complaint.suggestion
    if suggestion:
        suggestion = f"{suggestion} {(clock or time()).isoformat()}"
    return replace(complaint, code=code, suggestion=suggestion)


def _in_utc(moment: datetime, zone: ZoneInfo) -> datetime | Complaint:
    """Return the moment in UTC; one without a zone is read on the clocks of *zone*."""
    try:
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
        first = moment.replace(tzinfo=zone).astimezone(UTC)
        second = moment.replace(tzinfo=zone, fold=1).astimezone(UTC)
    except OverflowError:
        message = "The moment lies outside of the years 1 to 9999"
        return Complaint("datetime_parsing", message)
    if first == second:
        return first
    if first.astimezone(zone).replace(tzinfo=None) != moment:
        message = f"The clocks of {zone.key} went forward: there was no such time"
        return Complaint("datetime_parsing", message, {"zone": zone.key})
    return _told_twice(first, second, zone)


def _told_twice(first: datetime, second: datetime, zone: ZoneInfo) -> Complaint:
    choices = [each.astimezone(zone).isoformat() for each in (first, second)]
    message = (
        f"The clocks of {zone.key} went back: there were two such times. Write "
        f"{' or '.join(choices)}"
    )
    parameters = {"zone": zone.key, "choices": choices}
    return Complaint("ambiguous_time", message, parameters, quotes=True)


def _no_datetime(
    text: str, kind: str, writing: Writing, meant: datetime | None
) -> Complaint:
    form = f"{writing.form}" if writing.written else f"{writing.form} hh:mm:ss"
    message = f"Write date and time as {form}"
    if kind == Kind.NUMBER:
        message = f"The cell holds a number, not a date; write date and time as {form}"
        meant = moment_of_serial(text)
    shown = meant.strftime(writing.written or "%Y-%m-%d %H:%M:%S") if meant else None
    return Complaint("datetime_parsing", message, {"format": form}, shown)
