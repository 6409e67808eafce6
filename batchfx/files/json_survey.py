"""What is found in JSON text when it is gone through once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from batchfx.errors import SourceError
from batchfx.files.cell_texts import clean
from batchfx.files.json_records import (
    BLANK,
    Step,
    line_records,
    line_value,
    list_records,
    value_records,
)
from batchfx.files.json_text import SPACE, DamagedError, Place, Text
from batchfx.files.json_values import Flaw, lay_out

COLUMNS = 16_384  # as many as a sheet has
NAMES_SIZE = 4 << 20  # characters of all names
SHAPES = 10_000  # sequences of names that are known to be nothing new

LEVELS = 3  # of names above the records
FIRST_LINE = 1 << 20  # characters to look for its end in


@dataclass
class Survey:
    """What the records of one list have in common.

    Attributes:
        columns: The names of all cells, in the order in which they came first.
        top: The first record that isn't blank, if it is a list; it is on *top_line*,
            and number *top_record*.
        place: Where the records begin, and *below* where those below *top* do.
        count: How many records there are, blank ones and all.
        own_lines: No two of them begin on one line.

    """

    columns: dict[str, None] = field(default_factory=dict)
    top: list[Any] | None = None
    count: int = 0
    objects: int = 0
    own_lines: bool = True
    place: Place = field(default_factory=lambda: Place(0))
    below: Place | None = None
    top_line: int = 0
    top_record: int = 0
    flaw: tuple[int, Flaw] | None = None  # the first, and its line
    _line: int = 0
    _size: int = 0
    _shapes: set[tuple[str, ...]] = field(default_factory=set)
    _void: set[str] = field(default_factory=set)  # that were null whenever there

    def take(self, steps: Iterable[Step], text: Text) -> None:
        """Go through records of *text*.

        Raises:
            SourceError: ``too_many_columns``, or what *steps* raises.

        """
        try:
            for line, value, mark in steps:
                if self.top_record and not self.below:
                    self.below = text.place(mark)
                if value is not BLANK:
                    self._take(line, value, mark.record + 1)
        finally:
            self.below = self.below or text.kept(self.top_record)

    def _take(self, line: int, value: Any, record: int) -> None:
        self.count += 1
        self.own_lines = self.own_lines and line > self._line
        self._line = line
        if isinstance(value, dict):
            self.objects += 1
            self._look_at(value)
        elif isinstance(value, list):
            if not (self.top or self.objects):
                self.top, self.top_line, self.top_record = value, line, record
        elif isinstance(value, Flaw):
            self.flaw = self.flaw or (line, value)

    def names(self) -> tuple[str, ...]:
        """Return the columns, but for those that are just what objects lack.

        ``{"address": null}`` beside ``{"address": {"city": "Rome"}}`` makes none.
        """
        above = {
            name[:end]
            for name in self.columns
            for end, character in enumerate(name)
            if character == "."
        }
        left_out = self._void & above
        return tuple(name for name in self.columns if name not in left_out)

    def _look_at(self, record: dict[str, Any]) -> None:
        nested = any(isinstance(value, dict) for value in record.values())
        shape = tuple(record)
        if nested or shape not in self._shapes:
            cells = lay_out(record).cells
            for name in cells.keys() - self.columns.keys():
                self._size += len(name)
                self._void.add(name)
            self.columns |= dict.fromkeys(cells)
            self._refuse_many()
            if len(self._shapes) == SHAPES:
                self._shapes.clear()
            self._shapes.add(shape)
            self._void -= {name for name in self._void if cells.get(name) is not None}
        elif self._void:
            self._void -= {n for n in self._void if record.get(n) is not None}

    def _refuse_many(self) -> None:
        if len(self.columns) > COLUMNS or self._size > NAMES_SIZE:
            message = (
                f"The records have {len(self.columns):,} different names, or more: "
                "these are no columns of a table. Perhaps names hold what should be "
                "values."
            )
            raise SourceError("too_many_columns", message, found=len(self.columns))


@dataclass
class Found:
    """A list somewhere in the text. *path* are the names that lead to it."""

    path: tuple[str, ...]
    survey: Survey

    @property
    def name(self) -> str:
        """What it is called; the whole text is "."."""
        return ".".join(self.path) or "."

    @property
    def is_table(self) -> bool:
        """Whether its records are objects."""
        return self.survey.objects > 0


@dataclass
class Content:
    """What the text holds: *way* is "lines", "list", "values" or "object".

    *inside* are the names of each object that may hold the records, by the names that
    lead to it, *void* those of the outermost with null. *damage* is where the text
    breaks off.
    """

    way: str
    lists: list[Found] = field(default_factory=list)
    inside: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    void: list[str] = field(default_factory=list)
    damage: DamagedError | None = None

    @property
    def names(self) -> list[str]:
        """The names of the outermost object."""
        return self.inside.get((), [])

    @property
    def has_table(self) -> bool:
        """Whether some list may be the records."""
        return any(each.survey.objects or each.survey.top for each in self.lists)


def survey(text: Text) -> Content:
    """Go through *text* from its beginning, and return what it holds.

    Raises:
        SourceError: ``empty_file``, ``invalid_json``, ``no_records``,
            ``too_many_columns``, ``record_too_long`` or ``unsafe_file``.

    """
    first = text.peek()
    if not first:
        raise SourceError(
            "empty_file", "The file is empty: there is nothing to import."
        )
    if first == "/":  # of a comment
        problem = "Expecting value"
        raise text.damage(problem, text.at)
    if first not in "{[":
        message = "The file has no records: JSON with records begins with [ or {."
        raise SourceError("no_records", message)
    if has_lines(text):
        text.go_back()
        return _whole("lines", text)
    content = Content("list" if first == "[" else "object")
    try:
        _go_through_value(text, (), content)
        following = text.peek()
    except DamagedError as damage:
        content.damage = damage
        return content
    if following and following == first == "{":
        return Content("values")
    content.damage = text.damage("Extra data", text.at) if following else None
    return content


def survey_values(text: Text) -> Content:
    """Go through *text*, which holds one value after another or just one."""
    return _whole("values", text)


def _whole(way: str, text: Text) -> Content:
    content = Content(way, [Found((), Survey(place=text.here()))])
    steps = line_records(text) if way == "lines" else value_records(text)
    try:
        content.lists[0].survey.take(steps, text)
    except DamagedError as damage:
        content.damage = damage
    return content


def has_lines(text: Text) -> bool:
    """Tell whether each line from here on is a record of its own.

    The first line is a whole value and something follows, or it is broken, but no
    value goes on with the second line: an opening brace needs a comma before it.
    """
    while "\n" not in text.window[text.at :].strip(SPACE) and _is_short(text):
        if not text.more():
            break
    start = text.window[text.at : text.at + FIRST_LINE]
    lines = [each.strip(SPACE) for each in start.split("\n")]
    first, second, *_ = [each for each in lines if each] + ["", ""]
    if not second or second[0] != first[0]:
        return bool(second) and first[0] == "{" and _is_value(first)
    return _is_value(first) or (first[0] == "{" and first[-1] not in ",[{:")


def _is_short(text: Text) -> bool:
    return len(text.window) - text.at < FIRST_LINE


def _is_value(line: str) -> bool:
    return not isinstance(line_value(line), Flaw)


def _go_through_object(text: Text, path: tuple[str, ...], content: Content) -> None:
    text.take("{")
    if text.peek() == "}":
        text.at += 1
        return
    while True:
        if text.peek() != '"':
            problem = "Expecting property name"
            raise text.damage(problem, text.at)
        name = clean(text.value())
        text.take(":")
        content.inside.setdefault(path, []).append(name)
        if not path:
            content.void += [name] * (text.peek() == "n")
        _go_through_value(text, (*path, name), content)
        if text.peek() == "}":
            text.at += 1
            return
        text.take(",")
        text.keep()


def _go_through_value(text: Text, path: tuple[str, ...], content: Content) -> None:
    first = text.peek()
    if first == "[":
        _go_through_list(text, path, content)
    elif first == "{" and len(path) < LEVELS:
        _go_through_object(text, path, content)
    else:
        text.value()


def _go_through_list(text: Text, path: tuple[str, ...], content: Content) -> None:
    text.take("[")
    found = Found(path, Survey(place=text.here()))
    content.lists.append(found)
    found.survey.take(list_records(text), text)
