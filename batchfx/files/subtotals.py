"""Cells of a sheet whose formula is a subtotal of other rows: no record has one.

`Excel's subtotals <https://support.microsoft.com/office/7b027003>`_ and the totals of
its tables are such formulas. One that has its own row in its range is none of these:
it counts or adds up the rows so far, in every record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SIGN = ' f="subtotal"'  # behind the attributes of such a cell
NAME = "SUBTOTAL("
ROWS = r"\$?[A-Z]{1,3}\$?([0-9]{1,7})"
FORMULA = re.compile(r"=?SUBTOTAL\( *1?0?[0-9]{1,2} *[,;]([^()]*)\)", re.IGNORECASE)
RANGE = re.compile(rf"\.?{ROWS}(?::\.?{ROWS})?")
OF_TABLE = re.compile(r"(?:\w*\[[^\[\]#@]+\])(?:[,;] *)?")
SHEET = re.compile(r"(?:\$?'[^']+'|\$?\w+)[!.](?=\$?[A-Z])")
CELL = re.compile(
    r'<c r="([A-Z]+)([0-9]+)"[^<>]*>\s*<f[^<>]*>([^<]*)</f>', re.IGNORECASE
)


def is_subtotal(formula: str, row: int) -> bool:
    """Tell whether a *formula* in *row* is a subtotal of nothing but other rows."""
    found = FORMULA.fullmatch(formula.strip())
    if found is None:
        return False
    ranges = found[1].strip()
    if OF_TABLE.fullmatch(ranges) and not RANGE.search(ranges):
        return True
    spans = [
        RANGE.fullmatch(SHEET.sub("", each.strip(" []")))
        for each in re.split("[,;]", ranges)
    ]
    return all(
        span is not None and not int(span[1]) <= row <= int(span[2] or span[1])
        for span in spans
    )


def subtotal_columns(cells: str) -> frozenset[str]:
    """Return the letters of the columns of a row, in XML, that have a subtotal."""
    if NAME not in cells:
        return frozenset()
    return frozenset(
        letters
        for letters, row, formula in CELL.findall(cells)
        if is_subtotal(formula, int(row))
    )


def has_subtotal(attributes: Iterable[str]) -> bool:
    """Tell whether one of a row's cells has a subtotal."""
    return any(each.endswith(SIGN) for each in attributes)
