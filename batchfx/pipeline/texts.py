"""What is done to the text of a cell before it is read, where its column says so.

In this order: outer blanks go, texts that mean no value become none, the text is
brought to its Unicode normal form, and a text that stands for another is replaced.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Literal, cast

import polars as pl

from batchfx.model.notations import Notation

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
MARKS = r"\p{M}"


def prepared(cell: pl.Expr, notation: Notation, *, trims: bool) -> pl.Expr:
    """Return the text of *cell* as it is to be read, null where there is no value.

    Args:
        cell: The text of the cells.
        notation: What is said of the column.
        trims: The kind of value has no outer blanks, and blanks alone are no value.

    """
    if trims or notation.trim:
        # A condition would have the blanks stripped twice.
        cell = cell.str.strip_chars().replace("", None)
    if notation.null_tokens:
        cell = pl.when(~cell.is_in(list(notation.null_tokens))).then(cell)
    if notation.normal_form:
        cell = cell.str.normalize(cast("NormalForm", notation.normal_form))
    if notation.values:
        cell = _replaced(cell, notation.values)
    return cell


def folded_text(text: str) -> str:
    """Return *text* without case, accents and outer blanks."""
    bare = unicodedata.normalize("NFKD", text.strip())
    return "".join(
        c for c in bare if not unicodedata.category(c).startswith("M")
    ).lower()


def _replaced(cell: pl.Expr, values: Mapping[str, str]) -> pl.Expr:
    """Replace what is named exactly, else what is named but for case and accents."""
    near: dict[str, str | None] = {}
    for text, value in values.items():
        key = folded_text(text)
        near[key] = value if near.get(key, value) == value else None
    sure = {key: value for key, value in near.items() if value is not None}
    bare = cell.str.normalize("NFKD").str.replace_all(MARKS, "")
    bare = bare.str.strip_chars().str.to_lowercase()
    return pl.coalesce(_looked_up(cell, values), _looked_up(bare, sure), cell)


def _looked_up(key: pl.Expr, values: Mapping[str, str]) -> pl.Expr:
    return key.replace_strict(
        list(values), list(values.values()), default=None, return_dtype=pl.String
    )
