"""Pages of a batch's rows, found without reading the whole batch.

A page goes on after a row's number. Which chunks may have what is looked for is told
by their tallies, and by the index of the issues; of those, blocks are read one by one,
as long as the time for a page allows: a page may have fewer rows than it may, or none,
and still say where to go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.errors import NotFoundError, UsageError
from batchfx.execution import row_cells
from batchfx.execution.views import (
    PENDING,
    RowView,
    cells_by_header,
    issue_groups,
    one_view,
    sensitive,
    title_of,
    views_of,
)
from batchfx.importer import find_importer
from batchfx.model.blocks import ROW, column_name
from batchfx.model.revisions import Action
from batchfx.model.verdicts import Verdict
from batchfx.pipeline.mapping import field_named
from batchfx.store import batches, chunks, outcomes, pages, revisions
from batchfx.store.batches import Batch
from batchfx.store.chunks import Span
from batchfx.store.engine import Store
from batchfx.store.outcomes import IssueGroup
from batchfx.store.schema import BatchKey

BUDGET = 0.015  # seconds in which further chunks are gone through
MOST_ROWS = 1_000  # of a page
CHUNKS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of the file, and the *field* that an edit names it by.

    *header* is its key in a row's values. It *is_hidden* where it is sensitive.
    """

    header: str
    field: str | None
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows, in order; *next* is where to go on, None after the last."""

    rows: tuple[RowView, ...]
    next: int | None
    columns: tuple[ColumnView, ...]


@dataclass(frozen=True, slots=True)
class Revision:
    """What was done to a row, by *who* and when: (before, after) by header.

    *who* is a person, or the name of a corrected file.
    """

    version: int
    action: Action
    who: str
    at: float
    changes: Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class RowHistory:
    """A row as it is, as it was read, and every change between, the oldest first."""

    row: RowView
    as_read: Mapping[str, str | None]
    revisions: tuple[Revision, ...]
    columns: tuple[ColumnView, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows a page is of."""

    verdict: str | None = None
    code: str | None = None
    field: str | None = None
    text: str | None = None

    @property
    def is_of_issues(self) -> bool:
        """True when only rows with some issue are looked for."""
        return self.code is not None or self.field is not None


@dataclass
class Search:
    """A page while it is filled: what was found, and up to which row was looked.

    One row more is looked for than the page takes: it tells that there is more.
    """

    batch: Batch
    wanted: Wanted
    limit: int
    looked: int
    found: list[pl.DataFrame] = field(default_factory=list)
    is_through: bool = False

    @property
    def room(self) -> int:
        """How many rows are still looked for."""
        return self.limit + 1 - sum(frame.height for frame in self.found)

    def page(self, connection: Connection) -> RowPage:
        """Return what was found as a page."""
        rows: tuple[RowView, ...] = ()
        after: int | None = None
        if self.found:
            frame = pl.concat(self.found).head(self.limit)
            rows = tuple(_views(connection, self.batch, frame))
        if not self.room:
            after = rows[-1].row
        elif not self.is_through:
            after = self.looked
        return RowPage(rows, after, columns(self.batch))


def page(
    store: Store,
    key: BatchKey,
    *,
    verdict: str | None = None,
    code: str | None = None,
    field: str | None = None,
    text: str | None = None,
    after: int | None = None,
    limit: int = 50,
) -> RowPage:
    """Return the next rows, in the order of the file, that are as it is said.

    Args:
        store: Where the batch is.
        key: The batch, in its tenant's scope.
        verdict: A verdict's name, or "pending".
        code: Of an issue that a row has.
        field: With an issue, of that *code* where one is given: its name or header.
        text: In one of the row's cells, whatever its case; sensitive cells are not
            looked at.
        after: The number of the row to go on after: the *next* of the page before.
        limit: The most rows of a page, from 1 to 1,000.

    Raises:
        NotFoundError: The tenant has no such batch, or its importer isn't known.
        UsageError: There is no such verdict, or *limit* is out of bounds.

    """
    _refuse_arguments(verdict, limit)
    deadline = time.monotonic() + BUDGET
    with store.read() as connection:
        batch = batches.read(connection, key)
        wanted = Wanted(verdict, code, _field(batch, field), text or None)
        search = Search(batch, wanted, limit, after or 0)
        _fill(connection, search, lambda: time.monotonic() > deadline)
        return search.page(connection)


