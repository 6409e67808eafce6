"""Staging: the source is read once, into chunks, and goes on where it was cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from batchfx.execution.broadcast import Broadcast
from batchfx.files import open as files
from batchfx.model.blocks import Block
from batchfx.model.garbage import uncollected
from batchfx.store import batches, chunks, sources
from batchfx.store.batches import Batch, Hold
from batchfx.store.engine import Store

Interrupted = Callable[[], bool]


def stage(
    store: Store,
    hold: Hold,
    batch: Batch,
    is_interrupted: Interrupted,
    broadcast: Broadcast,
) -> bool:
    """Read the batch's stored source into chunks; return whether it was read wholly.

    Each chunk is committed with the reader's position after it, so a run that is cut
    off anywhere goes on with the next record.

    Raises:
        SourceError: The source is damaged; the chunks before the damage are kept.
        LeaseLostError: Another process has taken the batch over.

    """
    with store.read() as connection:
        ordinal = chunks.count(connection, hold.key)
    blank = batch.blank
    with sources.open_source(store, hold.key) as source:
        blocks = files.read(source, batch.layout, batch.chunk_size, batch.position)
        while block := _next(blocks):
            blank += block.blank
            with store.write() as connection:
                position = dict(block.position)
                batches.note(connection, hold, position=position, blank=blank)
                if block.frame.height:
                    chunks.add(connection, hold.key, ordinal, block)
                    ordinal += 1
            broadcast.at_times()
            if is_interrupted():
                return False
    with store.write() as connection:
        batches.move(connection, hold, "begin", staged=True, position=None)
        sources.remove(connection, hold.key)
    return True


@uncollected()
def _next(blocks: Iterator[Block]) -> Block | None:
    return next(blocks, None)
