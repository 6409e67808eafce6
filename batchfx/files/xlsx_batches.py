"""The rows of a block, gathered column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from batchfx.errors import SourceError
from batchfx.files.xlsx_notes import Record
from batchfx.files.xlsx_stretches import Stretch

BLOCK_TEXT_LIMIT = 512 * 1024**2  # characters


class Batch:
    """Rows of a table with *width* columns; *odd* are those with more than cells.

    *attributes* and *stored* have a list for each column, *odd* is by index.

    Raises:
        SourceError: ``unsafe_file``, from `add`: they hold too much text.

    """

    def __init__(self, width: int) -> None:
        self.numbers: list[int] = []
        self.attributes: list[list[str]] = [[] for _ in range(width)]
        self.stored: list[list[str]] = [[] for _ in range(width)]
        self.odd: dict[int, Record] = {}
        self.ends_noted = False
        self._size = 0
        self._records: list[Record] = []

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.numbers)

    def add(self, rows: Record | Stretch) -> None:
        """Take one row, or many."""
        if isinstance(rows, Record):
            self._add_record(rows)
        else:
            self._add_stretch(rows)
        if self._size > BLOCK_TEXT_LIMIT:
            refuse_block()

    def finish(self) -> None:
        """Lay the rows that were taken one by one out in columns."""
        if records := self._records:
            attributes = zip(*(record.attributes for record in records), strict=True)
            self._extend(attributes, zip(*(r.stored for r in records), strict=True))
            records.clear()

    def _add_record(self, record: Record) -> None:
        if record.outside or record.fault:
            self.odd[self.height] = record
        self.numbers.append(record.number)
        self.ends_noted = record.noted
        self._records.append(record)
        self._size += sum(map(len, record.stored))

    def _add_stretch(self, stretch: Stretch) -> None:
        self.finish()
        self.numbers += range(stretch.first, stretch.last + 1)
        self.ends_noted = False
        self._extend(stretch.attributes, stretch.stored)
        self._size += sum(len("".join(column)) for column in stretch.stored)

    def _extend(
        self, attributes: Iterable[Iterable[str]], stored: Iterable[Iterable[str]]
    ) -> None:
        for column, more in zip(self.attributes, attributes, strict=True):
            column.extend(more)
        for column, more in zip(self.stored, stored, strict=True):
            column.extend(more)


def batches(
    source: Iterable[Record | Stretch], width: int, rows: int
) -> Iterator[Batch]:
    """Cut records into batches of *rows*; the last may be shorter.

    Raises:
        SourceError: ``unsafe_file``: they hold too much text.

    """
    batch = Batch(width)
    damage: SourceError | None = None
    try:
        for found in source:
            for part in _parts(found, rows - batch.height, rows):
                batch.add(part)
                if batch.height == rows:
                    batch.finish()
                    yield batch
                    batch = Batch(width)
    except SourceError as error:
        damage = error
    if batch.height:
        batch.finish()
        yield batch
    if damage:  # what was read before it counts
        raise damage


def refuse_block() -> NoReturn:
    """Raise the error for a block that holds too much text."""
    limit = BLOCK_TEXT_LIMIT // 1024**2
    message = (
        f"Records next to each other in the sheet hold more than {limit} MiB of text. "
        "Split the file, if it is a real one."
    )
    raise SourceError("unsafe_file", message)


def _parts(found: Record | Stretch, free: int, rows: int) -> Sequence[Record | Stretch]:
    """Return a stretch in parts of *rows*, but the first of them with *free*."""
    if isinstance(found, Record) or found.height <= free:
        return (found,)
    starts = range(free, found.height, rows)
    return [found.part(0, free), *(found.part(at, at + rows) for at in starts)]
