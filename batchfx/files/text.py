"""Bytes as lines of text: pieces of a source, and the ends of its lines.

A source is read in pieces of whole lines, cut in the bytes, so that a place in the
source is a byte offset and reading may start at any of them. Decoding never fails:
bytes that are no text become the mark `UNDECODABLE`, and a line keeps its other cells.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from batchfx.errors import SourceError
from batchfx.files.text_foreign import NARROW, foreign_spots

PIECE = 1 << 20
LIMIT = 4 << 20  # characters in a line
MAX_BYTES = 4  # of a character

# A noncharacter: no text holds it by right, so it can stand for what is no text.
UNDECODABLE = "\ufdd0"
ERRORS = "batchfx.undecodable"

DELIMITERS = "\t;|,"  # those that tell whether lines are alike

CTRL_Z = "\x1a"  # DOS wrote it to say that the file ends

LF_CR = "\n\r"  # the wrong way round, but a line end if all others are like it
NUL = b"\0"
TAIL = 1 << 16  # bytes of NUL, from which on there may be nothing else any more
KEPT = 1 << 8  # of these

ANY = "any"  # of the line ends, where a source mixes CR with others
# A noncharacter before a line that follows a CR alone, so that a cell may get it back.
AFTER_CR = "\ufdd3"
LONE_CR = re.compile("\r(?!\n)")

# The longer first: the mark of UTF-32 begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

LINE_ENDS = re.compile("[\r\n]")
ANY_END = re.compile(b"\r\n|\r|\n")
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
    """Consecutive whole lines of a source; after the *last* piece nothing follows.

    *skipped* is how many bytes of NUL at its end were left out.
    """

    start: Mark
    raw: bytes
    encoding: str
    newline: str
    last: bool
    skipped: int = 0

    def text(self) -> str:
        """Return the text, without the Ctrl-Z that may end the source."""
        text = decode(self.raw, self.encoding)
        return _without_end(text) if self.last else text

    def lines(self) -> list[str]:
        """Return the lines; the CR of a CR LF is still at their end."""
        text = self.text()
        if self.newline == ANY:
            text = LONE_CR.sub(f"\r\n{AFTER_CR}", text)
        lines = text.split(self.ends)
        return lines if lines[-1].strip(AFTER_CR) else lines[:-1]

    @property
    def ends(self) -> str:
        """The character at which the lines are split."""
        return "\n" if self.newline == ANY else self.newline

    def mark(self, line: int, after: Mark) -> Mark:
        """Return where *line* begins, going on from *after*, which isn't behind it."""
        if self.newline == ANY:
            return self._mark_any(line, after)
        newline, find = self.newline.encode(self.encoding), self.raw.find
        width, unit = len(newline), width_of(self.encoding)
        at = after.offset - self.start.offset
        if unit == 1:
            rest = self.raw[at:].split(newline, line - after.line)[-1]
            return Mark(self.start.offset + len(self.raw) - len(rest), line)
        for _ in range(line - after.line):
            at = find(newline, at) + width
            while at % unit:  # it stood across two characters
                at = find(newline, at - width + 1) + width
        return Mark(self.start.offset + at, line)

    def _mark_any(self, line: int, after: Mark) -> Mark:
        at, count = after.offset - self.start.offset, line - after.line
        ends = ANY_END.finditer(self.raw, at)
        last = next(islice(ends, count - 1, None)) if count else None
        return Mark(self.start.offset + (last.end() if last else at), line)

    def end(self, line: int) -> Mark:
        """Return where the piece ends, which is where *line* begins."""
        return Mark(self.start.offset + len(self.raw) + self.skipped, line)


def width_of(encoding: str) -> int:
    """Return how many bytes a line feed takes in *encoding*."""
    return len("\n".encode(encoding))


def decode(raw: bytes, encoding: str) -> str:
    """Return the text of *raw*; what isn't in *encoding* becomes `UNDECODABLE`.

    That is UTF-8 as well in lines of a text in which a character is one byte.
    """
    spots = foreign_spots(raw) if encoding in NARROW else ()
    parts, at = [], 0
    for start, end in spots:
        parts += [raw[at:start].decode(encoding, ERRORS), UNDECODABLE]
        at = end
    return "".join([*parts, raw[at:].decode(encoding, ERRORS)])


