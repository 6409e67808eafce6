"""Lines of UTF-8 in a text that is in another encoding.

Files are put together from others, and every encoding of one byte a character reads the
UTF-8 of the odd one out as text: "ZÃ¼rich". A line is such a one when all of it beyond
ASCII is UTF-8 and gives letters as they are in words, which happens by chance only
where letters are half of the upper bytes; those encodings aren't looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

NARROW = frozenset(
    [
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1257"),
        *("cp1258", "cp437", "cp775", "cp850", "cp852", "cp857", "cp858"),
        *("iso8859-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-7"),
        *("iso8859-9", "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15"),
        *("iso8859-16", "koi8-r", "koi8-u", "koi8_u", "mac-latin2", "mac-roman"),
    ]
)

SEQUENCES = re.compile(
    rb"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+"
)
BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
LEAD, MORE = b"\x01", b"\x02"  # how a character begins, and how it goes on
BYTE_KINDS = bytes(0x80) + MORE * 0x40 + bytes(2) + LEAD * 0x33 + bytes(0x0B)
LINE_END = re.compile(rb"[\r\n]")

# Characters of two bytes that are in tables. What is left out is rare, and what "É™"
# and other capitals before a sign would give.
USUAL = re.compile(
    "[\xa0-\u017f\u0218-\u021b\u0386-\u03ce\u0401-\u045f\u0490\u0491\u05d0-\u05ea"
    "\u0620-\u064a\u0e00-\U0010ffff]*"
)
MIXED = re.compile("[A-Za-z\xc0-\u024f][\u0400-\u07ff]|[\u0400-\u07ff][A-Za-z]")
SMALL_IN_CAPITALS = re.compile("[A-Z]{2}([^\x00-\x7fß])")

UNASSIGNED = {"Cc", "Cn", "Co"}


def is_foreign(line: bytes) -> bool:
    """Tell whether all of *line* beyond ASCII is UTF-8, and likely so."""
    if line.isascii():
        return False
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    beyond = "".join(BEYOND_ASCII.findall(text))
    odd = any(map(str.islower, SMALL_IN_CAPITALS.findall(text)))
    known = UNASSIGNED.isdisjoint(map(unicodedata.category, set(beyond)))
    usual = USUAL.fullmatch(beyond) is not None
    return usual and known and not odd and not MIXED.search(text)


def foreign_spots(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield from where to where there are letters of lines that are foreign."""
    at, kinds = 0, raw.translate(BYTE_KINDS)
    while (found := kinds.find(LEAD + MORE, at)) >= 0:
        start = max(raw.rfind(end, at, found) + 1 for end in (b"\n", b"\r")) or at
        after = LINE_END.search(raw, found)
        at = after.start() if after else len(raw)
        line = raw[start:at]
        if is_foreign(line):
            for letters in SEQUENCES.finditer(line):
                yield start + letters.start(), start + letters.end()
