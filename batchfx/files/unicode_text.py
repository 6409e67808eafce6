"""The encoding of formats that say it themselves, or are Unicode by definition."""

from __future__ import annotations

import codecs
import json
from typing import NamedTuple

from batchfx.errors import UsageError
from batchfx.files.text import ERRORS, MARKS

PROBE = "[{\"<a b='1'>\n\\;&,}]\\n\\u0041+AGE-~{"


class Codec(NamedTuple):
    """A codec without state; *mark* is the length of the byte-order mark to skip."""

    name: str
    mark: int = 0


def detect_unicode(head: bytes) -> Codec:
    """Return the UTF that *head* begins in.

    Without a byte-order mark, UTF-16 and UTF-32 show by the NULs among the first four
    bytes, which are two ASCII characters at least (RFC 4627, section 3).
    """
    for mark, name in MARKS:
        if head.startswith(mark):
            return Codec(name, len(mark))
    return Codec(json.detect_encoding(head))


def stated_codec(stated: str, head: bytes) -> Codec:
    """Return the codec called *stated*; *head* tells the byte order if it doesn't.

    Raises:
        UsageError: There is none, or it isn't one of texts like these.

    """
    try:
        name = codecs.lookup(stated).name.removesuffix("-sig")
        wide = name.startswith(("utf-16", "utf-32"))
        plain = PROBE.encode("ascii")
        readable = wide or (
            PROBE.encode(name) == plain and plain.decode(name, ERRORS) == PROBE
        )
    except (LookupError, ValueError):
        readable = False
    if not readable:
        message = f"The encoding {stated!r} can't be read. Try utf-8, utf-16 or cp1252."
        raise UsageError(message)
    found = detect_unicode(head)
    if found.name.startswith(name):
        return found
    return Codec(f"{name}-le" if name in {"utf-16", "utf-32"} else name)
