"""From what a workbook keeps in a cell to a text, a kind and perhaps a fault."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import NamedTuple, cast

from batchfx.errors import SourceError
from batchfx.files.subtotals import SIGN
from batchfx.files.xlsx_formats import GENERAL, NumberFormat, Shape
from batchfx.files.xlsx_strings import SharedStrings, decode_escapes, no_such_text
from batchfx.files.xlsx_values import (
    CANONICAL,
    SURE_LENGTH,
    duration_text,
    iso_text,
    moment_text,
    number_text,
    read_float,
)
from batchfx.model.blocks import Fault, Kind

ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
STYLE = re.compile(r"[0-9]{1,9}")
SHARED = 't="s"'
NO_RESULT = "formula without a result"  # in the place of a cell's attributes
ERROR = "error"  # the same, of a cell that shows one
BOOLEANS = {"1": "true", "0": "false", "true": "true", "false": "false"}
CACHED_MOMENTS = 8192
CACHED_READINGS = 4096


class Odd(NamedTuple):
    """A value that isn't of its cell's usual kind, or isn't sound."""

    text: str
    kind: Kind
    fault: Fault | None = None


class Reading(NamedTuple):
    """How to read cells of one type and style; *convert* takes many at once."""

    kind: Kind
    convert: Callable[[Sequence[str]], Sequence[str | Odd]]


class Column(NamedTuple):
    """The cells of one column; *kinds* has one character for each, or one for all."""

    values: Sequence[str | None]
    kinds: str
    faults: list[tuple[int, Fault]]


class Cells(ABC):
    """Reads cells of one workbook, which are given as pairs of texts.

    The first says how the cell is to be read, the second is what is stored in it.
    """

    def __init__(self) -> None:
        self.reading = lru_cache(CACHED_READINGS)(self._reading)

    @abstractmethod
    def _reading(self, attributes: str) -> Reading: ...

    def cell(self, attributes: str, stored: str) -> Odd:
        """Return the text, kind and fault of one cell."""
        if not stored:
            return Odd("", Kind.EMPTY)
        reading = self.reading(attributes)
        (value,) = reading.convert((stored,))
        if isinstance(value, Odd):
            return value
        return Odd(value, reading.kind if value else Kind.EMPTY)

    def is_blank(self, attributes: Sequence[str], stored: Sequence[str]) -> bool:  # noqa: ARG002 - where a text is only named, they say so
        """Tell whether no cell of a row has more than white space in it."""
        return not any(text and not text.isspace() for text in stored)

    def is_full(self, attributes: Sequence[str], stored: Sequence[str]) -> bool:  # noqa: ARG002 - as above
        """Tell whether all cells of a column surely have more than white space."""
        return "" not in stored and not any(map(str.isspace, stored))

    def column(self, attributes: Sequence[str], stored: Sequence[str]) -> Column:
        """Return the cells of one column of a block."""
        if "" in stored:
            return self._sparse(attributes, stored)
        distinct = set(attributes)
        if len(distinct) > 1:
            return _settle(self._mixed(attributes, stored))
        reading = self.reading(distinct.pop())
        values = reading.convert(stored)
        if not _are_usual(values):
            return _settle([(reading.kind, value) for value in values])
        return Column(cast(Sequence[str], values), reading.kind, [])

    def _sparse(self, attributes: Sequence[str], stored: Sequence[str]) -> Column:
        """Return the cells of a column some of which are empty."""
        distinct = set(compress(attributes, stored))
        if len(distinct) != 1:
            return _settle(self._mixed(attributes, stored))
        reading = self.reading(distinct.pop())
        values = reading.convert(list(filter(None, stored)))
        if not _are_usual(values):
            return _settle(self._mixed(attributes, stored))
        rest = iter(cast(Sequence[str], values))
        kinds = "".join([reading.kind if text else Kind.EMPTY for text in stored])
        return Column([next(rest) if text else None for text in stored], kinds, [])

    def _mixed(
        self, attributes: Sequence[str], stored: Sequence[str]
    ) -> list[tuple[Kind, str | Odd]]:
        """Read the cells of each type and style together, and put them in order."""
        groups: dict[str, list[int]] = defaultdict(list)
        for index, (attribute, text) in enumerate(zip(attributes, stored, strict=True)):
            if text:
                groups[attribute].append(index)
        cells: list[tuple[Kind, str | Odd]] = [(Kind.EMPTY, "")] * len(stored)
        for attribute, indexes in groups.items():
            reading = self.reading(attribute)
            values = reading.convert([stored[index] for index in indexes])
            for index, value in zip(indexes, values, strict=True):
                cells[index] = (reading.kind, value)
        return cells


