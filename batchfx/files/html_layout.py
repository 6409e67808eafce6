"""Which table of a web page holds the records, and what its columns are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from batchfx.errors import SourceError
from batchfx.files.cell_texts import clean, refuse_undecodable
from batchfx.files.html_tables import ABOVE, Row, Table, TableParser
from batchfx.files.names import matches, repeated

SEEN_ROWS = 100
SEEN_SIZE = 64 << 20  # characters in them, of all tables, and so many for each cell:
CELL_SIZE = 50
SEARCHED_ROWS = 30
USUAL_SHARE = 0.75  # of the widest row, that the names' row reaches
NAMED = 10


@dataclass
class Seen:
    """What was seen of one table: its first rows that aren't blank, and how many."""

    table: Table
    rows: list[Row] = field(default_factory=list)
    count: int = 0
    width: int = 0
    reaches_down: int = 0  # rows that get something from above
    has_values: bool = False  # a row that isn't one of names
    is_record: bool = False  # a row that holds a table holds something beside it too

    @property
    def name(self) -> str:
        """What a person may call it."""
        return clean(self.table.name) or str(self.table.number)

    @property
    def is_grid(self) -> bool:
        """Whether it has several rows and columns."""
        return self.has_rows and self.width > 1

    @property
    def has_rows(self) -> bool:
        """Whether there is a row of values beside one that may name the columns."""
        return self.count > 1 and self.has_values

    @property
    def is_frame(self) -> bool:
        """Whether it only gives other tables their places on the page."""
        return self.table.encloses and not self.is_record

    def take(self, row: Row, room: int) -> int:
        """Take note of *row*, unless it is blank; return what is left of *room*."""
        own = row.own()
        if not own:
            return room
        beside = row.beside_tables() if self.table.encloses else own
        self.count += 1
        self.has_values |= not _is_named(row)
        self.width = max(self.width, beside)
        self.is_record |= 0 < beside < own
        self.reaches_down += reaches_down(row)
        if len(self.rows) < SEEN_ROWS and room > 0:
            self.rows.append(row)
            room -= sum(CELL_SIZE + len(cell.text) for cell in row.cells)
        return room


@dataclass(frozen=True)
class Header:
    """The rows that name the columns, and the names by position."""

    rows: tuple[int, ...]
    names: tuple[str, ...]
    nameless: tuple[int, ...] = ()


def reaches_down(row: Row) -> bool:
    """Tell whether something reaches into *row* from above."""
    return any(cell.text and cell.copied == ABOVE for cell in row.cells)


def look(parsers: Iterable[TableParser], first: int) -> tuple[list[Seen], TableParser]:
    """Go through a page; return its tables, seen from row *first* on, and the parser.

    Raises:
        SourceError: ``corrupt``, ``unsafe_file`` or ``too_many_columns``.

    """
    found: list[Seen] = []
    room = SEEN_SIZE
    for parser in parsers:
        found += [Seen(table) for table in parser.tables[len(found) :]]
        for row in parser.rows:
            if row.number >= first:
                room = found[row.table - 1].take(row, room)
        parser.rows.clear()
    return found, parser


def choose_table(tables: Sequence[Seen], wanted: str | int | None) -> Seen:
    """Return the table that is *wanted* by number or name, or else the only likely one.

    That is one of several rows and columns that isn't there to give other tables their
    places; where none is, one of several rows, or else any with something in it.

    Raises:
        SourceError: ``wrong_format``, ``no_such_sheet`` or ``choose_sheet``.

    """
    if wanted is not None:
        return _wanted(tables, str(wanted).strip())
    likely = _likely([each for each in tables if each.count])
    if not likely:
        message = (
            "The file is a web page (HTML) without a table in it, whatever its name "
            "says. Open it in Excel and save it as an Excel workbook (.xlsx)."
        )
        raise SourceError("wrong_format", message, found="HTML")
    if len(likely) == 1:
        return likely[0]
    names = [told(each) for each in likely[:NAMED]]
    message = (
        f"The web page has several tables: {', '.join(names)}. Say which one to read: "
        "--set sheet=NUMBER"
    )
    sheets = [each.name for each in likely[:NAMED]]
    raise SourceError("choose_sheet", message, sheets=sheets)


def tables_beside(tables: Iterable[Seen], chosen: Seen) -> list[Seen]:
    """Return the tables of several rows that aren't read, nor part of what is."""
    if chosen.table.encloses:
        return []
    return [
        each
        for each in tables
        if each is not chosen and each.has_rows and not each.table.encloses
    ]


def _likely(filled: Sequence[Seen]) -> list[Seen]:
    several = [each for each in filled if each.has_rows]
    tiers = (
        [each for each in filled if each.is_grid and not each.is_frame],
        [each for each in several if each.is_grid or not each.is_frame],
        several,
        [each for each in filled if not each.table.encloses],
    )
    return next(filter(None, tiers), list(filled))


