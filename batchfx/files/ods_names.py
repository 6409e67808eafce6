"""Names of elements and attributes as `xlsx_xml.make_parser` gives them.

They are those of OpenDocument 1.0 to 1.4 (OASIS), whose namespaces never changed.
"""

from __future__ import annotations

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
OFFICE = f"{_ODF}office:1.0 "
TABLE = f"{_ODF}table:1.0 "
TEXT = f"{_ODF}text:1.0 "
STYLE = f"{_ODF}style:1.0 "
NUMBER = f"{_ODF}datastyle:1.0 "
CALC = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0 "

SHEET = f"{TABLE}table"
ROW = f"{TABLE}table-row"
CELL = f"{TABLE}table-cell"
COVERED = f"{TABLE}covered-table-cell"
CELLS = frozenset({CELL, COVERED})
COLUMN = f"{TABLE}table-column"
CONTAINERS = frozenset(
    f"{TABLE}table-{name}"
    for name in (
        "row-group",
        "rows",
        "header-rows",
        "column-group",
        "columns",
        "header-columns",
    )
)

ROWS_REPEATED = f"{TABLE}number-rows-repeated"
COLUMNS_REPEATED = f"{TABLE}number-columns-repeated"
ROWS_SPANNED = f"{TABLE}number-rows-spanned"
COLUMNS_SPANNED = f"{TABLE}number-columns-spanned"
VISIBILITY = f"{TABLE}visibility"
DISPLAY = f"{TABLE}display"
STYLE_NAME = f"{TABLE}style-name"
CELL_STYLE = f"{TABLE}default-cell-style-name"
FORMULA = f"{TABLE}formula"
VALUE_TYPE = f"{OFFICE}value-type"


def read_count(text: str | None) -> int:
    """Return a count of repetitions; 1 for none, and for what is no count."""
    if text is None or not (text.isascii() and text.isdigit()):
        return 1
    return max(int(text[:9]), 1)  # of more digits, as many are too many as well
