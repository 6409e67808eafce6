"""What the workbook part says: its sheets, its date system, where the rest is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from batchfx.errors import SourceError
from batchfx.files.xlsx_package import Package, Relationship
from batchfx.files.xlsx_xml import tags

WORKBOOK_TAGS = frozenset({"sheet", "workbookPr"})
TRUE = frozenset({"1", "true", "on"})


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet; *part* is None for one that has no cells (a chart sheet, a macro)."""

    name: str
    part: str | None
    visible: bool


@dataclass(frozen=True, slots=True)
class Workbook:
    """The sheets in the order of their tabs, and the parts that all of them share."""

    sheets: tuple[Sheet, ...]
    date1904: bool
    styles: str | None
    strings: str | None


def read_workbook(package: Package) -> Workbook:
    """Return what *package* has to read.

    Raises:
        SourceError: ``wrong_format`` (an archive without a workbook),
            ``unsupported_format`` (another kind of workbook), ``corrupt``.

    """
    part = _workbook_part(package)
    links = package.relationships(part)
    by_id = {link.id: link for link in links}
    sheets: list[Sheet] = []
    date1904 = False
    for tag in tags(package.chunks(part), part, WORKBOOK_TAGS):
        if tag.name == "workbookPr":
            date1904 = tag.attributes.get("date1904", "") in TRUE
        elif tag.parent == "sheets":
            sheets.append(_sheet(tag.attributes, by_id))
    return Workbook(
        sheets=tuple(sheets),
        date1904=date1904,
        styles=_shared_part(package, links, "styles"),
        strings=_shared_part(package, links, "sharedStrings"),
    )


def _sheet(attributes: dict[str, str], links: dict[str, Relationship]) -> Sheet:
    name = attributes.get("name", "")
    link = links.get(attributes.get("id", ""))
    if link is None:
        message = f"Sheet '{name}' has no part in the workbook. Save the file again."
        raise SourceError("corrupt", message, sheet=name)
    return Sheet(
        name=name,
        part=link.part if link.kind == "worksheet" else None,
        visible=attributes.get("state", "visible") == "visible",
    )


def _shared_part(package: Package, links: list[Relationship], kind: str) -> str | None:
    """Return the part of that kind which the workbook names, if it is there."""
    named = (link.part for link in links if link.kind == kind)
    return next((part for part in named if package.find(part)), None)


def _workbook_part(package: Package) -> str:
    links = package.relationships("")
    named = [link.part for link in links if link.kind == "officeDocument"]
    part = package.find(named[0] if named else "xl/workbook.xml")
    if part is None or "word/" in part or "ppt/" in part:
        _refuse_archive(package)
    if part.endswith(".bin"):
        message = (
            "The file is a binary workbook (.xlsb). "
            "Open it in Excel and save it as .xlsx."
        )
        raise SourceError("unsupported_format", message, found="xlsb")
    return part


def _refuse_archive(package: Package) -> NoReturn:
    mimetype = package.find("mimetype")
    kind = b"".join(package.chunks(mimetype)) if mimetype else b""
    if kind.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        message = (
            "The file is an OpenDocument spreadsheet (.ods). "
            "Open it and save it as .xlsx or .csv."
        )
        raise SourceError("unsupported_format", message, found="ods")
    message = "The file is a ZIP archive without a workbook in it."
    raise SourceError("wrong_format", message, found="zip")
