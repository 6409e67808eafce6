"""Where a batch is and what became of its rows, read or counted anew."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import Connection

from batchfx.errors import StoreError
from batchfx.execution import corrections
from batchfx.execution.lease import living
from batchfx.execution.waiting import Wait, wait_of
from batchfx.model.blocks import ROW
from batchfx.model.issues import Issue
from batchfx.model.states import ACTIVE, BatchState
from batchfx.model.verdicts import Tally
from batchfx.pipeline.decisions import QUESTIONS
from batchfx.store import access, batches, chunks, claims, outcomes, units
from batchfx.store.batches import Batch
from batchfx.store.chunks import ChunkTally
from batchfx.store.claims import Holder
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

# What is noticed anew in every attempt that it is about.
OF_AN_ATTEMPT = frozenset({*QUESTIONS, *corrections.CODES})


@dataclass(frozen=True, slots=True)
class Report:
    """Where a batch is now, and what became of its rows.

    *at_work* are the workers that have a unit of it, *is_queued* tells whether there is
    one to take, *has_workers* whether somebody that was heard of lately may and can,
    and *wait* what it waits for while it is queued and *why*, as a sentence. It
    *is_crowded* when all who may take it have something else at work.
    """

    batch: Batch
    tally: Tally
    file_issues: tuple[Issue, ...] = ()
    at_work: tuple[Holder, ...] = ()
    is_queued: bool = False
    has_workers: bool = False
    wait: Wait = Wait.TURN
    why: str | None = None
    is_crowded: bool = False

    @property
    def key(self) -> BatchKey:
        """The batch."""
        return self.batch.key

    @property
    def is_waiting(self) -> bool:
        """True when it is left to workers, and none of them has anything of it now."""
        return self.batch.state in ACTIVE and self.is_queued and not self.at_work

    @property
    def waits_for(self) -> Wait | None:
        """What it waits for; None when it is at work, or at its end."""
        if self.is_waiting:
            return self.wait
        return Wait.RESTART if self.is_orphaned else None

    @property
    def is_orphaned(self) -> bool:
        """True when a process should be at work on it but none is, nor will be."""
        is_left = not living(self.at_work) and not self.has_workers
        return self.batch.state in ACTIVE and is_left

    @property
    def seconds(self) -> float:
        """How long the attempt took, or has taken so far; 0 when its process died."""
        batch = self.batch
        if batch.ended_at is not None:
            return max(0.0, batch.ended_at - batch.started_at)
        return 0.0 if self.is_orphaned else batch.seconds_since_start


def report(store: Store, key: BatchKey) -> Report:
    """Return where the batch is.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    with store.read() as connection:
        return report_of(connection, key)


def report_of(connection: Connection, key: BatchKey) -> Report:
    """Return where the batch is, as *connection* sees it.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    return _report(connection, batches.read(connection, key))


def listing(store: Store, tenant: str, limit: int) -> list[Report]:
    """Return where the tenant's latest batches are, newest first."""
    with store.read() as connection:
        found = batches.listing(connection, tenant, limit)
        return [_report(connection, batch) for batch in found]


def _report(connection: Connection, batch: Batch) -> Report:
    key = batch.key
    told = outcomes.file_issues(connection, key, batch.attempt, OF_AN_ATTEMPT)
    tally = batches.tally(connection, key)
    if batch.state is BatchState.PAUSED:  # what was begun is still finished
        return Report(batch, tally, tuple(told), tuple(claims.holders(connection, key)))
    if batch.state not in ACTIVE:
        return Report(batch, tally, tuple(told))
    wait, why = wait_of(connection, batch)
    return Report(
        batch,
        tally,
        tuple(told),
        tuple(claims.holders(connection, key)),
        units.is_queued(connection, key),
        access.has_workers(connection, key.tenant, batch.importer),
        wait,
        why,
        not access.has_idle_workers(connection, key.tenant, batch.importer),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A chunk whose stored tally is not what its outcomes say."""

    stored: ChunkTally
    counted: Tally


def recount(store: Store, key: BatchKey) -> tuple[Tally, list[Difference]]:
    """Count everything from the rows; return the tally and what is stored otherwise.

    Raises:
        NotFoundError: The tenant has no such batch.
        StoreError: There are outcomes of rows that the batch has not.

    """
    total, differences = Tally(), []
    with store.read() as connection:
        batches.read(connection, key)
        for stored in chunks.stored_tallies(connection, key):
            rows = chunks.read_block(connection, key, stored.ordinal, [ROW]).height
            counted = chunks.recount(
                connection, key, stored.first_row, stored.last_row, rows
            )
            total += counted
            if counted != stored.tally:
                differences.append(Difference(stored, counted))
        strays = outcomes.count(connection, key) - total.decided
    if strays:
        message = f"{strays} outcomes belong to no chunk of batch {key.number}."
        raise StoreError(message)
    return total, differences
