"""Bytes as lines of text: pieces of a source, and the ends of its lines.

A source is read in pieces of whole lines, cut in the bytes, so that a place in the
source is a byte offset and reading may start at any of them. Decoding never fails:
bytes that are no text become the mark `UNDECODABLE`, and a line keeps its other cells.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import BinaryIO

from batchfx.errors import SourceError

PIECE = 1 << 20
LIMIT = 4 << 20  # characters in a line
MAX_BYTES = 4  # of a character

# A noncharacter: no text holds it by right, so it can stand for what is no text.
UNDECODABLE = "\ufdd0"
ERRORS = "batchfx.undecodable"

CTRL_Z = "\x1a"  # DOS wrote it to say that the file ends

# The longer first: the mark of UTF-32 begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

LINE_ENDS = re.compile("[\r\n]")
UTF16_STRANGE = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x19\x1b-\x1f{UNDECODABLE}]")


def _mark_undecodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNDECODABLE, error.end


codecs.register_error(ERRORS, _mark_undecodable)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a line begins: its first byte, and its number (from 1)."""

    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive whole lines of a source; after the *last* piece nothing follows."""

    start: Mark
    raw: bytes
    encoding: str
    newline: str
    last: bool

    def text(self) -> str:
        """Return the text, without the Ctrl-Z that may end the source."""
        text = self.raw.decode(self.encoding, ERRORS)
        return text.rstrip(CTRL_Z) if self.last else text

    def lines(self) -> list[str]:
        """Return the lines; the CR of a CR LF is still at their end."""
        lines = self.text().split(self.newline)
        return lines if lines[-1] else lines[:-1]

    def mark(self, line: int, after: Mark) -> Mark:
        """Return where *line* begins, going on from *after*, which isn't behind it."""
        newline, find = self.newline.encode(self.encoding), self.raw.find
        width = len(newline)
        at = after.offset - self.start.offset
        if width == 1:
            rest = self.raw[at:].split(newline, line - after.line)[-1]
            return Mark(self.start.offset + len(self.raw) - len(rest), line)
        for _ in range(line - after.line):
            at = find(newline, at) + width
            while at % width:  # it stood across two characters
                at = find(newline, at - width + 1) + width
        return Mark(self.start.offset + at, line)

    def end(self, line: int) -> Mark:
        """Return where the piece ends, which is where *line* begins."""
        return Mark(self.start.offset + len(self.raw), line)


def _rfind_aligned(raw: bytes, newline: bytes) -> int:
    at = raw.rfind(newline)
    while at >= 0 and at % len(newline):
        at = raw.rfind(newline, 0, at + len(newline) - 1)
    return at


def read_up_to(source: BinaryIO, size: int) -> bytes:
    """Read *size* bytes, fewer only at the end: a raw stream may give less at once."""
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_piece(
    source: BinaryIO, encoding: str, newline: str, start: Mark, size: int
) -> Piece:
    """Read the lines from *start* on that end within *size* bytes, one at least.

    Raises:
        SourceError: ``line_too_long``.

    """
    source.seek(start.offset)
    end = newline.encode(encoding)
    size = max(size // len(end), 1) * len(end)
    raw, cut, last = b"", -1, False
    while cut < 0 and not last:
        if len(raw) > LIMIT * MAX_BYTES:
            raise _line_too_long(start.line)
        wanted = max(size, len(raw))
        part = read_up_to(source, wanted)
        raw += part
        last = len(part) < wanted
        cut = _rfind_aligned(raw, end)
    whole = raw if last else raw[: cut + len(end)]
    piece = Piece(start, whole, encoding, newline, last)
    if len(whole) > LIMIT:
        _refuse_long_lines(piece)
    return piece


def _refuse_long_lines(piece: Piece) -> None:
    for number, line in enumerate(piece.lines(), piece.start.line):
        if len(line) > LIMIT:
            raise _line_too_long(number)


def _line_too_long(line: int) -> SourceError:
    return SourceError(
        "line_too_long",
        f"Line {line} has more than {LIMIT:,} characters, so this is no table as text, "
        "or it is damaged there. Save or export the file again.",
        line=line,
    )


def find_newline(text: str) -> str:
    """Return the character that ends the lines of *text*.

    It is LF, with or without a CR before it, unless lines end in CR alone as on old
    Macs. Line ends within quotation marks have no say.
    """
    bare = re.sub('"[^"]*"', "", text)
    alone = bare.count("\r") - bare.count("\r\n")
    return "\r" if alone > bare.count("\n") else "\n"


def find_utf16(head: bytes) -> str | None:
    """Return which UTF-16 or UTF-32 a source is that has no byte-order mark.

    In UTF-16 every other byte of a delimiter, a digit or a Latin letter is NUL, lines
    end in it as well, and there are no control characters. In UTF-32 the first two or
    the last two bytes of every character are NUL, but for rare ones.
    """
    fours = head[: len(head) // 4 * 4]
    for name, outer, inner in (("utf-32-le", 3, 2), ("utf-32-be", 0, 1)):
        high = fours[outer::4] + fours[inner::4]
        if fours and len(high.strip(b"\x00\x01")) == 0 and _is_wide(fours, name):
            return name
    pairs = head[: len(head) // 2 * 2]
    first, second = pairs[::2].count(0), pairs[1::2].count(0)
    name = "utf-16-le" if second > first else "utf-16-be"
    if max(first, second) * 20 < len(pairs) or min(first, second) * 10 > first + second:
        return None
    return name if _is_wide(pairs, name) else None


def _is_wide(raw: bytes, name: str) -> bool:
    text = raw.decode(name, ERRORS)
    strange = len(UTF16_STRANGE.findall(text))
    ends = 2 * len(LINE_ENDS.findall(text)) >= len(re.findall(b"[\r\n]", raw))
    return bool(text) and ends and strange <= 1
