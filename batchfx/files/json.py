"""JSON with records: a list of objects, wherever it is, or an object on each line.

What is read as what:

- The columns are the names of all records, in the order in which they come first in the
  file. An object within a record makes columns with dotted names (``address.city``),
  any list is one cell with its JSON text. Numbers keep their digits.
- ``null`` and a name that is missing are cells without content; ``""`` is an empty
  text.
- A list of lists is a table whose first list holds the names.
- A row's number is the line on which its record starts, if no two records start on one
  line; else it is the number of the record, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from batchfx.errors import SourceError
from batchfx.files.csv_warnings import encoding_guess, warning
from batchfx.files.encodings_found import Encoding, find_encoding
from batchfx.files.json_blocks import Table, blocks
from batchfx.files.json_layout import layout_of, refuse_empty
from batchfx.files.json_records import line_records, list_records, value_records
from batchfx.files.json_survey import survey, survey_values
from batchfx.files.json_text import Place, Text
from batchfx.files.text import PIECE, read_up_to
from batchfx.files.unicode_text import detect_unicode, stated_codec
from batchfx.model.blocks import Block
from batchfx.model.garbage import uncollected
from batchfx.model.issues import Issue
from batchfx.model.sources import Layout

HEAD = 1000  # bytes, in which the JSON begins

WAYS = {"lines": line_records, "list": list_records, "values": value_records}

# A name in quotation marks, or without them as in a program; else a closing brace.
OBJECT = r"""\{\s*(?:\Z|\}|"(?:[^"\\]|\\.)*(?:\Z|"\s*(?:\Z|:))|'|[A-Za-z_]\w*\s*:)"""
SCALAR = r"""(?:"(?:[^"\\]|\\.)*(?:\Z|")|-?[0-9][-+.0-9eE]*|true|false|null)"""
BETWEEN = (
    r"(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*+"  # with comments, which are told
)
JSON = re.compile(
    rf"{BETWEEN}(?:{OBJECT}|\[{BETWEEN}(?:\Z|\]\s*\Z|\[\s*(?:\Z|[\[\]{{\"0-9tfn-])|{OBJECT}"
    rf"|{SCALAR}\s*(?:\Z|,|\]\s*(?:\Z|\n))))",
    re.DOTALL,
)


# What keeps a browser from running the answer of a web service as a script.
GUARD = re.compile(
    r"\s*(?:\)\]\}'?,?|while\s*\((?:1|true)\)\s*;|for\s*\(;;\)\s*;|\{\}\s*&&)\s*(?=[\[{])"
)
# All that some files hold. A name in quotation marks, and a line's end, is a header.
SOLE_VALUE = re.compile(
    r"""\s*(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)\s*"""
    r"""|"(?:[^"\\\n\r]|\\.)*\""""
)


def looks_like_json(head: bytes) -> bool:
    """Tell whether a source that begins with *head* is meant to be JSON."""
    name, mark = detect_unicode(head)
    text = head[mark:].decode(name, "ignore")
    return JSON.match(text, len(_guard_of(text))) is not None


def _guard_of(text: str) -> str:
    found = GUARD.match(text)
    return found[0] if found else ""


def is_sole_value(content: bytes) -> bool:
    """Tell whether *content* is one value of JSON and no record, and no header."""
    name, mark = detect_unicode(content)
    text = content[mark:].decode(name, "ignore")
    return SOLE_VALUE.fullmatch(text) is not None


def inspect_json(
    source: BinaryIO, *, encoding: str | None = None, records: str | None = None
) -> Layout:
    """Find the records in JSON, and the columns that they have together.

    All of the source is gone through. When it breaks off somewhere, the records before
    are found, and a warning says where. The format is "ndjson" for records on a line
    each, else "json". Text that is no UTF is read as what its bytes speak for, with the
    warning ``guessed_encoding``, unless *encoding* says what it is. The settings are
    ``encoding``, ``way``, ``shape``, ``records``, ``numbered`` ("line" or "record"),
    ``start`` and ``damage``.

    Args:
        source: The file, seekable.
        encoding: How its characters are written, if not as a UTF.
        records: The names that lead to the list of records, joined by dots
            (``"data.items"``); "." is the whole file, an object being one record.

    Raises:
        SourceError: ``empty_file``, ``invalid_json``, ``truncated``,
            ``no_records``, ``choose_records``, ``no_such_records``, ``no_header``,
            ``duplicate_header``, ``too_many_columns``, ``record_too_long``,
            ``encoding`` or ``unsafe_file``.
        UsageError: The encoding can't be read.

    """
    found = _encoding(source, encoding)
    guard = _guard(source, found)
    lines = guard.split("\n")
    behind = found.mark + len(guard.encode(found.name))
    start = Place(behind, line=len(lines), column=len(lines[-1]))
    with uncollected():
        content = survey(Text(source, found.name, start))
        is_one = records == "." if records else not content.has_table
        if is_one and not records:
            refuse_empty(content)
        if content.way == "values" or (content.way == "object" and is_one):
            content = survey_values(Text(source, found.name, start))
    layout = layout_of(content, found, records)
    told = (*encoding_guess(found), *_of_guard(guard))
    return replace(layout, warnings=(*told, *layout.warnings))


def _guard(source: BinaryIO, found: Encoding) -> str:
    """Return what stands before the JSON so that it is no script."""
    source.seek(found.mark)
    return _guard_of(read_up_to(source, HEAD).decode(found.name, "ignore"))


def _of_guard(guard: str) -> Iterator[Issue]:
    if guard:
        message = (
            f"The JSON has {guard.strip()!r} in front, which web services put there "
            "so that it is no script. It was left out."
        )
        yield warning("left_out", message, text=guard.strip())


def _encoding(source: BinaryIO, given: str | None) -> Encoding:
    source.seek(0)
    head = read_up_to(source, 4)
    found = stated_codec(given, head) if given else detect_unicode(head)
    if given:
        return Encoding(found.name, found.mark, why="as was said")
    if found.mark or found.name != "utf-8":
        return Encoding(found.name, found.mark, why="its first bytes say so")
    return find_encoding(source)


def read_json(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
    *,
    size: int = PIECE,
) -> Iterator[Block]:
    """Yield the records of JSON in blocks of *rows*, from *position* on if given.

    A record that is no object, or a line that is no JSON, is a fault of its row. What
    breaks the list of records ends the reading. *size* is how many bytes are read at
    once, and makes no difference to what is read.

    Raises:
        SourceError: ``invalid_json``, ``truncated``, ``record_too_long`` or
            ``unsafe_file``, behind the records before it.

    """
    settings = layout.settings
    place = Place.load(position or settings["start"])
    text = Text(source, settings["encoding"], place, size)
    steps = WAYS[settings["way"]](text, place.record)
    yield from blocks(steps, text, Table.of(layout), rows, place.record)
    if damage := settings["damage"]:
        raise SourceError(damage["code"], damage["message"], **damage["parameters"])
