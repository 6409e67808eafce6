"""The values of a Parquet column as exact texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import polars as pl

from batchfx.files.json_values import json_text, number_text
from batchfx.model.blocks import Fault, Kind

MOMENT = "%Y-%m-%dT%H:%M:%S%.f"
CLOCK = "%H:%M:%S%.f"
MIDNIGHT = "T00:00:00"
PLACES = {"ms": 3, "us": 6, "ns": 9}  # decimals of a second
SHOWN = 100  # characters of a value in a fault
NOT_FINITE = {"NaN": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
INFINITE = "A number must be finite: NaN and Infinity are none. Leave the cell empty."
NO_TEXT = "The cell holds bytes that are no text. Export the column as text."

PlacedFault = Callable[[int], Fault]  # takes the position of its column


class Column(NamedTuple):
    """The cells of one column; a fault stands with the index of its row."""

    texts: pl.Series
    kind: Kind
    kinds: pl.Series
    faults: Sequence[tuple[int, PlacedFault]] = ()


def read_column(series: pl.Series) -> Column:
    """Return the cells of *series*, which is no structure."""
    kind = series.dtype
    if kind.is_float():
        return _floats(series)
    if kind == pl.Binary:
        return _bytes(series)
    if kind.is_nested():
        return _nested(series)
    return _column(_texts(series), _kind(kind))


def _texts(series: pl.Series) -> pl.Series:
    kind = series.dtype
    if isinstance(kind, pl.Datetime):
        return _moments(series, kind)
    if kind == pl.Time:
        return series.dt.strftime(CLOCK)
    if isinstance(kind, pl.Duration):
        return _durations(series, kind)
    return series.cast(pl.String)


def _kind(kind: pl.DataType) -> Kind:
    if kind.is_numeric():
        return Kind.NUMBER
    if kind == pl.Duration:
        return Kind.DURATION
    if kind.is_temporal():
        return Kind.DATE
    return Kind.BOOLEAN if kind == pl.Boolean else Kind.TEXT


def _column(texts: pl.Series, kind: Kind) -> Column:
    shown = pl.when(pl.first().is_null()).then(pl.lit(Kind.EMPTY.value))
    kinds = texts.to_frame().select(shown.otherwise(pl.lit(kind.value))).to_series()
    return Column(texts, kind, kinds)


def _moments(series: pl.Series, kind: pl.Datetime) -> pl.Series:
    """Return moments; those of a zone as the instants they are, in UTC.

    As in a sheet, a day without a time of day is the day alone.
    """
    plain = series.to_physical().cast(pl.Datetime(kind.time_unit))
    if kind.time_zone is not None:
        return plain.dt.strftime(f"{MOMENT}Z")
    return plain.dt.strftime(MOMENT).str.strip_suffix(MIDNIGHT)


def _durations(series: pl.Series, kind: pl.Duration) -> pl.Series:
    """Return lengths of time in ISO 8601, in hours, minutes and seconds."""
    places = PLACES[kind.time_unit]
    number, second = pl.col("number"), 10**places
    whole, part = number.abs() // second, number.abs() % second
    hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
    decimals = part.cast(pl.String).str.zfill(places).str.strip_chars_end("0")
    fraction = _where(part > 0, pl.lit("."), decimals)
    text = pl.concat_str(
        pl.when(number < 0).then(pl.lit("-PT")).otherwise(pl.lit("PT")),
        _where(hours > 0, hours, pl.lit("H")),
        _where(minutes > 0, minutes, pl.lit("M")),
        _where(whole * second + part == 0, pl.lit("0S")),
        _where((seconds > 0) | (part > 0), seconds, fraction, pl.lit("S")),
    )
    exact = series.to_physical().cast(pl.Int128).alias("number")
    return exact.to_frame().select(pl.when(number.is_not_null()).then(text)).to_series()


def _where(condition: pl.Expr, *parts: pl.Expr) -> pl.Expr:
    """Return *parts* as one text where the condition holds, else an empty one."""
    return pl.when(condition).then(pl.concat_str(parts)).otherwise(pl.lit(""))


def _floats(series: pl.Series) -> Column:
    """Return the shortest texts that stand for just these numbers."""
    texts = series.cast(pl.String)
    if texts.str.contains("e", literal=True).any():
        texts = pl.Series([_written_out(text) for text in texts], dtype=pl.String)
    texts = texts.str.strip_suffix(".0").replace({"-0": "0", **NOT_FINITE})
    column = _column(texts, Kind.NUMBER)
    odd = (~series.is_finite()).fill_null(value=False)
    if not odd.any():
        return column
    faults = [
        (index, partial(_fault, "not_finite", INFINITE, texts[index]))
        for index in odd.arg_true()
    ]
    text = pl.Series([Kind.TEXT.value], dtype=pl.String)
    kinds = column.kinds.set(odd, text[0])
    return column._replace(kinds=kinds, faults=faults)


def _written_out(text: str | None) -> str | None:
    if text is None or "e" not in text:
        return text
    return number_text(text)


def _bytes(series: pl.Series) -> Column:
    texts: list[str | None] = []
    faults: list[tuple[int, PlacedFault]] = []
    for index, value in enumerate(series):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            shown = value[: SHOWN // 2].hex()
            texts.append(None)
            faults.append((index, partial(_fault, "not_text", NO_TEXT, shown)))
    column = _column(pl.Series(texts, dtype=pl.String), Kind.TEXT)
    return column._replace(faults=faults)


def _nested(series: pl.Series) -> Column:
    """Return lists as JSON, as they would stand in a JSON file."""
    texts: list[str | None] = []
    faults: list[tuple[int, PlacedFault]] = []
    for index, value in enumerate(series):
        if value is None:
            texts.append(None)
            continue
        odd: list[Any] = []
        text = json_text(_plain(value, odd))
        texts.append(text)
        if odd:
            fault = partial(_fault, "not_finite", INFINITE, text[:SHOWN])
            faults.append((index, fault))
    column = _column(pl.Series(texts, dtype=pl.String), Kind.TEXT)
    return column._replace(faults=faults)


def _plain(value: Any, odd: list[Any]) -> Any:
    """Return *value* as JSON has it, a number as the bytes of its digits.

    What JSON has no number for is added to *odd*.
    """
    if isinstance(value, pl.Series | list | tuple):
        return [_plain(each, odd) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(each, odd) for name, each in value.items()}
    if isinstance(value, float) and not isfinite(value):
        odd.append(value)
        return json.dumps(value).encode()
    return _leaf(value)


def _leaf(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    kinds = (kind for kind in LEAVES if isinstance(value, kind))
    return LEAVES.get(next(kinds, object), str)(value)


def _fault(code: str, message: str, value: str, column: int) -> Fault:
    return Fault(code, message, column, value)


LEAVES: dict[type, Callable[[Any], Any]] = {
    int: lambda value: str(value).encode(),
    float: lambda value: number_text(repr(value)).removesuffix(".0").encode(),
    Decimal: lambda value: format(value, "f").encode(),
    bytes: lambda value: value.decode("utf-8", "backslashreplace"),
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: lambda value: _texts(pl.Series([value]))[0],
}
