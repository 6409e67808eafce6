"""The reader of delimited text: its records in blocks, in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError
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
    rest = _Rest(plan.start)
    try:
        for piece, parsed in pieces:
            yield from rest.go_on(piece, parsed, rows)
    except SourceError:  # what was read before the damage counts
        yield from rest.last()
        raise
    yield from rest.last()


class _Rest:
    """The records up to *mark* that are in no block yet, and how many are blank."""

    def __init__(self, mark: Mark) -> None:
        self.frame: pl.DataFrame | None = None
        self.blank = 0
        self.mark = mark

    def go_on(self, piece: Piece, parsed: Parsed, rows: int) -> Iterator[Block]:
        """Take the records of a piece; yield the blocks of *rows* that are full."""
        before = [] if self.frame is None else [self.frame]
        frame = pl.concat([*before, parsed.frame])
        mark, counted = piece.start, 0
        while frame.height > rows:
            mark = piece.mark(frame.item(rows, ROW), mark)
            passed = bisect_left(parsed.blanks, mark.line)
            block, frame = frame.head(rows), frame.slice(rows)
            blank, self.blank = self.blank + passed - counted, 0
            yield Block(block.rechunk(), blank, _position(mark))
            counted = passed
        self.frame = frame
        self.blank += len(parsed.blanks) - counted
        self.mark = piece.end(parsed.end)

    def last(self) -> Iterator[Block]:
        """Yield the block of what is left, if there is something."""
        if self.frame is not None and (self.frame.height or self.blank):
            yield Block(self.frame.rechunk(), self.blank, _position(self.mark))


def _position(mark: Mark) -> dict[str, int]:
    return {"offset": mark.offset, "line": mark.line}