class TypedCells(Cells):
    """Takes cells as they are.

    The first text is a cell's `Kind`, `ERROR` or `NO_RESULT`.
    """

    def _reading(self, attributes: str) -> Reading:
        attributes = attributes.removesuffix(SIGN)
        if attributes == NO_RESULT:
            return _one_by_one(Kind.EMPTY, _without_result)
        if attributes == ERROR:
            return _one_by_one(Kind.TEXT, _error)
        return Reading(Kind(attributes or Kind.EMPTY), _unchanged)


class FormattedCells(TypedCells):
    """Takes cells as they are, but for numbers, whose format says what they are.

    The first text is that of `TypedCells`, or for a number ``' s="1"'`` with the number
    of its style.
    """

    def __init__(self, formats: Sequence[NumberFormat], *, date1904: bool) -> None:
        super().__init__()
        self._formats = formats
        self._date1904 = date1904

    def _reading(self, attributes: str) -> Reading:
        if attributes and not attributes.startswith(" "):
            return super()._reading(attributes)
        named = dict(ATTRIBUTE.findall(attributes))
        style = named.get("s", "0")
        kind = named.get("t", "n")
        return self._number_reading(style) if kind == "n" else self._other_reading(kind)

    def _other_reading(self, kind: str) -> Reading:
        """Return how to read what isn't a number."""
        readings = {
            "b": _one_by_one(Kind.BOOLEAN, _boolean),
            "e": _one_by_one(Kind.TEXT, _error),
            "d": _one_by_one(Kind.DATE, _iso),
        }
        return readings.get(kind, Reading(Kind.TEXT, _texts))

    def _number_reading(self, style: str) -> Reading:
        index = int(style) if STYLE.fullmatch(style) else 0
        shown = self._formats[index] if index < len(self._formats) else GENERAL
        if shown.shape is Shape.NUMBER:
            if shown.digits:
                return _one_by_one(Kind.NUMBER, partial(_padded, shown))
            return Reading(_kind_of(shown), _numbers)
        if shown.shape is Shape.DURATION:
            return _one_by_one(Kind.DURATION, _serial_reader(duration_text))
        clock = shown.shape is Shape.TIME
        text = partial(moment_text, clock=clock, date1904=self._date1904)
        return _one_by_one(Kind.DATE, _serial_reader(text))


class CellReader(FormattedCells):
    """Reads cells of an .xlsx workbook.

    The first text is the cell's attributes as they stand in the XML, but for its name
    (``' s="1" t="s"'``), the second what its value element holds.
    """

    def __init__(
        self, formats: Sequence[NumberFormat], strings: SharedStrings, *, date1904: bool
    ) -> None:
        super().__init__(formats, date1904=date1904)
        self._strings = strings

    def is_blank(self, attributes: Sequence[str], stored: Sequence[str]) -> bool:
        """Tell whether no cell of a row has more than white space in it."""
        for attribute, text in zip(attributes, stored, strict=True):
            if text and not text.isspace() and not self._names_blank(attribute, text):
                return False
        return True

    def _names_blank(self, attribute: str, text: str) -> bool:
        if SHARED not in attribute:
            return False
        try:
            return self._strings.is_blank(text)
        except SourceError:
            if self._strings.has(text):
                raise
            return False

    def is_full(self, attributes: Sequence[str], stored: Sequence[str]) -> bool:
        """Tell whether all cells of a column surely have more than white space."""
        if not super().is_full(attributes, stored):
            return False
        shared = [SHARED in attribute for attribute in set(attributes)]
        return not any(shared) or (all(shared) and self._strings.are_full(stored))

    def _other_reading(self, kind: str) -> Reading:
        if kind == "s":
            return Reading(Kind.TEXT, self._shared)
        return super()._other_reading(kind)

    def _shared(self, stored: Sequence[str]) -> Sequence[str | Odd]:
        try:
            return self._strings.texts(stored)
        except SourceError:
            has = self._strings.has
            return [self._strings.text(n) if has(n) else _nowhere(n) for n in stored]


