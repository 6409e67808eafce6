"""What a row model declares about its values, as expressions over typed columns.

A rule is kept twice: as an expression that is true where a value is refused, and as the
Pydantic schema with this one constraint. The second judges values that Polars can't
hold, and it is Pydantic's own word: the two must agree on every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from math import isnan
from sys import float_info
from typing import Any

import polars as pl
from pydantic_core import SchemaValidator

from batchfx.model.issues import Phase
from batchfx.pipeline.reading import (
    DIGITS,
    LARGEST_INTEGER,
    SMALLEST_INTEGER,
    Complaint,
    Reader,
    known,
    refusals,
)
from batchfx.pipeline.schemas import Schema, validator_of

# The order in which Pydantic checks; it stops at the first that fails.
LIMITS = ("le", "lt", "ge", "gt")
CODES = {
    "le": "less_than_equal",
    "lt": "less_than",
    "ge": "greater_than_equal",
    "gt": "greater_than",
}
REFUSED: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "le": lambda value, limit: value > limit,
    "lt": lambda value, limit: value >= limit,
    "ge": lambda value, limit: value < limit,
    "gt": lambda value, limit: value <= limit,
}
# Values that break every limit that can be broken.
EXTREMES: Mapping[str, tuple[Any, Any]] = {
    "int": (-(10**400), 10**400),
    "float": (-float_info.max, float_info.max),
    "decimal": (Decimal("-1E+9999"), Decimal("1E+9999")),
    "date": (date.min, date.max),
    "datetime": (datetime.min, datetime.max),  # noqa: DTZ901 - compared, never shown
    "time": (time.min, time.max),
    "timedelta": (timedelta.min, timedelta.max),
}
UNBOUNDED = 10**6  # digits: more than any number in a file has


def text_name(field: str) -> str:
    """Return the name of the column that has the text of *field*."""
    return f"{field} text"


@dataclass(frozen=True, eq=False)
class Rule:
    """One declared constraint.

    *mask* is true where the typed column's value is refused, or None where Pydantic has
    to be asked about every value; *now_op* says that the constraint is about today.
    *settled* says that the reader leaves every value that is refused to Pydantic.
    """

    complaint: Complaint
    schema: Schema
    config: Schema
    mask: pl.Expr | None
    now_op: str | None = None
    settled: bool = False

    @property
    def code(self) -> str:
        """The code of the issues that the rule makes."""
        return self.complaint.code

    @cached_property
    def validator(self) -> SchemaValidator:
        """Pydantic's validator with this constraint alone."""
        return validator_of(self.schema, self.config)

    def refuses(self, value: Any, now: datetime) -> bool:
        """Tell whether one value is refused at the moment *now*."""
        if self.now_op is None:
            return not self.validator.isinstance_python(value)
        limit = _now_for(value, now)
        return not (value < limit if self.now_op == "past" else value > limit)

    def refused(self, value: pl.Expr, dtype: pl.DataType, now: datetime) -> pl.Expr:
        """Return the mask of a rule about today."""
        today = now.date() if dtype == pl.Date else now.replace(tzinfo=None)
        limit: pl.Expr = pl.lit(today, dtype=dtype)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            limit = pl.lit(now.astimezone(UTC), dtype=dtype)
        return value >= limit if self.now_op == "past" else value <= limit


def _now_for(value: Any, now: datetime) -> Any:
    if not isinstance(value, datetime):
        return now.date()
    return now if value.tzinfo else now.replace(tzinfo=None)


def rules_of(
    field: str, leaf: Schema, reader: Reader, config: Schema
) -> tuple[Rule, ...]:
    """Return the rules that the schema *leaf* declares, in Pydantic's order."""
    makers = {
        "str": _text_rules,
        "int": _number_rules,
        "float": _number_rules,
        "decimal": _decimal_rules,
        "date": _moment_rules,
        "datetime": _moment_rules,
        "time": _moment_rules,
        "timedelta": _moment_rules,
        "uuid": _uuid_rules,
    }
    maker = makers.get(leaf["type"])
    if maker is None:
        return ()
    return tuple(maker(_Maker(field, leaf, reader, config)))


