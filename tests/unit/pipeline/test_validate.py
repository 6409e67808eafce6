"""Rows go in as text, and come out typed, with every issue of every row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import polars as pl
import pytest
from pydantic import BaseModel, EmailStr, Field, HttpUrl, PastDate

from batchfx.columns import Column
from batchfx.model.issues import Issue, Level, Phase
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.validate import declared
from tests.unit.pipeline.frames import codes, model_of, validate


class Person(BaseModel):
    name: Annotated[str, Field(min_length=2, pattern="^[A-Z]")]
    age: Annotated[int, Field(ge=0)]
    vip: bool = False
    note: str | None = None


class Colour(Enum):
    RED = "red"


def test_all_issues_of_all_rows_come_in_order() -> None:
    validated = validate(
        Person,
        ["x", "-1", "maybe", None],
        ["Ann", "5", None, None],
        [None, "a", "yes", ""],
    )

    assert codes(validated.issues) == [
        (2, "name", "string_too_short"),
        (2, "name", "string_pattern_mismatch"),
        (2, "age", "greater_than_equal"),
        (2, "vip", "bool_parsing"),
        (4, "name", "missing"),
        (4, "age", "int_parsing"),
    ]
    assert validated.frame.to_dict(as_series=False) == {
        "row": [2, 3, 4],
        "name": [None, "Ann", None],
        "age": [None, 5, None],
        "vip": [None, False, True],
        "note": [None, None, ""],
    }
    assert validated.sound.to_list() == [False, True, False]
    assert {name: bad.to_list() for name, bad in validated.bad.items()} == {
        "name": [True, False, True],
        "age": [True, False, True],
        "vip": [True, False, False],
        "note": [False, False, False],
    }


def test_an_issue_shows_the_cell_as_it_is() -> None:
    (issue,) = validate(model_of(int), [" 5x "]).issues

    assert issue == Issue(
        "int_parsing",
        "Write a whole number in digits alone, such as 1200",
        Phase.VALUE,
        2,
        "a",
        " 5x ",
    )


def test_a_field_without_a_column_has_its_default_or_is_missing() -> None:
    validated = validate(Person, ["Ann"], ["Ben"], fields=["name"])

    assert codes(validated.issues) == [(2, "age", "missing"), (3, "age", "missing")]
    assert [issue.value for issue in validated.issues] == [None, None]
    assert validated.values("vip") == [False, False]
    assert validated.values("note") == [None, None]


def test_a_file_without_any_known_column_is_validated_too() -> None:
    validated = validate(Person, [None], fields=["other"])

    assert codes(validated.issues) == [(2, "name", "missing"), (2, "age", "missing")]


def test_instances_are_as_pydantic_would_make_them() -> None:
    validated = validate(Person, ["Ann", "5", "yes", None], ["Ben", "6", None, "x"])
    rows = validated.rows(validated.sound)

    assert rows == [
        Person(name="Ann", age=5, vip=True),
        Person(name="Ben", age=6, note="x"),
    ]
    assert [row.model_fields_set for row in rows] == [
        {"name", "age", "vip"},
        {"name", "age", "note"},
    ]
    assert rows[0].model_dump_json() == '{"name":"Ann","age":5,"vip":true,"note":null}'
    assert rows[0].model_extra is None
    rows[0].name = "Eve"  # type: ignore[attr-defined]  # a Person
    assert rows[0].model_copy(update={"age": 7}) == Person(name="Eve", age=7, vip=True)


def test_a_field_without_a_column_is_not_set() -> None:
    validated = validate(Person, ["Ann", "5"], fields=["name", "age"])

    (row,) = validated.rows(validated.sound)
    assert row.model_fields_set == {"name", "age"}


def test_rows_are_picked_by_a_mask() -> None:
    validated = validate(Person, *(["Ann", str(i), None, None] for i in range(5)))

    picked = validated.rows(pl.Series([False, True, False, False, True]))
    assert [row.model_dump()["age"] for row in picked] == [1, 4]
    assert validated.rows(pl.Series([False] * 5)) == []


def test_a_model_that_allows_more_has_room_for_it() -> None:
    class Open(BaseModel, extra="allow"):
        a: int

    (row,) = validate(Open, ["1"]).rows(pl.Series([True]))

    assert row.model_extra == {}


@pytest.mark.parametrize(
    ("annotation", "text", "dtype"),
    [
        (str, "x", pl.String()),
        (int, "5", pl.Int64()),
        (int, "9" * 30, pl.Object()),
        (float, "5", pl.Float64()),
        (Decimal, "1.5", pl.Decimal(38, 10)),
        (Annotated[Decimal, Field(decimal_places=2)], "1.5", pl.Decimal(38, 2)),
        (Decimal, "0." + "1" * 20, pl.Object()),
        (bool, "no", pl.Boolean()),
        (date, "2024-01-01", pl.Date()),
        (datetime, "2024-01-01T10:00", pl.Datetime("us")),
        (datetime, "2024-01-01T10:00Z", pl.Object()),
        (EmailStr, "ann@firm.de", pl.String()),
        (Literal["a"], "a", pl.String()),
        (Literal[1], "1", pl.Int64()),
        (Colour, "red", pl.Object()),
        (UUID, str(UUID(int=5)), pl.Object()),
        (HttpUrl, "https://firm.de/", pl.Object()),
    ],
)
def test_a_column_has_a_type_that_holds_its_values_exactly(
    annotation: type, text: str, dtype: pl.DataType
) -> None:
    validated = validate(model_of(annotation), [text])

    assert validated.frame["a"].dtype == dtype
    assert validated.frame["a"].to_list() == validated.values("a")


def test_a_default_need_not_be_of_the_fields_type() -> None:
    validated = validate(model_of(int, "none"), ["1"], [None])

    assert validated.values("a") == [1, "none"]
    assert validated.frame["a"].to_list() == [1, "none"]


def test_issues_of_a_later_phase_find_their_place() -> None:
    validated = validate(Person, ["Ann", "-1", None, None], ["Ben", "5", None, None])
    check = Issue("taken", "Taken", Phase.CHECK, 2, "name", "Ann")
    row = Issue("odd", "Odd", Phase.ROW, 3)
    later = validated.with_issues([row, check])

    assert codes(later.issues) == [
        (2, "name", "taken"),
        (2, "age", "greater_than_equal"),
        (3, None, "odd"),
    ]
    assert later.values("name") == [None, "Ben"]
    assert later.frame["name"].to_list() == [None, "Ben"]
    assert later.bad["name"].to_list() == [True, False]
    assert later.bad["vip"].to_list() == [False, False]
    assert later.sound.to_list() == [False, False]
    assert validated.sound.to_list() == [False, True]
    assert validated.values("name") == ["Ann", "Ben"]


def test_a_warning_keeps_nothing_out() -> None:
    validated = validate(Person, ["Ann", "5", None, None])
    warned = validated.with_issues(
        [Issue("old", "Old", Phase.CHECK, 2, "age", level=Level.WARNING)]
    )

    assert warned.sound.to_list() == [True]
    assert warned.values("age") == [5]
    assert codes(warned.issues) == [(2, "age", "old")]


def test_an_error_takes_the_value_of_any_type_away() -> None:
    validated = validate(model_of(Colour), ["red"], ["red"])
    later = validated.with_issues([Issue("no", "No", Phase.CHECK, 3, "a")])

    assert later.frame["a"].to_list() == [Colour.RED, None]
    assert later.values("a") == [Colour.RED, None]


def test_no_issues_change_nothing() -> None:
    validated = validate(Person, ["Ann", "5", None, None])

    assert validated.with_issues([]) is validated


def test_row_numbers_need_not_be_in_order() -> None:
    frame = pl.DataFrame(
        {"row": [9, 4], "a": ["x", "y"]}, schema_overrides={"row": pl.UInt32}
    )
    validated = declared(plan_of(model_of(int)), frame, {"a": 0})

    assert [issue.row for issue in validated.issues] == [9, 4]
    later = validated.with_issues([Issue("no", "No", Phase.CHECK, 4, "a")])
    assert codes(later.issues) == [
        (9, "a", "int_parsing"),
        (4, "a", "int_parsing"),
        (4, "a", "no"),
    ]


def test_no_rows_are_no_issues() -> None:
    frame = pl.DataFrame(
        schema={"row": pl.UInt32, "name": pl.String, "faults": pl.String}
    )
    validated = declared(plan_of(Person), frame, {"name": 0})

    assert validated.issues == []
    assert validated.rows(validated.sound) == []
    assert validated.frame.columns == ["row", "name", "age", "vip", "note"]


def test_today_is_the_same_for_every_row() -> None:
    now = datetime(2020, 5, 5, 12, tzinfo=UTC)
    model = model_of(PastDate)
    frame = pl.DataFrame({"row": [2, 3], "a": ["2020-05-04", "2020-05-05"]})
    validated = declared(plan_of(model), frame, {"a": 0}, now)

    assert codes(validated.issues) == [(3, "a", "date_past")]


def test_a_plan_for_some_fields_validates_only_these() -> None:
    plan = plan_of(Person).only(["age"])
    frame = pl.DataFrame(
        {"row": [2], "age": ["x"]}, schema_overrides={"row": pl.UInt32}
    )
    validated = declared(plan, frame, {"age": 0})

    assert codes(validated.issues) == [(2, "age", "int_parsing")]
    assert validated.frame.columns == ["row", "age"]


def test_a_sensitive_cell_without_a_value_hides_nothing() -> None:
    (issue,) = validate(model_of(Annotated[int, Column(sensitive=True)]), [None]).issues

    assert issue.value is None