def told(seen: Seen) -> str:
    """Return what a message calls a table."""
    name = f" '{seen.name}'" if seen.table.name else ""
    return f"table {seen.table.number}{name} ({seen.count} rows)"


def _wanted(tables: Sequence[Seen], wanted: str) -> Seen:
    folded = wanted.casefold()
    by_name = [each for each in tables if each.table.name.casefold() == folded]
    by_number = [each for each in tables if str(each.table.number) == wanted]
    found = next(iter(by_name or by_number), None)
    if found:
        return found
    names = [each.name for each in tables][:NAMED]
    message = f"The web page has no table '{wanted}'; its tables: {', '.join(names)}."
    raise SourceError("no_such_sheet", message, sheets=names)


@dataclass(frozen=True)
class Known:
    """What is known of the header: its last row, how many rows it has, its names."""

    row: int | None = None
    rows: int | None = None
    names: Sequence[str] = ()


def find_header(seen: Seen, known: Known) -> Header:
    """Return the header, as it is *known* or found.

    It is the row with most of the known names, if any has one. Else it is the first
    rows of the table's own head, or all of ``<th>``, with those that name groups of
    columns; else the first row that is about as wide as the widest.

    Raises:
        SourceError: ``no_header``, ``duplicate_header`` or ``encoding``.

    """
    rows = _header_rows(seen, known)
    if not rows:
        problem = (
            f"Row {known.row} of table {seen.name} is blank"
            if known.row
            else f"No row of table {seen.name} has names of columns"
        )
        message = f"{problem}. Say in which row of the table the names are."
        raise SourceError("no_header", message)
    last = rows[-1].number
    names = _names_of(rows)
    width = len(names)
    below = [row for row in seen.rows if row.number > last]
    used = {
        place
        for row in below
        for place, cell in enumerate(row.cells[:width])
        if cell.text
    }
    nameless = tuple(sorted(place for place in used if not names[place]))
    width = max((place + 1 for place in range(width) if names[place]), default=0)
    names = names[: max(width, *(place + 1 for place in nameless), 0)]
    refuse_undecodable(names)
    _refuse_duplicates(names)
    return Header(tuple(row.number for row in rows), tuple(names), nameless)


def _header_rows(seen: Seen, known: Known) -> list[Row]:
    rows, count = seen.rows, known.rows
    named = [row for row in _leading_names(rows) if not _is_title(row, seen)]
    last = known.row or _best_match(rows[:SEARCHED_ROWS], named, known)
    if last:
        above = [row for row in rows if row.number <= last]
        return above[-(count or 1) :] if above and above[-1].number == last else []
    if named:
        return named[-count:] if count else named
    wide = seen.width * USUAL_SHARE
    found = [i for i, row in enumerate(rows[:SEARCHED_ROWS]) if row.own() >= wide]
    return rows[found[0] : found[0] + (count or 1)] if found else rows[:1]


def _best_match(rows: Sequence[Row], named: Sequence[Row], known: Known) -> int | None:
    """Return the number of the first row with most of the *known* names.

    None where no row has any, or the *named* rows, taken together, have as many.
    """
    names = known.names
    counts = {row.number: matches([c.text for c in row.cells], names) for row in rows}
    best = max(counts, key=lambda number: counts[number], default=None)
    if not best or not counts[best]:
        return None
    whole = named[-known.rows :] if known.rows else named
    return None if matches(_names_of(whole), names) >= counts[best] else best


def _leading_names(rows: Sequence[Row]) -> Iterator[Row]:
    start = next((i for i, row in enumerate(rows) if _is_named(row)), len(rows))
    if start <= SEARCHED_ROWS:
        yield from takewhile(_is_named, rows[start:])


def _is_title(row: Row, seen: Seen) -> bool:
    """Tell whether *row* is one cell above a table of several columns."""
    return seen.width > 1 and sum(not cell.copied for cell in row.cells) == 1


def _is_named(row: Row) -> bool:
    return row.section == "thead" or all(c.is_name or not c.text for c in row.cells)


def _names_of(rows: Sequence[Row]) -> list[str]:
    width = max((len(row.cells) for row in rows), default=0)
    spread = [[cell.text for cell in row.cells] for row in rows]
    return [_joined(spread, place) for place in range(width)]


def _joined(spread: Sequence[Sequence[str]], place: int) -> str:
    """Return a column's name, with those of the groups that it is in before it."""
    texts = [row[place] for row in spread if place < len(row) and row[place]]
    return " / ".join(" ".join(text.split()) for text in dict.fromkeys(texts))


def _refuse_duplicates(names: Sequence[str]) -> None:
    twice = repeated({place: name for place, name in enumerate(names, 1) if name})
    if twice:
        message = (
            f"More than one column is called {', '.join(map(repr, twice))}. "
            "Give every column a name of its own."
        )
        columns = sorted(column for found in twice.values() for column in found)
        raise SourceError(
            "duplicate_header", message, names=list(twice), columns=columns
        )
