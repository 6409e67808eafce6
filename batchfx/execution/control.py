"""The use cases: import a source, run what is unfinished again, recount.

Every face of batchfx (the command line, a web page, an application's own code) calls
these functions and nothing below them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.errors import AlreadyImportedError, SourceError, StoreError
from batchfx.execution.attempt import Attempt, Watch, run_attempt
from batchfx.execution.lease import TTL, is_alive, is_dead, new_worker, renewed
from batchfx.files import open as files
from batchfx.files.paths import open_path
from batchfx.importer import Importer, find_importer
from batchfx.model.blocks import ROW
from batchfx.model.issues import Issue
from batchfx.model.sources import Layout
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally
from batchfx.pipeline.mapping import match
from batchfx.pipeline.plan import plan_of
from batchfx.store import batches, chunks, outcomes, sources
from batchfx.store.batches import Batch
from batchfx.store.chunks import ChunkTally
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

    """

    tenant: str = DEFAULT_TENANT
    dry_run: bool = False
    again: bool = False
    chunk_size: int | None = None
    max_error_rate: float | None = None


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
        AlreadyImportedError: The tenant has imported this content before.
        IllegalMoveError: Another process is at work on this import.
        StoreError: The database can't be used; what was committed is kept.

    """
    options, watch = options or Options(), watch or Watch()
    plan_of(importer.row_model)
    opened = _inspect(importer, source, name)
    tables.require_tables(store, importer)
    with store.write() as connection:
        same = _find_same(connection, importer, opened, options)
        if same is None:
            new = _create(connection, importer, opened, options)
            source.seek(0)
            sources.add(connection, new, source)
    if same is not None:
        return _again(store, same, options, watch)
    return _run(store, new, watch, is_new=True, max_error_rate=options.max_error_rate)


def rerun(
    store: Store,
    key: BatchKey,
    corrected: Path | None = None,
    *,
    watch: Watch | None = None,
) -> Report:
    """Run every row of the batch again that is not terminal, as a new attempt.

    With a *corrected* file, the values of its rows are taken in place of those that
    were read; rows that are terminal are left alone.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: Another process is at work on it.
        SourceError: The corrected file can't be read or matched to the batch's rows.

    """
    return _run(store, key, watch or Watch(), corrected=corrected)


def report(store: Store, key: BatchKey) -> Report:
    """Return where the batch is."""
    with store.read() as connection:
        return Report(
            batches.read(connection, key),
            batches.tally(connection, key),
            tuple(outcomes.file_issues(connection, key)),
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


@dataclass(frozen=True, slots=True)
class _Opened:
    """A source that was looked into: it can be read and has the importer's columns."""

    name: str
    digest: str
    layout: Layout
    positions: Mapping[str, int]


def _inspect(importer: type[Importer[Any]], source: BinaryIO, name: str) -> _Opened:
    source.seek(0)
    layout = files.inspect(source)
    matched = match(importer.row_model, importer.columns, layout.header)
    if not any(block.frame.height for block in files.read(source, layout, 1)):
        message = (
            "The file has a header but no rows below it: there is nothing to import."
        )
        raise SourceError("no_rows", message)
    return _Opened(name, _digest(source), layout, matched.positions)


def _digest(source: BinaryIO) -> str:
    source.seek(0)
    digest = hashlib.sha256()
    while piece := source.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _find_same(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: _Opened,
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
    opened: _Opened,
    options: Options,
) -> BatchKey:
    key = batches.create(
        connection,
        options.tenant,
        importer=importer.name,
        source_name=opened.name,
        digest=opened.digest,
        layout=opened.layout,
        mapping=dict(opened.positions),
        chunk_size=options.chunk_size or importer.chunk_size,
        dry_run=options.dry_run,
        max_error_rate=options.max_error_rate,
    )
    outcomes.add_issues(connection, key, 1, opened.layout.warnings)
    return key


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
) -> Report:
    """Hold the batch, run what is unfinished of it, and report."""
    worker = new_worker()
    with store.read() as connection:
        batch = batches.read(connection, key)
    importer = find_importer(batch.importer)
    tables.require_tables(store, importer)
    dead = {batch.worker} if batch.worker and is_dead(batch.worker) else set()
    if (batch.is_held and not dead) or is_alive(batch.worker):
        raise batches.held(batch)  # at once: its chunk may keep the write lock for long
    with store.write() as connection:
        hold = batches.take(connection, key, worker, TTL, dead)
        batch = batches.read(connection, key)
        if only_unfinished and batch.state is BatchState.COMPLETED:
            raise _imported(batch)  # its end came while this waited; the hold is undone
        chunks.release_all(connection, hold)
    with renewed(store, worker):
        try:
            run_attempt(
                Attempt(store, hold, importer, watch, is_new, max_error_rate, corrected)
            )
        finally:
            with store.write() as connection:
                batches.give_back(connection, hold)
    return report(store, key)
