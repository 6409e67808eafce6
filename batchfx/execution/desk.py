"""The transaction in which a person is at rows of a batch, and how it ends.

Whatever was done to the rows, the chunks are counted anew, the batch comes to the state
that is true, and its followers are told. No worker is at the rows meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.errors import IllegalMoveError
from batchfx.execution import row_cells
from batchfx.execution.job import Job, job_of
from batchfx.execution.standing import end, tell
from batchfx.importer import find_importer
from batchfx.model.events import ENDINGS, EventKind
from batchfx.model.revisions import Action
from batchfx.model.states import BatchState
from batchfx.store import amendments, batches, lanes, units
from batchfx.store.batches import Batch
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

SHOWN = 5  # row numbers named in a sentence


@dataclass(frozen=True, slots=True)
class Desk:
    """A batch whose rows a person is at, in a transaction that keeps others off."""

    connection: Connection
    batch: Batch
    job: Job
    who: str
    touched: set[int] = field(default_factory=set)  # chunks

    @property
    def key(self) -> BatchKey:
        """The batch's key."""
        return self.batch.key


@contextmanager
def at_rows(store: Store, key: BatchKey, who: str) -> Iterator[Desk]:
    """Open the transaction in which *who* is at the rows of a batch, alone.

    Raises:
        NotFoundError: The tenant has no such batch, or its importer isn't known.
        IllegalMoveError: It is in no state in which its rows can be changed.

    """
    with store.read() as connection:
        importer = find_importer(batches.read(connection, key).importer)
    tables.require_tables(store, importer)
    with store.write() as connection:
        units.lock_units(connection, key)
        batch = batches.read(connection, key)
        _require_editable(connection, batch)
        yield Desk(connection, batch, job_of(store, batch, importer), who)


def _require_editable(connection: Connection, batch: Batch) -> None:
    number = batch.key.number
    if batch.state is BatchState.CANCELLED:
        message = (
            f"Batch {number} was cancelled, for good: no row of it can be changed."
        )
        raise IllegalMoveError(message)
    if batch.state is BatchState.DRAFT:
        message = (
            f"Batch {number} is a draft: its rows can be edited once it is checked."
        )
        raise IllegalMoveError(message)
    if not batch.staged or not amendments.is_prepared(connection, batch.key):
        message = (
            f"Batch {number} is being read: its rows can be edited once that is done."
        )
        raise IllegalMoveError(message)


def keep_off(desk: Desk, rows: Collection[int]) -> None:
    """Lock the chunks of *rows*, so that no worker takes one.

    Raises:
        IllegalMoveError: A worker is at one of them.

    """
    for ordinal, held in row_cells.by_chunk(desk.connection, desk.key, rows).items():
        if ordinal in desk.touched:
            continue
        if not amendments.lock_chunk(desk.connection, desk.key, ordinal):
            message = (
                f"Row {listed_rows(held)} of batch {desk.key.number} is being worked "
                "on. Nothing was changed: try again when that is done, or pause it."
            )
            raise IllegalMoveError(message)
        desk.touched.add(ordinal)


def settle(desk: Desk, action: Action, count: int) -> None:
    """Count the chunks again, bring the batch to the state that is true, and tell."""
    connection, key = desk.connection, desk.key
    batches.lock(connection, key)
    batch = batches.read(connection, key)
    move = _move_of_chunks(batch)
    for ordinal in sorted(desk.touched):
        amendments.count_again(connection, key, ordinal, move)
    tell(
        connection, key, EventKind.EDITED, action=str(action), rows=count, who=desk.who
    )
    _settle_state(connection, batch)
    if move == "edit":
        lanes.wake(connection, key.tenant)


def _move_of_chunks(batch: Batch) -> str | None:
    """Return what a chunk does that was done, and has a row now that isn't."""
    if batch.dry_run:
        return None
    moves = {BatchState.RUNNING: "edit", BatchState.PAUSED: "requeue"}
    return moves.get(batch.state)


def _settle_state(connection: Connection, batch: Batch) -> None:
    """Tell again how a batch ended: what was told before the edit is past."""
    key, state = batch.key, batch.state
    if state not in ENDINGS:
        return
    tally = batches.tally(connection, key)
    is_decided = tally.all_well or (tally.pending == 0 and not batch.dry_run)
    if state is BatchState.COMPLETED and tally.pending:
        end(connection, key, "edit", None)
    elif state is BatchState.CHECKED and is_decided:
        end(connection, key, "decide", None)
    else:
        more = {} if batch.reason is None else {"reason": batch.reason}
        tell(connection, key, ENDINGS[state], **more)


def listed_rows(rows: Sequence[int]) -> str:
    """Return the first of *rows* for a sentence."""
    shown = ", ".join(str(row) for row in rows[:SHOWN])
    return f"{shown}, …" if len(rows) > SHOWN else shown
