"""The records of JSON one by one: a line each, or the elements of a list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from batchfx.files.cell_texts import shown
from batchfx.files.json_text import SPACE, Mark, Text
from batchfx.files.json_values import Flaw, decode, too_deep, why

BLANK: dict[str, Any] = {}

# A record's line, its value (a `Flaw` if it can't be read), and where it begins, with
# what stands between it and the record before it. A blank line is `BLANK`.
Step = tuple[int, Any, Mark]


def line_records(text: Text, record: int = 0) -> Iterator[Step]:
    """Yield the record of each line from here on; *record* came before.

    Raises:
        DamagedError: ``truncated``: the last line breaks off.
        SourceError: ``record_too_long``.

    """
    while True:
        cut = text.window.rfind("\n", text.at) + 1
        if not cut:
            text.keep()
            if text.more():
                continue
            _refuse_cut_off(text)
            cut = len(text.window)
        lines = text.window[text.at : cut].split("\n")
        if not lines[-1]:
            lines.pop()
        index, number = text.keep(), text.line
        text.go(cut)
        for each in lines:
            yield number, line_value(each), Mark(index, number, record)
            index += len(each) + 1
            number += 1
            record += 1
        if not lines:
            text.keep()
            return


def _refuse_cut_off(text: Text) -> None:
    """Refuse the rest of *text*, a line without an end, if it breaks off."""
    if not isinstance(line_value(text.window[text.at :]), Flaw):
        return
    text.peek()
    try:
        decode(text.window, text.at)
    except json.JSONDecodeError as error:
        damage = text.damage(error.msg, error.pos)
        if damage.code == "truncated":
            raise damage from None
    except RecursionError:  # told as what is wrong with the line
        pass
    text.go_back()


def list_records(text: Text, record: int = 0) -> Iterator[Step]:
    """Yield the elements of a list from here on, and go past its end.

    Raises:
        DamagedError: ``invalid_json`` or ``truncated``.
        SourceError: ``record_too_long`` or ``unsafe_file``.

    """
    while True:
        mark = Mark(text.keep(), text.line, record)
        following = text.peek()
        if following == "]":
            text.at += 1
            return
        if record:
            text.take(",")
            text.peek()
        line = text.line
        yield line, text.value(), mark
        record += 1


def value_records(text: Text, record: int = 0) -> Iterator[Step]:
    """Yield one value after another, to the end.

    Raises:
        DamagedError: ``invalid_json`` or ``truncated``.
        SourceError: ``record_too_long`` or ``unsafe_file``.

    """
    while True:
        mark = Mark(text.keep(), text.line, record)
        following = text.peek()
        if not following:
            return
        if record and following == ",":
            problem = "Extra data"
            raise text.damage(problem, text.at)
        line = text.line
        yield line, text.value(), mark
        record += 1


def line_value(line: str, at: int = 0) -> Any:
    """Return the value that *line* is from *at* on: a `Flaw` if none, or `BLANK`."""
    try:
        value, end = decode(line, at)
        if end == len(line) or not line[end:].strip(SPACE):
            return value
        problem, index = "Extra data", end
    except json.JSONDecodeError as error:
        problem, index = error.msg, error.pos
    except RecursionError:
        return too_deep()
    start = len(line) - len(line.lstrip(SPACE))
    if start == len(line):
        return BLANK
    if at < start:
        return line_value(line, start)
    return _invalid(line, problem, index)


def _invalid(line: str, problem: str, index: int) -> Flaw:
    reason = why(problem, line[index:])
    message = f"This line is no JSON from column {index + 1} on: {reason}."
    return Flaw(None, "invalid_json", message, shown(line), index + 1)
