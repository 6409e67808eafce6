"""Every rule that a value breaks is an issue, and says what Pydantic would say."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import (
    UUID4,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FutureDate,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    StringConstraints,
)

from batchfx.model.issues import Phase
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.reading import text_reader
from batchfx.pipeline.rules import rules_of
from tests.unit.pipeline.frames import NOW, codes, model_of, read, validate

BIG = 10**30
EAST = timezone(timedelta(hours=5))
WHOLE_DIGITS = (
    "Decimal input should have no more than 3 digits before the decimal point"
)


@pytest.mark.parametrize(
    ("annotation", "text", "found"),
    [
        (
            Annotated[str, Field(min_length=3, max_length=1, pattern="^x")],
            "ab",
            [
                ("string_too_short", "String should have at least 3 characters"),
                ("string_too_long", "String should have at most 1 character"),
                ("string_pattern_mismatch", "String should match pattern '^x'"),
            ],
        ),
        (
            Annotated[str, StringConstraints(ascii_only=True)],
            "é",
            [("string_not_ascii", "String should contain only ASCII characters")],
        ),
        (
            Annotated[int, Field(multiple_of=7, le=1, gt=9)],
            "5",
            [
                ("multiple_of", "Input should be a multiple of 7"),
                ("less_than_equal", "Input should be less than or equal to 1"),
                ("greater_than", "Input should be greater than 9"),
            ],
        ),
        (
            Annotated[int, Field(multiple_of=7, lt=5, gt=2 * BIG)],
            str(BIG),
            [
                ("multiple_of", "Input should be a multiple of 7"),
                ("less_than", "Input should be less than 5"),
                ("greater_than", f"Input should be greater than {2 * BIG}"),
            ],
        ),
        (
            Annotated[Decimal, Field(max_digits=5, decimal_places=2, lt=10)],
            "12345.678",
            [
                (
                    "decimal_max_digits",
                    "Decimal input should have no more than 5 digits in total",
                ),
                (
                    "decimal_max_places",
                    "Decimal input should have no more than 2 decimal places",
                ),
                (
                    "decimal_whole_digits",
                    WHOLE_DIGITS,
                ),
                ("less_than", "Input should be less than 10"),
            ],
        ),
        (
            Annotated[Decimal, Field(multiple_of=0.25)],
            "1.3",
            [("multiple_of", "Input should be a multiple of 0.25")],
        ),
        (
            Annotated[Decimal, Field(gt=Decimal("0.00000000000001"))],
            "0",
            [("greater_than", "Input should be greater than 1E-14")],
        ),
        (
            Annotated[float, Field(multiple_of=0.5, lt=1)],
            "1.3",
            [
                ("multiple_of", "Input should be a multiple of 0.5"),
                ("less_than", "Input should be less than 1"),
            ],
        ),
        (
            Annotated[date, Field(ge=date(2020, 1, 1))],
            "2019-12-31",
            [
                (
                    "greater_than_equal",
                    "Input should be greater than or equal to 2020-01-01",
                )
            ],
        ),
        (PastDate, "2026-11-29", [("date_past", "Date should be in the past")]),
        (FutureDate, "2026-11-29", [("date_future", "Date should be in the future")]),
        (
            PastDatetime,
            "2026-11-29T12:00",
            [("datetime_past", "Input should be in the past")],
        ),
        (
            PastDatetime,
            "2026-11-29T13:59+02:00",
            [],
        ),
        (
            PastDatetime,
            "2026-11-29T14:00+02:00",
            [("datetime_past", "Input should be in the past")],
        ),
        (
            AwareDatetime,
            "2026-01-01T00:00",
            [("timezone_aware", "Input should have timezone info")],
        ),
        (
            NaiveDatetime,
            "2026-01-01T00:00Z",
            [("timezone_naive", "Input should not have timezone info")],
        ),
        (
            Annotated[datetime, Field(le=datetime(2020, 1, 1, tzinfo=UTC))],
            "2020-01-01T00:30",
            [
                (
                    "less_than_equal",
                    "Input should be less than or equal to 2020-01-01T00:00:00Z",
                )
            ],
        ),
        (
            Annotated[time, Field(lt=time(9))],
            "09:00",
            [("less_than", "Input should be less than 09:00:00")],
        ),
        (
            Annotated[timedelta, Field(le=timedelta(days=1))],
            "24:00:01",
            [("less_than_equal", "Input should be less than or equal to 1 day")],
        ),
        (
            Annotated[datetime, Field(le=datetime(2020, 1, 1, tzinfo=EAST))],
            "2020-01-01T00:00",
            [],
        ),
        (
            Annotated[AwareDatetime, PastDatetime],
            "2026-11-29T12:00:00Z",
            [("datetime_past", "Input should be in the past")],
        ),
        (Annotated[AwareDatetime, PastDatetime], "2026-11-29T11:59:59Z", []),
        (
            Annotated[AwareDatetime, Field(ge=datetime.min.replace(tzinfo=EAST))],
            "2020-01-01T00:00Z",
            [],
        ),
        (UUID4, "00000000-0000-4000-8000-000000000000", []),
        (
            UUID4,
            "00000000-0000-4000-0000-000000000000",
            [("uuid_version", "UUID version 4 expected")],
        ),
        (UUID4, str(UUID(int=5)), [("uuid_version", "UUID version 4 expected")]),
    ],
)
def test_all_rules_are_told_in_pydantics_words(
    annotation: Any, text: str, found: list[tuple[str, str]]
) -> None:
    validated = validate(model_of(annotation), [text])

    assert [(issue.code, issue.message) for issue in validated.issues] == found
    assert {issue.phase for issue in validated.issues} <= {Phase.RULE}


@pytest.mark.parametrize(
    ("value", "sound"),
    [("ab", True), ("ac", False), ("a", False)],
)
def test_a_pattern_of_pythons_engine_is_left_to_pydantic(
    value: str,
    sound: bool,  # noqa: FBT001
) -> None:
    class Row(BaseModel):
        model_config = ConfigDict(regex_engine="python-re")

        a: Annotated[str, Field(pattern="^a(?=b)")]

    assert plan_of(Row).fields["a"].rules[0].mask is None
    assert validate(Row, [value]).sound.to_list() == [sound]
    compiled = model_of(Annotated[str, Field(pattern=re.compile("^a(?=b)"))])
    assert validate(compiled, [value]).sound.to_list() == [sound]


def test_rules_that_polars_can_not_judge_keep_their_place() -> None:
    annotation = Annotated[Decimal, Field(max_digits=1, multiple_of=3, le=1)]
    validated = validate(model_of(annotation), ["10"], ["10"], ["3"])

    both = ["decimal_max_digits", "multiple_of", "less_than_equal"]
    assert [issue.code for issue in validated.issues] == [
        *both,
        *both,
        "less_than_equal",
    ]


def test_a_pattern_that_polars_can_not_take_is_left_to_pydantic() -> None:
    leaf = {"type": "str", "pattern": "a(?=b)"}
    (rule,) = rules_of("a", leaf, text_reader(leaf), {})

    assert rule.mask is None


def test_the_engine_of_one_pattern_counts() -> None:
    leaf = {"type": "str", "pattern": "a(?=b)", "regex_engine": "python-re"}
    (rule,) = rules_of("a", leaf, text_reader(leaf), {})

    assert rule.mask is None
    assert [rule.refuses(text, NOW) for text in ("ab", "ac")] == [False, True]


def test_a_pattern_is_searched_not_matched() -> None:
    assert read(Annotated[str, Field(pattern="b")], "abc") == "abc"


def test_a_zero_alone_is_a_digit_before_the_point() -> None:
    model = model_of(Annotated[Decimal, Field(max_digits=2, decimal_places=2)])
    validated = validate(model, ["0"], ["0.00"], ["00"], ["00.5"], ["1"])

    assert codes(validated.issues) == [
        (2, "a", "decimal_whole_digits"),
        (4, "a", "decimal_whole_digits"),
        (6, "a", "decimal_whole_digits"),
    ]


def test_a_limit_is_a_parameter() -> None:
    (issue,) = read(Annotated[date, Field(ge=date(2020, 1, 1))], "2019-12-31")

    assert issue.parameters == {"ge": "2020-01-01"}


def test_values_of_any_size_are_judged_by_one_rule() -> None:
    model = model_of(Annotated[int, Field(gt=5)])
    validated = validate(model, ["5"], [str(BIG)], [str(-BIG)], ["6"])

    assert codes(validated.issues) == [
        (2, "a", "greater_than"),
        (4, "a", "greater_than"),
    ]
    assert validated.values("a") == [None, BIG, None, 6]
    assert validated.frame["a"].to_list() == [None, BIG, None, 6]
