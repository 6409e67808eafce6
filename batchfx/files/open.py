"""The one entrance to files: what a source is by its content, and its records.

Names and declared types of files are never asked: the same table arrives as .csv,
.xls and .txt, and as any media type.
"""

from __future__ import annotations

import inspect as introspection
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, NoReturn

from batchfx.errors import SourceError, UsageError
from batchfx.files import guards
from batchfx.files.csv import read_csv
from batchfx.files.csv_layout import Given, inspect_csv
from batchfx.files.encodings_found import SWITCH
from batchfx.files.html import inspect_html, read_html
from batchfx.files.json import inspect_json, is_sole_value, looks_like_json, read_json
from batchfx.files.ods import inspect_ods, is_ods, read_ods
from batchfx.files.other_formats import text_format_of
from batchfx.files.packed import KINDS, find_packing, unpacked
from batchfx.files.parquet import inspect_parquet, read_parquet
from batchfx.files.sheet_options import SheetOptions
from batchfx.files.strays import TEXTS, without_strays
from batchfx.files.text import MARKS, find_utf16, read_up_to
from batchfx.files.xls import inspect_xls, is_xls, read_xls
from batchfx.files.xlsb import inspect_xlsb, is_xlsb, read_xlsb
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

HEAD = 1 << 12
TAR_MAGIC, TAR_OFFSET = b"ustar", 257  # POSIX pax, "ustar Interchange Format"

# ZIP archives, and OLE containers, in which encrypted workbooks lie too.
ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06")
CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PARQUET = (b"PAR1", b"PARE")  # plain, or with an encrypted footer


class Format(NamedTuple):
    """A reader: what it reads, what can be said to it beforehand, how it is called."""

    title: str
    options: Callable[..., object]
    inspect: Callable[..., Layout]
    read: Callable[..., Iterator[Block]]


def _inspect_text(source: BinaryIO, **overrides: Any) -> Layout:
    return inspect_csv(source, Given(**overrides))


READERS = {
    "csv": Format("a text file", Given, _inspect_text, read_csv),
    "html": Format("a web page", inspect_html, inspect_html, read_html),
    "json": Format("a JSON file", inspect_json, inspect_json, read_json),
    "ndjson": Format("a JSON file", inspect_json, inspect_json, read_json),
    "ods": Format("a spreadsheet", SheetOptions, inspect_ods, read_ods),
    "parquet": Format("a Parquet file", inspect_parquet, inspect_parquet, read_parquet),
    "xls": Format("a workbook", SheetOptions, inspect_xls, read_xls),
    "xlsb": Format("a workbook", SheetOptions, inspect_xlsb, read_xlsb),
    "xlsx": Format("a workbook", SheetOptions, inspect_xlsx, read_xlsx),
}

# What helps where something has to be found, and does no harm elsewhere.
HINTS = frozenset({"expected_columns"})

# What says nothing of the format.
SAID_OF_ANY = HINTS | {"encoding", "records"}

# What only delimited text has: who says it means to have that read.
DELIMITED = frozenset({"delimiter", "escape", "quote", "skip_initial_space"})

FORMATS = (
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"\x1f\x8b", "a compressed file (gzip)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"Rar!\x1a\x07", "an archive (RAR)"),
)

WEB_PAGE = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|meta|table|style|script|div)\b",
    re.DOTALL | re.IGNORECASE,
)
# The start of a part of a page, if there is a table in it.
PART_OF_PAGE = re.compile(
    rb"\s*<(?:center|font|p|h[1-6]|span|form|b|br|hr|title|link)\b[^>]*>", re.IGNORECASE
)
# JSONP: JSON in the call of a function.
SCRIPT = re.compile(
    rb"(?:\s|/\*.*?\*/)*+([A-Za-z_$][\w$.]{0,80})\s*\(\s*(?:\[\s*[\[{]|\{\s*\")",
    re.DOTALL,
)
XML = re.compile(rb"\s*<\?xml\b")

