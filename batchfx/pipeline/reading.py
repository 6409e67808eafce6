"""Text to values, as a careful person would read it.

Every kind of value has one `Reader`. Its *typed* expression takes the cells that are
surely fine, a whole column at once, and gives null for all others; those go to *read*
one by one, which has the last word: a value, or the complaint that there is none.
So *typed* may be narrow, but it must never differ from *read* where it gives a value.

The forms are stated, not guessed: ASCII digits (for which others are taken before, see
`pipeline.digits`), a decimal point, no grouping, ISO 8601 dates unless a column names
another format. Outer blanks are ignored except in text, which is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any
from uuid import UUID

import polars as pl
from pydantic_core import (
    ErrorDetails,
    PydanticKnownError,
    SchemaValidator,
    ValidationError,
)

from batchfx.model.blocks import Kind
from batchfx.model.issues import Phase
from batchfx.pipeline.sheet_numbers import CALCULATED, is_too_long, long_form
from batchfx.pipeline.suggestions import number_in_ascii, plain_integer, plain_uuid

# What `str.strip_chars` of Polars takes away: Unicode's White_Space. Python's own
# `str.strip` takes four control characters more.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)

INTEGER = r"^[+-]?[0-9]+$"
DECIMAL = r"^[+-]?[0-9]+(?:\.[0-9]+)?$"
FLOAT = r"^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
IDENTIFIER = (
    r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
)

# What a sheet shows, and writes into a text file, in place of a long number: the digits
# that are gone are in no file. A small power alone, 2E4, is somebody's own code.
ROUNDED = r"^[+-]?[0-9](?:[.,][0-9]+[eE]\+[0-9]{2,3}|[eE]\+[1-9][0-9]{1,2})$"
POWERS = ("E+", "e+")  # what all of them have, and hardly anything else

# A number cell of a sheet is a binary double, which ends near 1e308.
LARGEST_EXPONENT = 400
DIGITS = 38  # of a Polars Decimal
# Pydantic counts digits after rounding a number to this many: longer ones are its own.
EXACT_DIGITS = 28
SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with one value, before it is known where the value stands.

    *quotes* says that the message and its parameters may have parts of the value.
    """

    code: str
    message: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suggestion: str | None = None
    phase: Phase = Phase.VALUE
    detail: str | None = None
    quotes: bool = False


def known(code: str, phase: Phase = Phase.VALUE, **context: Any) -> Complaint:
    """Make the complaint that Pydantic makes under *code*, in Pydantic's words."""
    error = PydanticKnownError(code, context or None)  # type: ignore[arg-type]  # a name
    parameters = {name: plain(value) for name, value in context.items()}
    return Complaint(code, error.message(), parameters, phase=phase)


def refusals(validator: SchemaValidator, value: Any) -> list[Complaint]:
    """Return what Pydantic has to say against *value*: nothing, if it takes it."""
    try:
        validator.validate_python(value)
    except ValidationError as refused:
        return [complaint_of(error) for error in refused.errors(include_url=False)]
    return []


def complaint_of(error: ErrorDetails) -> Complaint:
    """Return an error about a value as a complaint, with parameters fit for JSON."""
    context = error.get("ctx", {})
    parameters = {name: plain(value) for name, value in context.items()}
    return Complaint(error["type"], error["msg"], parameters, quotes=True)


def precision_lost() -> Complaint:
    """Complain of a number whose last digits are in no file."""
    return Complaint(
        "precision_lost",
        "The number lost its last digits before it was saved; format the column as "
        "text in the sheet, write the whole number again and save the file anew",
    )


def plain(value: Any) -> Any:
    """Return *value* as JSON can hold it."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    return str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How one kind of value is read.

    Attributes:
        kind: What a person would call such a value.
        dtype: The Polars type of the typed column.
        typed: Makes the typed column from the text, null where *read* must decide.
        read: Takes a text and the `Kind` of its cell; returns a value or a `Complaint`.
        fits: Tells whether a value of *dtype* is exactly this Python value.
        values: Makes Python values from the typed column, or from the column of text
            where *from_text* (a decimal number keeps its last zeros).
        plainly: Makes text in the plain notation from the cells' text, null where
            *read* must decide; *typed*, *values* and the rules then see that text.
            None where the cells' own text is seen. Cells that a typed source holds as
            something else than text are plain already.
        trims: Outer blanks don't count, and blanks alone are an empty cell.
        doubtful: The kinds of cell that *typed* must not take.
        finish: What is done to a sound column, or to a sound value, after the rules.
        held: The type of the column in the end, where Polars can't hold the values in
            *dtype*: Object for UUIDs, enum members and URLs.
        as_is: Tells where *typed* gives the text itself; None where it may be changed.

    """

    kind: str
    dtype: pl.DataType
    typed: Callable[[pl.Expr], pl.Expr]
    read: Callable[[str, str], Any]
    fits: Callable[[Any], bool]
    values: Callable[[pl.Series], list[Any]] = pl.Series.to_list
    from_text: bool = False
    trims: bool = True
    doubtful: str = ""
    finish: tuple[Callable[[pl.Series], pl.Series], Callable[[Any], Any]] | None = None
    held: pl.DataType | None = None
    plainly: Callable[[pl.Expr], pl.Expr] | None = None
    as_is: Callable[[pl.Expr], pl.Expr] | None = None


