"""How a column is written is decided over all of its values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

import polars as pl
import pytest
from pydantic import BaseModel

from batchfx.columns import Column
from batchfx.model.blocks import Fault, dump_faults
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.notations import Notation
from batchfx.pipeline import decisions
from batchfx.pipeline.decisions import Evidence
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.validate import declared
from tests.unit.pipeline.frames import NOW, model_of

POSITIONS = {"a": 0}
OPEN = ("decimal",)


class Read:
    """A column of one field, gathered in two blocks, decided and read."""

    def __init__(
        self,
        annotation: Any,
        texts: Sequence[str | None],
        kinds: str | None = None,
        default: Any = None,
        **said: Any,
    ) -> None:
        plan = plan_of(model_of(annotation, default))
        frame = pl.DataFrame({"a": texts}, {"a": pl.String}).with_row_index("row", 2)
        if kinds is not None:
            frame = frame.with_columns(pl.Series("kinds", list(kinds)))
        given = decisions.stated(plan, user=Notation(**said))
        half = len(texts) // 2
        self.evidence = sum(
            (
                decisions.gather(plan, part, POSITIONS, given)
                for part in (frame[:half], frame[half:])
            ),
            Evidence(),
        )
        notations = decisions.decide(plan, self.evidence, given)
        self.notation = notations["a"]
        self.told = decisions.explain(plan, self.evidence, notations)
        self.validated = declared(plan.written(notations), frame, POSITIONS, NOW)

    @property
    def values(self) -> list[Any]:
        """The value of each row, or the code of its issue."""
        codes = {issue.row: issue.code for issue in self.validated.issues}
        values = self.validated.values("a")
        return [codes.get(row, value) for row, value in enumerate(values, 2)]

    @property
    def issue(self) -> Issue:
        """The only issue of the rows."""
        (issue,) = self.validated.issues
        return issue


def numbers(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@pytest.mark.parametrize(
    ("texts", "said", "values"),
    [
        (
            ["$512.00", "($41.00)", "$(7.89)", "(1,234.50)", "$+650", "-$2.00"],
            {"decimal": ".", "currency": True},
            numbers("512.00", "-41.00", "-7.89", "-1234.50", "650", "-2.00"),
        ),
        (
            ["12,50\u00a0€", "3,00 €", "1 EUR", "£7,25"],
            {"decimal": ",", "currency": True},
            numbers("12.50", "3.00", "1", "7.25"),
        ),
        (
            ["€1.299,00", "1 299,00 EUR", "$1,299.00", "kr 250 000,-", "CHF 1'299.00"],
            {"currency": True},
            numbers("1299.00", "1299.00", "1299.00", "250000", "1299.00"),
        ),
        (
            ["-2.000", "-12,5", "2.345,67", "3.000.000", "0,5"],
            {"decimal": ",", "thousands": "."},
            numbers("-2000", "-12.5", "2345.67", "3000000", "0.5"),
        ),
        (
            [
                "1 234,50",
                "12\u202f345\u00a0678,90",
                "1'234.50",
                "1\u2019000\u2019000.05",
                "2 500",
            ],
            {},
            numbers("1234.50", "12345678.90", "1234.50", "1000000.05", "2500"),
        ),
        (
            [
                "\u2212120,00",
                "-120,00",
                "\u22121\u2009234,50",
                "\u20137,00",
                "\uff0d5,50",
            ],
            {"decimal": ","},
            numbers("-120.00", "-120.00", "-1234.50", "-7.00", "-5.50"),
        ),
        (["'-48.20", "12.00", "'-5"], {}, numbers("-48.20", "12.00", "-5")),
        (["12,34,567", "1.5"], {}, numbers("1234567", "1.5")),
        (["41.00-", ".5", "1.5e3"], {}, numbers("-41.00", "0.5", "1500")),
        (["1_234_567.5"], {"thousands": "_"}, numbers("1234567.5")),
        (["12,5 %", "7"], {"percent": "fraction"}, numbers("0.125", "7")),
        (["12,5%", "%7,5"], {"percent": "number"}, numbers("12.5", "7.5")),
    ],
)
def test_numbers_are_read_as_they_are_written(
    texts: list[str | None], said: dict[str, Any], values: list[Decimal]
) -> None:
    read = Read(Decimal, texts, **said)

    assert list(map(str, read.values)) == list(map(str, values))
    assert read.validated.frame["a"].to_list() == values


def test_a_balance_of_nothing_in_brackets_is_no_negative_zero() -> None:
    assert str(Read(Decimal, ["(0.00)", "(1.00)"]).values[0]) == "0.00"


@pytest.mark.parametrize(
    ("texts", "notation"),
    [
        (["12", "-7"], Notation()),
        (["12.50", "1.234"], Notation()),
        (["0.750", "1.234"], Notation()),
        (["1.2345", "1.234"], Notation()),
        (["12.50", "1,234"], Notation(decimal=".")),
        (["1,234,567"], Notation(decimal=".")),
        (["1,234.5"], Notation(decimal=".")),
        (["12,5"], Notation(decimal=",")),
        (["1.234.567"], Notation(decimal=",")),
        (["0,750"], Notation(decimal=",")),
        (["1.234,50"], Notation(decimal=",")),
        (["1 234,500"], Notation(decimal=",")),
        (["1.234"], Notation(unsettled=OPEN)),
        (["1,234", "12"], Notation(unsettled=OPEN)),
        (["12.5", "12,5"], Notation(unsettled=OPEN)),
        (["12.5"] * 19 + ["12,5"], Notation(decimal=".")),
        (["12.5"] * 18 + ["12,5"], Notation(unsettled=OPEN)),
        (["12,5"] * 38 + ["12.5"] * 2, Notation(decimal=",")),
        (["12,5"] * 38 + ["12.5"] * 3, Notation(unsettled=OPEN)),
        (["(5)"], Notation(unsettled=OPEN)),
        ([None, None], Notation()),
    ],
)
def test_the_decimal_mark_is_decided_over_all_values(
    texts: list[str | None], notation: Notation
) -> None:
    assert Read(Decimal, texts).notation == notation


@pytest.mark.parametrize("annotation", [int, float, Decimal])
def test_where_nothing_tells_a_number_that_may_be_two_is_refused(
    annotation: Any,
) -> None:
    read = Read(annotation, ["1.234", "12", "2.500"])

    assert read.values == ["ambiguous_number", 12, "ambiguous_number"]
    first = read.validated.issues[0]
    assert first.parameters == {"point": "1.234", "comma": "1234"}
    assert first.suggestion == ("1234" if annotation is int else None)
    (told,) = read.told
    assert (told.code, told.field, told.row) == ("ambiguous_number", "a", None)
    assert (told.phase, told.level) == (Phase.FILE, Level.WARNING)
    assert told.parameters["choices"] == [".", ","]
    assert told.message == (
        "Nothing in 'a' tells whether its numbers have a decimal point or a decimal "
        "comma: 2 values such as '1.234' can be read both ways, and 2 values are "
        "refused. Say which it is with --set decimal=. or --set decimal=, on import."
    )


@pytest.mark.parametrize(
    ("mark", "values"),
    [(".", numbers("1.234", "12")), (",", numbers("1234", "12"))],
)
def test_an_answer_settles_it(mark: str, values: list[Decimal]) -> None:
    read = Read(Decimal, ["1.234", "12"], decimal=mark)

    assert read.values == values
    assert read.told == []
    assert read.evidence.counts == {}


def test_a_majority_decides_and_the_odd_value_is_refused_with_what_was_meant() -> None:
    read = Read(Decimal, ["12.5"] * 30 + ["2,5", "1,234"])

    assert read.values[30:] == ["decimal_parsing", Decimal(1234)]
    assert read.issue.message == (
        "The numbers of this column have a decimal point, and this one would need a "
        "comma"
    )
    assert read.issue.suggestion == "2.5"
    (told,) = read.told
    assert told.code == "number_notation"
    assert told.message == (
        "Numbers in 'a' are read with a decimal point: 30 values can be read in that "
        "way alone. 1 value such as '2,5' would need a decimal comma and can't be "
        "read. Say --set decimal=, on import if that is wrong."
    )


def test_where_values_disagree_a_mark_alone_tells_nothing() -> None:
    read = Read(Decimal, ["12,34,567.00", "1,2", "7.5", "-3.25", "4", "1 299,5"])

    assert read.values == [
        Decimal("1234567.00"),
        *["ambiguous_number"] * 3,
        Decimal(4),
        Decimal("1299.5"),
    ]
    assert [each.code for each in read.told] == ["ambiguous_number"]
    assert read.told[0].parameters["choices"] == [".", ","]


def test_where_values_disagree_those_that_are_clear_are_read_and_it_is_told() -> None:
    read = Read(Decimal, ["1.299,00", "1,299.00", "1.299", "1 299"])

    assert read.values == [
        Decimal("1299.00"),
        Decimal("1299.00"),
        "ambiguous_number",
        Decimal(1299),
    ]
    (told,) = read.told
    assert told.message == (
        "Numbers in 'a' are written in two ways: 1 value such as '1,299.00' with a "
        "decimal point, 1 value such as '1.299,00' with a decimal comma, and 1 value "
        "is refused. Say which it is with --set decimal=. or --set decimal=, on import."
    )


@pytest.mark.parametrize(
    ("annotation", "text", "said", "code", "suggestion"),
    [
        (Decimal, "1,23,4", {"decimal": "."}, "decimal_parsing", None),
        (Decimal, "1.23", {"decimal": ","}, "decimal_parsing", "1,23"),
        (Decimal, "1 234", {"thousands": ""}, "decimal_parsing", None),
        (Decimal, "1 234.5", {"thousands": ","}, "decimal_parsing", None),
        (Decimal, "5 EUR", {}, "decimal_parsing", "5"),
        (Decimal, "€ 5,50", {"decimal": ","}, "decimal_parsing", "5,50"),
        (Decimal, "12 %", {}, "decimal_parsing", None),
        (Decimal, "41.00 CR", {}, "decimal_parsing", None),
        (Decimal, "DR 41.00", {}, "decimal_parsing", None),
        (Decimal, "--5", {"decimal": "."}, "decimal_parsing", None),
        (Decimal, "(-5)", {"decimal": "."}, "decimal_parsing", None),
        (Decimal, "(5", {"decimal": "."}, "decimal_parsing", None),
        (Decimal, "$5 EUR", {"currency": True}, "decimal_parsing", None),
        (Decimal, "free", {"currency": True}, "decimal_parsing", None),
        (Decimal, "\u2464", {"decimal": "."}, "decimal_parsing", None),
        (Decimal, "2.01E+12", {"decimal": "."}, "precision_lost", None),
        (int, "2,01E+12", {"decimal": ","}, "precision_lost", None),
        (int, "1E5", {"decimal": "."}, "int_parsing", "100000"),
        (int, "3,00", {"decimal": ","}, "int_parsing", "3"),
        (int, "3,50", {"decimal": ","}, "int_parsing", None),
        (int, "12 %", {"percent": "fraction"}, "int_parsing", None),
        (float, "1e400", {"decimal": "."}, "float_parsing", None),
    ],
)
def test_what_is_no_number_is_refused(
    annotation: Any, text: str, said: dict[str, Any], code: str, suggestion: str | None
) -> None:
    issue = Read(annotation, [text, None], **said).issue

    assert (issue.code, issue.suggestion) == (code, suggestion)


def test_whole_numbers_follow_the_same_decision() -> None:
    assert Read(int, ["1.234", "1.234.567", "-5"]).values == [1234, 1234567, -5]
    assert Read(int, ["1 234", "'-5"]).values == [1234, -5]


def test_cells_that_are_numbers_are_never_read_by_a_notation_of_texts() -> None:
    read = Read(Decimal, ["1.234", "1.234", "12,5"], kinds="tnt")

    assert list(map(str, read.values)) == ["1234", "1.234", "12.5"]
    assert read.evidence.of("a") == {"comma": 1, "ambiguous point": 1, "written": 1}


def test_a_column_of_number_cells_asks_nothing() -> None:
    read = Read(Decimal, ["1.234", "2.5"], kinds="nn")

    assert read.values == numbers("1.234", "2.5")
    assert (read.notation, read.told, read.evidence.counts) == (Notation(), [], {})


def test_signs_that_are_not_allowed_are_told_of_the_column_once() -> None:
    read = Read(Decimal, ["5 €", "EUR 6", "7", "12 %"])

    currency, percent = read.told
    assert (currency.code, currency.field) == ("currency_not_allowed", "a")
    assert currency.message == (
        "In 'a' 2 values such as '5 €' have a currency beside the number, which isn't "
        "allowed there. Allow it with --set currency_allowed=true."
    )
    assert (percent.code, percent.level) == ("percent_not_stated", Level.WARNING)
    assert percent.message == (
        "In 'a' 1 value such as '12 %' has a per cent sign, which isn't allowed there. "
        "Say what 12 % is: 0.12 with --set percent=fraction, 12 with --set "
        "percent=number."
    )


def test_signs_that_are_allowed_are_no_question() -> None:
    read = Read(Decimal, ["5 €", "12 %"], currency=True, percent="number")

    assert (read.values, read.told) == (numbers("5", "12"), [])


def test_texts_that_mean_nothing_are_no_evidence() -> None:
    read = Read(int | None, ["7", "N/A", "-"], null_tokens=("N/A", "-"))

    assert read.values == [7, None, None]
    assert read.evidence.of("a") == {}


def test_faulty_records_are_no_evidence() -> None:
    plan = plan_of(model_of(Decimal))
    frame = pl.DataFrame(
        {"a": ["1,5", "2.50"], "faults": [dump_faults([Fault("x", "")]), None]}
    ).with_row_index("row", 2)

    evidence = decisions.gather(plan, frame, POSITIONS, decisions.stated(plan))

    assert evidence.of("a") == {"point": 1}


def test_evidence_adds_up_and_is_plain_data() -> None:
    one, two = Read(Decimal, ["1,5"]).evidence, Read(Decimal, ["2,5", "7 %"]).evidence
    both = one + two

    assert both.of("a") == {"comma": 2, "percent": 1, "written": 3}
    assert both.samples == {"a": {"comma": "1,5", "percent": "7 %", "written": "1,5"}}
    assert Evidence.load(json.loads(json.dumps(both.dump()))) == both


def test_a_column_of_plain_numbers_keeps_its_plan() -> None:
    plan = plan_of(model_of(Decimal))
    frame = pl.DataFrame({"a": ["1.50", "12"]}).with_row_index("row", 2)
    given = decisions.stated(plan)
    evidence = decisions.gather(plan, frame, POSITIONS, given)

    written = plan.written(decisions.decide(plan, evidence, given))

    assert written.fields["a"] is plan.fields["a"]


def test_the_values_of_a_sensitive_column_are_not_shown() -> None:
    read = Read(Annotated[Decimal, Column(sensitive=True)], ["1.234", "9.876"])

    (told,) = read.told
    assert "1.234" not in told.message
    assert read.evidence.samples == {}
    assert "1.234" not in read.validated.issues[0].message


class Mixed(BaseModel):
    """Fields that say something of their columns."""

    price: Annotated[Decimal, Column(decimal=",")]
    other: Decimal


def test_what_is_said_counts_in_the_order_user_column_class() -> None:
    plan = plan_of(Mixed)
    declared_ = Notation(decimal=".", thousands="'")

    said = decisions.stated(plan, declared_, Notation(percent="number"))
    assert said == {
        "price": Notation(decimal=",", thousands="'", percent="number"),
        "other": Notation(decimal=".", thousands="'", percent="number"),
    }
    said = decisions.stated(
        plan, declared_, Notation(decimal="."), {"other": Notation(decimal=",")}
    )
    assert (said["price"].decimal, said["other"].decimal) == (".", ",")


def test_a_sheet_keeps_fifteen_digits() -> None:
    plan = plan_of(Mixed)

    assert decisions.stated(plan, source_format="xlsx")["other"].digits == 15
    assert decisions.stated(plan, source_format="json")["other"].digits is None


def test_the_column_of_a_field_is_obeyed_without_any_file() -> None:
    frame = pl.DataFrame({"price": ["1.234,5"], "other": ["7"]}).with_row_index("row")

    validated = declared(plan_of(Mixed), frame, {"price": 0, "other": 1}, NOW)

    assert validated.values("price") == [Decimal("1234.5")]
