"""What can be read of a batch: its rows with their values, verdicts and issues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.errors import NotFoundError
from batchfx.execution import row_cells
from batchfx.importer import Importer, registered
from batchfx.model.blocks import ROW, column_name
from batchfx.model.issues import Issue
from batchfx.model.verdicts import Outcome
from batchfx.store import batches, chunks, outcomes, revisions
from batchfx.store.batches import Batch
from batchfx.store.chunks import ChunkTally
from batchfx.store.engine import Store
from batchfx.store.outcomes import IssueGroup
from batchfx.store.schema import BatchKey

PENDING = "pending"
HIDDEN = "•••"


@dataclass(frozen=True, slots=True)
class RowView:
    """One row: its cells by header, as read or as corrected, and what became of it.

    *version* is how often it was changed since it was read.
    """

    row: int
    verdict: str  # a Verdict's name, or "pending"
    record_id: str | None
    reason: str | None
    attempt: int | None
    values: Mapping[str, str | None]
    issues: tuple[Issue, ...]
    version: int = 0


def rows(store: Store, key: BatchKey, verdict: str | None = None) -> Iterator[RowView]:
    """Yield the batch's rows in the order of the file, all or those of one verdict.

    Raises:
        NotFoundError: The tenant has no such batch; raised before the first row.

    """
    with store.read() as connection:
        batch = batches.read(connection, key)
        stored = chunks.stored_tallies(connection, key)
    return _rows(store, batch, stored, verdict)


def _rows(
    store: Store, batch: Batch, stored: list[ChunkTally], verdict: str | None
) -> Iterator[RowView]:
    for chunk in stored:
        if verdict is None or chunk.tally.counts()[verdict]:
            with store.read() as connection:
                found = _chunk(connection, batch, chunk, verdict)
            yield from found


def _chunk(
    connection: Connection, batch: Batch, chunk: ChunkTally, verdict: str | None
) -> list[RowView]:
    key, first, last = batch.key, chunk.first_row, chunk.last_row
    decided = outcomes.of_range(connection, key, first, last)
    frame = revisions.lay_over(
        chunks.read_block(connection, key, chunk.ordinal),
        revisions.latest(connection, key, first, last),
    )
    if verdict == PENDING:
        frame = frame.filter(~pl.col(ROW).is_in(list(decided)))
    elif verdict is not None:
        kept = [n for n, (_, each) in decided.items() if each.verdict == verdict]
        frame = frame.filter(pl.col(ROW).is_in(kept))
    return views_of(connection, batch, frame, decided)


def row_view(store: Store, key: BatchKey, row: int) -> RowView:
    """Return one row.

    Raises:
        NotFoundError: The tenant has no such batch, or the batch no such row.

    """
    with store.read() as connection:
        return one_view(connection, batches.read(connection, key), row)


def one_view(connection: Connection, batch: Batch, row: int) -> RowView:
    """Return one row of *batch*.

    Raises:
        NotFoundError: It has no such row.

    """
    key = batch.key
    for ordinal in row_cells.by_chunk(connection, key, [row]):
        frame = row_cells.block(connection, key, ordinal).filter(pl.col(ROW) == row)
        decided = outcomes.of_range(connection, key, row, row)
        for view in views_of(connection, batch, frame, decided):
            return view
    message = f"Batch {key.number} has no row {row}."
    raise NotFoundError(message)


def views_of(
    connection: Connection,
    batch: Batch,
    frame: pl.DataFrame,
    decided: Mapping[int, tuple[int, Outcome]],
    versions: Mapping[int, int] | None = None,
) -> list[RowView]:
    """Return the rows of a block's *frame*, of which *decided* says the outcomes.

    How often each was changed is looked up where *versions* doesn't say it.
    """
    numbers = frame[ROW].to_list()
    issues = outcomes.issues_of(connection, batch.key, numbers)
    if versions is None:
        versions = revisions.versions(connection, batch.key, numbers)
    hidden = sensitive(batch)
    return [
        _view(
            batch,
            cells,
            decided.get(cells[ROW]),
            issues.get(cells[ROW], []),
            hidden,
            versions.get(cells[ROW], 0),
        )
        for cells in frame.iter_rows(named=True)
    ]


def _view(  # noqa: PLR0917 - what is known of a row, each from its own table
    batch: Batch,
    cells: Mapping[str, Any],
    decided: tuple[int, Outcome] | None,
    issues: list[Issue],
    hidden: set[int],
    version: int,
) -> RowView:
    attempt, outcome = decided or (None, None)
    return RowView(
        row=cells[ROW],
        verdict=str(outcome.verdict) if outcome else PENDING,
        record_id=outcome.record_id if outcome else None,
        reason=outcome.reason if outcome else None,
        attempt=attempt,
        values=cells_by_header(batch, cells, hidden),
        issues=tuple(issues),
        version=version,
    )


def cells_by_header(
    batch: Batch, cells: Mapping[str, Any], hidden: set[int]
) -> dict[str, str | None]:
    """Return a row's cells by header; the *hidden* ones, by position, aren't shown."""
    named: dict[str, str | None] = {}
    for position, header in enumerate(batch.layout.header):
        value = cells[column_name(position)]
        name = title_of(header, position)
        named[name] = HIDDEN if position in hidden and value is not None else value
    return named


def title_of(header: str, position: int) -> str:
    """Return what a column is called, also one without a name."""
    return header or f"column {position + 1}"


def sensitive(batch: Batch) -> set[int]:
    """Return the positions of the columns whose values are never shown."""
    importer: type[Importer[Any]] | None = registered().get(batch.importer)
    if importer is None:
        return set()
    return {
        position
        for name, position in batch.mapping.items()
        if name in importer.columns and importer.columns[name].sensitive
    }


def issue_groups(store: Store, key: BatchKey) -> list[IssueGroup]:
    """Return the batch's issues by cause, the most frequent first."""
    with store.read() as connection:
        batches.read(connection, key)
        return list(outcomes.groups(connection, key))
