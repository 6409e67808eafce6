"""Names of columns as files have them, compared as people compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from batchfx.model.names import folded

SEVERAL = 4  # twice the two names that are more than chance


def matches(names: Iterable[str], expected: Iterable[str]) -> int:
    """Return how many of the *expected* names are among *names*."""
    return len(set(map(folded, expected)) & set(map(folded, names)) - {""})


def has_expected(names: Iterable[str], expected: Iterable[str]) -> bool:
    """Tell whether *names* are plainly those of the *expected* columns.

    They have half of the expected ones, or half of them, and two at least, are such.
    """
    own, wanted = set(map(folded, names)) - {""}, set(map(folded, expected)) - {""}
    found = len(own & wanted)
    return 0 < len(wanted) <= 2 * found or len(own) <= 2 * found >= SEVERAL


def repeated(names: Mapping[int, str]) -> dict[str, list[int]]:
    """Return the names that several columns have, each with these columns."""
    columns: dict[str, list[int]] = {}
    for column, name in names.items():
        columns.setdefault(name, []).append(column)
    return {name: found for name, found in columns.items() if len(found) > 1}
