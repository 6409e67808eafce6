"""What lies around the rows of a sheet: merged cells, hidden rows and columns.

Merged cells stand after the rows and hidden ones among them, so that all of the sheet
has to be seen before its first record can be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_references import LAST_COLUMN, Range, read_range
from batchfx.files.xlsx_workbook import TRUE
from batchfx.files.xlsx_xml import Tag, refuse_size, tags

SIGNS = (b"mergeCell", b"hidden", b"\0")  # the last one: not plain ASCII and the like
SIGN_LENGTH = max(map(len, SIGNS))
TAGS = frozenset({"col", "row", "mergeCell", "autoFilter"})
TAG_LIMIT = 4_000_000
MERGE_LIMIT = 200_000
NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Survey:
    """Columns count from 0; hidden rows and columns are ascending."""

    merges: tuple[Range, ...] = ()
    hidden_rows: tuple[int, ...] = ()
    hidden_columns: tuple[int, ...] = ()
    filtered: bool = False


def survey_sheet(package: Package, part: str) -> Survey:
    """Look over the whole sheet in *part*.

    A sheet without a sign of any of it, which most are, is only expanded, not parsed.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    if not _has_signs(package.chunks(part, PART_LIMIT)):
        return Survey()
    merges: list[Range] = []
    rows: list[int] = []
    columns: set[int] = set()
    filtered = False
    row = 0
    for tag in tags(package.chunks(part, PART_LIMIT), part, TAGS, TAG_LIMIT):
        hidden = tag.attributes.get("hidden") in TRUE
        if tag.name == "row":
            row = _number(tag, "r", row + 1)
            rows += [row] * hidden
        elif tag.name == "col" and hidden:
            columns.update(_columns(tag))
        elif tag.name == "mergeCell":
            merges += _merges(tag)
            if len(merges) > MERGE_LIMIT:
                refuse_size(part)
        filtered = filtered or tag.name == "autoFilter"
    return Survey(tuple(merges), tuple(rows), tuple(sorted(columns)), filtered)


def _has_signs(chunks: Iterator[bytes]) -> bool:
    tail = b""
    found = False
    for chunk in chunks:  # to the end, so that damage is found here
        window = tail + chunk
        found = found or any(sign in window for sign in SIGNS)
        tail = window[-SIGN_LENGTH:]
    return found


def _number(tag: Tag, name: str, default: int) -> int:
    text = tag.attributes.get(name, "")
    return int(text) if NUMBER.fullmatch(text) else default


def _columns(tag: Tag) -> range:
    first = max(_number(tag, "min", 1), 1)
    last = min(_number(tag, "max", first), LAST_COLUMN)
    return range(first - 1, last)


def _merges(tag: Tag) -> list[Range]:
    merge = read_range(tag.attributes.get("ref", ""))
    return [merge] if merge else []
