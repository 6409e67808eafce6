"""Sources: the bytes of an upload, kept with its batch until it is wholly staged.

They are kept in the database, in pieces, so that whoever goes on with a half-staged
batch finds them, on whatever machine it runs.
"""

from __future__ import annotations

import io
from typing import BinaryIO

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.store.engine import Store, written_once
from batchfx.store.schema import SOURCE, BatchKey, scope

PIECE = 1 << 20  # bytes


def add(connection: Connection, key: BatchKey, source: BinaryIO) -> None:
    """Keep everything that *source* still holds."""
    ordinal = 0
    with written_once(connection):
        while content := source.read(PIECE):
            values = {"batch": key.number, "ordinal": ordinal, "content": content}
            connection.execute(sa.insert(SOURCE), values)
            ordinal += 1


def remove(connection: Connection, key: BatchKey) -> None:
    """Forget the bytes of a source that is wholly staged."""
    connection.execute(sa.delete(SOURCE).where(SOURCE.c.batch == scope(key)))


class StoredSource(io.RawIOBase):
    """The bytes of a batch's source as a seekable file."""

    def __init__(self, store: Store, key: BatchKey) -> None:
        super().__init__()
        self._store, self._key = store, key
        self._offset, self._size = 0, self._measure()
        self._ordinal, self._piece = -1, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the offset in bytes."""
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset in bytes; return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size}
        self._offset = max(0, start[whence] + offset)
        return self._offset

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed says Buffer; RawIOBase passes a memoryview
        """Fill *buffer* with what is left of one piece; return how many bytes."""
        if self._offset >= self._size:
            return 0
        ordinal, start = divmod(self._offset, PIECE)
        content = self._load(ordinal)[start : start + len(buffer)]
        buffer[: len(content)] = content
        self._offset += len(content)
        return len(content)

    def _load(self, ordinal: int) -> bytes:
        if ordinal != self._ordinal:
            statement = sa.select(SOURCE.c.content).where(
                SOURCE.c.batch == scope(self._key), SOURCE.c.ordinal == ordinal
            )
            with self._store.read() as connection:
                self._piece = connection.execute(statement).scalar_one()
            self._ordinal = ordinal
        return self._piece

    def _measure(self) -> int:
        statement = sa.select(sa.func.sum(sa.func.length(SOURCE.c.content))).where(
            SOURCE.c.batch == scope(self._key)
        )
        with self._store.read() as connection:
            return connection.execute(statement).scalar_one() or 0


def open_source(store: Store, key: BatchKey) -> BinaryIO:
    """Return the batch's source as a buffered, seekable binary file."""
    return io.BufferedReader(StoredSource(store, key), PIECE)
