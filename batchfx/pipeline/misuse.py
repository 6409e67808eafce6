"""What a `Column` says that can't work with the type of its field.

Each function yields what is wrong, as the rest of a sentence that begins with the
field's name.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic_core import ValidationError

from batchfx.columns import Column
from batchfx.pipeline.kinds import with_readers
from batchfx.pipeline.schemas import ModelSchema, Schema, validator_of
from batchfx.pipeline.words import LANGUAGES

DATED = frozenset({"date", "datetime", "time"})
NUMERIC = frozenset({"integer", "decimal", "number"})
TEXTUAL = frozenset({"text"})

ANY_TIME = datetime(2011, 12, 31, 13)  # noqa: DTZ001 - of no zone

# The kinds of value that each argument means something to, and what to say of it.
USES: Mapping[str, tuple[frozenset[str], str]] = {
    "decimal": (NUMERIC, "a decimal mark is for numbers"),
    "thousands": (NUMERIC, "a sign between thousands is for numbers"),
    "currency": (NUMERIC, "a currency is for numbers"),
    "percent": (NUMERIC, "a percentage is a number"),
    "date_order": (DATED - {"time"}, "an order of dates is for dates"),
    "two_digit_year": (DATED - {"time"}, "a window of years is for dates"),
    "zone": (frozenset({"datetime"}), "a zone is for dates with a time"),
    "languages": (
        DATED | {"boolean"},
        "languages are for words of yes and no, and months",
    ),
    "trim": (TEXTUAL | {"choice"}, "outer blanks are no part of such values anyway"),
    "normal_form": (TEXTUAL | {"choice"}, "a normal form is for text"),
}


def of_format(written: str | None) -> Iterator[str]:
    """Yield why a format can't be read by ``strptime``."""
    if written is None:
        return
    try:
        _reread(written)
    except (ValueError, re.error):  # a letter it doesn't know, or one given twice
        letters = re.findall("%.?", written)
        yield (
            f"has the format {written!r}, which strptime can't read "
            f"({', '.join(letters) or 'no letters'}): write one such as %d.%m.%Y"
        )


def of_column(column: Column, kind: str, *, raw: bool) -> Iterator[str]:
    """Yield what the column says that means nothing to values of *kind*.

    *raw* values are read by Pydantic, which knows of formats alone.
    """
    if raw:
        yield from _of_raw(column)
        return
    if column.format is not None and kind not in DATED:
        yield (
            f"has a format, {column.format!r}, but its values are of the kind "
            f"{kind}: a format is for dates and times"
        )
    elif column.format is not None:
        yield from _of_partial_format(column.format, kind)
    for argument, (kinds, reason) in USES.items():
        said = getattr(column, argument)
        if said not in (None, ()) and kind not in kinds:
            yield (
                f"has {argument}={said!r}, but its values are of the kind {kind}: "
                f"{reason}"
            )


def _of_raw(column: Column) -> Iterator[str]:
    for argument in USES:
        said = getattr(column, argument)
        if said not in (None, ()) and argument not in ("trim", "normal_form"):
            yield (
                f"has {argument}={said!r}, but only Pydantic can read its type: use "
                "a type of single values, or make the value in a BeforeValidator"
            )


def of_languages(column: Column) -> Iterator[str]:
    """Yield the languages of the column that are not known."""
    for language in column.languages:
        if language not in LANGUAGES:
            yield (
                f"has the language {language!r}, which is not known: write some of "
                f"{', '.join(sorted(LANGUAGES))}"
            )


def _of_partial_format(written: str, kind: str) -> Iterator[str]:
    read = _reread(written)
    if kind == "time":
        whole, parts = read.hour == ANY_TIME.hour, "the hour: write %H:%M"
    else:
        whole = read.date() == ANY_TIME.date()
        parts = "day, month and year: write one such as %d.%m.%Y"
    if not whole:
        yield f"has the format {written!r}, which lacks {parts}"


def of_example(column: Column, shape: ModelSchema, leaf: Schema) -> Iterator[str]:
    """Yield why a file could not have the column's example; validators aren't asked."""
    example = column.example
    means_none = not example or example in column.null_tokens
    if example is None or means_none or column.lookup is not None:
        return
    example = column.values.get(example, example)
    schema = shape.complete(with_readers(leaf, column.format, column.notation))
    try:
        validator_of(schema, shape.config).validate_python(example)
    except ValidationError as refused:
        message = refused.errors()[0]["msg"]
        yield f"has the example {example!r} that it refuses itself: {message}"


def _reread(written: str) -> datetime:
    """Return what is left of `ANY_TIME` once it was written and read in a format."""
    with warnings.catch_warnings():  # of a day without a year, which is refused
        warnings.simplefilter("ignore", DeprecationWarning)
        return datetime.strptime(ANY_TIME.strftime(written), written)  # noqa: DTZ007 - its zone plays no part