@dataclass(frozen=True, slots=True)
class _Maker:
    """What is needed to make the rules of one field."""

    field: str
    leaf: Schema
    reader: Reader
    config: Schema

    @property
    def value(self) -> pl.Expr:
        return pl.col(self.field)

    def rule(
        self,
        complaint: Complaint,
        mask: pl.Expr | None,
        *,
        now_op: str | None = None,
        settled: bool = False,
        **constraint: Any,
    ) -> Rule:
        config = {
            key: value for key, value in self.config.items() if key == "regex_engine"
        }
        schema = {"type": self.leaf["type"], **constraint}
        return Rule(complaint, schema, config, mask, now_op, settled)


def _told(code: str, **context: Any) -> Complaint:
    return known(code, Phase.RULE, **context)


def _limit_told(make: _Maker, key: str) -> Complaint:
    """Return what Pydantic says of a value beyond the limit *key*."""
    limit = {key: make.leaf[key]}
    return _said(make, EXTREMES[make.leaf["type"]], CODES[key], **limit)


def _said(
    make: _Maker, breaking: Iterable[Any], code: str = "multiple_of", **constraint: Any
) -> Complaint:
    """Have Pydantic complain about the first of the values that breaks a constraint.

    It writes numbers and moments into its messages in its own way.
    """
    validator = validator_of({"type": make.leaf["type"], **constraint})
    for value in breaking:
        for found in refusals(validator, value):
            return replace(found, phase=Phase.RULE, quotes=False)
    return Complaint(code, "Every value is in order", phase=Phase.RULE)


def _text_rules(make: _Maker) -> Iterator[Rule]:
    leaf, value = make.leaf, make.value
    if leaf.get("ascii_only"):
        wide = value.str.len_bytes() != value.str.len_chars()
        yield make.rule(_told("string_not_ascii"), wide, ascii_only=True)
    if (least := leaf.get("min_length")) is not None:
        complaint = _told("string_too_short", min_length=least)
        yield make.rule(complaint, value.str.len_chars() < least, min_length=least)
    if (most := leaf.get("max_length")) is not None:
        complaint = _told("string_too_long", max_length=most)
        yield make.rule(complaint, value.str.len_chars() > most, max_length=most)
    if (pattern := leaf.get("pattern")) is not None:
        yield _pattern_rule(make, pattern)


def _pattern_rule(make: _Maker, pattern: Any) -> Rule:
    """Pydantic and Polars use one engine, unless Python's is asked for."""
    written = pattern if isinstance(pattern, str) else pattern.pattern
    engine = make.leaf.get("regex_engine", make.config.get("regex_engine"))
    mask = None
    if engine in (None, "rust-regex") and _polars_takes(pattern):
        mask = ~make.value.str.contains(pattern)
    constraint = {"pattern": pattern}
    if "regex_engine" in make.leaf:
        constraint["regex_engine"] = engine
    complaint = _told("string_pattern_mismatch", pattern=written)
    return make.rule(complaint, mask, **constraint)


def _polars_takes(pattern: Any) -> bool:
    if not isinstance(pattern, str):  # compiled by Python, and searched by it
        return False
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        return False
    return True


def _number_rules(make: _Maker) -> Iterator[Rule]:
    leaf = make.leaf
    whole = leaf["type"] == "int"
    if (factor := leaf.get("multiple_of")) is not None:
        mask = None
        if whole and _is_small(factor) and factor:
            mask = make.value % pl.lit(factor, pl.Int64) != 0
        broken = 1 if whole else factor / 2
        complaint = _said(make, [broken], multiple_of=factor)
        yield make.rule(complaint, mask, multiple_of=factor)
    for key in LIMITS:
        if (limit := leaf.get(key)) is None:
            continue
        mask = None
        if _is_small(limit) or (not whole and _is_number(limit)):
            mask = REFUSED[key](make.value, pl.lit(limit, make.reader.dtype))
        yield make.rule(_limit_told(make, key), mask, **{key: limit})


def _is_small(value: Any) -> bool:
    return type(value) is int and SMALLEST_INTEGER <= value <= LARGEST_INTEGER


def _is_number(value: Any) -> bool:
    return type(value) is float and not isnan(value)