# Control characters that no text has: a quarter of a few bytes, less of many.
FEW_STRANGE, MANY_STRANGE = 4, 20
SEVERAL = 8

# Tabs, line and page ends, and what delimits cells in exports of databases.
TEXT_CONTROLS = b"\t\n\r\f\x1a\x01\x1f"
CONTROLS = bytes(code for code in range(32) if code not in TEXT_CONTROLS)


def inspect(
    source: BinaryIO,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    **overrides: Any,
) -> Layout:
    """Find out what *source* is and how its records are laid out.

    The source is a seekable binary stream, and is read from its beginning. A layout is
    plain data: what it was found to be once, `read` keeps to. A compressed file is
    what it has in it.

    Args:
        source: The file.
        defaults: Overrides that count where the format has a use for them, and nothing
            else was said.
        overrides: What is known, and not to be found out, as the format's reader has
            it; for an archive of several files the ``member`` to read; and ``guards``:
            "remove" or "keep" apostrophes before formulas. None is the same as nothing.

    Raises:
        SourceError: The source holds no table that can be read; the code says why:
            ``empty_file``, ``wrong_format``, ``unsupported_format``, ``encrypted``,
            ``no_header``, ``duplicate_header`` … Nothing was imported.
        UsageError: An override is unknown or impossible.

    """
    known = {name: value for name, value in overrides.items() if value is not None}
    said = known.pop("guards", None) or defaults.get("guards")
    return guards.noted(_inspect(source, known, defaults), said)


def _inspect(
    source: BinaryIO, known: dict[str, Any], defaults: Mapping[str, Any]
) -> Layout:
    packing = find_packing(source)
    if packing is None:
        return _inspect_content(source, known, defaults)
    is_archive = packing not in KINDS
    member = known.pop("member", defaults.get("member")) if is_archive else None
    with unpacked(source, packing, member) as content:
        _refuse_nested(content.file)
        layout = _inspect_content(content.file, known, defaults)
    settings = {"packing": content.kind, "member": content.member}
    return replace(
        layout,
        settings={**layout.settings, **settings},
        warnings=(*content.warnings, *layout.warnings),
        reasons={"packing": content.reason, **layout.reasons},
    )


def with_texts(layout: Layout, places: Sequence[int]) -> Layout:
    """Return *layout* with the columns that are said to be text: they have no sums."""
    return replace(layout, settings={**layout.settings, TEXTS: sorted(places)})


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
    blocks = _read(source, layout, rows, position)
    return without_strays(
        blocks,
        layout,
        lambda: _read_anew(source, layout, rows),
        resumed=position is not None,
    )


def _read_anew(source: BinaryIO, layout: Layout, rows: int) -> Iterator[Block]:
    """Yield all blocks, and leave *source* where it stands for another reader."""
    place = source.tell()
    try:
        yield from _read(source, layout, rows)
    finally:
        source.seek(place)


