"""OpenDocument spreadsheets (.ods): the sheets in them, for the finding of tables.

Read as a stream by a reader of its own, like .xlsx workbooks and within the same
limits. What the file repeats is only written out where it has content: a million
repeated empty rows cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO

from batchfx.errors import SourceError
from batchfx.files.grids import Grid
from batchfx.files.ods_rows import ods_rows
from batchfx.files.ods_survey import CONTENT, Content, survey_content
from batchfx.files.sheet_options import SheetOptions
from batchfx.files.xlsx import Opened, inspect_sheets, read_sheets
from batchfx.files.xlsx_beside import Beside
from batchfx.files.xlsx_cells import TypedCells
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_rows import StoredRow
from batchfx.files.xlsx_survey import Survey
from batchfx.files.xlsx_workbook import Sheet, Workbook
from batchfx.files.xlsx_xml import tags
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

ODS = "an OpenDocument spreadsheet: an archive that says so of itself"
MIMETYPE = b"application/vnd.oasis.opendocument.spreadsheet"
MANIFEST = "META-INF/manifest.xml"
ENCRYPTED = "encrypted-package"  # OpenDocument 1.4: all of it in one part


def is_ods(source: BinaryIO) -> bool:
    """Tell whether an archive says of itself that it is a spreadsheet of this kind."""
    try:
        with Package(source) as package:
            return _mimetype(package).startswith(MIMETYPE)
    except SourceError:
        return False


def inspect_ods(source: BinaryIO, **overrides: Any) -> Layout:
    """Find the table in a spreadsheet, as `inspect_xlsx` does in a workbook.

    Args:
        source: The file, seekable; it stays open.
        overrides: What is known of the table, as `SheetOptions` has it.

    Raises:
        SourceError: ``empty_file``, ``encrypted``, ``corrupt``, ``unsafe_file``,
            ``too_many_columns``, ``no_such_sheet``, ``choose_sheet``, ``no_header`` or
            ``duplicate_header``.
        UsageError: An override is impossible.

    """
    with _opened(source) as opened:
        return inspect_sheets(opened, SheetOptions(**overrides), "ods", ODS)


def read_ods(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a spreadsheet in blocks, as `read_xlsx` does of a workbook.

    Values are those that the cells keep, not what they show, but for numbers that a
    format gives leading zeros.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_ods` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file`` or ``too_many_columns``.

    """
    settings = layout.settings
    surveyed = settings["merged"] or settings["hidden_rows"] == "skip"
    with _opened(source, int(settings["part"]) + surveyed) as opened:
        yield from read_sheets(opened, layout, rows, position)


@contextmanager
def _opened(source: BinaryIO, last: int | None = None) -> Iterator[Opened]:
    """Open a spreadsheet, of which what comes after the sheet *last* isn't needed."""
    with Package(source) as package:
        _refuse_encrypted(package)
        content = survey_content(package, last)
        workbook = Workbook(_sheets(content), date1904=False, styles=None, strings=None)
        yield Opened(_Spreadsheet(package, content), workbook, TypedCells())


def _sheets(content: Content) -> tuple[Sheet, ...]:
    """Return the sheets in the order of their tabs; a part is a position."""
    hidden = content.styles.hidden_sheets
    return tuple(
        Sheet(table.name, str(position), table.style not in hidden)
        for position, table in enumerate(content.tables)
    )


class _Spreadsheet(Grid):
    """The sheets of an open spreadsheet."""

    def __init__(self, package: Package, content: Content) -> None:
        self._package = package
        self._content = content
        self._durations = content.styles.durations()

    def rows(self, part: str) -> Iterator[StoredRow]:
        """Yield the rows of a sheet that have content, ascending."""
        table = self._content.tables[int(part)]
        chunks = chain([self._content.head], self._from(table.offset))
        return ods_rows(chunks, self._durations)

    def survey(self, part: str) -> Survey:
        """Return what lies around the rows of a sheet."""
        return self._content.tables[int(part)].survey()

    def beside(self, part: str, columns: Sequence[int], header_row: int) -> Beside:
        if self._content.tables[int(part)].used <= set(columns):
            return Beside()
        return super().beside(part, columns, header_row)

    def _from(self, offset: int) -> Iterator[bytes]:
        """Yield the content from *offset* on."""
        place = 0
        content = self._package.find(CONTENT) or CONTENT
        for chunk in self._package.chunks(content, PART_LIMIT):
            if place + len(chunk) > offset:
                yield chunk[max(offset - place, 0) :]
            place += len(chunk)


def _mimetype(package: Package) -> bytes:
    """Return what the archive is; the manifest says so where nothing else does."""
    if part := package.find("mimetype"):
        return b"".join(package.chunks(part, 1024)).strip()
    for entry in _entries(package):
        if entry.get("full-path") == "/":
            return entry.get("media-type", "").encode()
    return b""


def _entries(package: Package) -> Iterator[dict[str, str]]:
    if manifest := package.find(MANIFEST):
        names = frozenset({"file-entry"})
        for tag in tags(package.chunks(manifest), manifest, names):
            yield tag.attributes


def _refuse_encrypted(package: Package) -> None:
    manifest = package.find(MANIFEST)
    names = frozenset({"encryption-data"})
    marks = tags(package.chunks(manifest), manifest, names) if manifest else iter(())
    if package.find(ENCRYPTED) or next(marks, None):
        message = "The spreadsheet has a password. Save it without one and try again."
        raise SourceError("encrypted", message)