def _without_end(text: str) -> str:
    """Return *text* without the Ctrl-Z that ends it, and line ends behind that."""
    body = text.rstrip(f"{CTRL_Z}\r\n")
    at = text.find(CTRL_Z, len(body))
    return text if at < 0 else text[:at]


def _may_be_end(raw: bytes) -> bool:
    """Tell whether Ctrl-Z ends *raw*, and so maybe the source."""
    return raw.rstrip(b"\r\n\0").endswith(CTRL_Z.encode())


def _last_end(raw: bytes, newline: str, encoding: str) -> int:
    """Return where the last whole line of *raw* ends; 0 when there is none."""
    if newline == ANY:  # a CR at the very end may be half of a CR LF
        return max(raw.rfind(b"\n"), raw.rfind(b"\r", 0, -1)) + 1
    end, unit = newline.encode(encoding), width_of(encoding)
    at = raw.rfind(end)
    while at >= 0 and at % unit:
        at = raw.rfind(end, 0, at + len(end) - 1)
    return at + len(end) if at >= 0 else 0


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
    width = width_of(encoding)
    size = max(size // width, 1) * width
    raw, cut, last = b"", 0, False
    while not last and (not cut or _may_be_end(raw[:cut])):
        if len(raw) > LIMIT * MAX_BYTES:
            if cut:
                break
            raise _line_too_long(start.line)
        wanted = max(size, len(raw))
        part = read_up_to(source, wanted)
        raw += part
        last = len(part) < wanted
        cut = _last_end(raw, newline, encoding)
        if not (cut or last) and (left := _nuls_to_the_end(source, raw, width)):
            kept, skipped = left
            return Piece(start, kept, encoding, newline, last=True, skipped=skipped)
    whole = raw if last else raw[:cut]
    piece = Piece(start, whole, encoding, newline, last)
    if len(whole) > LIMIT:
        _refuse_long_lines(piece)
    return piece


def _nuls_to_the_end(
    source: BinaryIO, raw: bytes, width: int
) -> tuple[bytes, int] | None:
    """Return *raw* with few of the NULs at its end, and how many are left out.

    None when not all of the *source* from there on is NUL. If it is, the end of the
    file was never written.
    """
    text = len(raw.rstrip(NUL))
    if len(raw) - text < TAIL:
        return None
    behind = source.tell()
    rest = 0
    while part := source.read(PIECE):
        if part.strip(NUL):
            source.seek(behind)
            return None
        rest += len(part)
    kept = raw[: -(-text // width) * width + KEPT]
    return kept, len(raw) + rest - len(kept)


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


def find_newline(text: str, *, several: bool = True) -> str:
    """Return the character that ends the lines of *text*, or `ANY` if *several* do.

    It is LF, with or without a CR before it, unless lines end in CR alone as on old
    Macs, or all of them in LF and CR the wrong way round. Line ends within quotation
    marks have no say.
    """
    bare = re.sub('"[^"]*"', "", text)
    if LF_CR in bare and not LINE_ENDS.search(_without_lf_cr(bare)):
        return LF_CR
    alone = bare.count("\r") - bare.count("\r\n")
    newline, rare = ("\r", "\n") if alone > bare.count("\n") else ("\n", "\r")
    mixes = several and bool(alone) and "\n" in bare and _ends_lines(bare, rare)
    return ANY if mixes else newline


def _without_lf_cr(text: str) -> str:
    """Return *text* without line ends of LF and CR, the last of which may be cut."""
    return text.replace(LF_CR, "").removesuffix("\n")


def _ends_lines(text: str, rare: str) -> bool:
    """Tell whether the *rare* line ends stand between lines like the others.

    Otherwise they are a part of cells.
    """
    lines = re.split("\r\n|\r|\n", text)
    ends = re.findall("\r\n|\r|\n", text)
    spots = [at for at, end in enumerate(ends) if end[-1] == rare]
    spots = [at for at in spots if lines[at] and lines[at + 1]]
    for mark in DELIMITERS:
        counts = [line.count(mark) for line in lines]
        usual = Counter(filter(None, counts)).most_common(1)
        sound = sum(
            counts[at] == counts[at + 1] == count for at in spots for count, _ in usual
        )
        if 2 * sound > len(spots):
            return True
    return False


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
