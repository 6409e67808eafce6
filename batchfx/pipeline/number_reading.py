"""Readers of numbers in the notation of their column."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Any

import polars as pl

from batchfx.model.blocks import Kind
from batchfx.model.notations import Notation
from batchfx.pipeline.currencies import CODES
from batchfx.pipeline.numbers import (
    COMMA,
    POINT,
    Parts,
    Reading,
    is_plain,
    mark_of,
    reading,
    shifted,
    taken_apart,
    whole_form,
)
from batchfx.pipeline.reading import (
    ROUNDED,
    Complaint,
    Reader,
    decimal_reader,
    float_reader,
    integer_reader,
    known,
    precision_lost,
    sheet_number,
)
from batchfx.pipeline.sheet_numbers import is_too_long

NAMES = {POINT: "point", COMMA: "comma"}
OTHER = {POINT: COMMA, COMMA: POINT}
DECIMAL = "decimal"  # the question, as `Notation.unsettled` names it
SIDES = re.compile(r"(?:[CD]R)\.?\s*[-+]?[0-9].*|.*[0-9]\s*(?:[CD]R)\.?", re.IGNORECASE)
MINUSES = r"\-\x{2212}\x{2013}"  # within brackets of a pattern
# A number by any mark: without one, or with other than three digits after a point.
UNDECIDED = (
    "Some numbers of this column have a decimal point, others a decimal comma; say "
    "which is right: --set decimal=. or --set decimal=,"
)
WHOLE = r"^[+-]?[0-9]+$"
BARE = re.compile(r"[0-9]*[.,][0-9]+")  # one mark, and nothing that groups digits
EITHER_WAY = r"^[+-]?[0-9]+(?:\.(?:[0-9]{1,2}|[0-9]{4,}))?$"


def integers(notation: Notation) -> Reader:
    """Read whole numbers of any length."""
    return _written(integer_reader(notation.digits), notation, _whole)


def decimals(scale: int, notation: Notation) -> Reader:
    """Read decimal numbers exactly; Polars holds those of *scale* places or fewer."""
    return _written(decimal_reader(scale, notation.digits), notation, _exact)


def floats(notation: Notation) -> Reader:
    """Read binary floating-point numbers, which must be finite."""
    return _written(float_reader(), notation, _binary)


def _written(
    plain: Reader, notation: Notation, convert: Callable[[Decimal], Any]
) -> Reader:
    if is_plain(notation):
        return plain
    read = _NumberReading(plain, notation, mark_of(notation), convert)
    doubtful = Kind.PERCENT if notation.percent == "number" else ""
    return replace(plain, read=read, plainly=_plainly(notation), doubtful=doubtful)


def _plainly(notation: Notation) -> Callable[[pl.Expr], pl.Expr]:
    """Return the expression for texts whose plain form is sure."""
    mark = mark_of(notation)
    if mark is None:
        sure = WHOLE if DECIMAL in notation.unsettled else EITHER_WAY
        return lambda cell: pl.when(cell.str.contains(sure)).then(cell)
    form = _sure_form(mark, notation)

    def plainly(cell: pl.Expr) -> pl.Expr:
        # A balance of nothing in brackets is left to the reading of one text.
        balance = cell.str.starts_with("(") & ~cell.str.contains("[1-9]")
        sure = pl.when(cell.str.contains(form) & ~balance).then(cell)
        digits = sure.str.replace_all(rf"[^0-9\{mark}]", "")
        if mark == COMMA:
            digits = digits.str.replace(COMMA, POINT, literal=True)
        is_negative = cell.str.contains(rf"[{MINUSES}(]")
        sign = pl.when(is_negative).then(pl.lit("-")).otherwise(pl.lit(""))
        return pl.concat_str(sign, digits)

    return plainly


def _sure_form(mark: str, notation: Notation) -> str:
    """Return the pattern of the numbers that most columns have."""
    number = rf"(?:{whole_form(mark, notation.thousands)})(?:\{mark}[0-9]+)?"
    amount, signed = number, f"{number}[{MINUSES}]"
    if notation.currency:
        money, gap = rf"(?:\p{{Sc}}|{'|'.join(sorted(CODES))})", r"[ \x{a0}\x{202f}]?"
        amount = f"(?:{number}(?:{gap}{money})?|{money}{gap}{number})"
        signed = f"{signed}|{money}{gap}[+{MINUSES}]{number}"
    return rf"^(?:[+{MINUSES}]?{amount}|\({amount}\)|{signed})$"


def _whole(number: Decimal) -> Any:
    if int(number.as_tuple().exponent) < 0:
        whole = number.to_integral_value()
        return Complaint(
            "int_parsing",
            "Write a whole number in digits alone, such as 1200",
            suggestion=format(whole, "f") if number == whole else None,
        )
    try:
        return int(format(number, "f"))
    except ValueError:  # more digits than Python turns into a number
        return known("int_parsing_size")


def _exact(number: Decimal) -> Any:
    return number


def _binary(number: Decimal) -> Any:
    value = float(number)
    if isfinite(value):
        return value
    return Complaint("float_parsing", "The number is too large")


@dataclass(frozen=True, slots=True)
class _NumberReading:
    """Reads one text, as the function *read* of a `Reader` does."""

    plain: Reader
    notation: Notation
    mark: str | None
    convert: Callable[[Decimal], Any]

    @property
    def code(self) -> str:
        return {"integer": "int_parsing", "decimal": "decimal_parsing"}.get(
            self.plain.kind, "float_parsing"
        )

    def __call__(self, text: str, kind: str) -> Any:
        if kind == Kind.PERCENT:
            return self._of_cell(text)
        if kind != Kind.TEXT:
            return self.plain.read(text, kind)
        parts = taken_apart(text)
        if parts is None:
            return self._no_number(text)
        return (
            self._of_power(text, parts)
            or self._of_company(parts)
            or self._number(text, parts)
        )

    def _of_cell(self, text: str) -> Any:
        """Return what a cell shows that holds the hundredth of it."""
        digits = self.notation.digits
        number = sheet_number(text)
        if number is None or (digits and is_too_long(text, Kind.NUMBER, digits)):
            return self.plain.read(text, Kind.NUMBER)
        return self.convert(shifted(number, 2))

    def _no_number(self, text: str) -> Complaint:
        found = self.plain.read(text, Kind.TEXT)
        suggestion = found.suggestion if isinstance(found, Complaint) else None
        if SIDES.fullmatch(text):
            message = (
                "Write the amount with - in front where it is negative: CR and DR "
                "mean one thing to a bank and the other to its customer"
            )
            return Complaint(self.code, message)
        return Complaint(self.code, self._form(), suggestion=suggestion)

    def _of_power(self, text: str, parts: Parts) -> Complaint | None:
        if self.plain.kind == "number" or not parts.power:
            return None
        if re.fullmatch(ROUNDED, text):
            return precision_lost()
        if self.plain.kind == "integer":
            suggestion = self._suggested(parts)
            return Complaint(self.code, self._form(), suggestion=suggestion)
        return None

    def _of_company(self, parts: Parts) -> Complaint | None:
        """Complain of a currency or a per cent sign that the column doesn't allow."""
        if parts.currency and not self.notation.currency:
            message = (
                f"Write the amount without '{parts.currency}', or allow currencies in "
                "the column: --set currency_allowed=true"
            )
            suggestion = None if parts.percent else self._suggested(parts)
            return Complaint(self.code, message, suggestion=suggestion, quotes=True)
        if parts.percent and not self.notation.percent:
            message = (
                "Write the number without %, or say what 12 % is: 0.12 with "
                "--set percent=fraction, 12 with --set percent=number"
            )
            return Complaint(self.code, message)
        return None

    def _number(self, text: str, parts: Parts) -> Any:
        found = reading(parts, self.notation.thousands)
        if self.mark is None:
            if found.is_ambiguous:
                return self._ambiguous(found.point, found.comma)
            number = found.only
            if number is not None and self._is_asked(parts):
                return Complaint("ambiguous_number", UNDECIDED)
        else:
            number = found.point if self.mark == POINT else found.comma
        if number is None:
            return self._misread(text, found.only, reading(parts))
        if parts.percent and self.notation.percent == "fraction":
            number = shifted(number, -2)
        return self.convert(number)

    def _is_asked(self, parts: Parts) -> bool:
        """Tell whether the number has nothing but the mark that is asked about."""
        asked = DECIMAL in self.notation.unsettled
        return asked and BARE.fullmatch(parts.digits) is not None

    def _misread(
        self, text: str, otherwise: Decimal | None, free: Reading
    ) -> Complaint:
        """Complain of a number that is none by the column's decimal mark.

        What it is *otherwise* is proposed, if groups of any sign leave no doubt.
        """
        if self.mark is None or otherwise is None:
            grouped = f"{self._form()}; its digits are not grouped in threes"
            marks = re.search(r"[0-9][^0-9][0-9]", text)
            return Complaint(self.code, grouped if marks else self._form())
        message = (
            f"The numbers of this column have a decimal {NAMES[self.mark]}, and this "
            f"one would need a {NAMES[OTHER[self.mark]]}"
        )
        fit = self.convert(otherwise)
        is_sure = not (free.is_ambiguous or isinstance(fit, Complaint))
        suggestion = self._shown(otherwise) if is_sure else None
        return Complaint(self.code, message, suggestion=suggestion)

    def _ambiguous(self, point: Decimal | None, comma: Decimal | None) -> Complaint:
        shown = {"point": str(point), "comma": str(comma)}
        message = (
            f"This is {shown['point']} if the column has a decimal point, and "
            f"{shown['comma']} if it has a decimal comma; say which: "
            "--set decimal=. or --set decimal=,"
        )
        fit = [
            each
            for each in (point, comma)
            if each is not None and not isinstance(self.convert(each), Complaint)
        ]
        suggestion = self._shown(fit[0]) if len(fit) == 1 else None
        return Complaint("ambiguous_number", message, shown, suggestion, quotes=True)

    def _suggested(self, parts: Parts) -> str | None:
        found = reading(parts, self.notation.thousands)
        by_mark = {POINT: found.point, COMMA: found.comma, None: found.only}
        number = by_mark[self.mark]
        if number is None or isinstance(self.convert(number), Complaint):
            return None
        return self._shown(number)

    def _shown(self, number: Decimal) -> str:
        plain = format(number, "f")
        return plain.replace(POINT, COMMA) if self.mark == COMMA else plain

    def _form(self) -> str:
        if self.plain.kind == "integer":
            return "Write a whole number in digits alone, such as 1200"
        mark = self.mark or POINT
        return (
            f"Write a number in digits, with a {NAMES[mark]} before the decimals, "
            f"such as 1234{mark}50"
        )
