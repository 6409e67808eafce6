"""A batch entered for a source that was looked into, and begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from batchfx.errors import AlreadyImportedError
from batchfx.execution import mappings
from batchfx.execution.intake import Opened
from batchfx.execution.mappings import Said
from batchfx.execution.standing import tell
from batchfx.execution.versions import version_of
from batchfx.importer import Importer
from batchfx.model.events import EventKind
from batchfx.pipeline.headers import Saved
from batchfx.store import batches, chunks, lanes, outcomes
from batchfx.store.batches import Batch
from batchfx.store.engine import Store
from batchfx.store.mappings import SavedMapping
from batchfx.store.schema import BatchKey

if TYPE_CHECKING:
    from batchfx.execution.control import Options


def said_of_options(
    store: Store, importer: type[Importer[Any]], options: Options
) -> Said:
    """Return what *options* say of a file.

    Raises:
        NotFoundError: The tenant has no such mapping for the importer.
        UsageError: An option is unknown, impossible or belongs to the class.

    """
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


def find_same(
    connection: Connection, tenant: str, importer: str, digest: str
) -> Batch | None:
    """Return the earlier import of the same content, if there is one.

    It is asked in the transaction that begins the new batch, with the content locked,
    so of two processes that import one file at once, one finds the other's batch.
    """
    batches.lock_content(connection, tenant, importer, digest)
    return batches.find_same(connection, tenant, importer, digest)


def imported(same: Batch) -> AlreadyImportedError:
    """Return the error for content that batch *same* has imported."""
    number = same.key.number
    message = (
        f"This content was imported before, as batch {number} ({same.source_name}). "
        f"'batchfx status {number}' shows what became of it and "
        f"'batchfx rerun {number}' tries its unfinished rows; "
        "--again imports everything once more."
    )
    return AlreadyImportedError(message, number)


def enter(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    options: Options,
    **values: Any,
) -> BatchKey:
    """Enter a batch of what was *opened*; *values* are those of its row that differ."""
    found = {
        "importer": importer.name,
        "source_name": opened.name,
        "digest": opened.digest,
        "layout": opened.layout,
        "mapping": dict(opened.matched.positions),
        "given": opened.given,
        "version": version_of(importer).dump(),
        "chunk_size": options.chunk_size or importer.chunk_size,
        "dry_run": options.dry_run,
        "max_error_rate": options.max_error_rate,
        "priority": options.priority,
    }
    return batches.create(connection, options.tenant, **{**found, **values})


def begin(
    connection: Connection, key: BatchKey, opened: Opened, kind: EventKind, **more: Any
) -> Batch:
    """Let the batch's preparation wait for whoever runs it; tell that with *kind*."""
    outcomes.add_issues(connection, key, 1, opened.warnings)
    batch = batches.read(connection, key)
    chunks.add_preparation(connection, batch)
    lanes.wake(connection, key.tenant)
    tell(connection, key, kind, **more)
    return batch


def saved_mapping(
    connection: Connection,
    importer: type[Importer[Any]],
    opened: Opened,
    said: Said,
    *,
    tenant: str,
    name: str | None,
) -> dict[str, Any] | None:
    """Return the mapping in use, by name and version; save it when *name* is given."""
    used: Saved | SavedMapping | None = said.saved
    if name is not None:
        header, matched = opened.layout.header, opened.matched
        content = mappings.content_of(importer, said, header, matched)
        used = mappings.save(connection, tenant, importer.name, name, content)
    return None if used is None else {"name": used.name, "version": used.version}
