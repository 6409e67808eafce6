"""Web pages with a table of records, which many programs call a workbook (.xls)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError, UsageError
from batchfx.files.cell_texts import checked, clean, shown
from batchfx.files.csv_record import is_total
from batchfx.files.csv_warnings import encoding_guess
from batchfx.files.encodings_found import Encoding, find_encoding
from batchfx.files.html_layout import (
    NAMED,
    Header,
    Known,
    Seen,
    choose_table,
    find_header,
    look,
    reaches_down,
    tables_beside,
    told,
)
from batchfx.files.html_tables import ABOVE, INNER_LIMIT, LEFT, Row, TableParser, parsed
from batchfx.files.text import PIECE, read_up_to
from batchfx.files.unicode_text import Codec, detect_unicode, stated_codec
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Block,
    Fault,
    block_schema,
    column_name,
    dump_faults,
)
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

HEAD = 1 << 14
CONTEXT_ROWS = 10  # above a stated header, for names of groups of columns
BLOCK_TEXT_LIMIT = 256 << 20  # characters

DECLARED = re.compile(
    rb"<meta\b[^>]*\bcharset\s*=\s*[\"']?\s*([-\w:.]+)"
    rb"|<\?xml\b[^>]*\bencoding\s*=\s*[\"']([-\w:.]+)",
    re.IGNORECASE,
)

# What browsers take them for (Encoding Standard, section 4.2).
WEB_NAMES = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030"}


def inspect_html(
    source: BinaryIO,
    *,
    encoding: str | None = None,
    sheet: str | int | None = None,
    header_row: int | None = None,
    header_rows: int | None = None,
    skip_after_header: int | None = None,
    merged: str | None = None,
    expected_columns: Sequence[str] = (),
) -> Layout:
    """Find the table of records in a web page, and the names of its columns.

    A warning ``wrong_format`` says what the file is.

    Args:
        source: The file, seekable.
        encoding: How its characters are written, if not as it says.
        sheet: The table's number on the page, from 1, or its caption or id.
        header_row: The last row of names; rows count from the table's first.
        header_rows: How many rows of names there are.
        skip_after_header: How many rows below them are to be left out.
        merged: "top" if a cell that spans rows is in their first, and not in all.
        expected_columns: Names that tell the header from other rows.

    Raises:
        SourceError: ``wrong_format`` (no table), ``choose_sheet``, ``no_such_sheet``,
            ``no_header``, ``duplicate_header``, ``encoding``, or as `read_html` does.
        UsageError: The encoding can't be read.

    """
    found = _encoding(source, encoding)
    tables, parser = _seen(source, found, (header_row or 1) - CONTEXT_ROWS)
    seen = choose_table(tables, sheet)
    header = find_header(seen, Known(header_row, header_rows, expected_columns))
    above = header.rows[-1]
    settings = {
        "encoding": found.name,
        "mark": found.mark,
        "table": seen.table.number,
        "first": above + (skip_after_header or 0),
        "merged": merged or "fill",
        "is_whole": seen.table.is_whole or parser.ended,
    }
    oddities = _warnings(seen, header, guessed=not header_row, fill=merged != "top")
    place = f"table {seen.table.number} of {len(tables)} on the page"
    reasons = {"encoding": f"{found.name}: {found.why}", "sheet": place}
    others = tables_beside(tables, seen) if sheet is None else []
    warnings = (*encoding_guess(found), *oddities, *_others(seen, others))
    return Layout("html", header.names, above, settings, warnings, reasons)


def read_html(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
    *,
    size: int = PIECE,
) -> Iterator[Block]:
    """Yield the records of a web page's table in blocks of *rows*.

    All cells are text. One that spans rows is in each of them, one that spans columns
    in the first. Rows are numbered from the table's first. A row of totals, or of the
    names once more, is the fault ``not_a_record``. *size* is how many bytes are read
    at once; only of broken tags it may make another thing.

    Raises:
        SourceError: ``truncated``, ``corrupt``, ``unsafe_file`` or
            ``too_many_columns``, behind the records before it.

    """
    settings = layout.settings
    codec = Codec(settings["encoding"], settings["mark"])
    after = max(settings["first"], (position or {}).get("row", 0))
    found = _rows(parsed(source, codec, size), settings["table"], after)
    yield from _blocks(found, layout, rows, after)
    if not settings["is_whole"]:
        message = (
            "The web page breaks off within its table. Its rows were read as far as "
            "they are whole; get the page again."
        )
        raise SourceError("truncated", message)


def _encoding(source: BinaryIO, given: str | None) -> Encoding:
    """Return how the characters are written, and why that is believed."""
    source.seek(0)
    head = read_up_to(source, HEAD)
    if given:
        stated = stated_codec(given, head)
        return Encoding(stated.name, stated.mark, why="as was said")
    found = detect_unicode(head)
    if found.mark or found.name != "utf-8":
        return Encoding(found.name, found.mark, why="its first bytes say so")
    declared = DECLARED.search(head)
    name = (declared[1] or declared[2]).decode("ascii", "replace") if declared else ""
    with suppress(UsageError):
        own = stated_codec(name, head).name
        own = WEB_NAMES.get(own, own)
        if name and not own.startswith(("utf-16", "utf-32")):
            return Encoding(own, why=f"the page says {name}")
    return find_encoding(source)


def _seen(
    source: BinaryIO, found: Encoding, first: int
) -> tuple[list[Seen], TableParser]:
    return look(parsed(source, Codec(found.name, found.mark)), first)


def _rows(parsers: Iterator[TableParser], table: int, after: int) -> Iterator[Row]:
    for parser in parsers:
        for row in parser.rows:
            if row.table == table and row.number > after:
                yield row
        parser.rows.clear()
        if len(parser.tables) >= table and parser.tables[table - 1].is_whole:
            return


def _blocks(
    found: Iterator[Row], layout: Layout, rows: int, after: int
) -> Iterator[Block]:
    batch: list[Row] = []
    blank = size = 0
    damage = None
    while True:
        try:
            row = next(found, None)
        except SourceError as error:
            damage, row = error, None
        if row is None:
            break
        if row.own() and (len(batch) == rows or size > BLOCK_TEXT_LIMIT):
            yield _block(batch, layout, blank, after)
            batch, blank, size = [], 0, 0
        if row.own():
            batch.append(row)
            size += sum(len(cell.text) for cell in row.cells)
        else:
            blank += 1
        after = row.number
    if batch or blank:
        yield _block(batch, layout, blank, after)
    if damage:
        raise damage


def _block(batch: list[Row], layout: Layout, blank: int, after: int) -> Block:
    width = len(layout.header)
    unread = (LEFT, ABOVE) if layout.settings["merged"] == "top" else (LEFT,)
    problems = [_problem(row, layout) for row in batch]
    texts = [
        [None] * width if problem else _cells(row, width, unread)
        for row, problem in zip(batch, problems, strict=True)
    ]
    faults: list[list[Fault]] = [[each] if each else [] for each in problems]
    columns = {}
    for place in range(width):
        values, strange = checked([row[place] for row in texts])
        columns[column_name(place)] = values
        for index, fault in strange:
            faults[index].append(
                Fault(fault.code, fault.message, place, fault.value, fault.parameters)
            )
    frame = pl.DataFrame(
        {
            ROW: [row.number for row in batch],
            **columns,
            FAULTS: [dump_faults(each) if each else None for each in faults],
            KINDS: [None] * len(batch),
        },
        schema=block_schema(width),
    )
    return Block(frame, blank, {"row": after})


def _cells(row: Row, width: int, unread: tuple[str, ...]) -> list[str | None]:
    own = [None if c.copied in unread else c.text or None for c in row.cells[:width]]
    return own + [None] * (width - len(own))


def _problem(row: Row, layout: Layout) -> Fault | None:
    """Return why *row* is no record of the table, if it isn't."""
    texts = tuple(cell.text for cell in row.cells)
    width = len(layout.header)
    if any(cell.is_cut for cell in row.cells):
        message = (
            f"A cell of this row has a table in it with more than {INNER_LIMIT:,} "
            "characters. Read that table, or take it out."
        )
        return Fault("nested_table", message)
    fields = tuple(map(clean, texts))
    beyond = [c for c in row.cells[width:] if c.text and not c.copied]
    if beyond:
        message = (
            f"This row has {len(texts)} cells where the header has {width} columns."
        )
        counts = {"expected": width, "found": len(texts)}
        return Fault("field_count", message, parameters=counts, fields=fields)
    own = ["" if cell.copied else cell.text for cell in row.cells]
    if row.section == "tfoot" or is_total(own, width):
        message = "This is a line of totals or a note, not a record."
        first = next(text for text in own if text)
        cause = {"cause": "note"}
        value = shown(first)
        return Fault("not_a_record", message, None, value, cause, fields)
    if tuple(" ".join(text.split()) for text in texts[:width]) == layout.header:
        message = "This row has the names of the columns once more; it is no record."
        cause = {"cause": "header"}
        return Fault("not_a_record", message, parameters=cause, fields=fields)
    return None


