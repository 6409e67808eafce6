"""How the values of a column are written: what somebody said of it, or what was found.

A file says `1.234` and means one thing or the other; `03/04/2025` too. What is not said
is decided for a column over all of its values, and never for a cell alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

UNSAID: tuple[Any, ...] = (None, (), {})


@dataclass(frozen=True, slots=True)
class Notation:
    """How the texts of one column, or of a whole file, are to be read.

    What is None or empty is not said: it is found out from the column's values where
    that can be, or has its strict default. Cells that a typed source holds as numbers
    or dates are not concerned.

    Attributes:
        decimal: The decimal mark, "." or ",".
        thousands: The sign between groups of three digits; "" when there is none.
        currency: Signs and codes of currencies beside a number are allowed.
        percent: What ``12 %`` is: "fraction" (0.12) or "number" (12).
        date_order: "dmy", "mdy" or "ymd".
        date_formats: Formats of ``strptime`` that are read beside ISO 8601.
        two_digit_year: The window of years written with two digits: the first year of
            a hundred (1930: 30 is 1930 and 29 is 2029), or "not after today".
        zone_for_naive: The IANA zone of times that name none.
        null_tokens: Texts that mean no value.
        trim: Outer blanks of a text are no part of it.
        normal_form: The Unicode normal form that texts are brought to: "NFC", "NFKC".
        languages: Codes (ISO 639-1) of the languages whose words for yes and no, and
            whose names of months, are read.
        values: What a text stands for ("Germania": "DE"), before it is read.
        digits: How many digits the source keeps of a number: 15 in a workbook. None
            where it keeps all of them, as a text file does.
        unsettled: Names of the questions that the column's values left open
            ("decimal", "date_order"): values that depend on the answer are refused.

    """

    decimal: str | None = None
    thousands: str | None = None
    currency: bool | None = None
    percent: str | None = None
    date_order: str | None = None
    date_formats: tuple[str, ...] = ()
    two_digit_year: int | str | None = None
    zone_for_naive: str | None = None
    null_tokens: tuple[str, ...] = ()
    trim: bool | None = None
    normal_form: str | None = None
    languages: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    digits: int | None = None
    unsettled: tuple[str, ...] = ()

    def over(self, other: Notation) -> Notation:
        """Return this notation, with what it leaves unsaid taken from *other*.

        Of what texts stand for, each text is a thing said of its own.
        """
        stated: dict[str, Any]
        stated = {
            each.name: value
            for each in fields(self)
            if (value := getattr(self, each.name)) not in UNSAID
        }
        if self.values and other.values:
            stated["values"] = {**other.values, **self.values}
        return replace(other, **stated)

    def dump(self) -> dict[str, Any]:
        """Return what is said, as plain JSON data; *digits* is the source's to say."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value not in UNSAID and name != "digits"
        }

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Notation:
        """Return the notation that `dump` wrote."""
        entries: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in stored.items()
        }
        return cls(**entries)
