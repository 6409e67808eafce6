"""Text for a terminal: harmless, short, and numbers as people write them."""

from __future__ import annotations

import datetime as dt
import math

SHOWN = 32  # characters of a value
MESSAGE = 200  # characters of a message


def plain(text: str) -> str:
    """Return *text* with what could steer a terminal, or is invisible, spelt out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """Return *text* as `plain` does, line breaks spelt out as well."""
    return plain(text).replace("\n", "\\n")


def cut(text: str, width: int = SHOWN) -> str:
    """Return *text* on one line, an ellipsis in place of what is beyond *width*."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Return "1 row", "2 rows", "1,000 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(words: list[str], joint: str = "and") -> str:
    """Return "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} {joint} {last}" if first else last


def percent(share: float) -> int:
    """Return the whole percents of *share*; 100 only when nothing is left."""
    return math.floor(share * 100)


def duration(seconds: float) -> str:
    """Return "0.8 s", "42 s", "3 min 5 s" or "2 h 10 min"."""
    if seconds < 9.95:  # noqa: PLR2004 - would be written as 10.0
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def clock(seconds: float) -> str:
    """Return "0:07", "12:30" or "1:02:03"."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes_left:02}:{rest:02}"
    return f"{minutes}:{rest:02}"


def moment(epoch: float) -> str:
    """Return the moment in the local time zone, "2026-11-29 18:12:03"."""
    utc = dt.datetime.fromtimestamp(epoch, dt.UTC)
    return f"{utc.astimezone():%Y-%m-%d %H:%M:%S}"


def minute(epoch: float) -> str:
    """Return the moment without its seconds, "2026-11-29 18:12"."""
    return moment(epoch).rpartition(":")[0]


def timestamp(epoch: float | None) -> str | None:
    """Return the moment for machines: ISO 8601, in UTC."""
    if epoch is None:
        return None
    return dt.datetime.fromtimestamp(epoch, dt.UTC).isoformat()
