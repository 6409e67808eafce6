"""The use cases: import a source, run what is unfinished again, recount.

Every face of batchfx (the command line, a web page, an application's own code) calls
these functions and nothing below them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.errors import (
    IllegalMoveError,
    StoreError,
    UsageError,
)
from batchfx.execution import mappings
from batchfx.execution.broadcast import Broadcast, Listener
from batchfx.execution.entering import (
    begin,
    enter,
    find_same,
    imported,
    said_of_options,
    saved_mapping,
)
from batchfx.execution.intake import Opened, look_into, not_followed
from batchfx.execution.lease import TTL, new_worker, renewed
from batchfx.execution.local import run_batch
from batchfx.execution.mappings import Said
from batchfx.execution.reopen import Renewal, reopen, require_free
from batchfx.execution.reports import Report, report
from batchfx.files.paths import open_path
from batchfx.importer import Importer, find_importer
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState
from batchfx.pipeline.plan import plan_of
from batchfx.store import batches, claims, lanes, sources, units
from batchfx.store.batches import Batch
from batchfx.store.claims import Claim
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Options:
    """How an import is to be run.

    Attributes:
        tenant: Whose import it is.
        dry_run: Validate every row; write no record, call no processor.
        again: Import content that was imported before.
        chunk_size: Rows to a chunk; the importer's own number when None.
        max_error_rate: Stop when a larger part of the rows (0 to 1) is faulty.
        mapping: The field, by its name or its header, of a column of the file; None
            leaves the column out. The others are found by their names.
        settings: How the file is laid out and its values are written, by the names of
            options: ``{"delimiter": ";", "date_order": "dmy"}``.
        saved_mapping: A mapping that was saved, ``crm`` or ``crm@2``; what is given
            here counts more.
        save_mapping: A name under which mapping and settings are saved.
        priority: Of the tenant's batches that wait for workers, those with the lowest
            number come first.

    """

    tenant: str = DEFAULT_TENANT
    dry_run: bool = False
    again: bool = False
    chunk_size: int | None = None
    max_error_rate: float | None = None
    mapping: Mapping[str, str | None] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    saved_mapping: str | None = None
    save_mapping: str | None = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Watch:
    """How a run is followed and interrupted by whoever started it.

    Attributes:
        listener: Told the progress, at most four times a second and at the end.
        is_interrupted: Asked between chunks; True ends the run, resumable.
        announce: Told the batch once it can be named.

    """

    listener: Listener | None = None
    is_interrupted: Callable[[], bool] = lambda: False
    announce: Callable[[Batch], None] | None = None


def import_path(
    store: Store,
    importer: type[Importer[Any]],
    path: Path,
    *,
    options: Options | None = None,
    watch: Watch | None = None,
    detached: bool = False,
) -> Report:
    """Import the file at *path*; see `import_source`.

    Raises:
        SourceError: There is no such file, or it can't be read.

    """
    with open_path(path) as source:
        return import_source(
            store,
            importer,
            source,
            name=path.name,
            options=options,
            watch=watch,
            detached=detached,
        )


def import_source(
    store: Store,
    importer: type[Importer[Any]],
    source: BinaryIO,
    *,
    name: str,
    options: Options | None = None,
    watch: Watch | None = None,
    detached: bool = False,
) -> Report:
    """Import everything in *source*, a seekable binary file called *name*.

    It is run here; *detached*, it is only entered, and workers run it.
    Content that was imported before is refused, unless *options* say again; a run of
    it that did not come to its end is gone on with instead.

    Raises:
        SourceError: It can't be read or has not the importer's columns; nothing was
            written.
        UsageError: The mapping or a setting names what there isn't, or can't be.
        AlreadyImportedError: The tenant has imported this content before.
        IllegalMoveError: Another process is at work on this import.
        StoreError: The database can't be used; what was committed is kept.

    """
    options, watch = options or Options(), watch or Watch()
    plan_of(importer.row_model)
    said = said_of_options(store, importer, options)
    opened = look_into(importer, source, name, said)
    tables.require_tables(store, importer)
    with store.write() as connection:
        same = _find_same(connection, importer, opened, options)
        if same is None:
            new = _create(connection, importer, opened, options, said)
            source.seek(0)
            sources.add(connection, new.key, source)
            claim = None if detached else take(connection, new.key)
    if same is None:
        return run_attempt(store, new, claim, importer, watch)
    ended = _again(store, same, options, watch, detached=detached)
    told = not_followed(
        same,
        opened,
        said,
        chunk_size=options.chunk_size,
        save_mapping=options.save_mapping,
    )
    return replace(ended, file_issues=(*ended.file_issues, *told))


def rerun(
    store: Store,
    key: BatchKey,
    corrected: Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    dry_run: bool | None = None,
    watch: Watch | None = None,
    detached: bool = False,
) -> Report:
    """Run every row of the batch again that is not terminal, as a new attempt.

    With a *corrected* file, the values of its rows are taken in place of those that
    were read; rows that are terminal are left alone. *settings* are options as in
    `Options`: they answer how the values of the batch are written, and stay with it;
    those of a layout are about the corrected file. *detached*, workers run it.

    A batch that was checked is imported by a rerun, unless a corrected file or an
    answer comes with it: then it is checked again, with that, and a rerun without
    them imports it. A check that ended early goes on as a check. *dry_run* says
    otherwise.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: Another process is at work on it.
        SourceError: The corrected file can't be read or matched to the batch's rows.
        UsageError: A setting can't be, or has nothing to be about.

    """
    said = mappings.settings_for_import(settings or {})
    if said.layout and corrected is None:
        message = (
            f"{', '.join(said.layout)} can't be said now: the file of batch "
            f"{key.number} was looked into already. Import it anew with --again."
        )
        raise UsageError(message)
    renewal = Renewal(corrected=corrected, said=said, dry_run=dry_run)
    return _run_again(store, key, watch or Watch(), renewal, detached=detached)


def _find_same(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
) -> Batch | None:
    """Return the earlier import of the same content, if that matters."""
    if options.again or options.dry_run:
        return None
    return find_same(connection, options.tenant, importer.name, opened.digest)


def _create(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
    said: Said,
) -> Batch:
    tenant, name = options.tenant, options.save_mapping
    saved = saved_mapping(connection, importer, opened, said, tenant=tenant, name=name)
    key = enter(connection, importer, opened, options, saved_mapping=saved)
    return begin(connection, key, opened, EventKind.CREATED)


def _again(
    store: Store, same: Batch, options: Options, watch: Watch, *, detached: bool
) -> Report:
    """Go on with an earlier import of the same content; refuse if it had its end."""
    if same.state is BatchState.COMPLETED:
        raise imported(same)
    renewal = Renewal(
        max_error_rate=options.max_error_rate, only_unfinished=True, dry_run=False
    )
    return _run_again(store, same.key, watch, renewal, detached=detached)


def _run_again(
    store: Store, key: BatchKey, watch: Watch, renewal: Renewal, *, detached: bool
) -> Report:
    """Begin a new attempt and, unless workers are to run it, run it here."""
    with store.read() as connection:
        batch = batches.read(connection, key)
        require_free(connection, batch)
    importer = find_importer(batch.importer)
    plan_of(importer.row_model)
    tables.require_tables(store, importer)
    with store.write() as connection:
        batch = batches.read(connection, key)
        if renewal.only_unfinished and batch.state is BatchState.COMPLETED:
            raise imported(batch)  # its end came while this waited
        goes_on = reopen(connection, batch, importer, renewal)
        claim = take(connection, key) if goes_on and not detached else None
    if not goes_on:
        return report(store, key)
    return run_attempt(store, batch, claim, importer, watch)


def take(connection: Connection, key: BatchKey) -> Claim:
    """Claim the batch's preparation, in the transaction that queued it.

    Raises:
        IllegalMoveError: Imports of its kind are switched off.

    """
    claim = claims.of_batch(connection, key, new_worker(), TTL, preparation=True)
    if claim is None:
        message = (
            "Imports of this kind are switched off. Nothing was begun. 'batchfx switch "
            "list' shows by whom, and why."
        )
        raise IllegalMoveError(message)
    return claim


def run_attempt(
    store: Store,
    batch: Batch,
    claim: Claim | None,
    importer: type[Importer[Any]],
    watch: Watch,
) -> Report:
    """Run the attempt that *claim* is for here; without one it waits for workers.

    Raises:
        LeaseLostError: Another process has taken a unit of it over.
        StoreError: The database gave out; what was committed is kept.

    """
    if watch.announce is not None:
        watch.announce(batch)
    if claim is not None:
        broadcast = Broadcast(store, batch.key, watch.listener)
        try:
            with renewed(store, claim.worker):
                run_batch(store, claim, importer, watch.is_interrupted, broadcast)
        except BaseException:
            _let_go(store, claim)
            raise
    return report(store, batch.key)


def _let_go(store: Store, claim: Claim) -> None:
    """Give back what this run still has, if the database can be told."""
    with suppress(StoreError), store.write() as connection:
        units.release_all(connection, claim.key, {claim.worker})
        lanes.wake(connection, claim.key.tenant)
