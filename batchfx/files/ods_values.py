"""From the attributes and the text of an OpenDocument cell to an exact text.

OpenDocument part 3, 19.385 and following, says what a cell of each type keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache

from batchfx.files.ods_names import CALC, FORMULA, OFFICE, VALUE_TYPE
from batchfx.files.xlsx_cells import ERROR, NO_RESULT
from batchfx.model.blocks import Kind

CALC_TYPE = f"{CALC}value-type"
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
NUMBER_LENGTH = 400
PADDED = re.compile(r"-?0[0-9]+")
BETWEEN = re.compile(r"(?<=[0-9])[-,() '\xa0\u202f]+(?=[0-9])")  # digits of a code
CODED = re.compile(r"[^0-9]*0[0-9]")
MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,20}))?)?)?"
)
DURATION = re.compile(
    r"(-?)P(?:([0-9]{1,9})D)?"
    r"(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?"
    r"(?:([0-9]{1,9})(?:[.,]([0-9]{1,20}))?S)?)?"
)
EXACT_DIGITS = 6  # of a second; more are the trace of a binary number of days
SECOND = 1_000_000
DAY = 86_400 * SECOND
SHOWN_ERROR = re.compile(
    r"#(?:N/A|DIV/0!|REF!|NAME\?|VALUE!|NULL!|NUM!)|(?:Err|Fehler|Erreur):[0-9]{3}"
)
PREFIX = re.compile(r"[a-z]+:(?==)")  # which language a formula is in

Stored = tuple[str, str]  # how to read the cell (see `typed_cells`), and its text


def cell_value(attributes: Mapping[str, str], shown: str, *, duration: bool) -> Stored:
    """Return what a cell with these *attributes*, that shows a text, holds.

    With *duration*, its format shows times beyond 24 hours.
    """
    if _is_error(attributes, shown):
        return ERROR, shown or "#N/A"
    kind = attributes.get(VALUE_TYPE, "")
    name, read = READERS.get(kind, ("", None))
    value = attributes.get(OFFICE + name)
    if read and value is not None:
        return (_lasting if read is _time and duration else read)(value, shown)
    if FORMULA in attributes and not shown and kind != "string":
        return NO_RESULT, PREFIX.sub("", attributes[FORMULA])
    return Kind.TEXT, shown


def decimal_text(text: str) -> str | None:
    """Return the plain decimal text of a number, all of its digits kept."""
    if len(text) > NUMBER_LENGTH or not NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if abs(number.adjusted()) > NUMBER_LENGTH:
        return None
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "") else plain


def _is_error(attributes: Mapping[str, str], shown: str) -> bool:
    if attributes.get(CALC_TYPE) == "error":
        return True
    if not SHOWN_ERROR.fullmatch(shown):
        return False
    return FORMULA in attributes or attributes.get(VALUE_TYPE) == "float"


def _number(value: str, shown: str) -> Stored:
    """Return a number; as it is shown where a format gives it leading zeros."""
    text = decimal_text(value.strip())
    if text is None:
        return Kind.TEXT, shown or value
    if not CODED.match(shown):
        return Kind.NUMBER, text
    digits = BETWEEN.sub("", shown).strip()
    if PADDED.fullmatch(digits) and text.lstrip("-").isdigit():
        same = int(digits) == int(text) and digits.startswith("-") == (text[0] == "-")
        return Kind.NUMBER if same else Kind.CODE, digits if same else text
    return Kind.CODE, text


def _percentage(value: str, shown: str) -> Stored:
    kind, text = _number(value, shown)
    return (Kind.TEXT if kind == Kind.TEXT else Kind.PERCENT), text


def _moment(value: str, shown: str) -> Stored:
    text = _moment_text(value.strip())
    return (Kind.DATE, text) if text else (Kind.TEXT, shown or value)


@lru_cache(8192)
def _moment_text(value: str) -> str | None:
    match = MOMENT.fullmatch(value)
    if match is None:
        return None
    day, hours, minutes, seconds, fraction = match.groups()
    total = _microseconds(0, int(hours or 0), int(minutes or 0), int(seconds or 0))
    try:
        moment = date.fromisoformat(day) + timedelta(
            days=(total + _fraction(fraction)) // DAY
        )
    except (ValueError, OverflowError):
        return None
    clock = _clock_text((total + _fraction(fraction)) % DAY)
    return moment.isoformat() if clock == "00:00:00" else f"{moment}T{clock}"


def _time(value: str, shown: str) -> Stored:
    """Return a time of day, or a duration where it can be none."""
    total = _total(value)
    if total is None or not 0 <= total < DAY:
        return _lasting(value, shown)
    return Kind.DATE, _clock_text(total)


def _lasting(value: str, shown: str) -> Stored:
    total = _total(value)
    if total is None:
        return Kind.TEXT, shown or value
    return Kind.DURATION, "-" * (total < 0) + _duration_text(abs(total))


def _total(value: str) -> int | None:
    """Return a duration in microseconds; None when *value* is none, or has months."""
    match = DURATION.fullmatch(value.strip())
    if match is None or not any(match.groups()[1:]):
        return None
    sign, days, hours, minutes, seconds, fraction = match.groups()
    parts = (int(part or 0) for part in (days, hours, minutes, seconds))
    return (-1 if sign else 1) * (_microseconds(*parts) + _fraction(fraction))


def _text(value: str, shown: str) -> Stored:
    return Kind.TEXT, value or shown


def _boolean(value: str, shown: str) -> Stored:
    known = value in ("true", "false")
    return (Kind.BOOLEAN, value) if known else (Kind.TEXT, shown or value)


def _microseconds(days: int, hours: int, minutes: int, seconds: int) -> int:
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND


def _fraction(digits: str | None) -> int:
    """Return a fraction of a second in microseconds."""
    if not digits:
        return 0
    if len(digits) <= EXACT_DIGITS:
        return int(digits.ljust(EXACT_DIGITS, "0"))
    return round(Decimal(f"0.{digits}") * 1000) * 1000


def _clock_text(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, SECOND)
    minutes, second = divmod(seconds, 60)
    clock = time(*divmod(minutes, 60), second, rest)
    return clock.isoformat("milliseconds" if rest and not rest % 1000 else "auto")


def _duration_text(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, SECOND)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    shown = f"{second}.{rest:06}".rstrip("0").rstrip(".") if rest else str(second)
    parts = [
        f"{hours}H" if hours else "",
        f"{minute}M" if minute else "",
        f"{shown}S" if second or rest or not seconds else "",
    ]
    return "PT" + "".join(parts)


READERS: dict[str, tuple[str, Callable[[str, str], Stored]]] = {
    "float": ("value", _number),
    "percentage": ("value", _percentage),
    "currency": ("value", _number),
    "date": ("date-value", _moment),
    "boolean": ("boolean-value", _boolean),
    "string": ("string-value", _text),
    "time": ("time-value", _time),
}
