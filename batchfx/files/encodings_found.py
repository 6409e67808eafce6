"""In which encoding a source is: as it was given, as it says, or as its bytes tell.

Only Unicode encodings name themselves. Any other is a guess, and is said to be one.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from encodings.aliases import aliases
from typing import BinaryIO

from batchfx.errors import SourceError, UsageError
from batchfx.files.encodings import Guess, guess_encoding
from batchfx.files.encodings_table import TITLES
from batchfx.files.text import (
    ERRORS,
    LIMIT,
    MARKS,
    PIECE,
    UNDECODABLE,
    Mark,
    find_utf16,
    read_up_to,
)
from batchfx.files.text_foreign import NARROW, is_foreign

NAMES = {
    **TITLES,
    **dict.fromkeys(("utf-16-be", "utf-16-le"), "UTF-16"),
    **dict.fromkeys(("utf-32-be", "utf-32-le"), "UTF-32"),
    "utf-8": "UTF-8",
    "iso2022-jp": "ISO-2022-JP",
}

# Characters whose bytes mean something else in an encoding not built upon ASCII.
ASCII_PROBE = b'\\n\\u0041+AGE-,;\t"~{\r\n'

ENOUGH = 1_000  # characters beyond ASCII that decide about UTF-8
EVIDENCE = 1 << 16  # bytes of lines that decide among the encodings before Unicode

# UTF-8 that is broken in a way of its own: halves of UTF-16's pairs, and an overlong
# NUL or slash. It doesn't speak for another encoding.
BROKEN = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]|\xc0[\x80\xaf]")

# Where text of Japan goes from ASCII to other characters, and back.
ESCAPES = re.compile(rb"\x1b\$[@B][!-~]+\x1b\([BJ]")
SWITCH = re.compile(rb"\x1b[$(][@BIJ]")

LONG_LINE = 1_000  # bytes
BETWEEN_WORDS = re.compile(rb"[\x00-\x2f\x3a-\x3f]")  # never a half of a character
FEW = 20  # lines for each line in which there are bytes that are no text at all


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a source's bytes are text.

    *mark* is the length of its byte-order mark. *why* says in words how it was found
    out. *guess* is there when the bytes don't tell which encoding before Unicode it is,
    and *misfit* is then where the first byte is that isn't UTF-8, and its line; *mixed*
    is a line that is UTF-8 all the same.
    """

    name: str
    mark: int = 0
    guessed: bool = False
    why: str = field(default="", compare=False)
    guess: Guess | None = field(default=None, compare=False)
    misfit: Mark | None = field(default=None, compare=False)
    mixed: int | None = field(default=None, compare=False)

    @property
    def title(self) -> str:
        """What people call it."""
        return NAMES.get(self.name, self.name)


def find_encoding(source: BinaryIO, given: str | None = None) -> Encoding:
    """Return the *given* encoding, or the one that the bytes of *source* speak for.

    Raises:
        SourceError: ``encoding``: the bytes are no text in any encoding.
        UsageError: The encoding that is *given* is none, or none for tables.

    """
    source.seek(0)
    head = read_up_to(source, EVIDENCE)
    if given:
        return _given_encoding(given, head)
    for mark, name in MARKS:
        if head.startswith(mark):
            why = "the file begins with its byte-order mark"
            return Encoding(name, len(mark), why=why)
    if found := find_utf16(head):
        why = "its delimiters, digits and line ends have NUL bytes where they must"
        return Encoding(found, guessed=True, why=why)
    if ESCAPES.search(head) and head.isascii():
        why = "it switches between alphabets by escape sequences, as that does"
        return Encoding("iso2022-jp", why=why)
    return _judge_bytes(source)


def _given_encoding(given: str, head: bytes) -> Encoding:
    name = _codec_name(given)
    why = "it was given"
    marked = {own: mark for mark, own in MARKS if own.startswith(name)}
    for own, mark in marked.items():
        if head.startswith(mark):
            return Encoding(own, len(mark), why=why)
    if name in {"utf-16", "utf-32"}:
        found = find_utf16(head) or ""
        name = found if found.startswith(name) else next(iter(marked))
    return Encoding(name, why=why)


def _codec_name(given: str) -> str:
    try:
        name = codecs.lookup(given).name.removesuffix("-sig").replace("_", "-")
    except (LookupError, ValueError):
        message = f"The encoding {given!r} can't be read. Try {_nearest(given)}."
        raise UsageError(message) from None
    if not name.startswith(("utf-16", "utf-32")) and not _is_known(name):
        message = (
            f"The encoding {given!r} can't be read: it isn't built upon ASCII, as "
            "those of text files are. Convert the file to UTF-8."
        )
        raise UsageError(message)
    return name