def each(convert: Callable[[Any], Any]) -> Callable[[pl.Series], list[Any]]:
    """Return the function that converts every entry of a series that is not null."""

    def convert_all(series: pl.Series) -> list[Any]:
        entries = series.to_list()
        if series.null_count() == 0:
            return list(map(convert, entries))
        return [None if entry is None else convert(entry) for entry in entries]

    return convert_all


def exactly(expected: type) -> Callable[[Any], bool]:
    """Return the test for values of *expected* itself, not of a subclass."""
    return lambda value: type(value) is expected


def text_reader(leaf: Mapping[str, Any], digits: int | None = None) -> Reader:
    """Read text: nothing is changed but what the schema *leaf* itself changes.

    Refused is a number that is no longer what it was: one that a sheet wrote with a
    power of ten, or a number cell with more than the *digits* that a sheet keeps.
    """
    strips = bool(leaf.get("strip_whitespace"))
    cased = next((key for key in ("to_lower", "to_upper") if leaf.get(key)), None)

    is_whole = partial(_is_whole, digits)

    def typed(cell: pl.Expr) -> pl.Expr:
        text = cell.str.strip_chars() if strips else cell
        text = pl.when(is_whole(text)).then(text)
        if cased is None:
            return text
        # Unicode's rules of case differ from one release to the next.
        return pl.when(text.str.len_bytes() == text.str.len_chars()).then(text)

    def read(text: str, kind: str) -> Any:
        if kind in (Kind.DATE, Kind.DURATION):
            return Complaint(
                "date_in_text_field",
                "The cell holds a date or a time, so its text is not what the sheet "
                "shows; format the cell as text and write it again",
            )
        if kind == Kind.CODE:
            return Complaint(
                "leading_zero_risk",
                "The sheet shows this number with zeros or other signs that the cell "
                "doesn't hold; format the cell as text and write what is shown",
            )
        text = text.strip(BLANKS) if strips else text
        is_long = digits is not None and is_too_long(text, kind, digits)
        return precision_lost() if is_long or re.match(ROUNDED, text) else text

    return Reader(
        "text",
        pl.String(),
        typed,
        read,
        exactly(str),
        trims=False,
        doubtful=Kind.DATE + Kind.DURATION + Kind.CODE,
        finish=_casing(cased) if cased else None,
        as_is=None if strips or cased else is_whole,
    )


def _is_whole(digits: int | None, text: pl.Expr) -> pl.Expr:
    lost = text.str.contains_any(list(POWERS))
    return ~(lost if digits is None else lost | text.str.contains(long_form(digits)))


def _casing(
    key: str,
) -> tuple[Callable[[pl.Series], pl.Series], Callable[[Any], Any]]:
    change = SchemaValidator({"type": "str", key: True})
    if key == "to_lower":
        return lambda series: series.str.to_lowercase(), change.validate_python
    return lambda series: series.str.to_uppercase(), change.validate_python


def integer_reader(digits: int | None = None) -> Reader:
    """Read whole numbers of any length; of number cells, those of so many *digits*."""

    def typed(cell: pl.Expr) -> pl.Expr:
        sure = cell.str.contains(INTEGER)
        if digits is not None:
            sure &= cell.str.len_bytes() <= digits
        return pl.when(sure).then(cell).cast(pl.Int64, strict=False)

    def read(text: str, kind: str) -> Any:
        if digits is not None and is_too_long(text, kind, digits):
            return precision_lost()
        return _integer(text, kind)

    def fits(value: Any) -> bool:
        return type(value) is int and SMALLEST_INTEGER <= value <= LARGEST_INTEGER

    return Reader("integer", pl.Int64(), typed, read, fits)


