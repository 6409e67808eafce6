"""Binary workbooks (.xlsb) made record by record."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from batchfx.files.xlsb import inspect_xlsb, read_xlsb
from batchfx.model.blocks import load_faults
from tests.unit.files.workbooks import PACKAGE, RELATIONS, packed


def record(kind: int, data: bytes = b"") -> bytes:
    """Return a record."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = len(data)
    while size > 127:
        head += bytes([size & 0x7F | 0x80])
        size >>= 7
    return head + bytes([size]) + data


def wide(text: str) -> bytes:
    """Return a text with its length."""
    units = text.encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def row(number: int, *cells: bytes, hidden: bool = False) -> bytes:
    """Return a row, *number* as a person sees it, and its cells."""
    flags = 0x10 if hidden else 0
    head = struct.pack("<IIHBBBI", number - 1, 0, 300, 0, flags, 0, 0)
    return record(0, head) + b"".join(cells)


def cell(kind: int, column: int, value: bytes, style: int = 0) -> bytes:
    """Return a cell of any kind."""
    return record(kind, struct.pack("<II", column, style) + value)


def text(column: int, value: str) -> bytes:
    """Return a cell with a text of its own."""
    return cell(6, column, wide(value))


def number(column: int, value: float, style: int = 0) -> bytes:
    """Return a cell with a number."""
    return cell(5, column, struct.pack("<d", value), style)


def short(kind: int, value: bytes, style: int = 0) -> bytes:
    """Return a cell in the short form, which comes after the one before it."""
    return record(kind, struct.pack("<I", style) + value)


def sheet(*rows: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return a sheet."""
    return (
        record(129)
        + before
        + record(145)
        + b"".join(rows)
        + record(146)
        + after
        + record(130)
    )


def merged(first: int, last: int, left: int, right: int) -> bytes:
    """Return what says that cells are merged; all from 0."""
    return record(176, struct.pack("<IIII", first, last, left, right))


def hidden_column(column: int) -> bytes:
    """Return what says that a column is hidden."""
    return record(60, struct.pack("<IIIIH", column, column, 2560, 0, 1))


def binary_parts(
    sheets: Mapping[str, bytes] | bytes,
    *,
    strings: Sequence[str] = (),
    formats: Sequence[str] = (),
    hidden: Sequence[str] = (),
    date1904: bool = False,
) -> dict[str, str | bytes]:
    """Return the parts of a workbook; style 0 is General, the others have *formats*."""
    named = {"Sheet1": sheets} if isinstance(sheets, bytes) else sheets
    tabs = b"".join(
        record(
            156, struct.pack("<II", name in hidden, i) + wide(f"rId{i}") + wide(name)
        )
        for i, name in enumerate(named, 1)
    )
    properties = record(153, struct.pack("<IIII", date1904, 0, 0, 0))
    links = [
        ("worksheet", f"rId{i}", f"worksheets/sheet{i}.bin")
        for i, _ in enumerate(named, 1)
    ]
    links += [("styles", "s", "styles.bin"), ("sharedStrings", "t", "strings.bin")]
    codes = b"".join(
        record(44, struct.pack("<H", i) + wide(code))
        for i, code in enumerate(formats, 164)
    )
    styles = b"".join(
        record(47, struct.pack("<HHHHHHI", 0, i, 0, 0, 0, 0, 0))
        for i in (0, *range(164, 164 + len(formats)))
    )
    items = b"".join(record(19, b"\0" + wide(each)) for each in strings)
    return {
        "_rels/.rels": _links([("officeDocument", "rId1", "xl/workbook.bin")]),
        "xl/workbook.bin": record(131) + properties + tabs + record(132),
        "xl/_rels/workbook.bin.rels": _links(links),
        "xl/styles.bin": codes
        + record(47, bytes(16))
        + record(617)
        + styles
        + record(618),
        "xl/strings.bin": record(159, bytes(8)) + items + record(160),
        **{f"xl/worksheets/sheet{i}.bin": x for i, x in enumerate(named.values(), 1)},
    }


def binary_workbook(sheets: Mapping[str, bytes] | bytes, **options: Any) -> io.BytesIO:
    """Return a workbook; the options are those of `binary_parts`."""
    return packed(binary_parts(sheets, **options))


def xlsb_rows(file: io.BytesIO, **options: Any) -> list[tuple[Any, ...]]:
    """Return all records: their row, their cells, their kinds."""
    layout = inspect_xlsb(file, **options)
    frames = [block.frame.drop("faults") for block in read_xlsb(file, layout, 1000)]
    return [each for frame in frames for each in frame.rows()]


def xlsb_faults(file: io.BytesIO) -> list[tuple[int, int | None, str, str | None]]:
    """Return row, column, code and value of every fault."""
    return [
        (line["row"], fault.column, fault.code, fault.value)
        for block in read_xlsb(file, inspect_xlsb(file), 1000)
        for line in block.frame.iter_rows(named=True)
        for fault in load_faults(line["faults"] or "[]")
    ]


def _links(links: Sequence[tuple[str, str, str]]) -> str:
    each = "".join(
        f'<Relationship Id="{name}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for kind, name, target in links
    )
    return f'<Relationships xmlns="{PACKAGE}">{each}</Relationships>'