def _decimal_rules(make: _Maker) -> Iterator[Rule]:
    leaf = make.leaf
    digits, places = leaf.get("max_digits"), leaf.get("decimal_places")
    if digits is not None:
        complaint = _told("decimal_max_digits", max_digits=digits)
        yield make.rule(complaint, _digits(make) > digits, max_digits=digits)
    if places is not None:
        complaint = _told("decimal_max_places", decimal_places=places)
        # The reader's column has just these places: no sure value has more.
        settled = make.reader.dtype == pl.Decimal(DIGITS, places)
        yield make.rule(complaint, None, settled=settled, decimal_places=places)
    if digits is not None and places is not None:
        whole = max(digits - places, 0)
        complaint = _told("decimal_whole_digits", whole_digits=whole)
        mask = _whole_digits(make) > whole
        alone = {"max_digits": UNBOUNDED + whole, "decimal_places": UNBOUNDED}
        yield make.rule(complaint, mask, **alone)
    if (factor := leaf.get("multiple_of")) is not None:
        half = Decimal(str(factor)) / 2
        complaint = _said(make, [half], multiple_of=factor)
        yield make.rule(complaint, None, multiple_of=factor)
    for key in LIMITS:
        if (limit := leaf.get(key)) is not None:
            exact = Decimal(str(limit))
            mask = None
            if make.reader.fits(exact):
                mask = REFUSED[key](make.value, pl.lit(exact, make.reader.dtype))
            yield make.rule(_limit_told(make, key), mask, **{key: limit})


def _digits(make: _Maker) -> pl.Expr:
    """Count the digits that Pydantic counts: not the zeros outside."""
    text = pl.col(text_name(make.field))
    text = text.str.strip_chars_start("+-").str.strip_chars_start("0")
    pointed = text.str.contains(".", literal=True)
    text = pl.when(pointed).then(text.str.strip_chars_end("0")).otherwise(text)
    count = text.str.len_bytes().cast(pl.Int64) - pointed.cast(pl.Int64)
    sure = make.value.is_not_null()
    return pl.when(sure).then(pl.max_horizontal(count, pl.lit(1)))


def _whole_digits(make: _Maker) -> pl.Expr:
    """Count the digits before the point; a zero alone is one, unless it has places."""
    text = pl.col(text_name(make.field)).str.strip_chars_start("+-")
    whole = text.str.extract("^0*([0-9]*)").str.len_bytes().cast(pl.Int64)
    bare_zero = text.str.contains("^0+$").cast(pl.Int64)
    return pl.when(make.value.is_not_null()).then(whole + bare_zero)


def _moment_rules(make: _Maker) -> Iterator[Rule]:
    leaf, kind = make.leaf, make.leaf["type"]
    for key in LIMITS:
        if (limit := leaf.get(key)) is None:
            continue
        mask = None
        held = _held_limit(limit, make.reader)
        if held is not None:
            mask = REFUSED[key](make.value, pl.lit(held, make.reader.dtype))
        yield make.rule(_limit_told(make, key), mask, **{key: limit})
    if now_op := leaf.get("now_op"):
        name = "date" if kind == "date" else "datetime"
        complaint = _told(f"{name}_{now_op}")
        yield make.rule(complaint, None, now_op=now_op)
    zone = leaf.get("tz_constraint")
    if zone in ("aware", "naive"):
        # The reader takes only moments with (or only without) a zone as sure.
        complaint = _told(f"timezone_{zone}")
        settled = kind == "datetime" or zone == "naive"
        yield make.rule(complaint, None, settled=settled, tz_constraint=zone)


def _held_limit(limit: Any, reader: Reader) -> Any:
    """Return the limit that stands for *limit* in the column, or None."""
    if isinstance(reader.dtype, pl.Datetime) and type(limit) is datetime:
        # Pydantic compares the clocks' faces where only one of two has a zone.
        if reader.dtype.time_zone is None:
            return limit.replace(tzinfo=None)
        if limit.tzinfo is None:
            return limit.replace(tzinfo=UTC)
        try:
            return limit.astimezone(UTC)
        except OverflowError:
            return None
    return limit if reader.fits(limit) else None


def _uuid_rules(make: _Maker) -> Iterator[Rule]:
    if (version := make.leaf.get("version")) is not None:
        complaint = _told("uuid_version", expected_version=version)
        form = rf"^.{{14}}{version}.{{4}}[89ab]"
        mask = ~make.value.str.contains(form)
        yield make.rule(complaint, mask, version=version)
