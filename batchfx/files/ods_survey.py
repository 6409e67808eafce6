"""The sheets of an OpenDocument spreadsheet, and what lies around their rows.

The content is one part, with all sheets one after the other. It is gone over once for
where each begins, so that its rows can be read without those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from batchfx.files.ods_names import (
    CELL,
    CELLS,
    COLUMN,
    COLUMNS_REPEATED,
    COLUMNS_SPANNED,
    CONTAINERS,
    DISPLAY,
    FORMULA,
    NUMBER,
    ROW,
    ROWS_REPEATED,
    ROWS_SPANNED,
    SHEET,
    STYLE,
    STYLE_NAME,
    TABLE,
    VALUE_TYPE,
    VISIBILITY,
    read_count,
)
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_references import LAST_COLUMN, LAST_ROW, Range
from batchfx.files.xlsx_rows import CELL_LIMIT
from batchfx.files.xlsx_survey import MERGE_LIMIT, Survey
from batchfx.files.xlsx_xml import DEPTH_LIMIT, drive, make_parser, refuse_size, tags

CONTENT = "content.xml"
STYLES = "styles.xml"
HEAD_LIMIT = 16 * 1024**2  # bytes before the first sheet
SHEET_LIMIT = 10_000
STYLE_LIMIT = 100_000
STYLE_TAGS = frozenset({"style", "time-style"})
HIDDEN_SHEET = f"{STYLE}table-properties"


@dataclass(slots=True)
class Table:
    """A sheet as it stands in the content, which it begins *offset* bytes into."""

    name: str
    style: str
    offset: int
    merges: list[Range] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)
    hidden_columns: list[int] = field(default_factory=list)
    filtered: bool = False
    used: set[int] = field(default_factory=set)  # columns with content of a known type

    def survey(self) -> Survey:
        """Return what lies around the rows."""
        return Survey(
            tuple(self.merges),
            tuple(self.hidden_rows),
            tuple(self.hidden_columns),
            self.filtered,
        )


@dataclass(slots=True)
class Styles:
    """Names of styles that change what a cell or a sheet is.

    *parents* has for a cell style those that it takes its format from: a style's name,
    or that of a format.
    """

    lasting: set[str] = field(default_factory=set)  # formats of times beyond 24 hours
    parents: dict[str, tuple[str, str]] = field(default_factory=dict)
    hidden_sheets: set[str] = field(default_factory=set)

    def add(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take note of a ``style:style`` or a ``number:time-style``."""
        style = attributes.get("name", "")
        if name == "time-style":
            if attributes.get("truncate-on-overflow") == "false":
                self.lasting.add(style)
        elif attributes.get("family") == "table-cell":
            format_name = attributes.get("data-style-name", "")
            self.parents[style] = format_name, attributes.get("parent-style-name", "")
        if len(self.lasting) + len(self.parents) > STYLE_LIMIT:
            refuse_size(CONTENT)

    def durations(self) -> frozenset[str]:
        """Return the names of the cell styles that show times beyond 24 hours."""
        return frozenset(style for style in self.parents if self._lasts(style))

    def _lasts(self, style: str) -> bool:
        for _ in range(DEPTH_LIMIT):
            format_name, parent = self.parents.get(style, ("", ""))
            if format_name or not parent:
                break
            style = parent
        return format_name in self.lasting


@dataclass(frozen=True, slots=True)
class Content:
    """All sheets, and *head*: the bytes before the first of them."""

    tables: list[Table]
    styles: Styles
    head: bytes


