"""Formulas of an .xls workbook whose results were never computed.

A program that writes formulas without computing them leaves "no text" as their result,
just as a formula does whose result is no text. A sheet where all results are that was
not computed. The records are those of [MS-XLS] 2.3 and 2.4.127.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

BOF, EOF, FORMULA = 0x0809, 0x000A, 0x0006
HEAD = struct.Struct("<HH")
CELL = struct.Struct("<HHH8s")
NO_TEXT = 3  # a result's first byte, when its last two are FF

Place = tuple[int, int]  # row and column, from 0


def unknown_results(
    content: bytes, base: int, length: int
) -> dict[int, frozenset[Place]]:
    """Return the cells of formulas without a result, by where their sheet starts.

    Args:
        content: What holds the workbook's records.
        base: Where in it they begin.
        length: How many bytes they take.

    """
    found: dict[int, frozenset[Place]] = {}
    depth, start = 0, base
    without: set[Place] = set()
    computed = False
    for place, code, data in _records(content, base, base + length):
        if code == BOF:
            depth += 1
            if depth == 1:
                start, without, computed = place, set(), False
        elif code == EOF:
            depth -= 1
            if depth == 0 and without and not computed:
                found[start] = frozenset(without)
        elif code == FORMULA and len(data) >= CELL.size:
            row, column, _, result = CELL.unpack_from(data)
            has_text = result[0] != NO_TEXT or result[6:] != b"\xff\xff"
            computed = computed or has_text
            without.add((row, column))
    return found


def _records(content: bytes, place: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the place, the type and the content of every record."""
    end = min(end, len(content))
    while place + HEAD.size <= end:
        code, size = HEAD.unpack_from(content, place)
        start = place + HEAD.size
        yield place, code, content[start : min(start + size, end)]
        place = start + size
