"""The one entrance to files: what a source is by its content, and its records.

Names and declared types of files are never asked: the same table arrives as .csv,
.xls and .txt, and as any media type.
"""

from __future__ import annotations

import inspect as introspection
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NoReturn

from batchfx.errors import SourceError, UsageError
from batchfx.files.csv import read_csv
from batchfx.files.csv_layout import Given, inspect_csv
from batchfx.files.text import MARKS, find_utf16, read_up_to
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

HEAD = 1 << 12

# ZIP archives and OLE containers: the reader of workbooks tells them apart.
WORKBOOKS = (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

FORMATS = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"\x1f\x8b", "a compressed file (gzip)"),
    (b"BZh", "a compressed file (bzip2)"),
    (b"\xfd7zXZ\x00", "a compressed file (xz)"),
    (b"\x28\xb5\x2f\xfd", "a compressed file (zstd)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"Rar!\x1a\x07", "an archive (RAR)"),
)

WEB_PAGE = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|meta|table|style|script|div)\b",
    re.DOTALL | re.IGNORECASE,
)
XML = re.compile(rb"\s*<\?xml\b")

# Control characters that no text has: a quarter of a few bytes, less of many.
FEW_STRANGE, MANY_STRANGE = 4, 20
SEVERAL = 8

CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1a")


def inspect(source: BinaryIO, **overrides: Any) -> Layout:
    """Find out what *source* is and how its records are laid out.

    The source is a seekable binary stream, and is read from its beginning. A layout is
    plain data: what it was found to be once, `read` keeps to.

    Args:
        source: The file.
        overrides: What is known, and not to be found out: for text ``encoding``,
            ``delimiter``, ``quote`` and ``header_row``; for a workbook ``sheet`` and
            ``header_row``. None is the same as nothing.

    Raises:
        SourceError: The source holds no table that can be read; the code says why:
            ``empty_file``, ``wrong_format``, ``unsupported_format``, ``encrypted``,
            ``no_header``, ``duplicate_header`` … Nothing was imported.
        UsageError: An override is unknown or impossible.

    """
    known = {name: value for name, value in overrides.items() if value is not None}
    source.seek(0)
    head = read_up_to(source, HEAD)
    if head.startswith(WORKBOOKS):
        _refuse_unknown(known, inspect_xlsx, "a workbook")
        return inspect_xlsx(source, **known)
    _refuse_unknown(known, Given, "a text file")
    _refuse_other_formats(head)
    if "encoding" not in known:
        _refuse_binary(head)
    return inspect_csv(source, Given(**known))


def read(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Return the records of *source* in blocks of *rows*; the last may have fewer.

    Memory is bounded by the block. Given the *position* of a block of the same source
    and layout, reading goes on behind that block, and gives what it would have given.

    Raises:
        SourceError: While the blocks are taken: the source is damaged further on.
        UsageError: *rows* is not positive.

    """
    if rows < 1:
        message = f"A block must have one row at least, not {rows}."
        raise UsageError(message)
    reader = read_xlsx if layout.format == "xlsx" else read_csv
    return reader(source, layout, rows, position)


def _refuse_unknown(known: Mapping[str, Any], takes: Any, what: str) -> None:
    possible = set(introspection.signature(takes).parameters) - {"source"}
    if unknown := known.keys() - possible:
        message = (
            f"{', '.join(sorted(unknown))} can't be set for {what}; "
            f"{', '.join(sorted(possible))} can."
        )
        raise UsageError(message)


def _refuse_other_formats(head: bytes) -> None:
    for magic, what in FORMATS:
        if head.startswith(magic):
            _refuse(what)
    text = _without_mark(head).replace(b"\x00", b"")
    if WEB_PAGE.match(text):
        message = (
            "The file is a web page (HTML), whatever its name says. Open it in Excel "
            "and save it as an Excel workbook (.xlsx)."
        )
        raise SourceError("wrong_format", message, found="HTML")
    if XML.match(text):
        _refuse("an XML file")


def _refuse_binary(head: bytes) -> None:
    """Refuse what is no text; a stray control character in a cell is no reason."""
    if any(head.startswith(mark) for mark, _ in MARKS) or find_utf16(head):
        return
    strange = len(head) - len(head.translate(None, CONTROLS))
    first_line = head.splitlines()[0] if head else b""
    share = MANY_STRANGE if strange > SEVERAL else FEW_STRANGE
    if b"\x00" in first_line or strange * share > len(head):
        _refuse("no text and no workbook")


def _without_mark(head: bytes) -> bytes:
    marks = [mark for mark, _ in MARKS if head.startswith(mark)]
    return head.removeprefix(marks[0]) if marks else head


def _refuse(what: str) -> NoReturn:
    message = f"The file is {what}; save or export the table as .xlsx or .csv."
    raise SourceError("unsupported_format", message)