def _integer(text: str, kind: str) -> Any:
    if kind == Kind.NUMBER:
        number = sheet_number(text)
        if number is not None and number == number.to_integral_value():
            return int(number)
    if re.fullmatch(INTEGER, text):
        try:
            return int(text)
        except ValueError:  # more digits than Python turns into a number
            return known("int_parsing_size")
    return Complaint(
        "int_parsing",
        "Write a whole number in digits alone, such as 1200",
        suggestion=plain_integer(text),
    )


def sheet_number(text: str) -> Decimal | None:
    """Return the number that a sheet's cell holds, which may be written as 1E+20."""
    if not re.fullmatch(FLOAT, text):
        return None
    number = Decimal(text)
    return number if abs(number.adjusted()) <= LARGEST_EXPONENT else None


def decimal_reader(scale: int, digits: int | None = None) -> Reader:
    """Read decimal numbers exactly; Polars holds those of *scale* places or fewer.

    Of number cells, those of so many *digits* are read, and fractions that a
    calculation left.
    """
    places = rf"[0-9]{{1,{scale}}}0*" if scale else "0+"
    sure = rf"^[+-]?[0-9]+(?:\.{places})?$"
    dtype = pl.Decimal(DIGITS, scale)

    def typed(cell: pl.Expr) -> pl.Expr:
        short = cell.str.len_bytes() <= EXACT_DIGITS
        if digits is not None:
            kept = cell.str.len_bytes() <= digits
            short &= kept | cell.str.contains(CALCULATED)
        sound = pl.when(cell.str.contains(sure) & short).then(cell)
        return sound.cast(dtype, strict=False)

    def fits(value: Any) -> bool:
        if type(value) is not Decimal or not value.is_finite():
            return False
        _, digits, exponent = value.as_tuple()
        spare = len(digits) - len("".join(map(str, digits)).rstrip("0"))
        decimals = -int(exponent) - spare
        return decimals <= scale and len(digits) + int(exponent) <= DIGITS - scale

    def read(text: str, kind: str) -> Any:
        if digits is not None and is_too_long(text, kind, digits):
            return precision_lost()
        return _decimal(text, kind)

    return Reader(
        "decimal", dtype, typed, read, fits, values=each(Decimal), from_text=True
    )


def _decimal(text: str, kind: str) -> Any:
    if kind == Kind.NUMBER:
        number = sheet_number(text)
        if number is not None:
            return number
    if re.fullmatch(DECIMAL, text):
        return Decimal(text)
    return Complaint(
        "decimal_parsing",
        "Write a number in digits, with a point before the decimals, such as 1234.50",
        suggestion=number_in_ascii(text, DECIMAL),
    )


def float_reader() -> Reader:
    """Read binary floating-point numbers, which must be finite."""

    def typed(cell: pl.Expr) -> pl.Expr:
        sound = pl.when(cell.str.contains(FLOAT)).then(cell)
        number = sound.cast(pl.Float64, strict=False)
        return pl.when(number.is_finite()).then(number)

    return Reader("number", pl.Float64(), typed, _float, exactly(float))


def _float(text: str, _kind: str) -> Any:
    if re.fullmatch(FLOAT, text):
        number = float(text)
        if isfinite(number):
            return number
        return Complaint("float_parsing", "The number is too large")
    return Complaint(
        "float_parsing",
        "Write a number in digits, with a point before the decimals, such as 1234.5",
        suggestion=number_in_ascii(text, FLOAT),
    )


def uuid_reader() -> Reader:
    """Read UUIDs in their canonical form; Polars holds them as text in lower case."""
    several = SchemaValidator(
        {
            "type": "list",
            "items_schema": {"type": "nullable", "schema": {"type": "uuid"}},
        }
    )

    def typed(cell: pl.Expr) -> pl.Expr:
        return pl.when(cell.str.contains(IDENTIFIER)).then(cell.str.to_lowercase())

    return Reader(
        "uuid",
        pl.String(),
        typed,
        _uuid,
        exactly(UUID),
        values=lambda series: several.validate_python(series.to_list()),
        held=pl.Object(),
    )


def _uuid(text: str, _kind: str) -> Any:
    if re.fullmatch(IDENTIFIER, text):
        return UUID(text)
    return Complaint(
        "uuid_parsing",
        "Write the identifier as 8-4-4-4-12 hexadecimal digits",
        suggestion=plain_uuid(text),
    )


def untyped_reader(*, trims: bool, like: Reader | None) -> Reader:
    """Leave the text to Pydantic; its values are held like those of *like*, if any."""
    return Reader(
        like.kind if like else "other",
        like.dtype if like else pl.Object(),
        lambda cell: cell,
        lambda text, _: text,
        like.fits if like else lambda _: False,
        trims=trims,
        held=like.held if like else pl.Object(),
    )
