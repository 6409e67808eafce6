"""Which decimal mark the numbers of a column have, decided over all of them.

A value is evidence of a mark if it is a number by that mark alone: it has both marks
(1.299,00), the other one twice (1.234.567), not just three digits after its only one
(12,5), or a zero before it (0.750). Where only 1,234 and 12.345 are found, nothing
says what they are, and they are asked about.

Where there is evidence of both marks, a mark that at least `MAJORITY` of at least
`ENOUGH` telling values have is the column's, and the others are refused as odd. With
less, none is: each value that is a number by one mark alone, and groups its digits, is
read so (1.299,00 and 1,299.00), the others are refused as ambiguous (1,2 and 1.25).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import polars as pl

from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.notations import Notation
from batchfx.pipeline.currencies import CURRENCY
from batchfx.pipeline.numbers import COMMA, POINT, mark_of, whole_form

MAJORITY = 0.95
ENOUGH = 20
DECIMAL = "decimal"  # the question, as `Notation.unsettled` names it

PERCENT = "%"

NAMES = {POINT: "point", COMMA: "comma"}
OTHER = {POINT: COMMA, COMMA: POINT}

# A number that is plain, and evidence of a point if it has one.
PLAIN = r"^[+-]?[0-9]+(?:\.[0-9]{1,2})?$"
# Any plain number: what is read in every notation that has a point.
STRICT = r"^[+-]?[0-9]+(?:\.[0-9]+)?$"
# The digits of a number between a sign, a currency and the like.
DIGITS = (
    r"^[^0-9]{0,6}?([.,]?[0-9](?:[0-9.,'\x{2019}\x{2bc} \x{a0}\x{2007}\x{2009}"
    r"\x{202f}]*[0-9])?)[^0-9]{0,6}$"
)
# The digits of a number with a power of ten, which are never grouped.
MANTISSA = r"^[^0-9.,]{0,2}([0-9]*[.,][0-9]+)[eE][^0-9.,]?[0-9]{1,3}$"


class Found(NamedTuple):
    """How many values say what, and the first of each.

    The keys are "point" and "comma" for evidence of a mark, "ambiguous point" and
    "ambiguous comma" for numbers whose only mark may be either, "currency" and
    "percent" for those with such a sign; all that is not plain is "written" in some
    other way.
    """

    counts: dict[str, int]
    samples: dict[str, str]


def evidence(texts: pl.Series, thousands: str | None) -> Found:
    """Return what *texts* say, where only the sign *thousands* groups; None for any."""
    plain = texts.str.contains(PLAIN)
    if plain.all():
        point = int(texts.str.contains(POINT, literal=True).sum())
        return Found({"point": point} if point else {}, {})
    others = texts.filter(~plain)
    pointed = texts.str.contains(POINT, literal=True) & plain
    counts = {"point": int(pointed.sum())}
    samples: dict[str, str] = {}
    for key, mask in _classes(others, thousands).items():
        if (count := int(mask.sum())) == 0:
            continue
        counts[key] = counts.get(key, 0) + count
        samples[key] = others.filter(mask)[0]
    return Found({key: count for key, count in counts.items() if count}, samples)


def _classes(others: pl.Series, thousands: str | None) -> dict[str, pl.Series]:
    digits = others.str.extract(DIGITS)
    read = {
        mark: digits.str.contains(_form(mark, thousands)).fill_null(value=False)
        for mark in OTHER
    }
    mantissa = others.str.extract(MANTISSA)
    for mark in OTHER:
        own = mantissa.str.contains(mark, literal=True).fill_null(value=False)
        read[mark] = read[mark] | own
    both = read[POINT] & read[COMMA]
    comma = both & digits.str.contains(COMMA, literal=True).fill_null(value=False)
    point = both & digits.str.contains(POINT, literal=True).fill_null(value=False)
    classes = {
        "point": read[POINT] & ~read[COMMA],
        "comma": read[COMMA] & ~read[POINT],
        "ambiguous point": point,
        "ambiguous comma": comma,
    }
    amount = digits.is_not_null()
    signs = {
        "currency": amount & others.str.contains(CURRENCY),
        "percent": amount & others.str.contains(PERCENT, literal=True),
    }
    return {**classes, **signs, "written": ~others.str.contains(STRICT)}


@cache
def _form(mark: str, thousands: str | None) -> str:
    point = rf"\{mark}"
    return rf"^(?:(?:{whole_form(mark, thousands)})(?:{point}[0-9]+)?|{point}[0-9]+)$"


def decide(counts: Mapping[str, int], notation: Notation) -> Notation:
    """Return *notation* with the decimal mark settled, or named as unsettled.

    It is returned as it is where every value is plain and tells of no other mark.
    """
    point, comma = counts.get("point", 0), counts.get("comma", 0)
    ambiguous = counts.get("ambiguous point")
    if not counts.get("written") and (point or not ambiguous):
        return notation
    mark = _winner(point, comma)
    if mark is None:
        return Notation(unsettled=(DECIMAL,)).over(notation)
    return Notation(decimal=mark).over(notation)


def _winner(point: int, comma: int) -> str | None:
    if not (point and comma):
        return POINT if point else COMMA if comma else None
    most, total = max(point, comma), point + comma
    if total < ENOUGH or most < MAJORITY * total:
        return None
    return POINT if point == most else COMMA


def _ambiguous(counts: Mapping[str, int]) -> int:
    return counts.get("ambiguous point", 0) + counts.get("ambiguous comma", 0)


def explain(
    counts: Mapping[str, int],
    samples: Mapping[str, str],
    notation: Notation,
    header: str,
) -> Issue | None:
    """Return what a person should know of the decision; None where it was plain."""
    mark = mark_of(notation)
    if mark is not None:
        return _decided(counts, samples, mark, header)
    if DECIMAL not in notation.unsettled:
        return None
    if counts.get("point") and counts.get("comma"):
        what = (
            f"Numbers in '{header}' are written in two ways: "
            f"{_told(counts, samples, 'point')} with a decimal point, "
            f"{_told(counts, samples, 'comma')} with a decimal comma"
        )
        return _asked(what, header, counts)
    if not _ambiguous(counts):
        return None
    key = max(
        ("ambiguous point", "ambiguous comma"), key=lambda each: counts.get(each, 0)
    )
    both = {key: _ambiguous(counts)}
    what = (
        f"Nothing in '{header}' tells whether its numbers have a decimal point or a "
        f"decimal comma: {_told(both, samples, key)} can be read both ways"
    )
    return _asked(what, header, counts)


def explain_signs(
    counts: Mapping[str, int],
    samples: Mapping[str, str],
    notation: Notation,
    header: str,
) -> Iterator[Issue]:
    """Yield what a person should know of signs that the column doesn't allow."""
    if counts.get("currency") and not notation.currency:
        message = (
            f"{_counted(counts, samples, 'currency', header)} a currency beside the "
            "number, which isn't allowed there. Allow it with --set "
            "currency_allowed=true."
        )
        yield _issue("currency_not_allowed", message, header, counts, [])
    if counts.get("percent") and not notation.percent:
        message = (
            f"{_counted(counts, samples, 'percent', header)} a per cent sign, which "
            "isn't allowed there. Say what 12 % is: 0.12 with --set percent=fraction, "
            "12 with --set percent=number."
        )
        yield _issue("percent_not_stated", message, header, counts, [])


