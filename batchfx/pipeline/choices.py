"""Fields that allow a few values only: literals and enumerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import polars as pl

from batchfx.pipeline.reading import BLANKS, Reader, each, exactly, refusals
from batchfx.pipeline.schemas import validator_of
from batchfx.pipeline.suggestions import nearest


def choice_reader(leaf: Mapping[str, Any]) -> Reader:
    """Read one of the values that the schema *leaf* allows, by its text.

    Case counts. A truth value is written ``true`` or ``false``, an enumeration's member
    as its value.
    """
    by_text = values_by_text(leaf)
    texts = list(by_text)
    (refusal,) = refusals(validator_of(leaf), object())

    def typed(cell: pl.Expr) -> pl.Expr:
        return pl.when(cell.is_in(texts)).then(cell)

    def read(text: str, _kind: str) -> Any:
        if text in by_text:
            return by_text[text]
        return replace(refusal, suggestion=nearest(text, texts), quotes=False)

    reader = Reader(
        "choice",
        pl.String(),
        typed,
        read,
        exactly(str),
        trims=all(text and text == text.strip(BLANKS) for text in texts),
    )
    held = _held(list(by_text.values()))
    if held is None:
        return reader
    whole = isinstance(held, pl.Int64)
    return replace(
        reader,
        fits=exactly(int) if whole else exactly(str),
        values=each(by_text.__getitem__),
        held=held,
    )


def values_by_text(leaf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the allowed values by their texts; of two alike the first counts."""
    allowed = leaf["members"] if leaf["type"] == "enum" else leaf["expected"]
    return {_text(value): value for value in reversed(allowed)}


def knows_more_words(leaf: Mapping[str, Any]) -> bool:
    """Tell whether *leaf* is an enumeration that finds members for other values."""
    if leaf["type"] != "enum":
        return False
    found: Any = leaf["cls"]._missing_
    return found.__func__ is not Enum._missing_.__func__  # type: ignore[attr-defined]


def _text(value: Any) -> str:
    inner = value.value if isinstance(value, Enum) else value
    return str(inner).lower() if isinstance(inner, bool) else str(inner)


def _held(values: Sequence[Any]) -> pl.DataType | None:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return None
    return pl.Int64() if kinds == {int} else pl.Object()
