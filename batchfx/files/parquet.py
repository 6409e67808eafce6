"""Parquet files: typed columns, which become exact texts.

Decimals keep the scale of their column, floating numbers are the shortest text that
stands for them, moments of a zone are instants in UTC (``…Z``), others stay as they
are; lists are JSON, structures are columns with dots in their names. An all-null record
is a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from batchfx.files.guarded import inspect_guarded, read_guarded
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

CHILD = "batchfx.files.parquet_child"


def inspect_parquet(source: BinaryIO) -> Layout:
    """Return the columns of a Parquet file, read in a process of its own.

    Raises:
        SourceError: ``empty_file``, ``encrypted``, ``corrupt``, ``unsafe_file``,
            ``too_many_columns`` or ``duplicate_header``.

    """
    return inspect_guarded(CHILD, source)


def read_parquet(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a Parquet file in blocks of *rows*; the first is row 1.

    A number that isn't finite has the fault ``not_finite``, bytes that are no text
    ``not_text``.

    Args:
        source: The file, seekable; it stays open, and is not to be moved meanwhile.
        layout: What `inspect_parquet` found.
        rows: Records in a block.
        position: A block's position, to go on after that block.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``.

    """
    return read_guarded(CHILD, source, layout, rows, position)