def _counted(
    counts: Mapping[str, int], samples: Mapping[str, str], key: str, header: str
) -> str:
    verb = "has" if counts.get(key) == 1 else "have"
    return f"In '{header}' {_told(counts, samples, key)} {verb}"


def _asked(what: str, header: str, counts: Mapping[str, int]) -> Issue:
    ambiguous = _ambiguous(counts)
    verb = "value is" if ambiguous == 1 else "values are"
    refused = f", and {ambiguous} {verb} refused" if ambiguous else ""
    message = (
        f"{what}{refused}. Say which it is with --set decimal=. or --set decimal=, "
        "on import."
    )
    return _issue("ambiguous_number", message, header, counts, [POINT, COMMA])


def _decided(
    counts: Mapping[str, int], samples: Mapping[str, str], mark: str, header: str
) -> Issue | None:
    name, other = NAMES[mark], NAMES[OTHER[mark]]
    odd = counts.get(other, 0)
    # 21.435 among points is what anybody would take it for.
    ambiguous = counts.get("ambiguous comma") if mark == POINT else _ambiguous(counts)
    if not counts.get(name) or not (odd or ambiguous):
        return None
    message = (
        f"Numbers in '{header}' are read with a decimal {name}: "
        f"{_told(counts, samples, name)} can be read in that way alone"
    )
    if odd:
        message += (
            f". {_told(counts, samples, other)} would need a decimal {other} and "
            "can't be read"
        )
    message += f". Say --set decimal={OTHER[mark]} on import if that is wrong."
    return _issue("number_notation", message, header, counts, [mark])


def _told(counts: Mapping[str, int], samples: Mapping[str, str], key: str) -> str:
    count = counts.get(key, 0)
    noun = "value" if count == 1 else "values"
    return f"{count} {noun}" + (f" such as '{samples[key]}'" if key in samples else "")


def _issue(
    code: str, message: str, header: str, counts: Mapping[str, int], choices: list[str]
) -> Issue:
    return Issue(
        code,
        message,
        Phase.FILE,
        level=Level.WARNING,
        parameters={
            "column": header,
            "question": DECIMAL,
            "choices": choices,
            "counts": dict(counts),
        },
    )
