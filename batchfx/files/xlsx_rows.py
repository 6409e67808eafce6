"""The rows of a sheet, as they are stored, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from batchfx.errors import SourceError
from batchfx.files.xlsx_cells import NO_RESULT
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_plain import Head, Pieces, read_head, unescape
from batchfx.files.xlsx_references import (
    LAST_COLUMN,
    LAST_ROW,
    cell_letters,
    column_index,
    column_letters,
)
from batchfx.files.xlsx_xml import DEPTH_LIMIT, drive, make_parser, refuse_size

CELL_LIMIT = 50_000_000  # in one sheet
TEXT_LIMIT = 4 * 1024**2  # characters of one cell; Excel stops at 32,767
TAIL_CHUNKS = 512  # after the rows, to find damage there, but not at any price
ROW_TEXT_LIMIT = 64 * 1024**2  # characters of one row

SPACE = r"[ \t\n]*+"
ATTRIBUTES = r'(?: (?!xmlns|r=)[A-Za-z0-9:]+="[^"<&]*+")*+'
REFERENCE = r'<c r="[A-Z]{1,3}[0-9]{1,7}"'
FORMULA = rf"<f{ATTRIBUTES}(?: ?/>|>[^<]*+</f>){SPACE}"
NO_VALUE = r"<v></v>|<v ?/>"
TEXT = r'<t(?: xml:space="preserve")?>[^<]*+</t>|<t ?/>'
CELL = (
    rf'{REFERENCE}(?: (?:s|t|cm|vm|ph)="[A-Za-z0-9]*+")*+(?: ?/>|>{SPACE}(?:'
    r"<v>[^<]*+</v>|<v ?/>"
    rf"|<is>{SPACE}(?:{TEXT}){SPACE}</is>"
    rf"|{FORMULA}<v>[^<]++</v>"
    rf"){SPACE}</c>|>{SPACE}</c>)"
    # The result of a formula may be no text; no number means that it is missing.
    rf'|{REFERENCE}(?: s="[0-9]*+")?+ t="str">{FORMULA}(?:{NO_VALUE})</c>'
)
ROW = re.compile(
    rf'{SPACE}<row(?: r="([0-9]{{1,7}})")?+{ATTRIBUTES}'
    rf"(?: ?/>|>{SPACE}((?:(?:{CELL}){SPACE})*+)</row>){SPACE}"
)
# The same for cells with nothing but a value, which nearly all are: in less time.
SIMPLE_PARTS = re.compile(r'<c r="([A-Z]++)[0-9]++"([^>]*+)><v>([^<]*+)')
DIGITS = "0123456789"
ROW_NAME = re.compile(r"[0-9]{1,7}")
# Only for cells that CELL matched: column, attributes, content.
PARTS = re.compile(
    r'<c r="([A-Z]+)[0-9]+"([^>/]*)'
    r"(?:/>|>\s*(?:<f[^<]*(?:</f>\s*)?)?(?:<v>|<is>\s*<t[^<>]*>)?([^<]*))"
)


class StoredRow(NamedTuple):
    """A row as it is stored; *letters* name the columns of the cells that it has.

    *attributes* and *stored* are what `CellReader` takes; "" in *stored* is a cell
    without content, which has nothing but a format.
    """

    number: int
    letters: tuple[str, ...]
    attributes: tuple[str, ...]
    stored: tuple[str, ...]


Raw = tuple[str | None, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def sheet_rows(package: Package, part: str) -> Iterator[StoredRow]:
    """Yield the rows of the sheet in *part* that are stored, empty ones among them.

    Rows and cells without a name follow the one before them.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file``, ``too_many_columns``.

    """
    previous = cells = 0
    for name, letters, attributes, stored in _raw_rows(package, part):
        number = int(name) if name else previous + 1
        if not previous < number <= LAST_ROW:
            message = (
                f"The sheet has row {number} after row {previous}. "
                "The workbook is damaged: open it in Excel and save it."
            )
            raise SourceError("corrupt", message, part=part, row=number)
        previous = number
        cells += len(letters)
        if cells > CELL_LIMIT:
            refuse_size(part)
        yield StoredRow(number, letters, attributes, stored)


def _raw_rows(package: Package, part: str) -> Iterator[Raw]:
    chunks = package.chunks(part, PART_LIMIT)
    head = read_head(chunks, part, "sheetData")
    pieces = Pieces(head.rest, chunks, b"</row>")
    if head.plain:
        yield from _plain_rows(pieces)
    yield from _parsed_rows(head, pieces, part)


def _plain_rows(pieces: Pieces) -> Iterator[Raw]:
    for piece in pieces:
        position = 0
        while position < len(piece):
            match = ROW.match(piece, position)
            if match is None:
                pieces.give_back(piece[position:])
                return
            position = match.end()
            yield _plain_row(match[1], match[2])


def _plain_row(name: str | None, cells: str | None) -> Raw:
    if not cells or "</" not in cells:  # formats and no content
        return name, (), (), ()
    letters, attributes, stored = zip(*_parts(cells), strict=True)
    if "&" in cells:
        stored = tuple(map(unescape, stored))
    return name, letters, attributes, stored


def _parts(cells: str) -> list[tuple[str, str, str]]:
    if "<is>" not in cells:
        parts = SIMPLE_PARTS.findall(cells)
        if len(parts) == cells.count("<c "):
            return parts
    return PARTS.findall(cells)


def _parsed_rows(head: Head, pieces: Pieces, part: str) -> Iterator[Raw]:
    """Read on with the XML parser, which sees the head again to know where it is."""
    rows = _RowHandler(part)
    parser = make_parser()
    parser.StartElementHandler = rows.start
    parser.EndElementHandler = rows.end
    parser.CharacterDataHandler = rows.pieces.append

    def chunks() -> Iterator[bytes]:
        yield head.prefix
        yield from pieces.remainder()

    after_rows = 0
    for _ in drive(parser, chunks(), part):
        rows.check()
        yield from rows.found
        rows.found.clear()
        after_rows += rows.finished
        if after_rows > TAIL_CHUNKS:
            break


class _RowHandler:
    """Collects rows from a parser's events; cells without content are left out."""

    def __init__(self, part: str) -> None:
        self.found: list[Raw] = []
        self.finished = False
        self.pieces: list[str] = []
        self._part = part
        self._depth = 0
        self._opening: dict[str, Callable[[dict[str, str]], None]] = {}
        self._closing: dict[str, Callable[[], None]] = {}
        self._phonetic = False
        self._columns: dict[str, int] = {}  # by their letters, as far as seen
        self._open_row({})
        self._open_cell({})

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self.pieces.clear()
        if self._depth == 1:
            self._learn_names(name.rpartition(" ")[0])
        if opening := self._opening.get(name):
            opening(attributes)

    def end(self, name: str) -> None:
        self._depth -= 1
        if closing := self._closing.get(name):
            closing()

    def check(self) -> None:
        """Refuse what grows without bound between two ends of rows."""
        text = len(self._text) + len(self._formula) + sum(map(len, self.pieces))
        row = sum(map(len, self._stored))
        many = len(self._letters) > LAST_COLUMN or self._depth > DEPTH_LIMIT
        if many or text > TEXT_LIMIT or row > ROW_TEXT_LIMIT:
            refuse_size(self._part)

    def _learn_names(self, space: str) -> None:
        """Take the names of elements to be those of the root's namespace."""
        opening = {"row": self._open_row, "c": self._open_cell, "rPh": self._open_hint}
        closing = {
            "row": self._close_row,
            "c": self._close_cell,
            "v": self._close_value,
            "t": self._close_text,
            "f": self._close_formula,
            "rPh": self._close_hint,
            "sheetData": self._close_sheet,
        }
        before = f"{space} " if space else ""
        self._opening = {before + name: action for name, action in opening.items()}
        self._closing = {before + name: action for name, action in closing.items()}

    def _open_row(self, attributes: dict[str, str]) -> None:
        self._row = self._checked_name(attributes.get("r"))
        self._column = -1
        self._letters: list[str] = []
        self._codes: list[str] = []
        self._stored: list[str] = []

    def _close_row(self) -> None:
        cells = tuple(self._letters), tuple(self._codes), tuple(self._stored)
        self.found.append((self._row, *cells))

    def _open_cell(self, attributes: dict[str, str]) -> None:
        self._attributes = attributes
        self._text = ""
        self._formula = ""

    def _close_cell(self) -> None:
        letters = self._cell_column(self._attributes.get("r"))
        kind = self._attributes.get("t", "n")
        if self._text:
            style = self._attributes.get("s", "0")
            self._add(letters, f' s="{style}" t="{kind}"', self._text)
        elif self._formula and kind != "str":
            self._add(letters, NO_RESULT, self._formula)

    def _cell_column(self, reference: str | None) -> str:
        """Return the letters of a cell's column; without a name it is the next one."""
        letters = (
            reference.rstrip(DIGITS) if reference else column_letters(self._column + 1)
        )
        if letters not in self._columns:
            letters = cell_letters(reference, self._part) if reference else letters
            self._columns[letters] = column_index(letters)
        self._column = self._columns[letters]
        return letters

    def _close_value(self) -> None:
        self._text = "".join(self.pieces)

    def _close_text(self) -> None:
        if not self._phonetic:
            self._text += "".join(self.pieces)

    def _close_formula(self) -> None:
        self._formula = f"={''.join(self.pieces)}"

    def _open_hint(self, _: dict[str, str]) -> None:
        self._phonetic = True

    def _close_hint(self) -> None:
        self._phonetic = False

    def _close_sheet(self) -> None:
        self.finished = True

    def _add(self, letters: str, code: str, stored: str) -> None:
        self._letters.append(letters)
        self._codes.append(code)
        self._stored.append(stored)

    def _checked_name(self, name: str | None) -> str | None:
        if name is None or ROW_NAME.fullmatch(name):
            return name
        message = (
            f"Part '{self._part}' of the workbook has a row called '{name[:40]}', "
            "which is no row's number. Open the file in Excel and save it."
        )
        raise SourceError("corrupt", message, part=self._part)
