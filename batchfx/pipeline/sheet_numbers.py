"""Numbers of which a sheet has kept fewer digits than somebody entered."""

from __future__ import annotations

import re

from batchfx.model.blocks import Kind

# With so few digits before its point, a number cell with more digits than a sheet keeps
# is a fraction that a calculation left, and nobody entered.
CALCULATED_DIGITS = 10
CALCULATED = rf"^[+-]?[0-9]{{1,{CALCULATED_DIGITS}}}(?:\.|$)"


def long_form(digits: int) -> str:
    """Return the pattern of what `is_too_long` has to look at."""
    whole = CALCULATED_DIGITS + 1
    return rf"^-?[0-9]{{{whole}}}[0-9.]{{{digits + 1 - whole},}}$"


def is_too_long(text: str, kind: str, digits: int) -> bool:
    """Tell whether a cell has a number of more *digits* than its source keeps."""
    figures = text.lstrip("-0").replace(".", "")
    return (
        kind == Kind.NUMBER
        and len(figures) > digits
        and figures.isdigit()
        and not re.match(CALCULATED, text)
    )
