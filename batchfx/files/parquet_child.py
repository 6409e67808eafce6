"""Parquet files, read by Polars; this runs in a process of its own (see `guarded`).

Records are taken out in slices, since one row group may hold millions of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError
from batchfx.files.names import repeated
from batchfx.files.parquet_values import Column, read_column
from batchfx.files.xlsx_batches import BLOCK_TEXT_LIMIT
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Block,
    Fault,
    Kind,
    block_schema,
    column_name,
    dump_faults,
)
from batchfx.model.sources import Layout

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
LEAST_SIZE = 12  # bytes: the two marks and the length of the footer
COLUMN_LIMIT = 16_384  # as many as a sheet has
SLICE_ROWS = 50_000
SLICE_SIZE = 64 * 1024**2  # bytes of a slice, as far as its forerunner tells
TYPED = f"[{Kind.NUMBER}{Kind.DATE}{Kind.DURATION}{Kind.BOOLEAN}]"


def inspect_inside(source: BinaryIO) -> Layout:
    """Return the columns of a Parquet file; those of structures are flat, with dots.

    Raises:
        SourceError: ``empty_file``, ``encrypted``, ``corrupt``, ``too_many_columns`` or
            ``duplicate_header``.

    """
    _check_marks(source)
    header = tuple(name for name, _ in _leaves(_scan(source)))
    if not header:
        message = "The file has no columns."
        raise SourceError("empty_file", message)
    if len(header) > COLUMN_LIMIT:
        message = f"The file has {len(header)} columns; {COLUMN_LIMIT} can be read."
        raise SourceError("too_many_columns", message)
    if twice := repeated(dict(enumerate(header))):
        message = f"More than one column is called {', '.join(map(repr, twice))}."
        raise SourceError("duplicate_header", message, names=list(twice))
    reasons = {
        "format": "a Parquet file: it begins and ends as one does",
        "columns": f"{len(header)}, as the file's schema names them",
    }
    return Layout("parquet", header, 0, reasons=reasons)


def read_inside(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield the records of a Parquet file in blocks; the first record is row 1."""
    frame = _scan(source)
    leaves = _leaves(frame)
    if tuple(name for name, _ in leaves) != layout.header:
        message = "The file has other columns than it had before. Import it anew."
        raise SourceError("corrupt", message)
    named = [leaf.alias(column_name(i)) for i, (_, leaf) in enumerate(leaves)]
    done = (position or {}).get("row", 0)
    blocks = 1  # in the next slice
    while True:
        part = frame.select(named).slice(done, blocks * rows).collect()
        for piece in part.iter_slices(rows):
            yield _block(piece, done)
            done += piece.height
        if part.height < blocks * rows:
            return
        per_row = max(int(part.estimated_size()) // part.height, 1)
        wanted = min(SLICE_ROWS, SLICE_SIZE // per_row)
        blocks = max(wanted // rows, 1)


def _check_marks(source: BinaryIO) -> None:
    size = source.seek(0, io.SEEK_END)
    source.seek(0)
    first = source.read(len(MAGIC))
    if first == ENCRYPTED_MAGIC:
        message = "The Parquet file is encrypted. Save it without encryption."
        raise SourceError("encrypted", message)
    source.seek(max(size - len(MAGIC), 0))
    last = source.read(len(MAGIC))
    if size < LEAST_SIZE or first != MAGIC or last != MAGIC:
        message = (
            f"The Parquet file is cut off or damaged: its {size} bytes don't begin and "
            "end as they must. Get or export it again."
        )
        raise SourceError("corrupt", message)


def _scan(source: BinaryIO) -> pl.LazyFrame:
    # By path: an open file would be taken into memory as a whole.
    name: str | int = source.name
    path = name if isinstance(name, str) else f"/proc/self/fd/{name}"
    return pl.scan_parquet(path, glob=False, hive_partitioning=False, cache=False)


def _leaves(frame: pl.LazyFrame) -> list[tuple[str, pl.Expr]]:
    """Return the columns without structures, with the names that lead to them."""
    found: list[tuple[str, pl.Expr]] = []
    for position, (name, kind) in enumerate(frame.collect_schema().items()):
        found += _flat(pl.nth(position), name, kind)
    return found


def _flat(
    expression: pl.Expr, name: str, kind: pl.DataType
) -> Iterator[tuple[str, pl.Expr]]:
    if not isinstance(kind, pl.Struct):
        yield name, expression
        return
    for field in kind.fields:
        inner = expression.struct.field(field.name)
        yield from _flat(inner, f"{name}.{field.name}", field.dtype)  # type: ignore[arg-type]


def _block(frame: pl.DataFrame, done: int) -> Block:
    columns = [read_column(series) for series in frame]
    if sum(each.texts.str.len_bytes().sum() for each in columns) > BLOCK_TEXT_LIMIT:
        limit = BLOCK_TEXT_LIMIT // 1024**2
        message = (
            f"Records next to each other hold more than {limit} MiB of text. "
            "Split the file, if it is a real one."
        )
        raise SourceError("unsafe_file", message)
    faults = [
        dump_faults(found) if (found := each) else None
        for each in _row_faults(columns, frame.height)
    ]
    numbers = pl.Series(ROW, range(done + 1, done + frame.height + 1), pl.UInt32)
    texts = [each.texts.alias(column_name(i)) for i, each in enumerate(columns)]
    kinds = _kinds(columns, frame.height)
    block = pl.DataFrame([numbers, *texts, pl.Series(FAULTS, faults, pl.String), kinds])
    last = {"row": done + frame.height}
    return Block(block.cast(block_schema(len(columns))), blank=0, position=last)  # type: ignore[arg-type]


def _row_faults(columns: list[Column], height: int) -> Iterator[list[Fault]]:
    by_row: dict[int, list[Fault]] = {}
    for place, column in enumerate(columns):
        for index, fault in column.faults:
            by_row.setdefault(index, []).append(fault(place))
    return (by_row.get(index, []) for index in range(height))


def _kinds(columns: list[Column], height: int) -> pl.Series:
    """Return the kinds of each row's cells, or null where all are text or empty."""
    if all(column.kind in (Kind.TEXT, Kind.EMPTY) for column in columns):
        return pl.Series(KINDS, [None] * height, pl.String)
    each = pl.DataFrame([c.kinds.alias(column_name(i)) for i, c in enumerate(columns)])
    joined = each.select(pl.concat_str(pl.all()).alias(KINDS))
    typed = pl.col(KINDS).str.contains(TYPED)
    return joined.select(pl.when(typed).then(pl.col(KINDS))).to_series()
