"""The use cases: import a source, run what is unfinished again, recount.

Every face of batchfx (the command line, a web page, an application's own code) calls
these functions and nothing below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.errors import AlreadyImportedError, StoreError, UsageError
from batchfx.execution import corrections, mappings
from batchfx.execution.attempt import Attempt, Watch, run_attempt
from batchfx.execution.intake import Opened, look_into, not_followed
from batchfx.execution.lease import TTL, is_alive, is_dead, new_worker, renewed
from batchfx.execution.mappings import Said
from batchfx.files.paths import open_path
from batchfx.importer import Importer, find_importer
from batchfx.model.blocks import ROW
from batchfx.model.issues import Issue
from batchfx.model.settings import Settings
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally
from batchfx.pipeline.decisions import QUESTIONS
from batchfx.pipeline.headers import Saved
from batchfx.pipeline.plan import plan_of
from batchfx.store import batches, chunks, outcomes, sources
from batchfx.store.batches import Batch
from batchfx.store.chunks import ChunkTally
from batchfx.store.engine import Store
from batchfx.store.mappings import SavedMapping
from batchfx.store.schema import BatchKey

DEFAULT_TENANT = "default"

# What is noticed anew in every attempt that it is about.
OF_AN_ATTEMPT = frozenset({*QUESTIONS, *corrections.CODES})


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


@dataclass(frozen=True, slots=True)
class Report:
    """Where a batch is now, and what became of its rows."""

    batch: Batch
    tally: Tally
    file_issues: tuple[Issue, ...] = ()

    @property
    def key(self) -> BatchKey:
        """The batch."""
        return self.batch.key

    @property
    def is_orphaned(self) -> bool:
        """True when a process should be at work on it but none is."""
        active = self.batch.state in {BatchState.STAGING, BatchState.RUNNING}
        if not active or is_alive(self.batch.worker):
            return False
        return not self.batch.is_held or is_dead(self.batch.worker)

    @property
    def seconds(self) -> float:
        """How long the attempt took, or has taken so far; 0 when its process died."""
        batch = self.batch
        if batch.ended_at is not None:
            return max(0.0, batch.ended_at - batch.started_at)
        return 0.0 if self.is_orphaned else batch.seconds_since_start


def import_path(
    store: Store,
    importer: type[Importer[Any]],
    path: Path,
    *,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Report:
    """Import the file at *path*; see `import_source`.

    Raises:
        SourceError: There is no such file, or it can't be read.

    """
    with open_path(path) as source:
        return import_source(
            store, importer, source, name=path.name, options=options, watch=watch
        )


def import_source(
    store: Store,
    importer: type[Importer[Any]],
    source: BinaryIO,
    *,
    name: str,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Report:
    """Import everything in *source*, a seekable binary file called *name*.

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
    said = _said(store, importer, options)
    opened = look_into(importer, source, name, said)
    tables.require_tables(store, importer)
    with store.write() as connection:
        same = _find_same(connection, importer, opened, options)
        if same is None:
            new = _create(connection, importer, opened, options, said)
            source.seek(0)
            sources.add(connection, new, source)
    if same is not None:
        ended = _again(store, same, options, watch)
        told = not_followed(
            same,
            opened,
            said,
            chunk_size=options.chunk_size,
            save_mapping=options.save_mapping,
        )
        return replace(ended, file_issues=(*ended.file_issues, *told))
    return _run(store, new, watch, is_new=True, max_error_rate=options.max_error_rate)