def _nearest(given: str) -> str:
    """Return the name of the encoding that may be meant, or some usual ones."""
    known = {name.casefold(): name for name in (*TITLES, *NAMES, *TITLES.values())}
    known |= {alias: alias.replace("_", "-") for alias in aliases}
    wanted = re.sub(r"[\s_]+", "-", given.strip()).casefold()
    found = get_close_matches(wanted, known, n=1, cutoff=0.7)
    readable = [known[name] for name in found if _is_known(known[name])]
    return readable[0] if readable else "utf-8, utf-16 or cp1252"


def _is_known(name: str) -> bool:
    try:
        codecs.lookup(name)
        return ASCII_PROBE.decode(name, ERRORS) == ASCII_PROBE.decode("ascii")
    except (LookupError, ValueError):
        return False


@dataclass
class _Evidence:
    """What was found beyond ASCII in a source without NULs."""

    sound: int = 0  # about one for each character of several bytes
    unsound: int = 0
    broken: int = 0  # bytes that are no evidence
    lines: int = 0
    size: int = 0
    misfit: Mark | None = None
    strange: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the strange lines

    def add(self, raw: bytes) -> None:
        """Add the next lines of the source."""
        if not raw.isascii():
            judged = BROKEN.sub(b"", raw)
            text = judged.decode("utf-8", ERRORS)
            self.sound += len(judged) - len(text)
            self.unsound += text.count(UNDECODABLE)
            self.broken += len(raw) - len(judged)
            if (self.unsound or self.broken) and not self.misfit:
                self.misfit = self._find_misfit(raw)
            lines = raw.split(b"\n" if b"\n" in raw else b"\r")
            for number, line in enumerate(lines, self.lines + 1):
                if not line.isascii():
                    self.strange.append(line)
                    self.numbers.append(number)
        self.lines += _count_lines(raw)
        self.size += len(raw)

    def _find_misfit(self, raw: bytes) -> Mark:
        whole = raw.decode("utf-8", "surrogateescape")
        before = re.split("[\udc80-\udcff]", whole)[0].encode()
        line = self.lines + _count_lines(before) + 1
        return Mark(self.size + len(before), line)

    def first_sound_line(self) -> int | None:
        """Return the number of the first strange line that is likely UTF-8."""
        lines = zip(self.numbers, self.strange, strict=True)
        return next((number for number, line in lines if is_foreign(line)), None)

    @property
    def why(self) -> str:
        """What speaks for UTF-8."""
        if not self.strange:
            return f"ASCII alone, {_several(self.size, 'byte')}"
        if not self.misfit:
            return f"{_several(self.sound, 'character')} beyond ASCII, all valid"
        return (
            f"{_several(self.sound, 'character')} beyond ASCII are valid, not valid is "
            f"{_several(self.unsound + self.broken, 'byte')}, "
            f"first {_place(self.misfit)}"
        )


def _count_lines(raw: bytes) -> int:
    return raw.count(b"\n") or raw.count(b"\r")


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _place(mark: Mark) -> str:
    return f"on line {mark.line} (byte {mark.offset:,})"


def _judge_bytes(source: BinaryIO) -> Encoding:
    """Judge text without NULs by the characters beyond ASCII, wherever they begin."""
    source.seek(0)
    found = _Evidence()
    while found.sound + found.unsound < ENOUGH and (raw := read_up_to(source, PIECE)):
        found.add(raw + source.readline(LIMIT))
    if found.sound >= found.unsound:
        return Encoding("utf-8", why=found.why)
    evidence = b"\n".join(map(_telling, found.strange))
    guess = guess_encoding(evidence[:EVIDENCE])
    if guess:
        return _guessed(guess, found)
    if len(found.strange) * FEW <= found.lines:
        return Encoding("utf-8", why=found.why)
    raise _no_text(found)


def _telling(line: bytes) -> bytes:
    """Return *line*, or of a long one the parts with something beyond ASCII."""
    if len(line) <= LONG_LINE:
        return line
    parts = BETWEEN_WORDS.split(line)
    return b"\n".join(part for part in parts if not part.isascii())


def _guessed(guess: Guess, found: _Evidence) -> Encoding:
    words = ", ".join(guess.words)
    why = (
        f"it isn't UTF-8{f' {_place(found.misfit)}' if found.misfit else ''}; "
        f"{guess.title} gives words like {words} ({guess.confidence:.0%} sure)"
    )
    mixed = found.first_sound_line() if guess.name in NARROW else None
    return Encoding(
        guess.name,
        guessed=True,
        why=why,
        guess=guess,
        misfit=found.misfit,
        mixed=mixed,
    )


def _no_text(found: _Evidence) -> SourceError:
    line = found.misfit.line if found.misfit else 1
    offset = found.misfit.offset if found.misfit else 0
    return SourceError(
        "encoding",
        "The file is no text in any encoding that tables are written in; the first "
        f"bytes that aren't UTF-8 are on line {line} (byte {offset:,}). Save it as "
        "UTF-8, or say which encoding it has.",
        line=line,
        offset=offset,
    )