def _warnings(
    seen: Seen, header: Header, *, guessed: bool, fill: bool
) -> Iterator[Issue]:
    message = (
        "The file is a web page (HTML), whatever its name says. Its table was read. "
        "Better open it in Excel and save it as an Excel workbook (.xlsx)."
    )
    yield _warning("wrong_format", message, found="HTML")
    above = [row.number for row in seen.rows if row.number < header.rows[0]]
    if above and guessed:
        message = (
            f"Row {header.rows[-1]} of the table was taken for the column names; "
            "what stands above it was left out."
        )
        yield _warning("rows_above_header", message, rows=above)
    for place in header.nameless:
        message = f"Column {place + 1} has data but no name, so it can't be imported."
        yield _warning("nameless_column", message, column=place + 1)
    names = [row for row in seen.rows if row.number <= header.rows[-1]]
    merged = seen.reaches_down - sum(map(reaches_down, names))
    if merged and fill:
        message = (
            "Cells reach over several rows. Each of these rows gets the value of the "
            "top cell."
        )
        yield _warning("merged_cells", message, count=merged)
    if not any(row.number > header.rows[-1] for row in seen.rows):
        yield _warning("no_rows", "The table has a header and no rows below it.")


def _others(seen: Seen, others: Sequence[Seen]) -> Iterator[Issue]:
    """Yield the warning that tables of several rows aren't read."""
    if others:
        names = ", ".join(map(told, others[:NAMED]))
        message = (
            f"Only table {seen.table.number} of the page is read; there is also "
            f"{names}. Say which one to read: --set sheet=NUMBER"
        )
        yield _warning(
            "other_sheets",
            message,
            sheet=seen.name,
            others=[each.name for each in others[:NAMED]],
        )


def _warning(code: str, message: str, **parameters: Any) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)