def every(store: Store, key: BatchKey, **wanted: str | None) -> Iterator[RowView]:
    """Yield all rows that are as it is said, page by page; see `page`."""
    after: int | None = 0
    while after is not None:
        found = page(store, key, after=after, limit=MOST_ROWS, **wanted)
        yield from found.rows
        after = found.next


def history(store: Store, key: BatchKey, row: int) -> RowHistory:
    """Return a row with everything that was done to it.

    Raises:
        NotFoundError: The tenant has no such batch, or the batch no such row.

    """
    with store.read() as connection:
        batch = batches.read(connection, key)
        view = one_view(connection, batch, row)
        as_read = _as_read(connection, batch, row)
        revised = revisions.of_row(connection, key, row)
    hidden = sensitive(batch)
    changes: list[Revision] = []
    before: Mapping[str, Any] = as_read
    for each in revised:
        told = _changes(batch, before, each.cells, hidden)
        changes.append(
            Revision(each.version, each.action, each.origin, each.made_at, told)
        )
        before = each.cells
    return RowHistory(
        view, cells_by_header(batch, as_read, hidden), tuple(changes), columns(batch)
    )


def groups(store: Store, key: BatchKey) -> list[IssueGroup]:
    """Return the batch's issues by cause, the most frequent first.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    return issue_groups(store, key)


def columns(batch: Batch) -> tuple[ColumnView, ...]:
    """Return the columns of the batch's file, in order."""
    fields = {position: name for name, position in batch.mapping.items()}
    hidden = sensitive(batch)
    return tuple(
        ColumnView(title_of(header, at), fields.get(at), at in hidden)
        for at, header in enumerate(batch.layout.header)
    )


def _refuse_arguments(verdict: str | None, limit: int) -> None:
    known = [*map(str, Verdict), PENDING]
    if verdict is not None and verdict not in known:
        message = f"There is no verdict '{verdict}'. There are: {', '.join(known)}."
        raise UsageError(message)
    if not 1 <= limit <= MOST_ROWS:
        message = f"A page has from 1 to {MOST_ROWS:,} rows, not {limit:,}."
        raise UsageError(message)


def _field(batch: Batch, said: str | None) -> str | None:
    importer = find_importer(batch.importer)  # it says which values are never shown
    return said and (field_named(importer.columns, said) or said)


def _fill(connection: Connection, search: Search, is_late: Callable[[], bool]) -> None:
    """Go through chunks until the page is full, the batch at its end, or it is late."""
    finds = _chunks_with_issues if search.wanted.is_of_issues else _chunks
    for span, numbers in finds(connection, search):
        _take(connection, search, span, numbers)
        if not search.room or is_late():
            return
    search.is_through = True


def _chunks(
    connection: Connection, search: Search
) -> Iterator[tuple[Span, list[int] | None]]:
    """Yield chunks that may have rows of the wanted verdict."""
    key, verdict = search.batch.key, search.wanted.verdict
    at = search.looked
    while spans := pages.chunks_after(connection, key, at, verdict, CHUNKS_AT_ONCE):
        for span in spans:
            yield span, None
        at = spans[-1].last_row


def _chunks_with_issues(
    connection: Connection, search: Search
) -> Iterator[tuple[Span, list[int] | None]]:
    """Yield chunks with the rows in them that have the wanted issue, if any."""
    key, wanted = search.batch.key, search.wanted
    at: int | None = search.looked
    while at is not None:
        step = pages.rows_with_issues(
            connection, key, at, code=wanted.code, field=wanted.field
        )
        for ordinal, rows in row_cells.by_chunk(connection, key, step.rows).items():
            yield Span(ordinal, rows[0], rows[-1]), rows
        at = step.next
        if at is not None:
            yield Span(0, at, at), []


