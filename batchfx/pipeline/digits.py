"""Digits of other scripts, and the signs that stand among them, in ASCII.

Unicode says which character is which digit (the property Numeric_Type=Decimal); "²"
and "①" are none. The signs are those of Arabic and of full width.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import polars as pl

SIGNS = {
    "\u066a": "%",
    "\u066b": ".",  # Arabic decimal separator
    "\u066c": ",",  # Arabic thousands separator
    **{chr(0xFEE0 + ord(sign)): sign for sign in "%()+,-./:"},
}


@cache
def _table() -> dict[int, str]:
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(0x80, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) == "Nd"
    }
    return digits | {ord(sign): plain for sign, plain in SIGNS.items()}


def in_ascii(text: str) -> str:
    """Return *text* with the digits and signs of other scripts in ASCII."""
    return text if text.isascii() else text.translate(_table())


def all_in_ascii(texts: pl.Series) -> pl.Series:
    """Return a column with each text as `in_ascii` gives it."""
    if texts.str.len_bytes().sum() == texts.str.len_chars().sum():
        return texts
    odd = texts.str.len_bytes() != texts.str.len_chars()
    places = odd.arg_true()
    plain = [in_ascii(text) for text in texts.gather(places).to_list()]
    return texts.clone().scatter(places, plain)
