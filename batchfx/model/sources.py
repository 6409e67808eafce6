"""What a source turned out to be, and where in it the reading stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from batchfx.model.issues import Issue


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read one source, decided once from its content and kept with the batch.

    *format* names the reader ("csv", "xlsx"). *header* holds the column names as a
    person reads them, one for each column of a block, by position; a column without
    a name has "". *header_row* is the row number of the (last) header row.
    *settings* is what that reader needs to read the source again in the same way, as
    plain JSON data (encoding, delimiter, quote; sheet). *warnings* are the guesses and
    oddities that a person should know of. *reasons* say in words what was found and
    why, by what was decided: ``{"delimiter": "';': 20 of 20 lines have 4"}``.
    """

    format: str
    header: tuple[str, ...]
    header_row: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Issue, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
