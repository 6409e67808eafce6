"""What the parts around the sheets of an .xlsb workbook say ([MS-XLSB] 2.1.7, 2.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from batchfx.errors import SourceError
from batchfx.files.xlsb_records import part_records, refuse_part, text_at
from batchfx.files.xlsx_formats import (
    BUILTIN,
    GENERAL,
    STYLE_LIMIT,
    NumberFormat,
    read_format,
)
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_workbook import Sheet, Workbook
from batchfx.files.xlsx_xml import refuse_size

PART = "xl/workbook.bin"
SHEET, PROPERTIES = 156, 153  # BrtBundleSh, BrtWbProp
FORMAT, STYLE, STYLES_BEGIN, STYLES_END = 44, 47, 617, 618
STRING = 19  # BrtSSTItem
DATE_1904 = 0x1
SHEET_LIMIT = 10_000
BATCH = 1000
WORD = struct.Struct("<H")
LONG = struct.Struct("<I")


def workbook_part(package: Package) -> str | None:
    """Return the part of a binary workbook; None when there is none."""
    links = package.relationships("")
    named = [link.part for link in links if link.kind == "officeDocument"]
    part = package.find(named[0] if named else PART)
    return part if part is not None and part.endswith(".bin") else None


def read_workbook(package: Package, part: str) -> Workbook:
    """Return what *package* has to read, of which *part* is the workbook.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    links = package.relationships(part)
    sheets: list[Sheet] = []
    flags = 0
    for kind, data in part_records(package.chunks(part), part):
        if kind == PROPERTIES:
            (flags,) = _unpacked(LONG, data, 0, part)
        elif kind == SHEET:
            (state,) = _unpacked(LONG, data, 0, part)
            link, end = text_at(data, 8, part)
            name, _ = text_at(data, end, part)
            places = [each for each in links if each.id == link]
            sheets.append(_sheet(name, places[0] if places else None, state))
        if len(sheets) > SHEET_LIMIT:
            refuse_size(part)
    shared = {link.kind: link.part for link in links if package.find(link.part)}
    return Workbook(
        sheets=tuple(sheets),
        date1904=bool(flags & DATE_1904),
        styles=shared.get("styles"),
        strings=shared.get("sharedStrings"),
    )


def read_styles(package: Package, part: str | None) -> tuple[NumberFormat, ...]:
    """Return the number format of every cell style, by the style's number.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    if part is None:
        return ()
    known = dict(BUILTIN)
    styles: list[int] = []
    inside = False
    for kind, data in part_records(package.chunks(part), part):
        if kind == FORMAT:
            (number,) = _unpacked(WORD, data, 0, part)
            known[number] = read_format(text_at(data, WORD.size, part)[0])
        elif kind in (STYLES_BEGIN, STYLES_END):
            inside = kind == STYLES_BEGIN
        elif kind == STYLE and inside:
            styles += _unpacked(WORD, data, WORD.size, part)
        if max(len(known), len(styles)) > STYLE_LIMIT:
            refuse_size(part)
    return tuple(known.get(number, GENERAL) for number in styles)


def read_strings(package: Package, part: str) -> Iterator[list[str]]:
    """Yield the shared strings in lists, with escapes as .xlsx workbooks have them.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    batch: list[str] = []
    for kind, data in part_records(package.chunks(part, PART_LIMIT), part):
        if kind == STRING:
            text, _ = text_at(data, 1, part)
            batch.append(text.replace("_x", "_x005F_x").replace("\0", "_x0000_"))
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


def _sheet(name: str, link: tuple[str, str, str] | None, state: int) -> Sheet:
    if link is None:
        message = f"Sheet '{name}' has no part in the workbook. Save the file again."
        raise SourceError("corrupt", message, sheet=name)
    _, kind, part = link
    return Sheet(name, part if kind == "worksheet" else None, state == 0)


def _unpacked(
    form: struct.Struct, data: bytes, place: int, part: str
) -> tuple[int, ...]:
    try:
        return form.unpack_from(data, place)
    except struct.error:
        refuse_part(part)
