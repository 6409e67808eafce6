"""Excel 97-2003 workbooks (.xls): read as .xlsx ones are, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from batchfx.files.guarded import Limits, inspect_guarded, read_guarded
from batchfx.files.xlsx_package import CHUNK, ENCRYPTED_STREAM, OLE_MAGIC
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

CHILD = "batchfx.files.xls_child"
LIMITS = Limits(seconds=120, patience=300)  # a full sheet has 16 million cells

# The names of the workbook's stream as an entry of the container's directory has them,
# padded, with their length behind ([MS-CFB] 2.6.1): Excel 97, Excel 5.
STREAMS = tuple(
    name.encode("utf-16-le").ljust(64, b"\0")
    + (2 * len(name) + 2).to_bytes(2, "little")
    for name in ("Workbook", "Book", "WORKBOOK", "BOOK")
)
# A workbook without a container begins with its first record.
BARE = (b"\x09\x08\x08\x00\x00\x05", b"\x09\x08\x10\x00\x00\x06")


def is_xls(source: BinaryIO) -> bool:
    """Tell whether *source* is such a workbook.

    An .xlsx workbook with a password, which lies in the same kind of container, is
    none.
    """
    source.seek(0)
    tail = source.read(CHUNK)
    if not tail.startswith(OLE_MAGIC):
        return tail.startswith(BARE)
    found = False
    chunk = tail
    overlap = max(map(len, STREAMS))
    while chunk:
        if ENCRYPTED_STREAM in tail:
            return False
        found = found or any(stream in tail for stream in STREAMS)
        chunk = source.read(CHUNK)
        tail = tail[-overlap:] + chunk
    return found


def inspect_xls(source: BinaryIO, **overrides: Any) -> Layout:
    """Find the table in a workbook, as `inspect_xlsx` does.

    Args:
        source: The file, seekable; it stays open.
        overrides: What is known of the table, as `SheetOptions` has it.

    Raises:
        SourceError: ``empty_file``, ``encrypted``, ``corrupt``, ``unsafe_file``,
            ``no_such_sheet``, ``choose_sheet``, ``no_header`` or ``duplicate_header``.
        UsageError: An override is impossible.

    """
    return inspect_guarded(CHILD, source, limits=LIMITS, **overrides)


def read_xls(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a workbook in blocks of *rows*, as `read_xlsx` does.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_xls` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    return read_guarded(CHILD, source, layout, rows, position, limits=LIMITS)
