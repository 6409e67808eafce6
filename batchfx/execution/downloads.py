"""The faulty rows of a batch as a file that a person corrects and hands back.

It has a column that names each row by its number, the columns of the file as they are
now, and one that says what is wrong. A rerun with it takes the values in it; of those
that were left as they are, nothing changes. Sensitive columns are left out, and so keep
their values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import polars as pl

from batchfx.errors import UsageError
from batchfx.execution import row_cells
from batchfx.execution.views import sensitive
from batchfx.files import csv_writer, xlsx_writer
from batchfx.importer import find_importer
from batchfx.model.blocks import ROW, column_name
from batchfx.model.issues import Issue
from batchfx.model.names import folded
from batchfx.pipeline.headers import names_of
from batchfx.store import batches, chunks, outcomes, pages
from batchfx.store.batches import Batch
from batchfx.store.chunks import ChunkTally
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

FORMATS: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}
STRANGE = re.compile(r"[^\w.-]+")
BYTE_ORDER_MARK = "\ufeff"  # without it, a spreadsheet takes CSV for another encoding

Record = tuple[int, tuple[str | None, ...], str]  # row, its cells, what is wrong


@dataclass(frozen=True, slots=True)
class Columns:
    """What is in the file: the columns of the batch, by position, and their names."""

    places: tuple[int, ...]
    row: str
    titles: tuple[str, ...]
    errors: str

    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        return [self.row, *self.titles, self.errors]


def faulty_rows(store: Store, key: BatchKey, format: str) -> Iterator[bytes]:  # noqa: A002 - as the option is called everywhere
    """Return the pieces of the file of the faulty rows: "csv", "xlsx" or "json".

    Raises:
        NotFoundError: The tenant has no such batch, or its importer isn't known.
        UsageError: There is no such format, or it can't hold the rows. All are raised
            before the first piece.

    """
    if format not in FORMATS:
        message = f"There is no format '{format}'. There are: {', '.join(FORMATS)}."
        raise UsageError(message)
    with store.read() as connection:
        batch = batches.read(connection, key)
        stored = chunks.stored_tallies(connection, key)
    columns = _columns(batch)
    records = _records(store, batch, columns, [c for c in stored if c.tally.faulty])
    if format == "xlsx":
        return xlsx_writer.workbook(_in_cells(columns, records))
    if format == "json":
        return _as_json(columns, records)
    return _as_csv(columns, records)


def file_name(batch: Batch, format: str) -> str:  # noqa: A002 - as the option is called everywhere
    """Return what to call the file: a plain name, whatever the source was called."""
    stem = STRANGE.sub("-", PurePath(batch.source_name).stem).strip("-.")[:80]
    return f"{stem or 'batch'}-{batch.key.number}-faulty-rows.{format}"


def _columns(batch: Batch) -> Columns:
    hidden, header = sensitive(batch), batch.layout.header
    places = tuple(at for at in range(len(header)) if at not in hidden)
    importer = find_importer(batch.importer)
    names = [n for name, c in importer.columns.items() for n in names_of(name, c)]
    taken = {folded(name) for name in (*header, *names)}
    named = titles(batch, places)
    row, errors = (
        f"batchfx {name}" if name in taken else name for name in ("row", "errors")
    )
    return Columns(places, row, named, errors)


def titles(batch: Batch, places: Sequence[int]) -> tuple[str, ...]:
    """Return a name of its own for each column; a field's keeps that of the file."""
    mapped = set(batch.mapping.values())
    used = {batch.layout.header[at] for at in mapped}
    found: list[str] = []
    for at in places:
        title = name = batch.layout.header[at] or f"column {at + 1}"
        count = 1
        while at not in mapped and title in used:
            count += 1
            title = f"{name} ({count})"
        used.add(title)
        found.append(title)
    return tuple(found)


def _records(
    store: Store, batch: Batch, columns: Columns, stored: Sequence[ChunkTally]
) -> Iterator[Record]:
    key, names = batch.key, [column_name(at) for at in columns.places]
    headers = {
        field: batch.layout.header[position]
        for field, position in batch.mapping.items()
    }
    for chunk in stored:
        with store.read() as connection:
            faulty = pages.reasons_of_faulty(
                connection, key, chunk.first_row, chunk.last_row
            )
            frame = row_cells.block(connection, key, chunk.ordinal)
            issues = outcomes.issues_of(connection, key, faulty)
        frame = frame.filter(pl.col(ROW).is_in(list(faulty))).select(ROW, *names)
        for row, *cells in frame.iter_rows():
            told = _told(issues.get(row, []), headers) or faulty[row] or ""
            yield row, tuple(cells), told


def _told(issues: Sequence[Issue], headers: Mapping[str, str]) -> str:
    return "\n".join(
        (f"{headers.get(issue.field, issue.field)}: " if issue.field else "")
        + issue.message
        + (f" Did you mean '{issue.suggestion}'?" if issue.suggestion else "")
        for issue in issues
    )


def _in_cells(
    columns: Columns, records: Iterator[Record]
) -> Iterator[Sequence[xlsx_writer.Cell]]:
    yield columns.header
    for row, cells, told in records:
        yield (row, *cells, told)


def _as_csv(columns: Columns, records: Iterator[Record]) -> Iterator[bytes]:
    yield (BYTE_ORDER_MARK + csv_writer.line(columns.header)).encode()
    for row, cells, told in records:
        line = csv_writer.line((str(row), *cells, told))
        yield line.encode(errors="surrogatepass")


def _as_json(columns: Columns, records: Iterator[Record]) -> Iterator[bytes]:
    before = b"[\n"
    for row, cells, told in records:
        record: dict[str, Any] = dict(
            zip(columns.header, (row, *cells, told), strict=True)
        )
        yield before + json.dumps(record, ensure_ascii=False).encode()
        before = b",\n"
    yield b"\n]\n" if before == b",\n" else b"[]\n"
