"""The values of JSON as cells: numbers by their digits, objects as dotted columns.

A number is the bytes of its digits, which no float ever was; that tells it apart from a
text at no cost. Standard JSON has no NaN and no repeated names, but files have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from json.decoder import JSONDecoder
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from batchfx.files.cell_texts import clean, shown, whole
from batchfx.model.blocks import Fault

DEPTH = 64  # of objects and lists within a record
NEAR = 80  # characters behind a problem
LONGEST_NUMBER = 400  # digits to which an exponent is written out


NULL = type(None)
FLAT = frozenset({str, bytes, bool, NULL})

REASONS = {
    "Expecting value": "a value is missing, or is none of JSON",
    "Expecting property name": "a name in quotation marks is missing",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Expecting ':'": "a colon is missing behind a name",
    "Illegal trailing comma": "a comma has nothing behind it",
    "Unterminated string": "the quotation mark that opens a text isn't closed",
    "Invalid \\": "a backslash stands before what it can't escape",
    "Extra data": "something follows the end",
}


class Constant(str):
    """``NaN``, ``Infinity`` or ``-Infinity``."""

    __slots__ = ()


class Repeated(dict[str, Any]):
    """An object in which *names* are there more than once."""

    __slots__ = ("names",)
    names: frozenset[str]


class TooDeepError(ValueError):
    """Brackets within brackets, more than `DEPTH`."""


class Flaw(NamedTuple):
    """What is wrong with the cell *name*, None for the record; *value* shows it.

    *at* is the column of the line, from 1, where it is.
    """

    name: Any
    code: str
    message: str
    value: str | None = None
    at: int | None = None


class Laid(NamedTuple):
    """A record laid out as cells, and what is wrong with it."""

    cells: dict[Any, Any]
    flaws: tuple[Flaw, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    repeated = Repeated(pairs)
    repeated.names = frozenset(name for name in found if names.count(name) > 1)
    return repeated


# Control characters within texts are no JSON, but mean what they are: not strict.
DECODER = JSONDecoder(
    object_pairs_hook=_object,
    parse_int=str.encode,
    parse_float=str.encode,
    parse_constant=Constant,
    strict=False,
)
decode: Callable[[str, int], tuple[Any, int]] = DECODER.raw_decode


def why(problem: str, rest: str) -> str:
    """Return in words what the decoder calls *problem*, where *rest* follows."""
    rest = rest[:NEAR].lstrip()
    if rest.startswith(("//", "/*")):
        return "comments are no part of JSON"
    if problem.startswith("Extra data") and rest.startswith(","):
        return (
            "a comma follows the end of a record. Records on lines of their own have "
            "no commas between them; those with commas stand within [ and ]"
        )
    found = (text for start, text in REASONS.items() if problem.startswith(start))
    return next(found, "it breaks the rules of JSON")


def number_text(digits: str) -> str:
    """Return a number without exponent, all its digits kept, unless it is monstrous."""
    number = Decimal(digits)
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and abs(number.adjusted()) < LONGEST_NUMBER:
        return format(number, "f")
    return digits


def json_text(value: Any, depth: int = 0) -> str:
    """Return the JSON text of *value*, numbers by their digits.

    Raises:
        TooDeepError: There are brackets within brackets, too many.

    """
    if isinstance(value, list | dict) and depth == DEPTH:
        raise TooDeepError
    match value:
        case str():
            return (
                str(value) if isinstance(value, Constant) else encode_basestring(value)
            )
        case bytes():
            return value.decode()
        case list():
            return f"[{', '.join(json_text(each, depth + 1) for each in value)}]"
        case dict():
            pairs = (
                f"{encode_basestring(name)}: {json_text(each, depth + 1)}"
                for name, each in value.items()
            )
            return f"{{{', '.join(pairs)}}}"
        case _:
            return json.dumps(value)


def lay_out(record: Any) -> Laid:
    """Return the cells of *record*: names of objects in it are joined by dots.

    A list is its JSON text, an object without members nothing at all.
    """
    if not isinstance(record, dict):
        return Laid({}, (_no_object(record),))
    cells: dict[str, Any] = {}
    flaws: list[Flaw] = []
    try:
        for name, value, is_repeated in _members(record, "", 0):
            if is_repeated or name in cells:
                cells[name] = None
                flaws.append(_repeated(name))
            else:
                cells[name] = cell(name, value, flaws)
    except TooDeepError:
        return Laid({}, (too_deep(),))
    return Laid(cells, tuple(flaws))


def _members(
    found: dict[str, Any], prefix: str, depth: int
) -> Iterator[tuple[str, Any, bool]]:
    if depth == DEPTH:
        raise TooDeepError
    repeated = found.names if isinstance(found, Repeated) else ()
    for name, value in found.items():
        path = prefix + whole(name)
        if isinstance(value, dict) and name not in repeated:
            yield from _members(value, f"{path}.", depth + 1)
        else:
            yield path, value, name in repeated


def cell(name: Any, value: Any, flaws: list[Flaw]) -> Any:
    """Return the cell of *value*, flat; what is wrong with it is added to *flaws*.

    Raises:
        TooDeepError: There are brackets within brackets, too many.

    """
    if type(value) in FLAT:
        return value
    text = json_text(value)
    if any(isinstance(each, Constant) for each in _leaves(value)):
        message = "A number must be finite: NaN and Infinity are none. Use null."
        flaws.append(Flaw(name, "not_finite", message, shown(text)))
    if any(isinstance(each, Repeated) for each in _leaves(value)):
        flaws.append(_repeated(name))
    return text


def _leaves(value: Any) -> Iterator[Any]:
    """Yield *value* and all that is in it."""
    yield value
    inner: Sequence[Any] = ()
    if isinstance(value, list):
        inner = value
    elif isinstance(value, dict):
        inner = tuple(value.values())
    for each in inner:
        yield from _leaves(each)


def _repeated(name: str) -> Flaw:
    message = (
        f"'{clean(name)}' is there more than once in this record. Keep one of them."
    )
    return Flaw(name, "duplicate_key", message)


def _no_object(value: Any) -> Flaw:
    message = 'This record is no object with names, such as {"name": "value"}.'
    try:
        text = shown(json_text(value))
    except TooDeepError:
        return too_deep()
    return Flaw(None, "not_an_object", message, text)


def too_deep() -> Flaw:
    """Return what is wrong with a record that has too many brackets in brackets."""
    message = f"This record has more than {DEPTH} brackets within brackets."
    return Flaw(None, "too_deep", message)


def fault_of(flaw: Flaw, column: int | None) -> Fault:
    """Return the fault that *flaw* is, of the cell at *column* if of any."""
    parameters = {} if flaw.at is None else {"column": flaw.at}
    return Fault(flaw.code, flaw.message, column, flaw.value, parameters)
