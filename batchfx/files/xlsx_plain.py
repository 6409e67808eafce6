"""The plain form in which nearly every program writes sheets and shared strings.

A part is read by a real XML parser up to the element that holds its rows (or strings).
From there it is plain as long as it is UTF-8 with nothing but the five named entities,
a few numbered ones, and characters that XML allows; whole elements of it can then be
taken apart by regular expressions that match them from end to end, several times
faster than by a parser's events. `Pieces` hands these out. Whatever they can't match
is given back, and the XML parser reads on from there: it knows all of XML, and also
checks the part's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from batchfx.files.xlsx_xml import drive, make_parser, refuse_size

HEAD_LIMIT = 4 * 1024**2  # bytes before the first row
PIECE_LIMIT = 4 * 1024**2  # bytes without the end of an element

ENTITIES = {
    "lt": "<",
    "gt": ">",
    "amp": "&",
    "quot": '"',
    "apos": "'",
    "#9": "\t",
    "#x9": "\t",
    "#10": "\n",
    "#xA": "\n",
    "#xa": "\n",
    "#13": "\r",
    "#xD": "\r",
    "#xd": "\r",
    "#34": '"',
    "#39": "'",
}
ENTITY = re.compile(f"&({'|'.join(ENTITIES)});")
STRAY_AMPERSAND = re.compile(f"&(?!(?:{'|'.join(ENTITIES)});)")
FORBIDDEN = bytes({*range(0x20)} - {0x09, 0x0A, 0x0D})
NONCHARACTERS = ("\ufffe", "\uffff")
DECLARED = re.compile(rb"[^>]*\bencoding\b(?!\s*=\s*[\"'](?i:utf-8)[\"'])")


class Head(NamedTuple):
    """The beginning of a part.

    *prefix* ends with the start tag of the element asked for, if *plain*; *rest* is
    what was read beyond. Together they are all that was read.
    """

    prefix: bytes
    rest: bytes
    plain: bool


def read_head(chunks: Iterator[bytes], part: str, container: str) -> Head:
    """Read *part* up to the start tag of the element with the local name *container*.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``, as `drive` does.

    """
    starts: list[int] = []

    def start(name: str, _: dict[str, str]) -> None:
        if name.rpartition(" ")[2] == container:
            starts.append(parser.CurrentByteIndex)

    parser = make_parser()
    parser.StartElementHandler = start
    read: list[bytes] = []
    for _ in drive(parser, _kept(chunks, read), part):
        if starts:
            break
        if sum(map(len, read)) > HEAD_LIMIT:
            refuse_size(part)
    data = b"".join(read)
    opening = re.compile(rb"<%b(?:\s[^<>]*[^<>/])?>" % container.encode())
    match = opening.match(data, starts[0]) if starts else None
    if match is None or not _is_utf8(data):
        return Head(data, b"", plain=False)
    return Head(data[: match.end()], data[match.end() :], plain=True)


class Pieces:
    """Cuts a part into text that ends with an *end* tag, as long as it is plain."""

    def __init__(self, rest: bytes, chunks: Iterator[bytes], end: bytes) -> None:
        self._rest = rest
        self._chunks = chunks
        self._end = end

    def __iter__(self) -> Iterator[str]:
        while (text := self._next()) is not None:
            yield text

    def give_back(self, text: str) -> None:
        """Take back the part of the last piece that could not be read."""
        self._rest = text.encode() + self._rest

    def remainder(self) -> Iterator[bytes]:
        """Yield all bytes that were not handed out."""
        yield self._rest
        yield from self._chunks

    def _next(self) -> str | None:
        while (cut := self._rest.rfind(self._end)) < 0:
            chunk = next(self._chunks, b"")
            if not chunk or len(self._rest) > PIECE_LIMIT:
                self._rest += chunk
                return None
            self._rest += chunk
        cut += len(self._end)
        text = plain_text(self._rest[:cut])
        if text is not None:
            self._rest = self._rest[cut:]
        return text


def plain_text(piece: bytes) -> str | None:
    """Return *piece* as text, its line ends as XML has them; None if it isn't plain."""
    if len(piece.translate(None, FORBIDDEN)) < len(piece):
        return None
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        return None
    odd = any(character in text for character in NONCHARACTERS)
    if odd or ("&" in text and STRAY_AMPERSAND.search(text)):
        return None
    if "\r" in text:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def unescape(text: str) -> str:
    """Replace the entities of plain text."""
    return ENTITY.sub(lambda match: ENTITIES[match[1]], text) if "&" in text else text


def _kept(chunks: Iterator[bytes], read: list[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        read.append(chunk)
        yield chunk


def _is_utf8(data: bytes) -> bool:
    """Tell whether the part is UTF-8: nothing else said, or just that."""
    start = data.removeprefix(b"\xef\xbb\xbf")
    if not start.startswith(b"<"):
        return False
    declaration = start[: start.find(b">")] if start.startswith(b"<?xml") else b""
    return not DECLARED.match(declaration)
