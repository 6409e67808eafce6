"""OpenDocument spreadsheets made by hand, so that each may be odd in its own way."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from batchfx.files.ods import inspect_ods, read_ods
from batchfx.model.blocks import Block, load_faults
from tests.unit.files.workbooks import packed

ODF = "urn:oasis:names:tc:opendocument:xmlns:"
SPACES = "".join(
    f' xmlns:{name}="{ODF}{path}:1.0"'
    for name, path in {
        "office": "office",
        "table": "table",
        "text": "text",
        "style": "style",
        "number": "datastyle",
        "manifest": "manifest",
        "draw": "drawing",
    }.items()
)
CALC = (
    ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:'
    'xmlns:calcext:1.0"'
)
MIMETYPE = "application/vnd.oasis.opendocument.spreadsheet"


def text(value: str, more: str = "") -> str:
    """Return a cell with a text, whose paragraphs are the lines of *value*."""
    paragraphs = "".join(
        f"<text:p>{escape(each)}</text:p>" for each in value.split("\n")
    )
    return raw(paragraphs, f'office:value-type="string" {more}')


def number(value: str, shown: str | None = None, more: str = "") -> str:
    """Return a cell with a number."""
    attributes = f'office:value-type="float" office:value="{value}" {more}'
    return raw(f"<text:p>{value if shown is None else shown}</text:p>", attributes)


def raw(content: str, attributes: str = "") -> str:
    """Return a cell with that content and these attributes."""
    return f"<table:table-cell {attributes}>{content}</table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    """Return a row of *cells*; a plain word is the text of one."""
    made = "".join(each if each.startswith("<") else text(each) for each in cells)
    return f"<table:table-row {more}>{made}</table:table-row>"


def table(*content: str, name: str = "Sheet1", more: str = "") -> str:
    """Return a sheet."""
    inside = "".join(content)
    return f'<table:table table:name="{name}" {more}>{inside}</table:table>'


def document(*tables: str, styles: str = "", before: str = "") -> str:
    """Return the content part."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{before}'
        f'<office:document-content{SPACES}{CALC} office:version="1.3">'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{''.join(tables)}"
        "</office:spreadsheet></office:body></office:document-content>"
    )


def spreadsheet(*tables: str, **options: str) -> io.BytesIO:
    """Return a spreadsheet of *tables*; the options are those of `document`."""
    return archive(document(*tables, **options))


def archive(content: str | bytes, **parts: str) -> io.BytesIO:
    """Return the archive with that content part, and others by their names."""
    more: Mapping[str, str] = {"mimetype": MIMETYPE, **parts}
    return packed({**more, "content.xml": content})


def ods_blocks(file: io.BytesIO, rows: int = 1000, **options: Any) -> list[Block]:
    """Return all blocks of a spreadsheet."""
    return list(read_ods(file, inspect_ods(file, **options), rows))


def ods_rows(file: io.BytesIO, **options: Any) -> list[tuple[Any, ...]]:
    """Return all records: their row, their cells, their kinds."""
    frames = [block.frame.drop("faults") for block in ods_blocks(file, **options)]
    return [each for frame in frames for each in frame.rows()]


def ods_faults(file: io.BytesIO) -> Iterator[tuple[int, int | None, str, str | None]]:
    """Yield row, column, code and value of every fault."""
    for block in ods_blocks(file):
        for line in block.frame.iter_rows(named=True):
            for fault in load_faults(line["faults"] or "[]"):
                yield line["row"], fault.column, fault.code, fault.value
