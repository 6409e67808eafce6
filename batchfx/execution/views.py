"""What can be read of a batch: its rows with their values, verdicts and issues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.importer import Importer, registered
from batchfx.model.blocks import ROW, column_name
from batchfx.model.issues import Issue
from batchfx.model.verdicts import Outcome, Tally
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
    """One row: its cells by header, as read or as corrected, and what became of it."""

    row: int
    verdict: str  # a Verdict's name, or "pending"
    record_id: str | None
    reason: str | None
    attempt: int | None
    values: Mapping[str, str | None]
    issues: tuple[Issue, ...]


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
    issues = outcomes.issues_of(connection, key, frame[ROW].to_list())
    hidden = _sensitive(batch)
    return [
        _view(batch, cells, decided.get(cells[ROW]), issues.get(cells[ROW], []), hidden)
        for cells in frame.iter_rows(named=True)
    ]


def _view(
    batch: Batch,
    cells: Mapping[str, Any],
    decided: tuple[int, Outcome] | None,
    issues: list[Issue],
    hidden: set[int],
) -> RowView:
    attempt, outcome = decided or (None, None)
    return RowView(
        row=cells[ROW],
        verdict=str(outcome.verdict) if outcome else PENDING,
        record_id=outcome.record_id if outcome else None,
        reason=outcome.reason if outcome else None,
        attempt=attempt,
        values=_values(batch, cells, hidden),
        issues=tuple(issues),
    )


def _values(
    batch: Batch, cells: Mapping[str, Any], hidden: set[int]
) -> dict[str, str | None]:
    named: dict[str, str | None] = {}
    for position, header in enumerate(batch.layout.header):
        value = cells[column_name(position)]
        name = header or f"column {position + 1}"
        named[name] = HIDDEN if position in hidden and value is not None else value
    return named


def _sensitive(batch: Batch) -> set[int]:
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


def listing(store: Store, tenant: str, limit: int) -> list[tuple[Batch, Tally]]:
    """Return the tenant's latest batches with their tallies, newest first."""
    with store.read() as connection:
        found = batches.listing(connection, tenant, limit)
        return [(batch, batches.tally(connection, batch.key)) for batch in found]
