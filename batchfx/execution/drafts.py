"""Drafts: a source is kept, and a person decides how it is read before it is begun.

What was said of it is kept with the batch, and the source is looked into again by each
change. A draft may lack columns that its importer needs; it can't be started so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.errors import ConflictError, IllegalMoveError
from batchfx.execution import mappings
from batchfx.execution.control import Options, Watch, run_attempt, take
from batchfx.execution.draft_views import DraftView, Words, fields_of
from batchfx.execution.entering import (
    begin,
    enter,
    find_same,
    imported,
    said_of_options,
    saved_mapping,
)
from batchfx.execution.intake import Opened, look_into
from batchfx.execution.mappings import Said
from batchfx.execution.previews import preview
from batchfx.execution.reports import Report, report
from batchfx.execution.standing import tell
from batchfx.execution.versions import version_of
from batchfx.importer import Importer, find_importer
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState
from batchfx.pipeline.mapping import propose
from batchfx.pipeline.plan import plan_of
from batchfx.store import batches, sources
from batchfx.store.batches import Batch
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import BatchKey


def draft(
    store: Store,
    importer: type[Importer[Any]],
    source: BinaryIO,
    *,
    name: str,
    options: Options | None = None,
    created_by: str | None = None,
    idempotency_key: str | None = None,
    digest: str | None = None,
) -> Report:
    """Keep *source*, a seekable binary file called *name*, as a draft.

    Args:
        store: Where it is kept.
        importer: What it is to be imported by.
        source: The file.
        name: Its name.
        options: As for an import, but for *dry_run* and *again*: these are said when it
            is started.
        created_by: The user whose draft it is.
        idempotency_key: Of the request: one that is made again finds the same draft.
        digest: The SHA-256 of *source* in hex; computed where it isn't given.

    Raises:
        SourceError: It can't be read, or has no rows; nothing was kept.
        UsageError: The mapping or a setting names what there isn't, or can't be.
        ConflictError: An earlier request of the same key was about something else.

    """
    options = options or Options()
    plan_of(importer.row_model)
    said = said_of_options(store, importer, options)
    opened = look_into(importer, source, name, said, find=propose, digest=digest)
    with store.write() as connection:
        key = _earlier(connection, importer, opened, options.tenant, idempotency_key)
        if key is None:
            key = _keep(
                connection,
                importer,
                opened,
                options,
                created_by=created_by,
                idempotency_key=idempotency_key,
            )
            source.seek(0)
            sources.add(connection, key, source)
            tell(connection, key, EventKind.CREATED)
    return report(store, key)


def _keep(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
    **request: str | None,
) -> BatchKey:
    return enter(
        connection,
        importer,
        opened,
        options,
        state=BatchState.DRAFT,
        dry_run=True,  # nothing is imported by it, until it is started
        given=Words.of_options(options).kept(opened),
        **request,
    )


def view(store: Store, key: BatchKey) -> DraftView:
    """Return a draft as it would be read now.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It is no draft any more.
        SourceError: Its source can't be read in the way that was said.
        UsageError: What was said of it can't be, such as a mapping that is gone.

    """
    batch = _draft(store, key)
    return _seen(store, batch, Words.of(batch))[1]


def redraft(
    store: Store,
    key: BatchKey,
    *,
    settings: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str | None] | None = None,
) -> DraftView:
    """Say anew how a draft is read, and look into its source again.

    What is given takes the place of all that was said before; None leaves that.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It is no draft any more.
        SourceError: Its source can't be read in that way; nothing was changed.
        UsageError: The mapping or a setting names what there isn't, or can't be.

    """
    batch = _draft(store, key)
    before = Words.of(batch)
    options = Options(
        settings=before.settings if settings is None else settings,
        mapping=before.mapping if mapping is None else mapping,
        saved_mapping=before.saved_mapping,
        save_mapping=before.save_mapping,
    )
    words = Words.of_options(options)
    opened, seen = _seen(store, batch, words)
    with store.write() as connection:
        _locked(connection, key)
        batches.note(
            connection,
            key,
            layout=opened.layout,
            mapping=dict(opened.matched.positions),
            given=words.kept(opened),
        )
    return seen


def start(
    store: Store,
    key: BatchKey,
    *,
    dry_run: bool = False,
    detached: bool = False,
    again: bool = False,
    watch: Watch | None = None,
) -> Report:
    """Begin a draft as it is read now; run it here, or *detached* leave it to workers.

    A *dry_run* checks every row and writes no record; *again* imports content that was
    imported before.

    Raises:
        NotFoundError: The tenant has no such batch.
        IllegalMoveError: It is no draft any more, or imports are switched off.
        SourceError: It lacks columns that the importer needs, or can't be read.
        UsageError: What was said of it can't be.
        AlreadyImportedError: The tenant has imported this content before.
        ConflictError: It was changed at the same moment; nothing was begun.

    """
    batch = _draft(store, key)
    importer, words = find_importer(batch.importer), Words.of(batch)
    said = _said(store, batch, importer, words)
    opened = _looked_into(store, batch, importer, said)
    tables.require_tables(store, importer)
    with store.write() as connection:
        if _locked(connection, key).given != batch.given:
            message = f"Draft {key.number} was changed meanwhile: look at it again."
            raise ConflictError(message)
        if not dry_run and not again:
            _require_new(connection, batch)
        saved = saved_mapping(
            connection,
            importer,
            opened,
            said,
            tenant=key.tenant,
            name=words.save_mapping,
        )
        chosen = {"saved_mapping": saved, "dry_run": dry_run}
        _move(connection, key, importer, opened, **chosen)
        begun = begin(connection, key, opened, EventKind.STARTED, attempt=1)
        claim = None if detached else take(connection, key)
    return run_attempt(store, begun, claim, importer, watch or Watch())


def _looked_into(
    store: Store, batch: Batch, importer: type[Importer[Any]], said: Said
) -> Opened:
    plan_of(importer.row_model)
    with sources.open_source(store, batch.key) as source:
        name, digest = batch.source_name, batch.digest
        return look_into(importer, source, name, said, digest=digest)


def _move(
    connection: Connection,
    key: BatchKey,
    importer: type[Importer[Any]],
    opened: Opened,
    **values: Any,
) -> None:
    batches.note(
        connection,
        key,
        layout=opened.layout,
        mapping=dict(opened.matched.positions),
        given=opened.given,
        version=version_of(importer).dump(),
        started_at=now_epoch(),
        **values,
    )
    batches.move(connection, key, "start")


def _require_new(connection: Connection, batch: Batch) -> None:
    key = batch.key
    same = find_same(connection, key.tenant, batch.importer, batch.digest)
    if same is not None:
        raise imported(same)


def _earlier(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    tenant: str,
    idempotency_key: str | None,
) -> BatchKey | None:
    """Return the batch of an earlier request with the same key, if there is one."""
    if idempotency_key is None:
        return None
    earlier = batches.of_request(connection, tenant, idempotency_key)
    if earlier is None:
        return None
    if (earlier.digest, earlier.importer) != (opened.digest, importer.name):
        what = "kind of import" if earlier.digest == opened.digest else "file"
        message = (
            f"The idempotency key '{idempotency_key}' was used before, for another "
            f"{what}: batch {earlier.key.number} ({earlier.source_name}, "
            f"'{earlier.importer}'). Use a new key for each new upload."
        )
        raise ConflictError(message)
    return earlier.key


def _draft(store: Store, key: BatchKey) -> Batch:
    with store.read() as connection:
        return _require_draft(batches.read(connection, key))


def _locked(connection: Connection, key: BatchKey) -> Batch:
    batches.lock(connection, key)
    return _require_draft(batches.read(connection, key))


def _require_draft(batch: Batch) -> Batch:
    if batch.state is not BatchState.DRAFT:
        number = batch.key.number
        message = (
            f"Batch {number} is {batch.state}, no draft any more: how it is read is "
            "decided. Import its file anew to have it read otherwise."
        )
        raise IllegalMoveError(message)
    return batch


def _said(
    store: Store, batch: Batch, importer: type[Importer[Any]], words: Words
) -> Said:
    return mappings.said_of(
        store,
        batch.key.tenant,
        importer,
        columns=words.mapping,
        options=words.settings,
        name=words.saved_mapping,
    )


def _seen(store: Store, batch: Batch, words: Words) -> tuple[Opened, DraftView]:
    """Look into the draft's source by *words*."""
    importer = find_importer(batch.importer)
    said = _said(store, batch, importer, words)
    name, digest = batch.source_name, batch.digest
    with sources.open_source(store, batch.key) as source:
        opened = look_into(importer, source, name, said, find=propose, digest=digest)
        first = preview(importer, source, opened)
    with store.read() as connection:
        same = batches.find_same(
            connection, batch.key.tenant, batch.importer, batch.digest
        )
    return opened, DraftView(
        batch=batch,
        layout=opened.layout,
        warnings=(*opened.warnings, *first.notes),
        settings=words.settings,
        mapping=words.mapping,
        fields=fields_of(importer, opened),
        unused=opened.matched.unknown,
        left_out=opened.matched.left_out,
        missing=opened.matched.missing,
        questions=first.questions,
        rows=first.rows,
        imported_before=None if same is None else same.key.number,
    )
