"""Which reader a field's type gets, and readers inside what only Pydantic can check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import PydanticCustomError

from batchfx.columns import Column
from batchfx.model.blocks import Kind
from batchfx.model.notations import Notation
from batchfx.pipeline.addresses import email_reader, url_reader
from batchfx.pipeline.choices import (
    choice_reader,
    knows_more_words,
    values_by_text,
)
from batchfx.pipeline.clocks import time_reader
from batchfx.pipeline.digits import in_ascii
from batchfx.pipeline.durations import duration_reader
from batchfx.pipeline.moments import date_reader, datetime_reader
from batchfx.pipeline.number_reading import decimals, floats, integers
from batchfx.pipeline.reading import (
    BLANKS,
    Complaint,
    Reader,
    text_reader,
    uuid_reader,
)
from batchfx.pipeline.schemas import (
    HARMLESS,
    INERT,
    INNER,
    STRUCTURES,
    TEXT_SETTINGS,
    Schema,
    is_address,
    is_email,
)
from batchfx.pipeline.words import boolean_reader

PLAIN = Notation()

# Places kept by Polars where the field's type doesn't say how many there may be.
USUAL_PLACES = 10
MOST_PLACES = 30

LIMITS = frozenset({"le", "lt", "ge", "gt"})
CLOCK = frozenset({"tz_constraint", "microseconds_precision"})

# The constraints on each type that are known here.
KNOWN = {
    "str": {
        "min_length",
        "max_length",
        "pattern",
        "strip_whitespace",
        "to_lower",
        "to_upper",
        "ascii_only",
        "regex_engine",
        "coerce_numbers_to_str",
    },
    "int": LIMITS | {"multiple_of"},
    "float": LIMITS | {"multiple_of", "allow_inf_nan"},
    "decimal": LIMITS
    | {"multiple_of", "allow_inf_nan", "max_digits", "decimal_places"},
    "bool": set(),
    "date": LIMITS | {"now_op"},
    "datetime": LIMITS | CLOCK | {"now_op"},
    "time": LIMITS | CLOCK,
    "timedelta": LIMITS | {"microseconds_precision"},
    "uuid": {"version"},
    "enum": {"cls", "members", "sub_type"},
    "literal": {"expected"},
}

READERS: Mapping[str, Callable[[Schema, str | None, Notation], Reader]] = {
    "str": lambda leaf, _, notation: text_reader(leaf, notation.digits),
    "int": lambda _, __, notation: integers(notation),
    "float": lambda _, __, notation: floats(notation),
    "decimal": lambda leaf, _, notation: decimals(places_of(leaf), notation),
    "bool": lambda _, __, notation: boolean_reader(notation.languages),
    "date": lambda _, written, notation: date_reader(written, notation),
    "datetime": lambda leaf, written, notation: datetime_reader(
        written, notation, zoned=leaf.get("tz_constraint")
    ),
    "time": lambda _, written, notation: time_reader(written, notation),
    "timedelta": lambda _, __, ___: duration_reader(),
    "uuid": lambda _, __, ___: uuid_reader(),
    "enum": lambda leaf, _, __: choice_reader(leaf),
    "literal": lambda leaf, _, __: choice_reader(leaf),
}

IN_DIGITS = frozenset(
    {"int", "float", "decimal", "date", "datetime", "time", "timedelta"}
)


def places_of(leaf: Schema) -> int:
    """Return how many decimal places the column of a decimal field keeps."""
    places: int = leaf.get("decimal_places", USUAL_PLACES)
    return min(places, MOST_PLACES)


def with_settings(leaf: Schema, config: Schema) -> Schema:
    """Return the schema of a text with what the model's settings add to it."""
    if leaf["type"] != "str":
        return leaf
    settings = {key.removeprefix("str_"): config.get(key) for key in TEXT_SETTINGS}
    stated = {key: value for key, value in settings.items() if value is not None}
    return {**stated, **leaf}


def reader_of(
    leaf: Schema, column: Column, config: Schema, notation: Notation = PLAIN
) -> Reader | None:
    """Return the reader for the type *leaf*, or None when only Pydantic knows it."""
    if is_address(leaf):
        make = email_reader if is_email(leaf) else url_reader
        return make(leaf) if config.keys() <= HARMLESS else None
    if not _is_known(leaf) or not config.keys() <= HARMLESS | TEXT_SETTINGS:
        return None
    return _reader(with_settings(leaf, config), column.format, notation)


def _reader(leaf: Schema, written: str | None, notation: Notation) -> Reader:
    """Return the reader, which takes digits of any script where it reads digits."""
    reader = READERS[leaf["type"]](leaf, written, notation)
    if leaf["type"] not in IN_DIGITS:
        return reader
    read = reader.read
    return replace(reader, read=lambda text, kind: read(in_ascii(text), kind))


def _is_known(leaf: Schema) -> bool:
    kind = leaf["type"]
    return (
        kind in KNOWN
        and leaf.keys() <= KNOWN[kind] | INERT
        and leaf.get("tz_constraint") in (None, "aware", "naive")
        and not knows_more_words(leaf)
    )


def with_readers(
    schema: Schema, written: str | None, notation: Notation = PLAIN
) -> Schema:
    """Return *schema* in which every type reads text as strictly as a compiled field.

    Pydantic's own reading of text is wide: to a date, 20240101 is a Unix time.
    """
    kind = schema["type"]
    if kind in STRUCTURES or kind == "json":
        return schema
    inner = {
        key: _each(schema[key], written, notation) for key in INNER if key in schema
    }
    rebuilt = {**schema, **inner}
    if kind == "union":
        rebuilt["strict"] = False  # or no text would be read
    if kind not in READERS or kind == "str":
        return rebuilt
    if kind in ("enum", "literal"):
        read = _choosing(values_by_text(schema))
    else:
        read = _reading(_reader(schema, written, notation))
    function = {"type": "no-info", "function": read}
    reading = {"type": "function-before", "function": function, "schema": rebuilt}
    return _inexact(reading, rebuilt)


def _inexact(reading: Schema, typed: Schema) -> Schema:
    """Let a union see that a value was made from text, and not given as it is.

    To Pydantic's union of int and str, 00501 is a text. What a reader makes of it,
    501, would otherwise count as exactly an integer.
    """
    return {
        "type": "lax-or-strict",
        "lax_schema": reading,
        "strict_schema": {**typed, "strict": True},
        "strict": False,
    }


def _each(inner: Any, written: str | None, notation: Notation) -> Any:
    if isinstance(inner, Mapping) and "type" in inner:
        return with_readers(inner, written, notation)
    if isinstance(inner, Mapping):  # the choices of a tagged union
        return {key: _each(choice, written, notation) for key, choice in inner.items()}
    if isinstance(inner, tuple):  # a choice and its label
        return (_each(inner[0], written, notation), *inner[1:])
    if isinstance(inner, list):
        return [_each(choice, written, notation) for choice in inner]
    return inner


def _choosing(values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Let Pydantic refuse what is no value's text, or a class find a member for it."""

    def read(value: Any) -> Any:
        return values.get(value.strip(BLANKS), value) if type(value) is str else value

    return read


def _reading(reader: Reader) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = reader.read(value.strip(BLANKS), Kind.TEXT)
        if not isinstance(found, Complaint):
            return found
        raise PydanticCustomError(found.code, found.message)

    return read
