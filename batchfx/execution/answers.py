"""The values of options, taken from what a person or a program wrote for them.

Each function returns the value; it raises ValueError when what was written is none.
"""

from __future__ import annotations

import codecs
import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

CHARACTERS = {"tab": "\t", "\\t": "\t", "space": " ", "none": ""}
CENTURY = 100
FIRST_YEAR, LAST_YEAR = 1000, 9900  # of a window of a hundred years
NOT_AFTER = "not after "
NOT_AFTER_TODAY = f"{NOT_AFTER}today"
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def text(given: Any) -> str:
    """Take a text; a number is taken as its digits."""
    if isinstance(given, str):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    raise ValueError


def texts(given: Any) -> tuple[str, ...]:
    """Take a list of texts, or one text with commas between them."""
    if isinstance(given, str):
        return tuple(part for each in given.split(",") if (part := each.strip()))
    parts = given if isinstance(given, list | tuple) else [given]
    return tuple(text(part) for part in parts)


def choices(given: Any) -> tuple[str, ...]:
    """Take texts, as `texts` does, or numbers and truth values, by their texts."""
    if isinstance(given, str):
        return texts(given)
    parts = given if isinstance(given, list | tuple) else [given]
    return tuple(_plain(part) for part in parts)


def sets(given: Any) -> tuple[tuple[str, ...], ...]:
    """Take lists of texts; a text alone is a list of one."""
    parts = given if isinstance(given, list | tuple) else texts(given)
    return tuple(
        texts(part) if isinstance(part, list | tuple) else (text(part),)
        for part in parts
    )


def truth(given: Any) -> bool:
    """Take true or false."""
    if isinstance(given, bool):
        return given
    answer = TRUTHS.get(text(given).casefold())
    if answer is None:
        raise ValueError
    return answer


def one_of(possible: Iterable[str]) -> Callable[[Any], str]:
    """Return what takes one of the *possible* texts, in any case."""
    known = {each.casefold(): each for each in possible}

    def take(given: Any) -> str:
        found = known.get(text(given).casefold())
        if found is None:
            raise ValueError
        return found

    return take


def at_least(least: int) -> Callable[[Any], int]:
    """Return what takes a whole number that is not below *least*."""

    def take(given: Any) -> int:
        if not re.fullmatch("[0-9]{1,9}", text(given)) or int(given) < least:
            raise ValueError
        return int(given)

    return take


def delimiter(given: Any) -> str:
    """Take one character or several, or the name of one."""
    taken = CHARACTERS.get(text(given), text(given))
    if not taken:
        raise ValueError
    return taken


def character_or_none(given: Any) -> str:
    """Take one character, its name, or nothing."""
    taken = CHARACTERS.get(text(given), text(given))
    if len(taken) > 1:
        raise ValueError
    return taken


def thousands(given: Any) -> str:
    """Take a sign that may stand between groups of digits, or nothing."""
    taken = character_or_none(given)
    if taken.isalnum() or taken in {"-", "+"}:
        raise ValueError
    return taken


def encoding(given: Any) -> str:
    """Take the name of an encoding that is known."""
    try:
        codecs.lookup(text(given))
    except LookupError as error:
        raise ValueError from error
    return text(given)


def sheet(given: Any) -> str | int:
    """Take the name of a sheet, or its number."""
    return given if isinstance(given, str) and given else at_least(1)(given)


def formats(given: Any) -> tuple[str, ...]:
    """Take formats of ``strptime``."""
    taken = texts(given)
    if not all("%" in each for each in taken):
        raise ValueError
    return taken


def window(given: Any) -> int | str:
    """Take the first of a hundred years, or "not after" today or another day.

    Of two digits, it is a year of the 20th century: 30 is 1930.
    """
    if given == NOT_AFTER_TODAY:
        return NOT_AFTER_TODAY
    if isinstance(given, str) and given.startswith(NOT_AFTER):
        last = date.fromisoformat(given.removeprefix(NOT_AFTER))
        return NOT_AFTER + last.isoformat()
    year = at_least(0)(given)
    year += 1900 if year < CENTURY else 0
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError
    return year


def zone(given: Any) -> str:
    """Take the name of a time zone that is known."""
    try:
        zoneinfo.ZoneInfo(text(given))
    except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:  # a folder's name
        raise ValueError from error
    return text(given)


def languages(given: Any) -> tuple[str, ...]:
    """Take codes of languages (ISO 639-1)."""
    taken = tuple(each.lower() for each in texts(given))
    if not all(re.fullmatch("[a-z]{2}", each) for each in taken):
        raise ValueError
    return taken


def words(given: Any) -> dict[str, str]:
    """Take texts, and the text that each stands for."""
    if not isinstance(given, Mapping):
        raise ValueError  # noqa: TRY004 - as all that can't be taken
    return {key: _plain(value) for key, value in given.items()}


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else text(value)


def listed(possible: Iterable[str]) -> str:
    """Return "'a', 'b' or 'c'"."""
    *first, last = (f"'{each}'" for each in possible)
    return f"{', '.join(first)} or {last}" if first else last
