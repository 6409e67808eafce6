"""A number that is written in any notation is read as the number that it is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from batchfx.model.notations import Notation
from batchfx.pipeline import decisions
from batchfx.pipeline.cells import kept
from batchfx.pipeline.number_reading import decimals, floats, integers
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.reading import Complaint, Reader
from batchfx.pipeline.texts import prepared
from batchfx.pipeline.validate import declared
from batchfx.pipeline.words import LANGUAGES, boolean_reader
from tests.unit.pipeline.frames import model_of

AMOUNTS = st.decimals(-(10**12), 10**12, places=2) | st.decimals(
    -(10**25), 10**25, allow_nan=False, allow_infinity=False
).map(lambda number: Decimal(format(number, "f")))
MARKS = st.sampled_from([".", ","])
GROUPS = {
    ".": ["", "'", "\u2019", " ", "\u00a0", "\u202f", "\u2009"],
    ",": ["", "'", "\u2019", " ", "\u00a0", "\u202f", "\u2009"],
}
MINUSES = st.sampled_from(["-", "\u2212", "\u2013"])
MONEY = st.sampled_from(["", "€", "$", "EUR", "chf", "kr", "kr.", "zł", "R$"])


@st.composite
def written(draw: st.DrawFn, number: Decimal, mark: str, group: str) -> str:
    """Write *number* in groups, with a sign and a currency where people put them."""
    whole, _, fraction = format(number.copy_abs(), "f").partition(".")
    text = f"{int(whole):,}".replace(",", group)
    text += f"{mark}{fraction}" if fraction else ""
    money, gap = draw(MONEY), draw(st.sampled_from(["", " ", "\u00a0"]))
    ahead = draw(st.booleans())
    if money:
        text = f"{money}{gap}{text}" if ahead else f"{text}{gap}{money}"
    if not number.is_signed():
        return draw(st.sampled_from(["", "+"])) + text
    minus = draw(MINUSES)
    # Nothing in brackets is no negative zero.
    forms = [f"{minus}{text}"] + ([f"({text})"] if number else [])
    return draw(st.sampled_from(forms))


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, str, list[Decimal], list[str]]:
    mark = draw(MARKS)
    group = draw(st.sampled_from([*GROUPS[mark], "," if mark == "." else "."]))
    numbers = draw(st.lists(AMOUNTS, min_size=1, max_size=5))
    return mark, group, numbers, [draw(written(n, mark, group)) for n in numbers]


@given(columns())
def test_a_number_is_read_as_it_was_in_a_notation_that_is_said(
    column: tuple[str, str, list[Decimal], list[str]],
) -> None:
    mark, group, numbers, texts = column
    notation = Notation(decimal=mark, thousands=group, currency=True)

    assert values(notation, texts) == [str(number) for number in numbers]


@given(columns())
def test_a_number_is_read_as_it_was_or_asked_about_where_nothing_is_said(
    column: tuple[str, str, list[Decimal], list[str]],
) -> None:
    _, _, numbers, texts = column

    for number, found in zip(
        numbers, values(Notation(currency=True), texts), strict=True
    ):
        assert found in (str(number), "ambiguous_number")


def values(said: Notation, texts: list[str]) -> list[str]:
    """Read *texts* as a column; return each number, or the code of its issue."""
    plan = plan_of(model_of(Decimal))
    frame = pl.DataFrame({"a": texts}).with_row_index("row", 1)
    given_ = decisions.stated(plan, user=said)
    evidence = decisions.gather(plan, frame, {"a": 0}, given_)
    written_ = plan.written(decisions.decide(plan, evidence, given_))
    validated = declared(written_, frame, {"a": 0})
    codes = {issue.row: issue.code for issue in validated.issues}
    return [
        codes.get(row, str(value))
        for row, value in enumerate(validated.values("a"), start=1)
    ]


# The typed column and the reading of one text agree.

NOTATIONS = st.builds(
    Notation,
    decimal=st.sampled_from([None, ".", ","]),
    thousands=st.sampled_from([None, "", " ", "'", "_"]),
    currency=st.sampled_from([None, True]),
    percent=st.sampled_from([None, "number", "fraction"]),
    unsettled=st.sampled_from([(), ("decimal",)]),
)
SIGNS = "0123456789" * 3 + ".,.,'\u2019 _()+-\u2212\u2013%€$\u00a0\u202f\u2009eE"
TEXTS = st.lists(
    columns().map(lambda column: column[3][0])
    | st.text(SIGNS, min_size=1, max_size=10)
    | st.text(min_size=1, max_size=4)
    | st.sampled_from(["1.234", "1,234", "12,5", "1E+20", "EUR 5", "9" * 19, "1E5"]),
    min_size=1,
    max_size=20,
)


@given(NOTATIONS, st.sampled_from(["integer", "decimal", "float"]), TEXTS)
def test_the_typed_column_of_numbers_agrees_with_the_reading(
    notation: Notation, kind: str, texts: list[str]
) -> None:
    makers = {
        "integer": integers(notation),
        "decimal": decimals(4, notation),
        "float": floats(notation),
    }

    assert_agree(makers[kind], texts)


@given(
    st.lists(st.sampled_from(sorted(LANGUAGES)), max_size=3).map(tuple),
    st.lists(
        st.sampled_from(
            sorted({word for pair in LANGUAGES.values() for word in pair[0] | pair[1]})
        ).flatmap(lambda w: st.sampled_from([w, w.upper(), w.title(), w.swapcase()]))
        | st.text(max_size=3),
        min_size=1,
    ),
)
def test_the_typed_column_of_booleans_agrees_with_the_reading(
    languages: tuple[str, ...], texts: list[str]
) -> None:
    assert_agree(boolean_reader(languages), texts)


def assert_agree(reader: Reader, texts: list[str]) -> None:
    frame = pl.DataFrame({"c": texts})
    frame = frame.select(prepared(pl.col("c"), Notation(), trims=True)).drop_nulls()
    plain = frame
    if reader.plainly:
        plain = frame.select(reader.plainly(pl.col("c")).alias("c"))
    typed = plain.select(reader.typed(pl.col("c")).alias("t"))["t"]
    source = kept(plain["c"], typed.is_not_null()) if reader.from_text else typed
    made: list[Any] = reader.values(source)
    for text, sure, value in zip(frame["c"], typed.is_not_null(), made, strict=True):
        if sure:
            found = reader.read(text, "t")
            assert not isinstance(found, Complaint), (text, found)
            assert (type(found), found) == (type(value), value)
            assert str(found) == str(value)
