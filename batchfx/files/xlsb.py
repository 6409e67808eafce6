"""Binary Excel workbooks (.xlsb): read like .xlsx ones, by a reader of their own.

They have the same parts, of records instead of XML. Whatever isn't known for sure is
refused rather than passed over: what known libraries do with the short forms of cells,
which lose whole columns in silence, must not happen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from batchfx.errors import SourceError
from batchfx.files.grids import Grid
from batchfx.files.sheet_options import SheetOptions
from batchfx.files.xlsb_rows import xlsb_rows, xlsb_survey
from batchfx.files.xlsb_workbook import (
    read_strings,
    read_styles,
    read_workbook,
    workbook_part,
)
from batchfx.files.xlsx import Opened, inspect_sheets, read_sheets
from batchfx.files.xlsx_cells import CellReader
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_rows import StoredRow
from batchfx.files.xlsx_strings import SharedStrings
from batchfx.files.xlsx_survey import Survey
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

XLSB = "a binary Excel workbook: a ZIP archive with a binary workbook part in it"


def is_xlsb(source: BinaryIO) -> bool:
    """Tell whether *source* is such a workbook."""
    try:
        with Package(source) as package:
            return workbook_part(package) is not None
    except SourceError:
        return False


def inspect_xlsb(source: BinaryIO, **overrides: Any) -> Layout:
    """Find the table in a workbook, as `inspect_xlsx` does.

    Args:
        source: The file, seekable; it stays open.
        overrides: What is known of the table, as `SheetOptions` has it.

    Raises:
        SourceError: ``empty_file``, ``wrong_format``, ``unsupported_format``,
            ``encrypted``, ``corrupt``, ``unsafe_file``, ``too_many_columns``,
            ``no_such_sheet``, ``choose_sheet``, ``no_header`` or ``duplicate_header``.
        UsageError: An override is impossible.

    """
    with _opened(source) as opened:
        return inspect_sheets(opened, SheetOptions(**overrides), "xlsb", XLSB)


def read_xlsb(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a workbook in blocks of *rows*, as `read_xlsx` does.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_xlsb` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file``, ``unsupported_format`` or
            ``too_many_columns``.

    """
    with _opened(source) as opened:
        yield from read_sheets(opened, layout, rows, position)


class _XlsbGrid(Grid):
    """The sheets of an open workbook."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def rows(self, part: str) -> Iterator[StoredRow]:
        return xlsb_rows(self._package, part)

    def survey(self, part: str) -> Survey:
        return xlsb_survey(self._package, part)


@contextmanager
def _opened(source: BinaryIO) -> Iterator[Opened]:
    with Package(source) as package:
        part = workbook_part(package)
        if part is None:
            message = "The file is a ZIP archive without a binary workbook in it."
            raise SourceError("wrong_format", message, found="zip")
        workbook = read_workbook(package, part)
        formats = read_styles(package, workbook.styles)
        with SharedStrings(package, workbook.strings, read_strings) as strings:
            cells = CellReader(formats, strings, date1904=workbook.date1904)
            yield Opened(_XlsbGrid(package), workbook, cells)
