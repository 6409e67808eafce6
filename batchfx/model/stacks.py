"""Columns end to end, as one: Polars asks a price for each column in each call.

With thousands of columns of a few rows that price is nearly all there is to pay.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

WIDE = 100  # columns, from which on it is worth its while


def stacked(frame: pl.DataFrame) -> pl.Series:
    """Return the columns of *frame*, all of one type, below one another."""
    return pl.concat([*frame.iter_columns()], rechunk=True).alias("")


def unstacked(stack: pl.Series, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns of equal length that *stack* consists of."""
    height = len(stack) // len(names)
    return pl.DataFrame(
        [
            stack.slice(place * height, height).alias(name)
            for place, name in enumerate(names)
        ]
    )