def _take(
    connection: Connection, search: Search, span: Span, numbers: list[int] | None
) -> None:
    """Take the wanted rows of a chunk, as many as are still looked for."""
    key, wanted = search.batch.key, search.wanted
    first = max(span.first_row, search.looked + 1)
    search.looked = max(search.looked, span.last_row)
    if numbers == []:
        return
    # As they were read, where that doesn't matter: what is shown is corrected later.
    read = chunks.read_block if wanted.text is None else row_cells.block
    frame = read(connection, key, span.ordinal).filter(pl.col(ROW) >= first)
    if numbers is not None:
        gone = (
            set()
            if wanted.verdict
            else revisions.settled_among(connection, key, numbers)
        )
        frame = frame.filter(pl.col(ROW).is_in(list(set(numbers) - gone)))
    if wanted.verdict is not None:
        is_dense = numbers is None and wanted.text is None
        most = search.room if is_dense else None
        frame = _of_verdict(connection, key, frame, wanted.verdict, most)
    if wanted.text is not None:
        frame = frame.filter(_has_text(search.batch, wanted.text))
    shown = frame.head(search.room)
    if shown.height:
        search.found.append(shown)


def _views(connection: Connection, batch: Batch, frame: pl.DataFrame) -> list[RowView]:
    """Return the rows of *frame*, corrections laid over."""
    key, numbers = batch.key, frame[ROW].to_list()
    decided = outcomes.of_rows(connection, key, numbers)
    newest = revisions.newest(connection, key, numbers)
    cells = {row: dict(each.cells) for row, each in newest.items()}
    versions = {row: each.version for row, each in newest.items()}
    frame = revisions.lay_over(frame, cells)
    return views_of(connection, batch, frame, decided, versions)


def _of_verdict(
    connection: Connection,
    key: BatchKey,
    frame: pl.DataFrame,
    verdict: str,
    most: int | None,
) -> pl.DataFrame:
    """Return the rows of *frame* that have the *verdict*, *most* of them if it is said.

    It may only be said where *frame* has all rows between its first and its last.
    """
    if not frame.height:
        return frame
    low, high = frame[ROW][0], frame[ROW][-1]
    if verdict == PENDING:
        decided = outcomes.decided_rows(connection, key, low, high)
        return frame.filter(~pl.col(ROW).is_in(decided))
    rows = pages.rows_of_verdict(connection, key, (low, high), verdict, most)
    return frame.filter(pl.col(ROW).is_in(rows))


def _has_text(batch: Batch, text: str) -> pl.Expr:
    hidden = sensitive(batch)
    wanted = text.lower()
    cells = [
        pl.col(column_name(at))
        .str.to_lowercase()
        .str.contains(wanted, literal=True)
        .fill_null(value=False)
        for at in range(len(batch.layout.header))
        if at not in hidden
    ]
    return pl.any_horizontal(cells) if cells else pl.lit(value=False)


def _as_read(connection: Connection, batch: Batch, row: int) -> dict[str, Any]:
    for ordinal in row_cells.by_chunk(connection, batch.key, [row]):
        frame = chunks.read_block(connection, batch.key, ordinal)
        for cells in row_cells.cells_of(frame.filter(pl.col(ROW) == row)).values():
            return cells
    message = f"Batch {batch.key.number} has no row {row}."
    raise NotFoundError(message)


def _changes(
    batch: Batch, old: Mapping[str, Any], new: Mapping[str, Any], hidden: set[int]
) -> dict[str, tuple[str | None, str | None]]:
    changed = {
        at
        for at in range(len(batch.layout.header))
        if old[column_name(at)] != new[column_name(at)]
    }
    before, after = (cells_by_header(batch, cells, hidden) for cells in (old, new))
    names = [title_of(header, at) for at, header in enumerate(batch.layout.header)]
    return {names[at]: (before[names[at]], after[names[at]]) for at in sorted(changed)}