def _read(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    if "packing" in layout.settings:
        blocks = _read_packed(source, layout, rows, position)
    else:
        blocks = READERS[layout.format].read(source, layout, rows, position)
    return guards.taken_away(blocks, layout)


def _read_packed(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None,
) -> Iterator[Block]:
    packing, member = layout.settings["packing"], layout.settings["member"]
    with unpacked(source, packing, member) as content:
        read_content = READERS[layout.format].read
        yield from read_content(content.file, layout, rows, position)


def _inspect_content(
    source: BinaryIO, known: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Layout:
    reader = READERS[_find_format(source, known)]
    possible = introspection.signature(reader.options).parameters.keys() - {"source"}
    _refuse_unknown(known, possible | HINTS, reader.title)
    every = {**defaults, **known}
    told = {name: value for name, value in every.items() if name in possible}
    return reader.inspect(source, **told)


def _find_format(source: BinaryIO, known: Mapping[str, Any]) -> str:
    source.seek(0)
    head = read_up_to(source, HEAD)
    if head.startswith(ARCHIVES):
        return _find_document(source)
    if is_xls(source):
        return "xls"
    if head.startswith(CONTAINER):
        return "xlsx"  # which tells what lies in it
    if head.startswith(PARQUET):
        return "parquet"
    return _find_text(head, known)


def _find_document(source: BinaryIO) -> str:
    if is_ods(source):
        return "ods"
    return "xlsb" if is_xlsb(source) else "xlsx"


def _find_text(head: bytes, known: Mapping[str, Any]) -> str:
    if _is_web_page(_without_mark(head).replace(b"\x00", b"")):
        return "html"
    if known.keys().isdisjoint(DELIMITED) and looks_like_json(head):
        return "json"
    if known.keys() <= SAID_OF_ANY and len(head) < HEAD and is_sole_value(head):
        return "json"
    _refuse_other_formats(head)
    if known.keys().isdisjoint(DELIMITED) and (
        what := text_format_of(_without_mark(head))
    ):
        _refuse(what)
    if "encoding" not in known:
        _refuse_binary(head)
    return "csv"


def _is_web_page(head: bytes) -> bool:
    if WEB_PAGE.match(head):
        return True
    return PART_OF_PAGE.match(head) is not None and b"<table" in head.lower()


def _refuse_nested(content: BinaryIO) -> None:
    packing = find_packing(content)
    if packing is not None:
        message = (
            f"The compressed file has another one in it ({packing}). "
            "Unpack it, and give the file inside."
        )
        raise SourceError("nested_archive", message, found=packing)


def _refuse_unknown(
    known: Mapping[str, Any], possible: Collection[str], what: str
) -> None:
    if unknown := known.keys() - possible:
        message = (
            f"{', '.join(sorted(unknown))} can't be set for {what}; "
            f"{', '.join(sorted(possible)) or 'nothing'} can."
        )
        raise UsageError(message)


def _refuse_other_formats(head: bytes) -> None:
    if call := SCRIPT.match(_without_mark(head)):
        name = call[1].decode("ascii")
        message = (
            f"The file is a script: JSON in a call of {name}(). Take {name}( and ) "
            "away, or export the table as JSON."
        )
        raise SourceError("wrong_format", message, found="JSONP")
    for magic, what in FORMATS:
        if head.startswith(magic):
            _refuse(what)
    if head[TAR_OFFSET:].startswith(TAR_MAGIC):
        _refuse("an archive (tar)")
    text = _without_mark(head).replace(b"\x00", b"")
    if XML.match(text):
        _refuse("an XML file")


def _refuse_binary(head: bytes) -> None:
    """Refuse what is no text; a stray control character in a cell is no reason.

    Neither are NULs at the end, which was then never written.
    """
    if any(head.startswith(mark) for mark, _ in MARKS) or find_utf16(head):
        return
    text = SWITCH.sub(b"", head.rstrip(b"\x00\r\n"))
    strange = len(text) - len(text.translate(None, CONTROLS))
    first_line = head.splitlines()[0] if head else b""
    share = MANY_STRANGE if strange > SEVERAL else FEW_STRANGE
    if b"\x00" in first_line or strange * share > len(text):
        message = (
            "The file is no text and no workbook, by its bytes. If it is text, say how "
            "it is encoded, such as --set encoding=utf-16-le; else save or export the "
            "table as .xlsx or .csv."
        )
        raise SourceError("unsupported_format", message)


def _without_mark(head: bytes) -> bytes:
    marks = [mark for mark, _ in MARKS if head.startswith(mark)]
    return head.removeprefix(marks[0]) if marks else head


def _refuse(what: str) -> NoReturn:
    message = f"The file is {what}; save or export the table as .xlsx or .csv."
    raise SourceError("unsupported_format", message)
