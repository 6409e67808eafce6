"""JSON text of any length, through a window that moves over it.

A place in the source is a byte offset where decoding may start, and how many characters
lie between it and the place: that is exact in every encoding, and whatever the bytes.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from batchfx.errors import SourceError
from batchfx.files.json_values import NEAR, decode, why
from batchfx.files.text import ERRORS, PIECE, read_up_to

RECORD_LIMIT = 16 << 20  # characters of one record
TAIL = 16  # what of a value can be cut off, but for a text: -Infinity, \ud83d\ude00
SPACE = " \t\n\r\x1e"  # the last of which begins a record of RFC 7464
SPACES = re.compile(f"[{SPACE}]*")
NUMBER_CUT = re.compile(r"\.|[eE][-+]?")  # behind its first digits
LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


class DamagedError(SourceError):
    """The text is no JSON from some place on, or ends too early."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a source.

    Decoding starts at the byte *offset*, and *skip* characters on. *line* counts from
    1, and *column* is how many characters of that line lie before. *record* is the
    number of records before it.
    """

    offset: int
    skip: int = 0
    line: int = 1
    column: int = 0
    record: int = 0

    @classmethod
    def load(cls, stored: Mapping[str, int]) -> Place:
        """Return the place that `dump` wrote."""
        return cls(**stored)

    def dump(self) -> dict[str, int]:
        """Return the place as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a `Text` while it is near: a character, its line, the records."""

    index: int
    line: int
    record: int


class Text:
    """The text of a source from a place on.

    Attributes:
        window: The part of the text at hand.
        at: The index in the window of what comes next.
        line: The line of *at*.
        ended: Nothing follows the window.

    """

    def __init__(
        self, source: BinaryIO, encoding: str, start: Place, size: int = PIECE
    ) -> None:
        source.seek(start.offset)
        self.window = ""
        self.at = 0
        self.line = start.line
        self.ended = False
        self._kept = 0
        self._kept_line = start.line
        self._base = 0
        self._column = start.column - start.skip
        self._source = source
        self._offset = start.offset
        self._size = size
        self._decoder = codecs.getincrementaldecoder(encoding)(ERRORS)
        self._clean = self._decoder.getstate()[1]
        self._decodable = [(0, start.offset)]
        while len(self.window) < start.skip and self.more():
            pass
        self.at = self._kept = start.skip

    def keep(self) -> int:
        """Let go of what is before *at*; return its index in the whole text."""
        self._kept, self._kept_line = self.at, self.line
        return self._base + self.at

    def more(self) -> bool:
        """Make the window longer, as much again; return False at the end.

        Raises:
            SourceError: ``record_too_long``.

        """
        self._let_go()
        if len(self.window) > RECORD_LIMIT:
            raise self._too_long()
        size = max(self._size, len(self.window))
        added = ""
        while not added and not self.ended:
            pending, state = self._decoder.getstate()
            if state == self._clean:
                index = self._base + len(self.window)
                self._decodable.append((index, self._offset - len(pending)))
            raw = read_up_to(self._source, size)
            self._offset += len(raw)
            self.ended = len(raw) < size
            added = self._decoder.decode(raw, self.ended)
        self.window += added
        return bool(added)

    def peek(self) -> str:
        """Skip white space; return the character that follows, "" at the end."""
        while True:
            found = SPACES.match(self.window, self.at)
            self.go(found.end() if found else self.at)
            if self.at < len(self.window):
                return self.window[self.at]
            if not self.more():
                return ""

    def go(self, to: int) -> None:
        """Go on to the index *to* of the window."""
        self.line += self.window.count("\n", self.at, to)
        self.at = to

    def go_back(self) -> None:
        """Go back to where all before was let go."""
        self.at, self.line = self._kept, self._kept_line

    def take(self, character: str) -> None:
        """Go past *character*, which must follow.

        Raises:
            DamagedError: Something else does.

        """
        if self.peek() != character:
            problem = f"Expecting '{character}'"
            raise self.damage(problem, self.at)
        self.at += 1

    def value(self) -> Any:
        """Return the value that begins here, and go past it.

        Raises:
            DamagedError: ``invalid_json`` or ``truncated``.
            SourceError: ``record_too_long`` or ``unsafe_file``.

        """
        while True:
            found, end, problem = self._scan()
            beyond = TAIL if isinstance(found, bytes) else 0  # a number may go on
            if not problem and (end + beyond < len(self.window) or self.ended):
                self.go(end)
                return found
            length = len(self.window)
            if "Unterminated" not in problem and end < length - TAIL:
                raise self.damage(problem, end)
            shift = self._kept
            if not self.more() and problem:
                raise self.damage(problem, end - shift)

    def _scan(self) -> tuple[Any, int, str]:
        """Return the value that begins here, its end, and what is amiss there."""
        try:
            return *decode(self.window, self.at), ""
        except json.JSONDecodeError as error:
            return None, error.pos, error.msg
        except RecursionError:
            raise self._too_deep() from None

    def place(self, mark: Mark) -> Place:
        """Return the place of *mark*, which was kept last or lies behind it."""
        which = bisect_right(self._decodable, mark.index, key=lambda each: each[0]) - 1
        index, offset = self._decodable[which]
        column = self._column_of(mark.index - self._base)
        return Place(offset, mark.index - index, mark.line, column, mark.record)

    def kept(self, record: int) -> Place:
        """Return the place up to which all was let go, *record* records before it."""
        return self.place(Mark(self._base + self._kept, self._kept_line, record))

    def here(self, record: int = 0) -> Place:
        """Return the place of what comes next, with *record* records before it."""
        return self.place(Mark(self._base + self.at, self.line, record))

    def damage(self, problem: str, index: int) -> DamagedError:
        """Return what is wrong at *index* of the window, in words."""
        tail = self.window[index:].strip(SPACE)
        cut = self.ended and (
            not tail
            or "Unterminated" in problem
            or ("escape" in problem and len(tail) < TAIL)
            or any(each.startswith(tail) for each in LITERALS)
            or (problem.startswith("Expecting ','") and NUMBER_CUT.fullmatch(tail))
        )
        line = self.line + self.window.count("\n", self.at, index)
        column = self._column_of(index) + 1
        place = f"line {line}, column {column}"
        reason = why(problem, self.window[index : index + NEAR])
        message = (
            f"The file breaks off at {place}, in the middle of what it holds. Get it "
            "again, whole."
            if cut
            else f"The file is no JSON from {place} on: {reason}. What follows "
            "can't be read. Correct it there, or export it again."
        )
        code = "truncated" if cut else "invalid_json"
        return DamagedError(code, message, line=line, column=column)

    def _column_of(self, index: int) -> int:
        newline = self.window.rfind("\n", 0, index)
        return index - newline - 1 if newline >= 0 else self._column + index

    def _let_go(self) -> None:
        """Drop what is before the kept part, and the places in it."""
        gone = self._kept
        self._column = self._column_of(gone)
        self._base += gone
        self.window = self.window[gone:]
        self.at -= gone
        self._kept = 0
        first = bisect_right(self._decodable, self._base, key=lambda each: each[0]) - 1
        del self._decodable[: max(first, 0)]

    def _too_long(self) -> SourceError:
        message = (
            f"The record on line {self.line} has more than {RECORD_LIMIT:,} "
            "characters, so it is no record of a table, or the file is damaged there."
        )
        return SourceError("record_too_long", message, line=self.line)

    def _too_deep(self) -> SourceError:
        message = (
            f"What begins on line {self.line} has brackets within brackets, deeper "
            "than any record has. The file is damaged, or made to do harm."
        )
        return SourceError("unsafe_file", message, line=self.line)
