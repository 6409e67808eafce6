"""Excel 97 workbooks made record by record, without a container around them."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from batchfx.files.xls_child import inspect_inside, read_inside
from batchfx.model.blocks import load_faults

WORKBOOK, SHEET = 0x0005, 0x0010  # kinds of streams
NO_TEXT = b"\x03" + bytes(5) + b"\xff\xff"  # as the result of a formula


def record(code: int, data: bytes = b"") -> bytes:
    """Return a record."""
    return struct.pack("<HH", code, len(data)) + data


def number(row: int, column: int, value: float, style: int = 1) -> bytes:
    """Return a cell with a number."""
    return record(0x0203, struct.pack("<HHHd", row, column, style, value))


def label(row: int, column: int, value: str) -> bytes:
    """Return a cell with a text."""
    text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
    return record(0x0204, struct.pack("<HHH", row, column, 1) + text)


def boolean(row: int, column: int, *, value: bool) -> bytes:
    """Return a cell with a truth value."""
    return record(0x0205, struct.pack("<HHHBB", row, column, 1, value, 0))


def error(row: int, column: int, code: int) -> bytes:
    """Return a cell that shows an error."""
    return record(0x0205, struct.pack("<HHHBB", row, column, 1, code, 1))


def formula(row: int, column: int, result: float | bytes) -> bytes:
    """Return a cell with a formula that had that result."""
    kept = struct.pack("<d", result) if isinstance(result, float) else result
    place = struct.pack("<HHH", row, column, 1)
    return record(0x0006, place + kept + bytes(6) + struct.pack("<H", 0))


def hidden_row(row: int) -> bytes:
    """Return what says that a row is hidden."""
    return record(0x0208, struct.pack("<HHHHIHH", row, 0, 9, 255, 0, 0x120, 0x0F))


def hidden_column(column: int) -> bytes:
    """Return what says that a column is hidden."""
    return record(0x007D, struct.pack("<HHHHHH", column, column, 2560, 0, 1, 0))


def merged(first: int, last: int, left: int, right: int) -> bytes:
    """Return what says that cells are merged."""
    return record(0x00E5, struct.pack("<HHHHH", 1, first, last, left, right))


def old_workbook(
    sheets: Mapping[str, Sequence[bytes]],
    *,
    formats: Sequence[str] = (),
    hidden: Sequence[str] = (),
    date1904: bool = False,
) -> io.BytesIO:
    """Return a workbook; style 1 is General, those from 2 on have *formats*."""
    styles = [_style(0, 0xFFF4), _style(0, 1)]
    codes = []
    for index, code in enumerate(formats, 164):
        text = struct.pack("<HB", len(code), 1) + code.encode("utf-16-le")
        codes.append(record(0x041E, struct.pack("<H", index) + text))
        styles.append(_style(index, 1))
    start = _start(WORKBOOK) + record(0x0042, struct.pack("<H", 1200))
    start += record(0x0022, struct.pack("<H", date1904))
    start += b"".join(codes + styles)
    places = [0] * len(sheets)
    parts = [
        _start(SHEET) + b"".join(each) + record(0x000A) for each in sheets.values()
    ]
    for _ in range(2):
        names = zip(places, sheets, strict=True)
        head = start + b"".join(_tab(at, name, name in hidden) for at, name in names)
        head += record(0x000A)
        sizes = [len(head), *map(len, parts)]
        places = [sum(sizes[: index + 1]) for index in range(len(parts))]
    return io.BytesIO(head + b"".join(parts))


def xls_rows(file: io.BytesIO, **options: Any) -> list[tuple[Any, ...]]:
    """Return all records: their row, their cells, their kinds."""
    layout = inspect_inside(file, **options)
    frames = [b.frame.drop("faults") for b in read_inside(file, layout, 1000)]
    return [each for frame in frames for each in frame.rows()]


def xls_faults(file: io.BytesIO) -> list[tuple[int, int | None, str, str | None]]:
    """Return row, column, code and value of every fault."""
    return [
        (line["row"], fault.column, fault.code, fault.value)
        for block in read_inside(file, inspect_inside(file), 1000)
        for line in block.frame.iter_rows(named=True)
        for fault in load_faults(line["faults"] or "[]")
    ]


def _start(kind: int) -> bytes:
    return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 1997, 0, 6))


def _style(number_format: int, parent: int) -> bytes:
    return record(
        0x00E0,
        struct.pack("<HHHBBBBIiH", 0, number_format, parent, 0, 0, 0, 4, 0, 0, 0),
    )


def _tab(place: int, name: str, hidden: bool) -> bytes:  # noqa: FBT001 - a field of it
    text = struct.pack("<BB", len(name), 1) + name.encode("utf-16-le")
    return record(0x0085, struct.pack("<IBB", place, hidden, 0) + text)
