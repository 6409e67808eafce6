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
from batchfx.model.verdicts import Tally
from batchfx.store import batches, chunks, outcomes, revisions
from batchfx.store.batches import Batch
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
    store: Store,
    batch: Batch,
    stored: list[tuple[int, int, int, Tally]],
    verdict: str | None,
) -> Iterator[RowView]:
    for ordinal, first, last, tally in stored:
        if verdict is None or tally.counts()[verdict]:
            with store.read() as connection:
                found = _chunk(connection, batch, ordinal, first, last, verdict)
            yield from found


def _chunk(
    connection: Connection,
    batch: Batch,
    ordinal: int,
    first: int,
    last: int,
    verdict: str | None,
) -> list[RowView]:
    decided = outcomes.of_range(connection, batch.key, first, last)
    frame = chunks.read_block(connection, batch.key, ordinal)
    frame = revisions.lay_over(
        frame, revisions.latest(connection, batch.key, first, last)
    )
    if verdict == PENDING:
        frame = frame.filter(~pl.col(ROW).is_in(list(decided)))
    elif verdict is not None:
        kept = [n for n, (_, each) in decided.items() if each.verdict == verdict]
        frame = frame.filter(pl.col(ROW).is_in(kept))
    issues = outcomes.issues_of(connection, batch.key, frame[ROW].to_list())
    hidden = _sensitive(batch)
    views: list[RowView] = []
    for cells in frame.iter_rows(named=True):
        number = cells[ROW]
        attempt, outcome = decided.get(number, (None, None))
        views.append(
            RowView(
                row=number,
                verdict=str(outcome.verdict) if outcome else PENDING,
                record_id=outcome.record_id if outcome else None,
                reason=outcome.reason if outcome else None,
                attempt=attempt,
                values=_values(batch, cells, hidden),
                issues=tuple(issues.get(number, ())),
            )
        )
    return views


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


