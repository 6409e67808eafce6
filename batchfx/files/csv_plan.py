"""What it takes to read a delimited text, made ready once for all of its pieces."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import polars as pl

from batchfx.files.csv_judge import CONTROL, Shape
from batchfx.files.csv_notes import BLANKS
from batchfx.files.csv_record import LONG, NEVER, SPACE, Dialect, Grammar
from batchfx.files.text import AFTER_CR, ANY, UNDECODABLE, Mark, Piece
from batchfx.model.blocks import FAULTS, block_schema
from batchfx.model.sources import Layout

LINE = "line"
SPACED = "skip_initial_space"  # the setting of a layout
WAY = "way"
CSV_LIMIT = 131_072  # the csv module's, for a field; to raise it is to do so for all


def to_rust(character: str) -> str:
    """Return *character* as Rust's regular expressions take any character."""
    return rf"\x{{{ord(character):x}}}"


R_BLANKS = "".join(map(to_rust, BLANKS))
R_BLANK = f"^[{R_BLANKS}]*$"
CONTROL_CHARACTERS = [each for each in map(chr, range(0xA0)) if CONTROL.match(each)]


class Way(IntEnum):
    """Which way a line goes."""

    BLANK = 0
    EXACT = 1
    LONG = 2  # too many delimiters, maybe with nothing behind them
    QUOTED = 3
    CAREFUL = 4


@dataclass(frozen=True)
class Plan:
    """What it takes to read a source."""

    encoding: str
    newline: str
    grammar: Grammar
    shape: Shape
    start: Mark
    long: str | None = None  # the delimiter, when it has several characters

    @classmethod
    def of(cls, layout: Layout) -> Plan:
        """Take the plan from the *layout* of a source."""
        settings = layout.settings
        comma, mark = settings["delimiter"] or NEVER, settings["quote"] or NEVER
        long = comma if len(comma) > 1 else None
        escape = settings.get("escape") or NEVER
        one_row = layout.header_row and settings.get("header_rows", 1) == 1
        named = [number for number, name in enumerate(layout.header, 1) if name]
        newline = settings["newline"]
        ends = "\n" if newline == ANY else newline
        return cls(
            settings["encoding"],
            newline,
            Grammar(
                Dialect(
                    LONG if long else comma, mark, ends, escape, settings.get(SPACED)
                )
            ),
            Shape(len(layout.header), max(named), layout.header if one_row else ()),
            Mark(settings["start"], settings["line"]),
            long,
        )

    def lines(self, piece: Piece) -> list[str]:
        """Return the lines of *piece*, with one character for the delimiter."""
        lines = piece.lines()
        return [line.replace(self.long, LONG) for line in lines] if self.long else lines

    def restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put back what is a part of cells and faults: delimiters, and CR alone."""
        cells, faults = pl.col(self.names).str, pl.col(FAULTS).str
        for ours, text in self._replaced:
            quoted = json.dumps(text)[1:-1]
            found = json.dumps(ours, ensure_ascii=False)[1:-1]
            frame = frame.with_columns(
                cells.replace_all(ours, text, literal=True),
                faults.replace_all(found, quoted, literal=True),
            )
        return frame

    @cached_property
    def _replaced(self) -> list[tuple[str, str]]:
        """What stands for other texts while a piece is read, and those."""
        pairs = [(LONG, self.long)] if self.long else []
        return [*pairs, (f"\r\n{AFTER_CR}", "\r")] if self.newline == ANY else pairs

    @property
    def dialect(self) -> Dialect:
        """How the lines hold cells."""
        return self.grammar.dialect

    @cached_property
    def names(self) -> list[str]:
        """The names of a frame's columns of cells."""
        return list(block_schema(self.shape.width))[1:-2]

    @cached_property
    def empty(self) -> pl.DataFrame:
        """A block's frame without records: to make one takes long for many columns."""
        return pl.DataFrame(schema=block_schema(self.shape.width))

    def tidied(self, cells: pl.Expr) -> pl.Expr:
        """Return bare *cells* as they are, without blanks in front if they may be."""
        return cells.str.strip_chars_start(SPACE) if self.dialect.spaced else cells

    def _odd(self, but: str = "") -> str:
        """Return what sends a line the careful way at once, *but* for the delimiter."""
        odd = [*CONTROL_CHARACTERS, UNDECODABLE, self.dialect.escape]
        return f"[{''.join(to_rust(each) for each in odd if each != but)}]"

    @cached_property
    def bare_way(self) -> pl.Expr:
        """Which way a line without quotation marks goes."""
        line, comma = pl.col(LINE).str, self.dialect.delimiter
        found = line.count_matches(comma, literal=True)
        stray = line.contains("\r", literal=True) | line.contains("\n", literal=True)
        return (
            pl.when(line.contains(self._odd(comma)))
            .then(Way.CAREFUL)
            .when(line.contains(f"^[{R_BLANKS}{to_rust(comma)}]*$"))
            .then(Way.BLANK)
            .when(stray)
            .then(Way.CAREFUL)
            .when(found == self.shape.width - 1)
            .then(Way.EXACT)
            .when(found >= self.shape.width)
            .then(Way.LONG)
            .otherwise(Way.CAREFUL)
            .alias(WAY)
        )

    @cached_property
    def quoted_way(self) -> pl.Expr:
        """Which way a line with quotation marks goes."""
        line = pl.col(LINE).str
        comma, mark = to_rust(self.dialect.delimiter), to_rust(self.dialect.quote)
        quoted = f"{mark}[^{mark}]*(?:{mark}{mark}[^{mark}]*)*{mark}"
        gap, blank = (f"{SPACE}*", SPACE) if self.dialect.spaced else ("", "")
        cell = rf"{gap}(?:{quoted}|[^{mark}{comma}{blank}\r\n][^{comma}\r\n]*|)"
        careful = (
            line.contains(self._odd())
            | line.contains(f"^[{R_BLANKS}{comma}{mark}]*$")
            | (line.len_bytes() > CSV_LIMIT)
            | ~line.contains(f"^{cell}(?:{comma}{cell})*$")
            | (
                line.contains(f"(?:^|{comma}){SPACE}+{mark}")
                & (not self.dialect.spaced)
            )
        )
        return pl.when(careful).then(Way.CAREFUL).otherwise(Way.QUOTED).alias(WAY)

    @cached_property
    def spread(self) -> re.Pattern[str]:
        """A well-formed record whose quoted cells may span lines."""
        comma, mark = map(re.escape, (self.dialect.delimiter, self.dialect.quote))
        quoted = f"{mark}[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+{mark}"
        gap = f"{SPACE}*+" if self.dialect.spaced else f"(?!{SPACE}++{mark})"
        cell = rf"{gap}(?:{quoted}|(?!{mark})[^{comma}\r\n]++|)"
        return re.compile(rf"{cell}(?:{comma}{cell})*+\r*")
