"""The notation in which programs write a sheet's rows, as regular expressions.

They match whole elements from end to end, so that nothing of a row goes unseen.
"""

from __future__ import annotations

import re

from batchfx.files.subtotals import SIGN, subtotal_columns
from batchfx.files.xlsx_plain import unescape

SPACE = r"[ \t\n]*+"
ATTRIBUTES = r'(?: (?!xmlns|r=)[A-Za-z0-9:]+="[^"<&]*+")*+'
CELL_ATTRIBUTES = r'(?: (?:s|t|cm|vm|ph)="[A-Za-z0-9]*+")*+'
REFERENCE = r'<c r="[A-Z]{1,3}[0-9]{1,7}"'
FORMULA = rf"<f{ATTRIBUTES}(?: ?/>|>[^<]*+</f>){SPACE}"
NO_VALUE = r"<v></v>|<v ?/>"
TEXT = r'<t(?: xml:space="preserve")?>[^<]*+</t>|<t ?/>'
CELL = (
    rf"{REFERENCE}{CELL_ATTRIBUTES}(?: ?/>|>{SPACE}(?:"
    r"<v>[^<]*+</v>|<v ?/>"
    rf"|<is>{SPACE}(?:{TEXT}){SPACE}</is>"
    rf"|{FORMULA}<v>[^<]++</v>"
    rf"){SPACE}</c>|>{SPACE}</c>)"
    # The result of a formula may be no text; no number means that it is missing.
    rf'|{REFERENCE}(?: s="[0-9]*+")?+ t="str">{FORMULA}(?:{NO_VALUE})</c>'
)
ROW = re.compile(
    rf'{SPACE}<row(?: r="([0-9]{{1,7}})")?+{ATTRIBUTES}'
    rf"(?: ?/>|>{SPACE}((?:(?:{CELL}){SPACE})*+)</row>){SPACE}"
)
# The same for cells with nothing but a value, which nearly all are: in less time.
SIMPLE_PARTS = re.compile(r'<c r="([A-Z]++)[0-9]++"([^>]*+)><v>([^<]*+)')
# Only for cells that CELL matched: column, attributes, content.
PARTS = re.compile(
    r'<c r="([A-Z]+)[0-9]+"([^>/]*)'
    r"(?:/>|>\s*(?:<f[^<]*(?:</f>\s*)?)?(?:<v>|<is>\s*<t[^<>]*>)?([^<]*))"
)

# Name, and for each cell letters, attributes and content.
Raw = tuple[str | None, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def plain_row(name: str | None, cells: str | None) -> Raw:
    """Return the row that `ROW` matched, from its two groups."""
    if not cells or "</" not in cells:  # formats and no content
        return name, (), (), ()
    letters, attributes, stored = zip(*_parts(cells), strict=True)
    if "&" in cells:
        stored = tuple(map(unescape, stored))
    if subtotals := subtotal_columns(cells):
        signs = (SIGN if each in subtotals else "" for each in letters)
        attributes = tuple(map(str.__add__, attributes, signs))
    return name, letters, attributes, stored


def _parts(cells: str) -> list[tuple[str, str, str]]:
    if "<is>" not in cells:
        parts = SIMPLE_PARTS.findall(cells)
        if len(parts) == cells.count("<c "):
            return parts
    return PARTS.findall(cells)
