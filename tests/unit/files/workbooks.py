"""Workbooks made part by part, so that each may be as odd as strangers' files are."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import Block

CASES = Path(__file__).parents[2] / "cases" / "files"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def cell(name: str, value: object, kind: str = "", style: int | None = None) -> str:
    """Return a cell: a number, or an inline text when *value* is one without *kind*."""
    attributes = f' s="{style}"' if style is not None else ""
    if isinstance(value, str) and not kind:
        attributes += ' t="inlineStr"'
        return f'<c r="{name}"{attributes}><is><t>{value}</t></is></c>'
    attributes += f' t="{kind}"' if kind else ""
    return f'<c r="{name}"{attributes}><v>{value}</v></c>'


def row(number: int, *values: object, first: str = "A") -> str:
    """Return a row whose cells begin in column *first*; None is no cell."""
    start = ord(first)
    cells = [
        cell(f"{chr(start + index)}{number}", value)
        for index, value in enumerate(values)
        if value is not None
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


def sheet(*rows: str, before: str = "", after: str = "") -> str:
    """Return a worksheet part."""
    return (
        f'<worksheet xmlns="{MAIN}">{before}<sheetData>{"".join(rows)}</sheetData>'
        f"{after}</worksheet>"
    )


def merged(*ranges: str) -> str:
    """Return the element that follows the rows of a sheet with merged cells."""
    cells = "".join(f'<mergeCell ref="{each}"/>' for each in ranges)
    return f'<mergeCells count="{len(ranges)}">{cells}</mergeCells>'


def strings(*items: str) -> str:
    """Return a shared strings part of *items*, each the content of an ``si``."""
    content = "".join(f"<si>{item}</si>" for item in items)
    return f'<sst xmlns="{MAIN}">{content}</sst>'


def styles(*codes: str) -> str:
    """Return a styles part whose style 0 is General and the others have *codes*."""
    formats = "".join(
        f'<numFmt numFmtId="{164 + i}" formatCode="{code}"/>'
        for i, code in enumerate(codes)
    )
    used = "".join(f'<xf numFmtId="{164 + i}"/>' for i in range(len(codes)))
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts>{formats}</numFmts>'
        f'<cellXfs><xf numFmtId="0"/>{used}</cellXfs></styleSheet>'
    )


def workbook_parts(
    sheets: Mapping[str, str | bytes] | str,
    *,
    shared: str | None = None,
    formats: Sequence[str] = (),
    hidden: Sequence[str] = (),
    date1904: bool = False,
) -> dict[str, str | bytes]:
    """Return the parts of a workbook with *sheets* by name (or one, "Sheet1")."""
    named = {"Sheet1": sheets} if isinstance(sheets, str) else sheets
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{RELATIONS}/worksheet" '
        f'Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(named) + 1)
    )
    states = ["hidden" if name in hidden else "visible" for name in named]
    tabs = "".join(
        f'<sheet name="{name}" sheetId="{i}" state="{state}" r:id="rId{i}"/>'
        for i, (name, state) in enumerate(zip(named, states, strict=True), 1)
    )
    system = '<workbookPr date1904="1"/>' if date1904 else ""
    for kind, part in (("styles", "styles.xml"), ("sharedStrings", "strings.xml")):
        links += (
            f'<Relationship Id="{kind}" Type="{RELATIONS}/{kind}" Target="{part}"/>'
        )
    parts: dict[str, str | bytes] = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{system}'
        f"<sheets>{tabs}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}'
        "</Relationships>",
        "xl/styles.xml": styles(*formats),
    }
    if shared is not None:
        parts["xl/strings.xml"] = shared
    parts |= {f"xl/worksheets/sheet{i}.xml": x for i, x in enumerate(named.values(), 1)}
    return parts


def packed(parts: Mapping[str, str | bytes]) -> io.BytesIO:
    """Return the archive of *parts*."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def workbook(sheets: Mapping[str, str | bytes] | str, **options: Any) -> io.BytesIO:
    """Return a workbook; the options are those of `workbook_parts`."""
    return packed(workbook_parts(sheets, **options))


def read_blocks(file: io.BytesIO, rows: int = 1000, **options: Any) -> list[Block]:
    """Return all blocks of a workbook; the options are those of `inspect_xlsx`."""
    return list(read_xlsx(file, inspect_xlsx(file, **options), rows))


def read_rows(file: io.BytesIO, **options: Any) -> list[tuple[Any, ...]]:
    """Return all records of a workbook as rows of the blocks' frames."""
    blocks = read_blocks(file, **options)
    return [row for block in blocks for row in block.frame.rows()]
