"""Bytes as lines of text: encoding, byte-order mark, line ends.

A source is read in pieces of whole lines, cut in the bytes, so that a place in the
source is a byte offset and reading may start at any of them. Decoding never fails:
bytes that are no text become the mark `UNDECODABLE`, and a line keeps its other cells.

Only Unicode encodings name themselves. Any other is a guess, and is said to be one.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import BinaryIO

from batchfx.errors import SourceError, UsageError

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

NAMES = {
    "cp1251": "Windows-1251",
    "cp1252": "Windows-1252",
    "cp932": "Shift-JIS",
    "gb18030": "GBK",
    "utf-16-be": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-8": "UTF-8",
}

# Characters whose bytes mean something else in an encoding not built upon ASCII.
ASCII_PROBE = b'\\n\\u0041+AGE-,;\t"~{\r\n'

LINE_ENDS = re.compile("[\r\n]")
UTF16_STRANGE = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x19\x1b-\x1f{UNDECODABLE}]")

ENOUGH = 1_000  # characters beyond ASCII that decide about UTF-8
EVIDENCE = 1 << 16  # bytes of lines that decide among the encodings before Unicode


@dataclass(frozen=True, slots=True)
class Script:
    """What text in an encoding of another script looks like in bytes.

    A *run* is of its characters, of *width* bytes each, or else one byte on its own;
    *rare* finds nothing in a character of everyday use, and something in any other. In
    real text most characters are everyday ones and stand in runs; where Latin letters
    have an accent here and a curly quote there, they don't.
    """

    encoding: str
    width: int
    run: re.Pattern[bytes]
    rare: re.Pattern[bytes]

    def share(self, text: bytes) -> float:
        """Return the share of what isn't ASCII that stands in everyday runs."""
        runs = self.run.findall(text)
        long = [each for each in runs if len(each) > 2]  # noqa: PLR2004 - three letters
        common = sum(self.rare.findall(each).count(b"") for each in long)
        total = sum(-(-len(each) // self.width) for each in runs)
        return common / total if total else 0.0


SCRIPTS = (
    Script(
        "cp932",
        2,
        re.compile(rb"(?:[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc])+|[\x80-\xff]"),
        re.compile(rb"[\x81-\x84\x88-\x97].|(..)", re.DOTALL),
    ),
    Script(
        "gb18030",
        2,
        re.compile(rb"(?:[\x81-\xfe][\x40-\x7e\x80-\xfe])+|[\x80-\xff]"),
        re.compile(rb"[\xa1-\xa9\xb0-\xd7][\xa1-\xfe]|(..)", re.DOTALL),
    ),
    Script(
        "cp1251",
        1,
        re.compile(rb"[\xc0-\xff\xa8\xb8]+|[\x80-\xff]"),
        re.compile(rb"[\xc0-\xff\xa8\xb8]|(.)"),
    ),
)
EVERYDAY = 0.7  # the share from which on a script is believed in


def _mark_undecodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNDECODABLE, error.end


codecs.register_error(ERRORS, _mark_undecodable)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a source's bytes are text. *mark* is the length of its byte-order mark."""

    name: str
    mark: int = 0
    guessed: bool = False

    @property
    def title(self) -> str:
        """What people call it."""
        return NAMES.get(self.name, self.name)


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


def find_encoding(source: BinaryIO, given: str | None = None) -> Encoding:
    """Return the *given* encoding, or the one that the bytes of *source* speak for."""
    source.seek(0)
    head = read_up_to(source, EVIDENCE)
    if given:
        return _given_encoding(given, head)
    for mark, name in MARKS:
        if head.startswith(mark):
            return Encoding(name, len(mark))
    if found := find_utf16(head):
        return Encoding(found, guessed=True)
    return _judge_bytes(source)


def _given_encoding(given: str, head: bytes) -> Encoding:
    name = _codec_name(given)
    marked = {own: mark for mark, own in MARKS if own.startswith(name)}
    for own, mark in marked.items():
        if head.startswith(mark):
            return Encoding(own, len(mark))
    if name == "utf-16" and (found := find_utf16(head)):
        return Encoding(found)
    return Encoding(next(iter(marked)) if name in {"utf-16", "utf-32"} else name)


def _codec_name(given: str) -> str:
    try:
        name = codecs.lookup(given).name.removesuffix("-sig").replace("_", "-")
        wide = name.startswith(("utf-16", "utf-32"))
        readable = wide or ASCII_PROBE.decode(name) == ASCII_PROBE.decode("ascii")
    except (LookupError, ValueError):
        readable = False
    if not readable:
        message = f"The encoding {given!r} can't be read. Try utf-8, utf-16 or cp1252."
        raise UsageError(message)
    return name


def find_utf16(head: bytes) -> str | None:
    """Return which UTF-16 the *head* of a source is that has no byte-order mark.

    In it every other byte of a delimiter, a digit or a Latin letter is NUL, lines end
    in it as well, and there are no control characters.
    """
    pairs = head[: len(head) // 2 * 2]
    first, second = pairs[::2].count(0), pairs[1::2].count(0)
    little = second > first
    if max(first, second) * 20 < len(pairs) or min(first, second) * 10 > first + second:
        return None
    name = "utf-16-le" if little else "utf-16-be"
    text = pairs.decode(name, ERRORS)
    strange = len(UTF16_STRANGE.findall(text))
    ends = 2 * len(LINE_ENDS.findall(text)) >= len(re.findall(b"[\r\n]", pairs))
    return name if text and ends and strange <= 1 else None


def _judge_bytes(source: BinaryIO) -> Encoding:
    """Judge text without NULs by the characters beyond ASCII, wherever they begin."""
    source.seek(0)
    sound = unsound = 0
    evidence = b""
    while sound + unsound < ENOUGH and (raw := read_up_to(source, PIECE)):
        raw += source.readline(LIMIT)
        if raw.isascii():
            continue
        text = raw.decode("utf-8", ERRORS)
        unsound += text.count(UNDECODABLE)
        sound += len(raw) - len(text)  # about one for each character of several bytes
        evidence += b"\n".join(line for line in raw.split(b"\n") if not line.isascii())
    if sound >= unsound:
        return Encoding("utf-8")
    return Encoding(guess_legacy(evidence[:EVIDENCE]), guessed=True)


def guess_legacy(evidence: bytes) -> str:
    """Guess the encoding of text that isn't Unicode: often it's Windows-1252."""
    shares = {script.encoding: script.share(evidence) for script in SCRIPTS}
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best] >= EVERYDAY else "cp1252"
