"""Years written with two digits, which only a stated window makes years of.

The window is the first of a hundred years, or "not after today": the last year with
these digits in which the day is not in the future. "not after 2026-11-29" names the
day that counts as today.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

NOT_AFTER = re.compile(r"not after (today|[0-9]{4}-[0-9]{2}-[0-9]{2})")
CENTURY = 100

Window = int | date


def window_of(stated: int | str | None) -> Window | None:
    """Return the window that somebody *stated*; None where it is none.

    A day is the last one that there can be.
    """
    if stated is None or isinstance(stated, int):
        return stated
    if match := NOT_AFTER.fullmatch(stated):
        if match[1] == "today":
            return datetime.now(UTC).date()
        return date.fromisoformat(match[1])
    return int(stated) if re.fullmatch("[0-9]{4}", stated) else None


def pinned(stated: int | str | None) -> int | str | None:
    """Return the window with today's date in it, so that it means the same tomorrow."""
    window = window_of(stated)
    return f"not after {window.isoformat()}" if isinstance(window, date) else stated


def year_of(digits: int, month: int, day: int, window: Window) -> int:
    """Return the year in the *window* whose last two digits are *digits*."""
    if isinstance(window, int):
        return window + (digits - window) % CENTURY
    year = window.year - (window.year - digits) % CENTURY
    later = (year, month, day) > (window.year, window.month, window.day)
    return year - CENTURY if later else year
