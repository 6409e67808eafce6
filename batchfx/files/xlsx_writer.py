"""Rows of text written as a workbook of one sheet, in memory that doesn't grow.

Every cell but the row's number is text, so nothing in it is ever a formula.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from batchfx.errors import UsageError

MOST_ROWS, MOST_CHARACTERS = 1_048_576, 32_767  # of a sheet, of a cell
IN_MEMORY = 8 << 20  # bytes; a larger workbook is kept in a file
PIECE = 1 << 16

# What XML can't hold, and what would be read as such an escape.
ESCAPED = re.compile(
    "[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)"
)
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": (
        f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{TYPE}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'{XML}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}
BEFORE = (
    f'{XML}<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    "</sheetView></sheetViews><sheetData>"
)
AFTER = "</sheetData></worksheet>"

Cell = str | int | None


def workbook(records: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
    """Write *records*, the header first, and return the pieces of the workbook.

    Raises:
        UsageError: A sheet can't hold them; raised before the first piece.

    """
    file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed with its last piece
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as pack:
            for name, content in PARTS.items():
                pack.writestr(name, content)
            with pack.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
                sheet.write(BEFORE.encode())
                for number, cells in enumerate(records, 1):
                    sheet.write(_row(number, cells).encode())
                sheet.write(AFTER.encode())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return _pieces(file)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


def _row(number: int, cells: Sequence[Cell]) -> str:
    if number > MOST_ROWS:
        message = (
            f"A sheet has at most {MOST_ROWS:,} rows, and there are more: take CSV or "
            "JSON instead."
        )
        raise UsageError(message)
    texts = (
        _cell(f"{_letters(at)}{number}", cell)
        for at, cell in enumerate(cells)
        if cell is not None
    )
    return f'<row r="{number}">{"".join(texts)}</row>'


def _cell(place: str, cell: str | int) -> str:
    if isinstance(cell, int):
        return f'<c r="{place}"><v>{cell}</v></c>'
    text = ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", cell)
    if len(text) > MOST_CHARACTERS:
        message = (
            f"The cell {place} would have {len(text):,} characters, and a sheet's has "
            f"at most {MOST_CHARACTERS:,}: take CSV or JSON instead."
        )
        raise UsageError(message)
    text = text.translate(MARKUP)
    return (
        f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    )


def _letters(at: int) -> str:
    """Return the name of a sheet's column, counted from 0."""
    name = ""
    at += 1
    while at:
        at, digit = divmod(at - 1, 26)
        name = chr(ord("A") + digit) + name
    return name
