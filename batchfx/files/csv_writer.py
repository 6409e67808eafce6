"""Rows written as CSV: what is read back is what was there."""

from __future__ import annotations

import re
from collections.abc import Sequence

# An apostrophe before these keeps a spreadsheet from taking a text for a formula
# (OWASP, "CSV Injection"). A plain number is none.
GUARD = "'"
# The last four are full-width: some spreadsheets take them for the others.
FORMULA = re.compile("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*")


def line(cells: Sequence[str | None]) -> str:
    """Return a record with its end; no content and empty text are told apart."""
    return ",".join(map(_quoted, cells)) + "\r\n"


def guarded(text: str) -> str:
    """Return *text* so that a spreadsheet takes it for text, never for a formula."""
    if not FORMULA.match(text) or PLAIN_NUMBER.fullmatch(text):
        return text
    return GUARD + text


def _quoted(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + guarded(text).replace('"', '""') + '"'