def _kind_of(shown: NumberFormat) -> Kind:
    if shown.percent:
        return Kind.PERCENT
    return Kind.CODE if shown.coded else Kind.NUMBER


def _one_by_one(kind: Kind, convert: Callable[[str], str | Odd]) -> Reading:
    return Reading(kind, lambda stored: list(map(convert, stored)))


def _unchanged(stored: Sequence[str]) -> Sequence[str | Odd]:
    return stored


def _texts(stored: Sequence[str]) -> Sequence[str | Odd]:
    # One look at all of them costs less than one at each.
    return list(map(decode_escapes, stored)) if "_x" in "".join(stored) else stored


def _are_usual(values: Sequence[str | Odd]) -> bool:
    return "" not in values and set(map(type, values)) == {str}


def _settle(cells: list[tuple[Kind, str | Odd]]) -> Column:
    """Take the odd and the empty cells of a column apart."""
    values: list[str | None] = []
    kinds: list[str] = []
    faults: list[tuple[int, Fault]] = []
    for usual, value in cells:
        cell = value if isinstance(value, Odd) else Odd(value, usual)
        if cell.fault:
            faults.append((len(values), cell.fault))
        kinds.append(cell.kind if cell.text else Kind.EMPTY)
        values.append(cell.text or None)
    return Column(values, "".join(kinds), faults)


def _numbers(stored: Sequence[str]) -> Sequence[str | Odd]:
    plain = CANONICAL.fullmatch
    return [
        text if plain(text) and len(text) <= SURE_LENGTH else _number(text)
        for text in stored
    ]


def _number(text: str) -> str | Odd:
    return number_text(text) or Odd(text, Kind.TEXT)


def _padded(shown: NumberFormat, text: str) -> str | Odd:
    """Show a whole number with leading zeros, as the formats 00 and longer do."""
    number = number_text(text)
    if number is None:
        return Odd(text, Kind.TEXT)
    figures = number.removeprefix("-")
    if not figures.isdigit() or len(figures) < shown.least:
        return Odd(number, Kind.CODE)
    return number.zfill(shown.digits + number.startswith("-"))


def _serial_reader(show: Callable[[float], str | None]) -> Callable[[str], str | Odd]:
    """Return a reader of numbers that *show* as dates or durations, or stay numbers."""

    def convert(text: str) -> str | Odd:
        serial = read_float(text)
        shown = None if serial is None else show(serial)
        if shown is not None:
            return shown
        number = _number(text)
        return number if isinstance(number, Odd) else Odd(number, Kind.NUMBER)

    return lru_cache(CACHED_MOMENTS)(convert)


def _boolean(text: str) -> str | Odd:
    return BOOLEANS.get(text) or Odd(text, Kind.TEXT)


def _iso(text: str) -> str | Odd:
    return iso_text(text) or Odd(text, Kind.TEXT)


def _error(text: str) -> Odd:
    message = f"The cell shows the error {text[:40]} instead of a value."
    return Odd(text, Kind.TEXT, Fault("error_value", message, value=text))


def _nowhere(number: str) -> Odd:
    fault = Fault("corrupt", no_such_text(number), value=number)
    return Odd("", Kind.EMPTY, fault)


def _without_result(formula: str) -> Odd:
    message = (
        "The cell has a formula whose result is not in the file. "
        "Open the file in Excel and save it."
    )
    return Odd("", Kind.EMPTY, Fault("no_cached_value", message, value=formula))
