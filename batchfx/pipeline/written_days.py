"""What day a text means, in the writing of its column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import NamedTuple

from batchfx.model.notations import Notation
from batchfx.pipeline.clocks import clock_of
from batchfx.pipeline.formats import (
    clashes,
    has_short_year,
    in_words,
    names_day,
    other_than_iso,
    parsed,
)
from batchfx.pipeline.months import named_parts, numbers_of_months
from batchfx.pipeline.orders import (
    IN_WORDS,
    SHORT,
    Parts,
    day_of,
    is_short,
    readings,
)
from batchfx.pipeline.reading import Complaint
from batchfx.pipeline.weekdays import Named, weekday_before
from batchfx.pipeline.years import CENTURY, Window, window_of

WEEK = re.compile("[0-9]{4}-?W[0-9]{2}(?:-?[0-9])?")
WEEK_DAY = re.compile("[0-9]{4}(?:-W[0-9]{2}-|W[0-9]{2})[0-9]")
ISO_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
DATE_ORDER = "date_order"
TWO_DIGIT_YEAR = "two_digit_year"

# A day, and behind it a time: "31/12/2026 7:05 PM", "2026-12-31T19:05:00Z".
DAY_AND_CLOCK = re.compile(
    "(.+?)(?:[Tt]|,? )([0-9]{1,2}(?::[0-9]{2}.*| ?[AaPp]\\.?[Mm].*))"
)
BASIC_MOMENT = re.compile(
    "([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})?(Z|[+-][0-9:]+)?"
)
LONGEST = 80


class Moment(NamedTuple):
    """The text of a day, and the time behind it, if there is one."""

    day: str
    clock: time | None


def taken_apart(text: str) -> Moment:
    """Return *text* as a day and a time; as a day alone where there is no time."""
    if len(text) <= LONGEST:
        if basic := BASIC_MOMENT.fullmatch(text):
            year, month, day, hour, minute, second, zone = basic.groups()
            clock = clock_of(f"{hour}:{minute}:{second or '00'}{zone or ''}")
            if clock:
                return Moment(f"{year}-{month}-{day}", clock)
        match = DAY_AND_CLOCK.fullmatch(text)
        clock = clock_of(match[2]) if match else None
        if match and clock is not None:
            return Moment(match[1], clock)
    return Moment(text, None)


@dataclass(frozen=True, slots=True)
class Writing:
    """How the days of a column are written.

    Attributes:
        written: The format that the field's author named, if it isn't ISO 8601.
        formats: The formats by which text is read beside ISO 8601, *written* first.
        order: The order of day, month and year, as `ORDERS` has them.
        is_open: The order was asked for, and the column's values left it open.
        window: The window of two-digit years.
        months: The numbers of the months by their folded names.

    """

    written: str | None
    formats: tuple[str, ...]
    order: str | None
    is_open: bool
    window: Window | None
    months: Mapping[str, int]

    @classmethod
    def of(cls, written: str | None, notation: Notation) -> Writing:
        """Return the writing of a field's format and its column's notation."""
        written = other_than_iso(written)
        stated = tuple(filter(names_day, notation.date_formats))
        return cls(
            written,
            (written, *stated) if written else stated,
            notation.date_order,
            DATE_ORDER in notation.unsettled,
            window_of(notation.two_digit_year),
            numbers_of_months(notation.languages),
        )

    @property
    def hides_iso(self) -> bool:
        """Text of ISO 8601 is read by the author's format alone, or not at all."""
        return self.written is not None and clashes(self.written)

    @property
    def form(self) -> str:
        """How a person would write the form that is expected."""
        if self.written:
            return in_words(self.written)
        return IN_WORDS[self.order] if self.order in ("dmy", "mdy") else "YYYY-MM-DD"

    def show(self, day: date | None) -> str | None:
        """Return *day* in the form that is expected, for a suggestion."""
        if day is None:
            return None
        return day.strftime(self.written) if self.written else day.isoformat()

    def by_format(self, text: str) -> datetime | Complaint | None:
        """Return what the formats make of *text*; None where none fits."""
        found = [(parsed(text, each, self.window), each) for each in self.formats]
        moments = [moment for moment, _ in found if moment is not None]
        if not moments:
            return None
        if self.window is None:
            for moment, each in found:
                if moment is not None and has_short_year(each):
                    year = f"{moment.year % CENTURY:02}"
                    return self._two_digits(Parts(year, moment.month, moment.day))
        days = {moment.date() for moment in moments} | self._otherwise(text)
        if len(days) > 1:
            return self._ambiguous(sorted(days))
        if any(moment != moments[0] for moment in moments):
            return self._two_times()
        return moments[0]

    def _otherwise(self, text: str) -> set[date]:
        """Return what a text read by a format is in ISO 8601 or in the column's order.

        The author's format alone decides unless somebody said something else.
        """
        others = self.formats != (self.written,) or self.order
        found = self.day(taken_apart(text).day) if others else None
        return {found} if isinstance(found, date) else set()

    def day(self, text: str) -> date | Complaint | None:
        """Return the day that *text* is, without a format; None if it isn't any."""
        if ISO_DAY.fullmatch(text):
            try:
                return date.fromisoformat(text)
            except ValueError:
                return self.no_such_day()
        if WEEK.fullmatch(text):
            return self._of_week(text)
        named = weekday_before(text)
        return self._on_weekday(named) if named else self._bare_day(text)

    def _bare_day(self, text: str) -> date | Complaint | None:
        found = readings(text)
        if found is not None:
            return self._in_digits(found)
        parts = named_parts(text, self.months)
        return None if parts is None else self._made(parts)

    def _of_week(self, text: str) -> Complaint:
        message = f"This names a week and not a day; write the date as {self.form}"
        try:
            day = date.fromisoformat(text) if WEEK_DAY.fullmatch(text) else None
        except ValueError:
            return self.no_such_day()
        if day is not None:
            message = f"Write the date as {self.form}, not by its week"
        return Complaint("date_parsing", message, {"format": self.form}, self.show(day))

    def _on_weekday(self, named: Named) -> date | Complaint | None:
        """Return the day behind the name of one of the week, if that is its own."""
        day = self.day(named.rest)
        if not isinstance(day, date) or day.weekday() in named.numbers:
            return day
        message = f"The {_in_full(day)} is a {day:%A}, not the day of the week it says"
        return Complaint("date_parsing", message, {"format": self.form}, quotes=True)

    def _in_digits(self, found: Mapping[str, Parts]) -> date | Complaint:
        order = self.order
        if "ymd" in found and not is_short(found) and (order or self.is_open):
            order = "ymd"  # four digits in front leave nothing open
        if order and order in found:
            return self._made(found[order])
        days = [day_of(parts, self.window) for parts in found.values()]
        choices = sorted({day for day in days if day is not None})
        if self.formats and order is None:  # another form than the stated ones
            is_sure = len(choices) == 1 and None not in days
            return self.no_day(choices[0] if is_sure else None)
        if is_short(found) and self.window is None:
            return self._two_digits(None)
        if len(choices) != 1:
            return self._ambiguous(choices) if choices else self.no_such_day()
        alike = len(found) > 1 and None not in days and order is None
        return choices[0] if alike else self._out_of_order(choices[0])

    def _made(self, parts: Parts) -> date | Complaint:
        if len(parts.year) == SHORT and self.window is None:
            return self._two_digits(parts)
        return day_of(parts, self.window) or self.no_such_day()

    def no_such_day(self) -> Complaint:
        """Return the complaint about a day that the calendar doesn't have."""
        message = "There is no such day in the calendar"
        return Complaint("date_parsing", message, {"format": self.form})

    def no_day(self, suggestion: date | None) -> Complaint:
        """Return the complaint about a text that is no date."""
        message = f"Write the date as {self.form}"
        shown = self.show(suggestion)
        return Complaint("date_parsing", message, {"format": self.form}, shown)

    def _out_of_order(self, day: date) -> Complaint:
        """Complain of a day that only another order than the column's makes."""
        if self.order:
            message = f"There is no such day when it is read as {self.form}"
            parameters = {"format": self.form}
            return Complaint("date_parsing", message, parameters, self.show(day))
        if self.is_open:
            message = (
                "The column has dates of more than one order. State which is meant, "
                "such as --set date_order=dmy, or write YYYY-MM-DD"
            )
            return Complaint("ambiguous_date", message, {}, self.show(day))
        return self.no_day(day)

    def _ambiguous(self, choices: list[date]) -> Complaint:
        named = " or ".join(_in_full(day) for day in choices)
        message = (
            f"The date can be {named}. State the order, such as "
            "--set date_order=dmy, or write YYYY-MM-DD"
        )
        parameters = {"choices": [day.isoformat() for day in choices]}
        return Complaint("ambiguous_date", message, parameters, quotes=True)

    def _two_times(self) -> Complaint:
        formats = " and ".join(map(in_words, self.formats))
        message = f"The formats {formats} read two different times. State one of them"
        return Complaint("ambiguous_date", message)

    def _two_digits(self, parts: Parts | None) -> Complaint:
        message = (
            "The year has two digits. Write all four, or state which years are meant, "
            "such as --set two_digit_year=1930 or "
            '--set two_digit_year="not after today"'
        )
        if parts is None:
            return Complaint("two_digit_year", message)
        years = [CENTURY * century + int(parts.year) for century in (19, 20)]
        days = [_day(year, parts) for year in years]
        choices = [day.isoformat() for day in days if day is not None]
        if not choices:
            return self.no_such_day()
        return Complaint(
            "two_digit_year",
            f"{message}: {' or '.join(choices)}",
            {"choices": choices},
            quotes=True,
        )


def _day(year: int, parts: Parts) -> date | None:
    return day_of(parts._replace(year=str(year)), None)


def _in_full(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"
