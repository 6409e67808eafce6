"""Staging: the source is read once, into chunks, and goes on where it was cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy.engine import Connection

from batchfx.execution.broadcast import Broadcast
from batchfx.execution.standing import standing
from batchfx.files import open as files
from batchfx.model.blocks import Block
from batchfx.model.events import EventKind
from batchfx.model.garbage import uncollected
from batchfx.model.states import BatchState
from batchfx.store import batches, chunks, claims, events, sources
from batchfx.store.batches import Batch
from batchfx.store.claims import Claim
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

Interrupted = Callable[[], bool]


def stage(
    store: Store,
    claim: Claim,
    batch: Batch,
    is_interrupted: Interrupted,
    broadcast: Broadcast,
) -> bool:
    """Read the batch's stored source into chunks; return whether it was read wholly.

    Each chunk is committed with the reader's position after it, so a run that is cut
    off anywhere goes on with the next record.

    Raises:
        SourceError: The source is damaged; the chunks before the damage are kept.
        LeaseLostError: Another process has taken the preparation over.

    """
    with store.read() as connection:
        ordinal = chunks.count(connection, claim.key)
    blank = batch.blank
    with sources.open_source(store, claim.key) as source:
        blocks = files.read(source, batch.layout, batch.chunk_size, batch.position)
        while block := _next(blocks):
            blank += block.blank
            with store.write() as connection:
                claims.require(connection, claim)
                if block.frame.height:
                    chunks.add(connection, batch, ordinal, block)
                    ordinal += 1
                position = dict(block.position)
                batches.note(connection, claim.key, position=position, blank=blank)
            broadcast.at_times()
            if is_interrupted():
                return False
    with store.write() as connection:
        claims.require(connection, claim)
        sources.remove(connection, claim.key)
        _begin(connection, claim.key)
    return True


def _begin(connection: Connection, key: BatchKey) -> None:
    """Note that the batch is staged; one that was paused meanwhile stays so."""
    batches.lock(connection, key)
    staged = {"staged": True, "position": None}
    if batches.read(connection, key).state is BatchState.STAGING:
        batches.move(connection, key, "begin", **staged)
    else:
        batches.note(connection, key, **staged)
    events.add(connection, key, EventKind.STAGED, standing(connection, key).content())


@uncollected()
def _next(blocks: Iterator[Block]) -> Block | None:
    return next(blocks, None)