def survey_content(package: Package, last: int | None = None) -> Content:
    """Go over the content of a spreadsheet; no further than to the start of a sheet.

    Args:
        package: The open spreadsheet.
        last: The position of that sheet; without it, all of the content is gone over.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    handler = _SurveyHandler(_shared_styles(package))
    parser = make_parser()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    handler.place = lambda: parser.CurrentByteIndex
    head = bytearray()

    def chunks() -> Iterator[bytes]:
        for chunk in package.chunks(package.find(CONTENT) or CONTENT, PART_LIMIT):
            if not handler.tables:
                head.extend(chunk)
            if len(head) > HEAD_LIMIT:
                refuse_size(CONTENT)
            yield chunk

    for _ in drive(parser, chunks(), CONTENT):
        handler.check()
        if last is not None and len(handler.tables) > last:
            break
    first = handler.tables[0].offset if handler.tables else 0
    return Content(handler.tables, handler.styles, bytes(head[:first]))


def _shared_styles(package: Package) -> Styles:
    styles = Styles()
    if part := package.find(STYLES):
        for tag in tags(package.chunks(part), part, STYLE_TAGS):
            styles.add(tag.name, tag.attributes)
    return styles


class _SurveyHandler:
    """Follows the rows and cells of sheets; whatever is in cells is passed over."""

    def __init__(self, styles: Styles) -> None:
        self.tables: list[Table] = []
        self.styles = styles
        self.place: Callable[[], int] = int
        self._depth = 0
        self._skipped = 0  # the depth of an element that is passed over
        self._style = ""
        self._row = self._column = self._repeated = 0
        self._columns = self._cells = 0
        self._groups: list[bool] = []  # row groups around, whether they are hidden
        self._hidden = self._filled = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._skipped:
            return
        if name in CELLS:
            self._start_cell(name, attributes)
            self._skipped = self._depth
        elif name == ROW:
            self._start_row(attributes)
        elif name == COLUMN:
            self._start_column(attributes)
        elif name in CONTAINERS:
            self._groups.append(attributes.get(DISPLAY) == "false")
        else:
            self._start_other(name, attributes)

    def end(self, name: str) -> None:
        if self._skipped:
            if self._skipped == self._depth:
                self._skipped = 0
        elif name == ROW:
            self._end_row()
        elif name in CONTAINERS:
            self._groups.pop()
        self._depth -= 1

    def check(self) -> None:
        """Refuse what grows without bound."""
        merges = sum(len(table.merges) for table in self.tables[-1:])
        if (
            self._depth > DEPTH_LIMIT
            or merges > MERGE_LIMIT
            or len(self.tables) > SHEET_LIMIT
            or self._cells > CELL_LIMIT
        ):
            refuse_size(CONTENT)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        if name == SHEET:
            self.tables.append(
                Table(
                    attributes.get(f"{TABLE}name", ""),
                    attributes.get(STYLE_NAME, ""),
                    self.place(),
                )
            )
            self._row = self._columns = 0
        elif self.tables or name == f"{TABLE}tracked-changes":
            self._skipped = self._depth
        elif name in (f"{STYLE}style", f"{NUMBER}time-style"):
            local = {key.rpartition(" ")[2]: text for key, text in attributes.items()}
            self.styles.add(name.rpartition(" ")[2], local)
            self._style = local.get("name", "")
        elif name == HIDDEN_SHEET and attributes.get(DISPLAY) == "false":
            self.styles.hidden_sheets.add(self._style)

    def _start_row(self, attributes: dict[str, str]) -> None:
        visibility = attributes.get(VISIBILITY, "visible")
        self._repeated = read_count(attributes.get(ROWS_REPEATED))
        self._hidden = visibility != "visible" or any(self._groups)
        self._filled = False
        self._column = 0
        if visibility == "filter" and self.tables:
            self.tables[-1].filtered = True

    def _end_row(self) -> None:
        first = self._row + 1
        self._row += self._repeated
        if self._hidden and self._filled and self.tables:
            last = min(self._row, LAST_ROW)
            self.tables[-1].hidden_rows += range(first, last + 1)

    def _start_cell(self, name: str, attributes: dict[str, str]) -> None:
        column = self._column
        self._column += read_count(attributes.get(COLUMNS_REPEATED))
        if name == CELL and (VALUE_TYPE in attributes or FORMULA in attributes):
            self._filled = True
            if self.tables:
                last = min(self._column, LAST_COLUMN)
                self.tables[-1].used.update(range(column, last))
                self._cells += max(last - column, 0)
        if COLUMNS_SPANNED in attributes or ROWS_SPANNED in attributes:
            self._add_merge(column, attributes)

    def _add_merge(self, column: int, attributes: dict[str, str]) -> None:
        rows = read_count(attributes.get(ROWS_SPANNED))
        columns = read_count(attributes.get(COLUMNS_SPANNED))
        if rows * columns > 1 and column < LAST_COLUMN and self.tables:
            first, last = self._row + 1, self._row + rows
            right = min(column + columns, LAST_COLUMN) - 1
            self.tables[-1].merges.append(Range(first, column, last, right))

    def _start_column(self, attributes: dict[str, str]) -> None:
        first = self._columns
        self._columns += read_count(attributes.get(COLUMNS_REPEATED))
        hidden = attributes.get(VISIBILITY, "visible") != "visible"
        if self.tables and (hidden or any(self._groups)):
            last = min(self._columns, LAST_COLUMN)
            self.tables[-1].hidden_columns += range(first, last)
