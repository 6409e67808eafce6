"""A batch as one moment shows it: where it is, how fast, and what is possible now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from batchfx.execution.follow import Cursor
from batchfx.execution.pace import EVENTS, Pace, Pacer
from batchfx.execution.reports import Report, report_of
from batchfx.model.events import Standing
from batchfx.model.states import ACTIVE, BATCH_MOVES, BatchState
from batchfx.store import batches, events
from batchfx.store.batches import Wanted
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

UNEDITABLE = frozenset({BatchState.DRAFT, BatchState.STAGING, BatchState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A batch at the moment of *cursor*: its events go on from there."""

    report: Report
    pace: Pace
    cursor: str


def snapshot(store: Store, key: BatchKey) -> Snapshot:
    """Return the batch as it is now.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    with store.read() as connection:
        return _snapshot(connection, report_of(connection, key))


def page(
    store: Store, tenant: str, wanted: Wanted, limit: int
) -> tuple[list[Snapshot], int | None]:
    """Return the tenant's latest batches that are wanted, and where to go on.

    The second part is what *before* of the next page is; None after the last batch.
    """
    with store.read() as connection:
        found = batches.listing(connection, tenant, limit + 1, wanted)
        shown = [
            _snapshot(connection, report_of(connection, each.key))
            for each in found[:limit]
        ]
    is_more = len(found) > limit
    return shown, shown[-1].report.key.number if is_more else None


def moves_of(report: Report) -> list[str]:
    """Return what a person may do to the batch as it is now, by name."""
    return list(_moves(report))


def _moves(report: Report) -> Iterator[str]:
    state, tally = report.batch.state, report.tally
    for move in ("start", "pause", "resume", "cancel"):
        if state in BATCH_MOVES[move].sources:
            yield move
    is_over = state in {BatchState.STOPPED, BatchState.FAILED, BatchState.CHECKED}
    is_left = state is BatchState.COMPLETED and not tally.all_well
    if is_over or is_left or (report.is_orphaned and not report.is_waiting):
        yield "rerun"
    if state is BatchState.CHECKED:
        yield "approve"
    if state not in UNEDITABLE and report.batch.staged and not tally.all_well:
        yield "edit"


def _snapshot(connection: Connection, report: Report) -> Snapshot:
    key, newest = report.key, report.batch.event_seq
    is_active = report.batch.state in ACTIVE
    count = EVENTS if is_active else 1
    latest = events.since(connection, key, newest - count, count)
    standing = Standing(
        report.batch.state, report.tally, batches.examined(connection, key)
    )
    is_kept = bool(latest) and latest[-1].seq == newest
    cursor = (
        Cursor.after(key, latest[-1]) if is_kept else Cursor.before_all(key, newest)
    )
    return Snapshot(report, Pacer(latest).pace(standing), str(cursor))