def rerun(
    store: Store,
    key: BatchKey,
    corrected: Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Report:
    """Run every row of the batch again that is not terminal, as a new attempt.

    With a *corrected* file, the values of its rows are taken in place of those that
    were read; rows that are terminal are left alone. *settings* are options as in
    `Options`: they answer how the values of the batch are written, and stay with it;
    those of a layout are about the corrected file.

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
    return _run(store, key, watch or Watch(), corrected=corrected, said=said)


def report(store: Store, key: BatchKey) -> Report:
    """Return where the batch is."""
    with store.read() as connection:
        batch = batches.read(connection, key)
        told = outcomes.file_issues(connection, key, batch.attempt, OF_AN_ATTEMPT)
        return Report(batch, batches.tally(connection, key), tuple(told))


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


def _said(store: Store, importer: type[Importer[Any]], options: Options) -> Said:
    if options.save_mapping is not None:
        mappings.require_name(options.save_mapping)
    return mappings.said_of(
        store,
        options.tenant,
        importer,
        columns=options.mapping,
        options=options.settings,
        name=options.saved_mapping,
    )


def _find_same(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
) -> Batch | None:
    """Return the earlier import of the same content, if that matters.

    It is asked in the transaction that enters the new batch, so of two processes that
    import one file at once, one finds the other's batch.
    """
    if options.again or options.dry_run:
        return None
    return batches.find_same(connection, options.tenant, importer.name, opened.digest)


def _create(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
    said: Said,
) -> BatchKey:
    key = batches.create(
        connection,
        options.tenant,
        importer=importer.name,
        source_name=opened.name,
        digest=opened.digest,
        layout=opened.layout,
        mapping=dict(opened.matched.positions),
        saved_mapping=_saved(connection, importer, opened, options, said),
        given=opened.given,
        chunk_size=options.chunk_size or importer.chunk_size,
        dry_run=options.dry_run,
        max_error_rate=options.max_error_rate,
    )
    outcomes.add_issues(connection, key, 1, opened.warnings)
    return key


def _saved(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
    said: Said,
) -> dict[str, Any] | None:
    """Return the mapping in use by name and version; save it if that is asked for."""
    used: Saved | SavedMapping | None = said.saved
    if options.save_mapping is not None:
        header, matched = opened.layout.header, opened.matched
        content = mappings.content_of(importer, said, header, matched)
        used = mappings.save(
            connection, options.tenant, importer.name, options.save_mapping, content
        )
    return None if used is None else {"name": used.name, "version": used.version}


def _again(store: Store, same: Batch, options: Options, watch: Watch) -> Report:
    """Go on with an earlier import of the same content; refuse if it had its end."""
    if same.state is BatchState.COMPLETED:
        raise _imported(same)
    rate = options.max_error_rate
    return _run(store, same.key, watch, only_unfinished=True, max_error_rate=rate)


def _imported(same: Batch) -> AlreadyImportedError:
    number = same.key.number
    message = (
        f"This content was imported before, as batch {number} ({same.source_name}). "
        f"'batchfx status {number}' shows what became of it and "
        f"'batchfx rerun {number}' tries its unfinished rows; "
        "--again imports everything once more."
    )
    return AlreadyImportedError(message, number)


def _run(
    store: Store,
    key: BatchKey,
    watch: Watch,
    *,
    is_new: bool = False,
    only_unfinished: bool = False,
    max_error_rate: float | None = None,
    corrected: Path | None = None,
    said: Settings | None = None,
) -> Report:
    """Hold the batch, run what is unfinished of it, and report."""
    worker = new_worker()
    with store.read() as connection:
        batch = batches.read(connection, key)
    importer = find_importer(batch.importer)
    plan_of(importer.row_model)
    tables.require_tables(store, importer)
    dead = {batch.worker} if batch.worker and is_dead(batch.worker) else set()
    if (batch.is_held and not dead) or is_alive(batch.worker):
        raise batches.held(batch)  # at once: its chunk may keep the write lock for long
    with store.write() as connection:
        hold = batches.take(connection, key, worker, TTL, dead)
        batch = batches.read(connection, key)
        if only_unfinished and batch.state is BatchState.COMPLETED:
            raise _imported(batch)  # its end came while this waited; the hold is undone
        if said is not None:
            header, before = batch.layout.header, batch.given
            given = mappings.given_of(importer, said, header, batch.mapping, before)
            batches.note(connection, hold, given=given)
        chunks.release_all(connection, hold)
    with renewed(store, worker):
        try:
            run_attempt(
                Attempt(
                    store=store,
                    hold=hold,
                    importer=importer,
                    watch=watch,
                    is_new=is_new,
                    max_error_rate=max_error_rate,
                    corrected=corrected,
                    said=said,
                )
            )
        finally:
            with store.write() as connection:
                batches.give_back(connection, hold)
    return report(store, key)
