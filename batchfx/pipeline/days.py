"""In which order the dates of a column are written, decided over all of its values.

A day above 12 can't be a month: a value that has one can be read in one order only. If
all values can be read in one order and in no other, it is that. If they contradict
each other, a clear majority decides, and what doesn't fit it is refused. Else the
question stays open, and no value that hangs on it is read. ISO 8601, names of months
and dates with four digits of the year in front leave nothing open, and have no say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.notations import Notation
from batchfx.pipeline.orders import (
    IN_WORDS,
    LAST_DAY,
    LAST_MONTH,
    LONG,
    ORDERS,
    SHORT,
)
from batchfx.pipeline.written_days import DATE_ORDER, TWO_DIGIT_YEAR
from batchfx.pipeline.years import pinned

# How many values must agree where some contradict them, and in what share.
CLEAR_NUMBER, CLEAR_SHARE = 20, 0.95

ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$)"
# A date in digits with one kind of separator, perhaps behind a day of the week, and
# perhaps with a time behind it.
IN_DIGITS = (
    r"^(?:[\p{L}-]{2,19}(?:\.?, ?|\.? ))?"
    r"([0-9]{1,4}(?:\.[0-9]{1,2}\.|\. [0-9]{1,2}\. |/[0-9]{1,2}/|-[0-9]{1,2}-"
    r"| [0-9]{1,2} )[0-9]{1,4})"
    r"(?:(?:T|,? )[0-9]{1,2}(?::[0-9]{2}.*| ?[AaPp]\.?[Mm].*))?$"
)
PARTS = "^([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+)$"
# Keys beside the orders in which a value can be read ("dmy mdy").
ALIKE = "alike"  # day and month are the same number
YEAR_FIRST = "year first"
SHORT_YEAR = "short year"


def evidence(texts: pl.Series, said: Notation) -> dict[str, int]:
    """Count in which orders the *texts* of a column can be read, unless that is *said*.

    Nothing is counted where all are ISO 8601. *texts* have no outer blanks, and no
    nulls.
    """
    plain = texts.str.contains(ISO)
    if plain.all():
        return {}
    rest = texts.filter(~plain).alias("text").str.extract(IN_DIGITS).drop_nulls()
    if rest.is_empty():
        return {}
    parts = pl.col("text").str.extract_groups(PARTS).struct
    counted = (
        rest.value_counts(name="len")  # there are few different days
        .select("len", first=parts[0], second=parts[1], third=parts[2])
        .select(_orders(), _is_short().alias(SHORT_YEAR), "len")
    )
    found = counted.group_by("orders").agg(pl.col("len").sum()).rows()
    short = counted.filter(pl.col("orders") != "", SHORT_YEAR)["len"].sum()
    is_said = said.date_order is not None
    counts = {orders: number for orders, number in found if orders and not is_said}
    return dict(sorted(counts.items())) | ({SHORT_YEAR: short} if short else {})


def _is_short() -> pl.Expr:
    lengths = (pl.col(name).str.len_bytes() for name in ("first", "third"))
    return pl.all_horizontal(length <= SHORT for length in lengths)


def _orders() -> pl.Expr:
    """Return the key of a date in digits, "" where it is none in any order."""
    first, third = pl.col("first"), pl.col("third")
    day_ahead, month_ahead = _between(first, LAST_DAY), _between(first, LAST_MONTH)
    day_inside = _between(pl.col("second"), LAST_DAY)
    month_inside = _between(pl.col("second"), LAST_MONTH)
    short = _is_short()
    year_ahead = first.str.len_bytes() == SHORT
    year_behind = (short & (third.str.len_bytes() == SHORT)) | _is_long(third, first)
    possible = (
        year_behind & day_ahead & month_inside,
        year_behind & month_ahead & day_inside,
        short & year_ahead & month_inside & _between(third, LAST_DAY),
    )
    named = [
        pl.when(is_possible).then(pl.lit(order))
        for order, is_possible in zip(ORDERS, possible, strict=True)
    ]
    alike = ~short & possible[0] & possible[1] & (first == pl.col("second"))
    four_ahead = _is_long(first, third) & month_inside & _between(third, LAST_DAY)
    key = pl.when(alike).then(pl.lit(ALIKE)).when(four_ahead).then(pl.lit(YEAR_FIRST))
    together = pl.concat_str(named, separator=" ", ignore_nulls=True)
    return key.otherwise(together).alias("orders")


def _between(text: pl.Expr, last: int) -> pl.Expr:
    return text.cast(pl.Int32).is_between(1, last)


def _is_long(year: pl.Expr, other: pl.Expr) -> pl.Expr:
    four = (year.str.len_bytes() == LONG) & ~year.str.starts_with("0")
    return four & (other.str.len_bytes() <= SHORT)


SEVERAL = 2  # orders, between which there is a choice


def decide(evidence: Mapping[str, int], notation: Notation) -> Notation:
    """Return *notation* with the order of dates settled, or named as unsettled.

    What is said already is kept; formats that are said leave no question. Two-digit
    years are never guessed: where nothing is said of them, they are a question too.
    """
    if notation.two_digit_year is not None:
        notation = replace(notation, two_digit_year=pinned(notation.two_digit_year))
    elif evidence.get(SHORT_YEAR):
        notation = _asking(notation, TWO_DIGIT_YEAR)
    if notation.date_order or notation.date_formats or not evidence:
        return notation
    readable = _readable(evidence)
    if not readable:
        order = "ymd" if evidence.get(YEAR_FIRST) else None
        return replace(notation, date_order=order)
    order = _order(readable)
    if order is None:
        return _asking(notation, DATE_ORDER)
    return replace(notation, date_order=order)


def _asking(notation: Notation, question: str) -> Notation:
    if question in notation.unsettled:
        return notation
    return replace(notation, unsettled=(*notation.unsettled, question))


def _readable(evidence: Mapping[str, int]) -> dict[frozenset[str], int]:
    """Return how many values can be read in which orders."""
    sets = {frozenset(key.split()): number for key, number in evidence.items()}
    return {key: sets[key] for key in sets if key <= set(ORDERS)}


def _order(readable: Mapping[frozenset[str], int]) -> str | None:
    possible = [each for each in ORDERS if all(each in orders for orders in readable)]
    if possible:
        return possible[0] if len(possible) == 1 else None
    clear = [
        order
        for order in ORDERS
        if (number := readable.get(frozenset([order]), 0)) >= CLEAR_NUMBER
        and number >= CLEAR_SHARE * (number + _against(order, readable))
    ]
    return clear[0] if len(clear) == 1 else None


def _against(order: str, readable: Mapping[frozenset[str], int]) -> int:
    return sum(number for orders, number in readable.items() if order not in orders)


def explain(
    evidence: Mapping[str, int], notation: Notation, header: str
) -> Issue | None:
    """Return what a person should know of the decision, about the file as a whole.

    Nothing, where no value could have been read in two ways.
    """
    readable = _readable(evidence)
    short = evidence.get(SHORT_YEAR, 0)
    years = _of_years(short, header) if TWO_DIGIT_YEAR in notation.unsettled else None
    if DATE_ORDER in notation.unsettled:
        question = _of_order(readable, header)
        if years is None:
            return question
        return replace(question, message=f"{question.message}. {years.message}")
    if years is not None or notation.date_order is None or not readable:
        return years
    return _decision(notation.date_order, readable, header)


def _of_years(number: int, header: str) -> Issue:
    message = (
        f"In the column {header!r} the years of {number} dates have two digits. State "
        "which years are meant, such as --set two_digit_year=1930 or "
        '--set two_digit_year="not after today"'
    )
    return _issue("two_digit_year", message, {"dates": number})


def _of_order(readable: Mapping[frozenset[str], int], header: str) -> Issue:
    choices = [order for order in ORDERS if all(order in each for each in readable)]
    if len(choices) < SEVERAL:
        choices = [o for o in ORDERS if any(o in each for each in readable)]
    certain = {each: readable.get(frozenset([each]), 0) for each in choices}
    if any(certain.values()):
        counts = ", ".join(
            f"{number} only as {IN_WORDS[order]}"
            for order, number in certain.items()
            if number
        )
        found = f"the dates contradict each other ({counts})"
    else:
        forms = " or as ".join(IN_WORDS[order] for order in choices)
        found = f"every date can be read as {forms}"
    answers = " or ".join(f"--set date_order={order}" for order in choices)
    message = f"In the column {header!r} {found}. State which is meant: {answers}"
    return _issue("ambiguous_date", message, {"choices": choices})


def _decision(
    order: str, readable: Mapping[frozenset[str], int], header: str
) -> Issue | None:
    against = _against(order, readable)
    doubtful = sum(
        number for each, number in readable.items() if order in each and len(each) > 1
    )
    if not against and not doubtful:
        return None
    certain = readable.get(frozenset([order]), 0)
    message = f"The dates of the column {header!r} are read as {IN_WORDS[order]}"
    if against:
        message += (
            f": {certain} can be read in no other order. Those that can be read in "
            f"another order only, {against}, are refused"
        )
    else:
        message += ", the only order that fits all of them"
    if doubtful:
        message += f". Taken alone, {doubtful} could be read in another order too"
    parameters = {"order": order, "certain": certain, "against": against}
    return _issue("date_order", message, parameters)


def _issue(code: str, message: str, parameters: Mapping[str, object]) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)
