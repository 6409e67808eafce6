"""A new attempt at a batch: what is not finished of it is made ready again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection

from batchfx.errors import IllegalMoveError, UsageError
from batchfx.execution import corrections, doubts, mappings
from batchfx.execution.lease import living
from batchfx.execution.standing import tell
from batchfx.execution.versions import require_fit, version_of
from batchfx.files.paths import open_path
from batchfx.importer import Importer
from batchfx.model.events import EventKind
from batchfx.model.settings import Settings
from batchfx.model.states import BatchState
from batchfx.store import batches, claims, lanes, outcomes, units
from batchfx.store.batches import Batch
from batchfx.store.claims import Holder
from batchfx.store.engine import now_epoch


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a new attempt is begun with.

    Attributes:
        max_error_rate: Stop when a larger part of the rows (0 to 1) is faulty.
        corrected: A file whose values take the place of those that were read.
        said: Of the layout of the corrected file, and of how values are written.
        only_unfinished: Not if the batch has come to its end meanwhile.
        dry_run: Validate only, or import; None leaves it to `is_checked_again`.

    """

    max_error_rate: float | None = None
    corrected: Path | None = None
    said: Settings | None = None
    only_unfinished: bool = False
    dry_run: bool | None = None

    def is_checked_again(self, batch: Batch) -> bool:
        """Tell whether rows of *batch* are validated only.

        A check that came to no end goes on as a check. One that did is done again when
        something is said now that it has not seen: nobody has agreed to what that
        would import. Without that, a rerun is the agreement.
        """
        if self.dry_run is not None:
            return self.dry_run
        is_news = self.corrected is not None or self.said not in (None, Settings())
        return batch.dry_run and (batch.state is not BatchState.CHECKED or is_news)


def reopen(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    renewal: Renewal,
) -> bool:
    """Begin a new attempt: its preparation waits now, and its chunks for that.

    Returns False when nothing is left to be done.

    Raises:
        IllegalMoveError: Another process is at work on the batch, or it is paused or
            was cancelled.
        MisfitError: The importer can't take the columns that were mapped.
        SourceError: The corrected file can't be read or matched to the batch's rows.
        UsageError: A setting can't be, or has nothing to be about.

    """
    units.lock_units(connection, batch.key)
    dead = {each.worker for each in require_free(connection, batch)}
    units.release_all(connection, batch.key, dead)
    require_fit(batch, importer, is_anew=True)
    if renewal.said is not None:
        given = mappings.given_of(
            importer, renewal.said, batch.layout.header, batch.mapping, batch.given
        )
        if given != batch.given:
            batches.note(connection, batch.key, given=given)
    if not batch.staged:
        _stage_on(connection, batch, importer, renewal)
    elif not _run_on(connection, batch, importer, renewal):
        return False
    require_free(connection, batch)  # a worker may have taken a unit meanwhile
    lanes.wake(connection, batch.key.tenant)
    tell(connection, batch.key, EventKind.STARTED, attempt=batch.attempt + 1)
    return True


def held(batch: Batch, holders: list[Holder]) -> IllegalMoveError:
    """Return the error for a batch that living workers are at."""
    number = batch.key.number
    return IllegalMoveError(
        f"Batch {number} is being worked on by {holders[0].worker}. "
        f"'batchfx status {number}' shows how far it is."
    )


def require_free(connection: Connection, batch: Batch) -> list[Holder]:
    """Return the dead workers that still have something of the batch.

    Raises:
        IllegalMoveError: A living one has, or the batch is paused or was cancelled.

    """
    number = batch.key.number
    if batch.state is BatchState.PAUSED:
        message = f"Batch {number} is paused. 'batchfx resume {number}' lets it go on."
        raise IllegalMoveError(message)
    if batch.state is BatchState.DRAFT:
        message = f"Batch {number} is a draft: it has to be started first."
        raise IllegalMoveError(message)
    if batch.state is BatchState.CANCELLED:
        message = (
            f"Batch {number} was cancelled, for good. Import what is left of its file "
            "anew, with --again."
        )
        raise IllegalMoveError(message)
    holders = claims.holders(connection, batch.key)
    at_work = living(holders)
    if at_work:
        raise held(batch, at_work)
    return holders


def _stage_on(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    renewal: Renewal,
) -> None:
    if renewal.corrected is not None:
        message = (
            f"The source of batch {batch.key.number} was not read to its end yet. "
            f"Run 'batchfx rerun {batch.key.number}' first, without a corrected file."
        )
        raise UsageError(message)
    units.prepare_again(connection, batch.key)
    renewed = _renewed(batch, importer, renewal)
    batches.move(connection, batch.key, "restage", **renewed)


def _run_on(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    renewal: Renewal,
) -> bool:
    """Queue the rows that are not terminal; return False when there are none."""
    doubts.forget(connection, batch, importer, renewal.said)
    if renewal.corrected is not None:
        _correct(connection, batch, importer, renewal, renewal.corrected)
    if batches.tally(connection, batch.key).all_well:
        return False
    outcomes.reopen(connection, batch.key)
    units.requeue(connection, batch.key)
    renewed = _renewed(batch, importer, renewal)
    is_dry = renewal.is_checked_again(batch)
    batches.move(connection, batch.key, "rerun", dry_run=is_dry, **renewed)
    return True


def _correct(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    renewal: Renewal,
    corrected: Path,
) -> None:
    with open_path(corrected) as source:
        account = corrections.apply(
            connection, batch, importer, corrected.name, source, said=renewal.said
        )
    issues = account.issues()
    outcomes.forget_notes(connection, batch.key, corrections.CODES)
    outcomes.add_issues(connection, batch.key, batch.attempt + 1, issues)


def _renewed(
    batch: Batch, importer: type[Importer[Any]], renewal: Renewal
) -> dict[str, Any]:
    return {
        "version": version_of(importer).dump(),
        "attempt": batch.attempt + 1,
        "started_at": now_epoch(),
        "reason": None,
        "max_error_rate": renewal.max_error_rate,
    }
