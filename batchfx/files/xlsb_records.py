"""The records that the parts of an .xlsb workbook are made of ([MS-XLSB] 2.1.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn

from batchfx.errors import SourceError
from batchfx.files.xlsx_xml import refuse_size

SIZE_LIMIT = 16 * 1024**2  # bytes of one record
HEAD_SIZE = 6  # bytes of a record's type and size, at most
SIZE_BYTES = 4
MORE = 0x80  # the bit of a byte that says that another follows
COUNT = struct.Struct("<I")
NO_TEXT = 0xFFFFFFFF  # the length of a text that isn't there


class Record(NamedTuple):
    """A record: its type, by its number, and its content."""

    kind: int
    data: bytes


def part_records(chunks: Iterable[bytes], part: str) -> Iterator[Record]:
    """Yield the records of *part*.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    rest = b""
    for chunk in chunks:
        rest += chunk
        place = 0
        while len(rest) - place >= HEAD_SIZE:
            start, kind, size = _head(rest, place, part)
            if len(rest) < start + size:
                break
            place = start + size
            yield Record(kind, rest[start:place])
        rest = rest[place:]
    yield from _last_records(rest, part)


def text_at(data: bytes, place: int, part: str) -> tuple[str, int]:
    """Return the text (XLWideString) at *place* and where it ends.

    Raises:
        SourceError: ``corrupt``.

    """
    try:
        (length,) = COUNT.unpack_from(data, place)
    except struct.error:
        refuse_part(part)
    start = place + COUNT.size
    if length == NO_TEXT:
        return "", start
    end = start + 2 * length
    if end > len(data):
        refuse_part(part)
    return data[start:end].decode("utf-16-le", "replace"), end


def refuse_part(part: str) -> NoReturn:
    """Raise the error for a part that isn't made as it must be."""
    message = (
        f"Part '{part}' of the workbook is damaged or cut off. "
        "Get the file again, or open it in Excel and save it as .xlsx."
    )
    raise SourceError("corrupt", message, part=part)


def _last_records(rest: bytes, part: str) -> Iterator[Record]:
    """Yield the records at the end, whose heads may be shorter than they can be."""
    place = 0
    while place < len(rest):
        start, kind, size = _head(rest, place, part)
        place = start + size
        if place > len(rest):
            refuse_part(part)
        yield Record(kind, rest[start:place])


def _head(data: bytes, place: int, part: str) -> tuple[int, int, int]:
    """Return where a record's content starts, its type and its size."""
    try:
        kind = data[place]
        place += 1
        if kind & MORE:
            kind = (kind & ~MORE) | (data[place] & ~MORE) << 7
            place += 1
        size = 0
        for index in range(SIZE_BYTES):
            byte = data[place]
            place += 1
            size |= (byte & ~MORE) << (7 * index)
            if not byte & MORE:
                break
    except IndexError:
        refuse_part(part)
    if size > SIZE_LIMIT:
        refuse_size(part)
    return place, kind, size
