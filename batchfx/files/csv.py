"""The reader of delimited text: its records in blocks, in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import polars as pl

from batchfx.files.csv_piece import Parsed, parse
from batchfx.files.csv_plan import Plan
from batchfx.files.text import PIECE, Mark, Piece, read_piece
from batchfx.model.blocks import ROW, Block
from batchfx.model.sources import Layout


def read_csv(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
    *,
    size: int = PIECE,
) -> Iterator[Block]:
    """Return the records of *source* in blocks of *rows*, from *position* on if given.

    A block's position is the first byte of the record after it, and its line; *blank*
    counts the blank records in between as well. A source without records yields a block
    only if it has blank ones. *size* is how many bytes are read at once, and makes no
    difference to what is read.

    Raises:
        SourceError: ``line_too_long``, while the blocks are taken.

    """
    plan = Plan.of(layout)
    start = Mark(position["offset"], position["line"]) if position else plan.start
    return _blocks(_pieces(source, plan, start, size), rows, plan)


def _pieces(
    source: BinaryIO, plan: Plan, mark: Mark, size: int
) -> Iterator[tuple[Piece, Parsed]]:
    """Yield one piece after another with its records, each from where the last ended.

    A record that a piece cuts off is read again, in a larger piece if it is the first.
    """
    wanted = size
    while True:
        piece = read_piece(source, plan.encoding, plan.newline, mark, wanted)
        parsed = parse(piece, plan)
        yield piece, parsed
        if piece.last and parsed.whole:
            return
        wanted = size if parsed.end > mark.line else wanted * 2
        mark = piece.end(parsed.end) if parsed.whole else piece.mark(parsed.end, mark)


def _blocks(
    pieces: Iterable[tuple[Piece, Parsed]], rows: int, plan: Plan
) -> Iterator[Block]:
    frame = plan.empty
    blank, mark = 0, plan.start
    for piece, parsed in pieces:
        frame = pl.concat([frame, parsed.frame])
        mark, counted = piece.start, 0
        while frame.height > rows:
            mark = piece.mark(frame.item(rows, ROW), mark)
            passed = bisect_left(parsed.blanks, mark.line)
            block, frame = frame.head(rows), frame.slice(rows)
            yield Block(block.rechunk(), blank + passed - counted, _position(mark))
            blank, counted = 0, passed
        blank += len(parsed.blanks) - counted
        mark = piece.end(parsed.end)
    if frame.height or blank:
        yield Block(frame.rechunk(), blank, _position(mark))


def _position(mark: Mark) -> dict[str, int]:
    return {"offset": mark.offset, "line": mark.line}
