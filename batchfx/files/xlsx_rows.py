"""The rows of a sheet, as they are stored, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from batchfx.errors import SourceError
from batchfx.files.subtotals import SIGN, is_subtotal
from batchfx.files.xlsx_cells import NO_RESULT
from batchfx.files.xlsx_notation import ROW, Raw, plain_row
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_plain import Pieces, read_head
from batchfx.files.xlsx_references import (
    LAST_COLUMN,
    LAST_ROW,
    cell_letters,
    column_index,
    column_letters,
)
from batchfx.files.xlsx_stretches import Stretch, Stretches
from batchfx.files.xlsx_xml import DEPTH_LIMIT, drive, make_parser, refuse_size

CELL_LIMIT = 50_000_000  # in one sheet
TEXT_LIMIT = 4 * 1024**2  # characters of one cell; Excel stops at 32,767
LEAST_REACH, MOST_REACH = 512, 128 * 1024  # characters for the parser at once
TAIL_CHUNKS = 512  # after the rows, to find damage there, but not at any price
ROW_TEXT_LIMIT = 64 * 1024**2  # characters of one row

ROW_END = "</row>"
DIGITS = "0123456789"
ROW_NAME = re.compile(r"[0-9]{1,7}")


class StoredRow(NamedTuple):
    """A row as it is stored; *letters* name the columns of the cells that it has.

    *attributes* and *stored* are what `CellReader` takes; "" in *stored* is a cell
    without content, which has nothing but a format.
    """

    number: int
    letters: tuple[str, ...]
    attributes: tuple[str, ...]
    stored: tuple[str, ...]


def sheet_rows(package: Package, part: str) -> Iterator[StoredRow]:
    """Yield the rows of the sheet in *part* that are stored, empty ones among them.

    Rows and cells without a name follow the one before them.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file``, ``too_many_columns``.

    """
    rows = _numbered(_raw_rows(package, part, None), part)
    return (row for row in rows if isinstance(row, StoredRow))


def table_rows(
    package: Package, part: str, stretches: Stretches
) -> Iterator[StoredRow | Stretch]:
    """Yield the rows of a sheet as `sheet_rows` does, and those it can as *stretches*.

    Raises:
        SourceError: As `sheet_rows`.

    """
    return _numbered(_raw_rows(package, part, stretches), part)


def _numbered(
    rows: Iterable[Raw | Stretch], part: str
) -> Iterator[StoredRow | Stretch]:
    previous = cells = 0
    for raw in rows:
        if isinstance(raw, Stretch):
            found: StoredRow | Stretch = raw
            number, last = raw.first, raw.last
            cells += raw.filled
        else:
            name, letters, attributes, stored = raw
            number = last = int(name) if name else previous + 1
            found = StoredRow(number, letters, attributes, stored)
            cells += len(letters)
        if not previous < number <= LAST_ROW:
            message = (
                f"The sheet has row {number} after row {previous}. "
                "The workbook is damaged: open it in Excel and save it."
            )
            raise SourceError("corrupt", message, part=part, row=number)
        if cells > CELL_LIMIT:
            refuse_size(part)
        previous = last
        yield found


def _raw_rows(
    package: Package, part: str, stretches: Stretches | None
) -> Iterator[Raw | Stretch]:
    chunks = package.chunks(part, PART_LIMIT)
    head = read_head(chunks, part, "sheetData")
    pieces = Pieces(head.rest, chunks, ROW_END.encode())
    parsed = _ParsedRows(head.prefix, part)
    if head.plain:
        for piece in pieces:
            yield from _piece_rows(piece, stretches, parsed)
    yield from parsed.rest(pieces.remainder())


def _piece_rows(
    piece: str, stretches: Stretches | None, parsed: _ParsedRows
) -> Iterator[Raw | Stretch]:
    position = 0
    while position < len(piece):
        if stretches and parsed.between_rows:
            found, position = stretches.take(piece, position)
            yield from found
            if found:
                parsed.reach = 0
                continue
        match = ROW.match(piece, position) if parsed.between_rows else None
        if match:
            parsed.reach = 0
            position = match.end()
            yield plain_row(match[1], match[2])
        else:
            end = piece.find(ROW_END, position + parsed.reach)
            end = len(piece) if end < 0 else end + len(ROW_END)
            yield from parsed.feed(piece[position:end])
            position = end


class _ParsedRows:
    """Reads the rows that are not plain with an XML parser.

    It begins with the *prefix* of the part, to know where it is. Plain rows that it
    isn't given change nothing for it, as long as it stands `between_rows`. The text to
    give it at once has *reach* characters, and grows with every time.
    """

    def __init__(self, prefix: bytes, part: str) -> None:
        self.between_rows = True
        self.reach = 0
        self._rows = _RowHandler(part)
        self._parser = make_parser()
        self._parser.StartElementHandler = self._rows.start
        self._parser.EndElementHandler = self._rows.end
        self._parser.CharacterDataHandler = self._rows.pieces.append
        self._fed = 0
        self._next: Iterator[bytes] = iter((prefix,))
        self._steps = drive(self._parser, self._chunks(), part)
        self._depth = 0

    def feed(self, text: str) -> Iterator[Raw]:
        """Yield the rows that end in *text*, which ends with the end tag of one."""
        if not self._fed:
            next(self._steps)
            self._depth = self._rows.depth
        self._next = iter((text.encode(),))
        next(self._steps)
        self.reach = min(2 * self.reach + LEAST_REACH, MOST_REACH)
        rows = self._rows
        all_read = self._parser.CurrentByteIndex == self._fed and not rows.pieces
        self.between_rows = all_read and rows.depth == self._depth
        yield from self._found()

    def rest(self, chunks: Iterable[bytes]) -> Iterator[Raw]:
        """Yield the rows in *chunks*, the rest of the part."""
        self._next = chain(self._next, chunks)
        after_rows = 0
        for _ in self._steps:
            yield from self._found()
            after_rows += self._rows.finished
            if after_rows > TAIL_CHUNKS:
                break

    def _chunks(self) -> Iterator[bytes]:
        while (chunk := next(self._next, None)) is not None:
            self._fed += len(chunk)
            yield chunk

    def _found(self) -> Iterator[Raw]:
        self._rows.check()
        yield from self._rows.found
        self._rows.found.clear()


class _RowHandler:
    """Collects rows from a parser's events; cells without content are left out."""

    def __init__(self, part: str) -> None:
        self.found: list[Raw] = []
        self.finished = False
        self.pieces: list[str] = []
        self.depth = 0
        self._part = part
        self._opening: dict[str, Callable[[dict[str, str]], None]] = {}
        self._closing: dict[str, Callable[[], None]] = {}
        self._phonetic = False
        self._columns: dict[str, int] = {}  # by their letters, as far as seen
        self._open_row({})
        self._open_cell({})

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.pieces.clear()
        if self.depth == 1:
            self._learn_names(name.rpartition(" ")[0])
        if opening := self._opening.get(name):
            opening(attributes)

    def end(self, name: str) -> None:
        self.depth -= 1
        if closing := self._closing.get(name):
            closing()

    def check(self) -> None:
        """Refuse what grows without bound between two ends of rows."""
        text = len(self._text) + len(self._formula) + sum(map(len, self.pieces))
        row = sum(map(len, self._stored))
        many = len(self._letters) > LAST_COLUMN or self.depth > DEPTH_LIMIT
        if many or text > TEXT_LIMIT or row > ROW_TEXT_LIMIT:
            refuse_size(self._part)

    def _learn_names(self, space: str) -> None:
        """Take the names of elements to be those of the root's namespace."""
        opening = {
            "row": self._open_row,
            "c": self._open_cell,
            "is": self._open_inline,
            "rPh": self._open_hint,
        }
        closing = {
            "row": self._close_row,
            "c": self._close_cell,
            "is": self._close_inline,
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
        self.pieces.clear()  # so that what comes behind the row is seen

    def _open_cell(self, attributes: dict[str, str]) -> None:
        self._attributes = attributes
        self._text = ""
        self._formula = ""
        self._values = 0
        self._cell_depth = self.depth
        self._inline = False

    def _close_cell(self) -> None:
        letters = self._cell_column(self._attributes.get("r"))
        kind = self._attributes.get("t", "n")
        if self._text:
            style = self._attributes.get("s", "0")
            is_sum = self._formula and is_subtotal(self._formula, int(self._row or 0))
            sign = SIGN if is_sum else ""
            self._add(letters, f' s="{style}" t="{kind}"{sign}', self._text)
        elif self._formula and kind != "str":
            self._add(letters, NO_RESULT, self._formula)
        if self._values > 1:
            name = f"{letters}{self._row or ''}"
            message = (
                f"Cell {name} of the sheet has two values. "
                "The workbook is damaged: open it in Excel and save it."
            )
            raise SourceError("corrupt", message, part=self._part, cell=name)

    def _cell_column(self, reference: str | None) -> str:
        """Return the letters of a cell's column; without a name it is the next one."""
        letters = (
            reference.rstrip(DIGITS) if reference else column_letters(self._column + 1)
        )
        if letters not in self._columns or letters == reference:
            letters = cell_letters(reference, self._part) if reference else letters
            self._columns[letters] = column_index(letters)
        self._column = self._columns[letters]
        return letters

    def _is_of_cell(self) -> bool:
        """Tell whether the element that ends is the cell's own, not an extension's."""
        return self.depth == self._cell_depth

    def _close_value(self) -> None:
        if self._is_of_cell():
            self._text = "".join(self.pieces)
            self._values += 1

    def _open_inline(self, _: dict[str, str]) -> None:
        self._inline = self.depth == self._cell_depth + 1
        self._values += self._inline

    def _close_inline(self) -> None:
        if self._is_of_cell():
            self._inline = False

    def _close_text(self) -> None:
        if self._inline and not self._phonetic:
            self._text += "".join(self.pieces)

    def _close_formula(self) -> None:
        if self._is_of_cell():
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
