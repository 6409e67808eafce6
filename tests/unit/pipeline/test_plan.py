"""What a row model declares is understood, or refused when it is defined."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    PositiveInt,
    RootModel,
    SecretStr,
    StringConstraints,
    create_model,
    field_validator,
    model_validator,
)

from batchfx.columns import Column
from batchfx.errors import DeclarationError
from batchfx.pipeline.plan import NO_DEFAULT, FieldPlan, plan_of
from tests.unit.pipeline.frames import model_of


class Inner(BaseModel):
    x: int


class Colour(Enum):
    RED = "red"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    a: int


def plan(annotation: Any, default: Any = ...) -> FieldPlan:
    return plan_of(model_of(annotation, default)).fields["a"]


def test_a_plan_is_made_once_for_a_model() -> None:
    assert plan_of(Strict) is plan_of(Strict)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (str, "text"),
        (PositiveInt, "integer"),
        (Decimal | None, "decimal"),
        (float, "number"),
        (bool, "boolean"),
        (date, "date"),
        (Literal["a"], "choice"),
        (Colour, "choice"),
        (EmailStr, "email"),
        (HttpUrl, "url"),
        (Annotated[str, StringConstraints(pattern="^a")], "text"),
    ],
)
def test_a_type_that_polars_can_judge_is_compiled(annotation: Any, kind: str) -> None:
    field = plan(annotation)

    assert (field.kind, field.compiled) == (kind, True)


@pytest.mark.parametrize(
    "annotation",
    [
        IPv4Address,
        bytes,
        SecretStr,
        int | str,
        Annotated[str, AfterValidator(str.title)],
        Annotated[int, BeforeValidator(int)],
        Annotated[EmailStr, Field(max_length=9)],
    ],
    ids=str,
)
def test_what_only_pydantic_knows_is_left_to_it(annotation: Any) -> None:
    assert not plan(annotation).compiled


def test_a_strict_model_is_compiled() -> None:
    assert plan_of(Strict).fields["a"].compiled


def test_a_field_that_is_told_twice_is_compiled_twice() -> None:
    class Row(BaseModel):
        a: Colour
        b: Colour | None

    assert [field.kind for field in plan_of(Row).fields.values()] == [
        "choice",
        "choice",
    ]


@pytest.mark.parametrize(
    ("annotation", "default", "required", "nullable", "value"),
    [
        (str, ..., True, False, NO_DEFAULT),
        (str | None, ..., False, True, NO_DEFAULT),
        (str, "x", False, False, "x"),
        (str | None, None, False, True, None),
        (Annotated[str | None, BeforeValidator(str)], ..., False, True, NO_DEFAULT),
        (Any, ..., False, True, NO_DEFAULT),
    ],
)
def test_a_plan_says_what_an_empty_cell_becomes(
    annotation: Any,
    default: Any,
    required: object,
    nullable: object,
    value: Any,
) -> None:
    field = plan(annotation, default)

    assert (field.required, field.nullable) == (required, nullable)
    assert field.default is value


def test_a_default_that_can_be_changed_is_made_anew() -> None:
    field = plan(Annotated[list[int], BeforeValidator(str.split)], [1])

    assert field.factory is not None
    assert field.factory() == [1]
    assert field.factory() is not field.factory()


def test_rules_are_listed_in_the_order_in_which_pydantic_checks() -> None:
    field = plan(Annotated[int, Field(gt=1, ge=2, lt=9, le=8, multiple_of=2)])

    assert [rule.code for rule in field.rules] == [
        "multiple_of",
        "less_than_equal",
        "less_than",
        "greater_than_equal",
        "greater_than",
    ]


def test_a_plan_for_some_fields_keeps_their_order() -> None:
    class Row(BaseModel):
        a: int
        b: int
        c: int

        @model_validator(mode="after")
        def check(self) -> Row:
            return self

    part = plan_of(Row).only(["c", "a"])

    assert list(part.fields) == ["a", "c"]
    assert list(part.columns) == ["a", "c"]
    assert (plan_of(Row).hooks, part.hooks) == (True, False)


NO_TEXT = (
    "which no cell's text can be: use a type of single values, "
    "or a BeforeValidator that makes the value from the text."
)
UNREADABLE = "which strptime can't read (%Q, %m): write one such as %d.%m.%Y."
REFUSED: list[tuple[Callable[[], type[BaseModel]], str]] = [
    (lambda: model_of(Inner), f"Row.a has the type Inner, {NO_TEXT}"),
    (
        lambda: model_of(list[int] | None),
        f"Row.a has the type list[int] | None, {NO_TEXT}",
    ),
    (
        lambda: create_model("Row", row=(int, ...)),
        (
            "Row.row has a name that batchfx uses for the row of a file's rows: "
            "give it another name and keep the header with Column(...)."
        ),
    ),
    (
        lambda: model_of(Annotated[int, Column(format="%d")]),
        (
            "Row.a has a format, '%d', but its values are of the kind integer: "
            "a format is for dates and times."
        ),
    ),
    (
        lambda: model_of(Annotated[date, Column(format="%Q.%m")]),
        f"Row.a has the format '%Q.%m', {UNREADABLE}",
    ),
    (
        lambda: model_of(Annotated[date, Column(format="%d.%d.%Y")]),
        (
            "Row.a has the format '%d.%d.%Y', which strptime can't read "
            "(%d, %d, %Y): write one such as %d.%m.%Y."
        ),
    ),
    (
        lambda: model_of(Annotated[date, Column(format="%d.%m")] | None, None),
        (
            "Row.a has the format '%d.%m', which lacks day, month and year: "
            "write one such as %d.%m.%Y."
        ),
    ),
    (
        lambda: model_of(Annotated[datetime, Column(format="%Y %H:%M")]),
        (
            "Row.a has the format '%Y %H:%M', which lacks day, month and year: "
            "write one such as %d.%m.%Y."
        ),
    ),
    (
        lambda: model_of(Annotated[time, Column(format="%I.%M")]),
        "Row.a has the format '%I.%M', which lacks the hour: write %H:%M.",
    ),
    (
        lambda: model_of(Annotated[date, Column(example="14.3.2026")] | None),
        (
            "Row.a has the example '14.3.2026' that it refuses itself: "
            "Write the date as YYYY-MM-DD."
        ),
    ),
    (
        lambda: model_of(Annotated[int, Field(ge=5), Column(example="4")]),
        (
            "Row.a has the example '4' that it refuses itself: "
            "Input should be greater than or equal to 5."
        ),
    ),
    (
        lambda: model_of(Annotated[int, Field(ge=5, validate_default=True)], 1),
        (
            "Row.a has a default that its own rules refuse: "
            "Input should be greater than or equal to 5."
        ),
    ),
    (
        lambda: RootModel[int],
        "RootModel[int] is a RootModel: a row model names its fields.",
    ),
]


@pytest.mark.parametrize(("model", "message"), REFUSED)
def test_a_model_that_can_not_come_from_text_is_refused(
    model: Callable[[], type[BaseModel]], message: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        plan_of(model())

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (date, "%d.%m.%Y"),
        (date, "%d %B %y"),
        (date, "%j/%Y"),
        (datetime, "%d.%m.%Y"),
        (datetime, "%m/%d/%Y %I:%M %p"),
        (time, "%H"),
        (time, "%I:%M %p"),
    ],
)
def test_a_format_of_all_that_a_value_needs_is_taken(kind: type, written: str) -> None:
    assert plan(Annotated[kind, Column(format=written)]).column.format == written


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (str, Column(example="Ada")),
        (int, Column(example="1200")),
        (int, Column(example="NA", null_tokens=("NA",))),
        (int, Column(example="Ada", lookup="Person.name")),
        (date, Column(example="14.03.2026", format="%d.%m.%Y")),
        (bool, Column(example="yes")),
        (Colour, Column(example="red")),
        (EmailStr, Column(example="ada@example.com")),
        (HttpUrl, Column(example="https://example.com")),
        (Annotated[int, AfterValidator(str)], Column(example="5")),
        (Annotated[int, BeforeValidator(len)], Column(example="five")),
        (int | date, Column(example="2026-03-14")),
    ],
    ids=range(12),
)
def test_an_example_that_a_file_can_have_is_taken(kind: Any, column: Column) -> None:
    row = create_model(
        "Row", __config__=ConfigDict(strict=True), a=(Annotated[kind, column], ...)
    )

    assert plan_of(row).columns["a"] == column


def test_a_model_with_an_init_of_its_own_is_refused() -> None:
    class Row(BaseModel):
        a: int

        def __init__(self, **values: Any) -> None:
            super().__init__(**values)

    with pytest.raises(DeclarationError, match=r"Row has an __init__ of its own"):
        plan_of(Row)


def test_a_structure_that_a_validator_makes_from_text_is_taken() -> None:
    field = plan(Annotated[list[int], BeforeValidator(str.split)])

    assert (field.compiled, field.kind) == (False, "other")


def test_validators_that_see_the_row_are_known() -> None:
    class Row(BaseModel):
        a: int
        b: Annotated[int, Field(default_factory=lambda data: data["a"])]
        c: int

        @field_validator("c")
        @classmethod
        def check(cls, value: int, info: Any) -> int:
            return value + int(info.data["a"])

    fields = plan_of(Row).fields
    assert [field.informed for field in fields.values()] == [False, True, True]
    assert [field.required for field in fields.values()] == [True, False, True]
