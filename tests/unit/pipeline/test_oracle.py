"""A model's own validators run, and what they say and change is kept."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, Self
from uuid import UUID, uuid4

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    EmailStr,
    Field,
    Json,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from batchfx.columns import Column
from batchfx.model.issues import Phase
from batchfx.pipeline.plan import plan_of
from tests.unit.pipeline.frames import codes, model_of, read, validate


def german(value: str) -> str:
    return value.replace(".", "").replace(",", ".")


def no_demo(value: str) -> str:
    if value.startswith("demo"):
        message = "not for demos"
        raise ValueError(message)
    return value


def never(value: int) -> int:
    message = "never"
    raise ValueError(message)


class Colour(Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value: object) -> Colour | None:
        return cls.RED if value == "rot" else None


class Tagged(BaseModel):
    kind: Literal["x"]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (IPv4Address, "10.0.0.1", IPv4Address("10.0.0.1")),
        (SecretStr, " a ", SecretStr(" a ")),
        (Json[list[int]], "[1, 2]", [1, 2]),
        (int | str, "5", "5"),
        (int | str, "five", "five"),
        (Colour, "red", Colour.RED),
        (Colour, " red", Colour.RED),
        (Colour, "rot", Colour.RED),
        (Literal["a", 3] | Decimal, "3", 3),
        (Literal["a", 3] | Decimal, "3.5", Decimal("3.5")),
        (Annotated[Tagged | int, BeforeValidator(int)], "5", 5),
        (Annotated[str, AfterValidator(str.title)], "ann", "Ann"),
        (Annotated[Decimal, BeforeValidator(german)], "1.234,50", Decimal("1234.50")),
        (Annotated[list[str], BeforeValidator(str.split)], "a b", ["a", "b"]),
        (Annotated[int, PlainValidator(len)], "abc", 3),
        (Annotated[int, WrapValidator(lambda v, do: do(v) + 1)], "5", 6),
        (Any, " x", " x"),
    ],
)
def test_pydantic_makes_the_values_that_only_it_can(
    annotation: Any, text: str, value: Any
) -> None:
    assert read(annotation, text) == value


UNIONS = [
    int | str,
    str | int | None,
    Decimal | str,
    date | int | str,
    bool | str,
    UUID | str,
    Literal[7] | str,
    int | Literal["007"],
    int | Annotated[str, Field(min_length=3)],
    int | Annotated[str, AfterValidator(str.title)],
    int | Annotated[str, WrapValidator(lambda v, do: do(v))],
    Annotated[int, BeforeValidator(int)] | str,
    Annotated[int, WrapValidator(lambda v, do: 5)] | str,
    int | SecretStr,
    int | Any,
]
TEXTS = st.text("0123", min_size=1) | st.sampled_from(
    ["00501", "007", "7", "x", "true", "2026-01-05", "1.50", f"{uuid4()}"]
)


@pytest.mark.parametrize("annotation", UNIONS, ids=range(len(UNIONS)))
@given(text=TEXTS)
@settings(max_examples=20)
def test_a_union_keeps_a_text_wherever_pydantic_keeps_it(
    annotation: Any, text: str
) -> None:
    try:
        expected = TypeAdapter(annotation).validate_python(text)
    except ValidationError:
        assert {issue.value for issue in read(annotation, text)} == {text}
    else:
        value = read(annotation, text)
        assert (value, type(value)) == (expected, type(expected))


def test_a_union_of_a_strict_model_still_reads_text() -> None:
    class Row(BaseModel):
        model_config = ConfigDict(strict=True)

        a: int | date

    validated = validate(Row, ["7"], ["2026-01-05"])

    assert list(validated.values("a")) == [7, date(2026, 1, 5)]


class Aliased(BaseModel):
    a: int = Field(alias="Amount")
    b: int = Field(2, alias="Bonus")


class Watched(Aliased):
    """Puts 1 to the amount before its fields are read, and 10 after."""

    @model_validator(mode="before")
    @classmethod
    def add(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "a": given["a"] + 1}

    @model_validator(mode="after")
    def add_more(self) -> Self:
        self.a += 10
        return self


@pytest.mark.parametrize(("model", "added"), [(Aliased, 0), (Watched, 11)])
def test_a_field_with_an_alias_is_filled_by_its_name(
    model: type[Aliased], added: int
) -> None:
    validated = validate(model, ["1", "5"], ["3", None])

    assert validated.issues == []
    assert [row.model_dump() for row in validated.rows(validated.sound)] == [
        {"a": 1 + added, "b": 5},
        {"a": 3 + added, "b": 2},
    ]


@pytest.mark.parametrize(
    ("annotation", "text", "found"),
    [
        (IPv4Address, "x", [("ip_v4_address", Phase.RULE)]),
        (Colour, "blue", [("enum", Phase.VALUE)]),
        (
            int | Decimal,
            "x",
            [("int_parsing", Phase.VALUE), ("decimal_parsing", Phase.VALUE)],
        ),
        (
            Annotated[date, BeforeValidator(str.strip)],
            "20240101",
            [("date_parsing", Phase.VALUE)],
        ),
        (
            Annotated[str, AfterValidator(no_demo)],
            "demo",
            [("value_error", Phase.RULE)],
        ),
    ],
)
def test_what_pydantic_refuses_is_an_issue(
    annotation: Any, text: str, found: list[tuple[str, Phase]]
) -> None:
    issues = read(annotation, text)

    assert [(issue.code, issue.phase) for issue in issues] == found
    assert {issue.value for issue in issues} == {text}


def test_a_validator_keeps_its_words() -> None:
    def odd(value: int) -> int:
        if value % 2 == 0:
            code, words = "not_odd", "{number} is even"
            raise PydanticCustomError(code, words, {"number": value})
        return value

    (issue,) = read(Annotated[int, AfterValidator(odd)], "4")
    assert (issue.code, issue.message, issue.parameters) == (
        "not_odd",
        "4 is even",
        {"number": 4},
    )


def test_rules_are_judged_before_a_validator_that_follows_them() -> None:
    calls: list[int] = []

    class Row(BaseModel):
        a: Annotated[int, Field(ge=5, multiple_of=2)]

        @field_validator("a")
        @classmethod
        def double(cls, value: int) -> int:
            calls.append(value)
            return value * 2

    validated = validate(Row, ["3"], ["6"], ["x"])

    assert codes(validated.issues) == [
        (2, "a", "multiple_of"),
        (2, "a", "greater_than_equal"),
        (4, "a", "int_parsing"),
    ]
    assert validated.values("a") == [None, 12, None]
    assert validated.frame["a"].dtype == pl.Int64
    assert calls == [6]


def test_a_validator_of_a_value_is_called_once_for_each_text() -> None:
    calls: Counter[str] = Counter()

    def count(value: str) -> str:
        calls[value] += 1
        return no_demo(value)

    validated = validate(
        model_of(Annotated[str, AfterValidator(count)]),
        ["a"],
        ["demo"],
        ["a"],
        ["demo"],
    )

    assert calls == {"a": 1, "demo": 1}
    assert codes(validated.issues) == [(3, "a", "value_error"), (5, "a", "value_error")]


def test_a_value_that_can_be_changed_is_not_shared_by_rows() -> None:
    validated = validate(
        model_of(Annotated[list[str], BeforeValidator(str.split)]), ["a b"], ["a b"]
    )

    first, second = validated.values("a")
    assert first == second == ["a", "b"]
    assert first is not second


def test_a_validator_sees_none_but_no_default() -> None:
    seen: list[Any] = []

    def note(value: Any) -> Any:
        seen.append(value)
        return value

    validate(model_of(Annotated[str | None, AfterValidator(note)]), [None])
    validate(model_of(Annotated[str | None, AfterValidator(note)], None), [None], ["x"])

    assert seen == [None, "x"]


def test_another_exception_of_a_validator_is_a_failure_of_that_row() -> None:
    def broken(value: str) -> str:
        return {"a": "b"}[value]

    validated = validate(model_of(Annotated[str, AfterValidator(broken)]), ["a"], ["x"])

    (issue,) = validated.issues
    assert (issue.row, issue.field, issue.code) == (3, "a", "validator_error")
    assert issue.message.startswith("KeyError: 'x'")
    assert issue.is_failure
    assert 'return {"a": "b"}[value]' in str(issue.detail)
    assert validated.values("a") == ["b", None]


def parent_of(text: Any) -> Any:
    return Node(number=int(text)) if isinstance(text, str) else text


class Node(BaseModel):
    number: int
    parent: Annotated[Node | None, BeforeValidator(parent_of)] = None

    @model_validator(mode="after")
    def see(self) -> Self:
        return self


class Ordered(BaseModel):
    a: int
    b: int
    c: int

    @field_validator("b", "c")
    @classmethod
    def larger(cls, value: int, info: ValidationInfo) -> int:
        others = info.data
        if "a" in others and value < others["a"]:
            message = f"{info.field_name} is smaller than a"
            raise ValueError(message)
        return value * 10 + len(others)


def test_a_validator_sees_the_fields_before_it_that_are_sound() -> None:
    validated = validate(
        Ordered, ["1", "2", "3"], ["5", "2", "3"], ["x", "2", "3"], ["1", "x", "3"]
    )

    assert codes(validated.issues) == [
        (3, "b", "value_error"),
        (3, "c", "value_error"),
        (4, "a", "int_parsing"),
        (5, "b", "int_parsing"),
    ]
    assert validated.values("b") == [21, None, 20, None]
    assert validated.values("c") == [32, None, 31, 31]


def test_a_default_is_drawn_from_the_fields_before_it() -> None:
    class Row(BaseModel):
        a: int
        b: Annotated[int, Field(default_factory=lambda data: data["a"] + 1)]

    validated = validate(Row, ["1", None], ["1", "7"], ["x", None])

    assert validated.values("b") == [2, 7, None]
    assert codes(validated.issues) == [
        (4, "a", "int_parsing"),
        (4, "b", "validator_error"),
    ]
    assert [row.model_fields_set for row in validated.rows(validated.sound)] == [
        {"a"},
        {"a", "b"},
    ]


class Span(BaseModel):
    start: int
    end: Annotated[int, Field(le=99)]
    note: str = "none"

    @model_validator(mode="after")
    def check(self) -> Self:
        if self.end < self.start:
            message = "the end is before the start"
            raise ValueError(message)
        self.note = self.note.upper()
        return self


def test_a_models_own_validator_sees_sound_rows_only() -> None:
    validated = validate(
        Span, ["1", "2", "a"], ["5", "2", None], ["5", "100", None], ["1", "x", None]
    )

    assert codes(validated.issues) == [
        (3, None, "value_error"),
        (4, "end", "less_than_equal"),
        (5, "end", "int_parsing"),
    ]
    assert validated.issues[0].phase is Phase.ROW
    assert validated.issues[0].message == "Value error, the end is before the start"
    assert validated.sound.to_list() == [True, False, False, False]


def test_what_a_models_validator_changes_is_kept() -> None:
    validated = validate(Span, ["1", "2", "a"], ["1", "2", None])

    assert validated.rows(validated.sound) == [
        Span(start=1, end=2, note="a"),
        Span(start=1, end=2, note="none"),
    ]
    assert validated.values("note") == ["A", "NONE"]
    assert validated.frame["note"].to_list() == ["A", "NONE"]
    assert [row.model_fields_set for row in validated.rows(validated.sound)] == [
        {"start", "end", "note"},
        {"start", "end", "note"},  # the validator set it
    ]


def test_an_issue_of_one_field_may_come_from_the_whole_model() -> None:
    class Row(BaseModel):
        a: int
        b: int

        @model_validator(mode="before")
        @classmethod
        def swap(cls, values: dict[str, Any]) -> dict[str, Any]:
            return {"a": values["a"], "b": "x" if values["a"] == 1 else values["b"]}

    validated = validate(Row, ["1", "2"], ["2", "3"])

    assert codes(validated.issues) == [(2, "b", "int_parsing")]
    assert validated.issues[0].phase is Phase.ROW
    assert validated.bad["b"].to_list() == [True, False]


def test_fields_are_not_validated_again_before_a_models_validator() -> None:
    numbers = iter(range(100))

    class Row(BaseModel):
        a: Annotated[int, AfterValidator(lambda value: value * 2)]
        b: int = Field(default_factory=lambda: next(numbers))

        @model_validator(mode="before")
        @classmethod
        def same(cls, values: Any) -> Any:
            return values

    validated = validate(Row, ["1", None], ["2", None])

    rows = validated.rows(validated.sound)
    assert [row.model_dump() for row in rows] == [{"a": 2, "b": 0}, {"a": 4, "b": 1}]
    assert validated.values("b") == [0, 1]


def test_a_models_validator_knows_which_fields_the_file_set() -> None:
    class Row(BaseModel):
        a: int = 1
        b: int = 2

        @model_validator(mode="after")
        def note(self) -> Self:
            seen.append(set(self.model_fields_set))
            return self

    seen: list[set[str]] = []
    validate(Row, ["1", None], [None, "2"])

    assert seen == [{"a"}, {"b"}]


def test_a_models_validator_that_returns_nothing_is_told_of() -> None:
    class Row(BaseModel):
        a: int

        @model_validator(mode="after")
        def forget(self) -> Self:
            return None  # type: ignore[return-value]  # the mistake

    (issue,) = validate(Row, ["1"]).issues

    assert (issue.code, issue.phase, issue.is_failure) == (
        "validator_error",
        Phase.ROW,
        True,
    )
    assert (
        issue.message
        == "A validator of Row returned a NoneType; a model validator returns self"
    )


def test_a_model_may_refer_to_itself() -> None:
    validated = validate(Node, ["1", "5"], ["2", None], ["3", "x"])

    assert validated.rows(validated.sound) == [
        Node(number=1, parent=Node(number=5)),
        Node(number=2),
    ]
    assert codes(validated.issues) == [(4, "parent", "value_error")]


def test_private_attributes_are_there() -> None:
    class Row(BaseModel):
        a: int
        _seen: list[int] = PrivateAttr(default_factory=list)

    row, other = validate(Row, ["1"], ["2"]).rows(pl.Series([True, True]))

    assert row._seen == []  # type: ignore[attr-defined]  # noqa: SLF001 - a Row
    assert row._seen is not other._seen  # type: ignore[attr-defined]  # noqa: SLF001 - a Row


def test_a_factory_is_called_for_each_row_that_needs_it() -> None:
    class Row(BaseModel):
        a: int
        b: UUID = Field(default_factory=uuid4)

    validated = validate(Row, ["1", None], ["x", None], ["3", str(UUID(int=5))])

    first, second, third = validated.values("b")
    assert third == UUID(int=5)
    assert first != second
    assert validated.rows(validated.sound)[0].model_dump()["b"] == first


def test_a_factory_that_breaks_is_a_failure_of_that_row() -> None:
    numbers = iter([5])

    class Row(BaseModel):
        a: int = Field(default_factory=lambda: next(numbers))

    validated = validate(Row, [None], ["1"], [None])

    assert codes(validated.issues) == [(4, "a", "validator_error")]
    assert validated.issues[0].message.startswith("StopIteration")
    assert validated.values("a") == [5, 1, None]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "4711x"),
        (Annotated[str, Field(max_length=2)], "4711"),
        (EmailStr, "4711 @x.de"),
        (Annotated[str, AfterValidator(lambda v: int(v + "x"))], "4711 b"),
        (Annotated[str, AfterValidator(lambda v: {}[v])], "4711 a"),
        (date, "47.11.4711"),
    ],
)
def test_a_sensitive_value_is_shown_nowhere(annotation: Any, text: str) -> None:
    (issue,) = read(Annotated[annotation, Column(sensitive=True)], text)

    assert issue.value == "•••"
    assert issue.suggestion is None
    assert "4711" not in f"{issue.message}{issue.parameters}{issue.detail}"


@pytest.mark.parametrize(
    ("annotation", "text", "message"),
    [
        (
            Annotated[str, Field(min_length=3)],
            "3",
            "String should have at least 3 characters",
        ),
        (Literal["a", "b"], "ab", "Input should be 'a' or 'b'"),
        (Annotated[str, AfterValidator(no_demo)], "demo1", "The value is refused"),
        (
            Annotated[str, AfterValidator(no_demo)],
            "demo",
            "The value is refused",
        ),
        (Annotated[int, AfterValidator(never)], "5", "Value error, never"),
        (Annotated[EmailStr, Field(max_length=5)], "4 @ 4", "The value is refused"),
    ],
    ids=range(6),
)
def test_a_sensitive_fields_message_stays_where_it_quotes_nothing(
    annotation: Any, text: str, message: str
) -> None:
    (issue,) = read(Annotated[annotation, Column(sensitive=True)], text)

    assert issue.message == message


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("4711-22", "The value is refused"),
        ("9999", "Value error, the code 4711 is known"),
    ],
)
def test_a_sensitive_value_is_not_in_what_is_said_of_the_row(
    code: str, message: str
) -> None:
    class Row(BaseModel):
        code: Annotated[str, Column(sensitive=True)]

        @model_validator(mode="after")
        def known(self) -> Self:
            told = "the code 4711 is known"
            raise ValueError(told)

    (issue,) = validate(Row, [code]).issues

    assert (issue.field, issue.value, issue.message) == (None, None, message)


def test_one_text_can_be_two_values() -> None:
    swapped = Annotated[
        date, Column(format="%Y-%d-%m"), AfterValidator(lambda day: day)
    ]
    validated = validate(
        model_of(swapped), ["2024-02-03"], ["2024-02-03"], kinds=["d", "t"]
    )

    assert validated.values("a") == [date(2024, 2, 3), date(2024, 3, 2)]


def test_only_the_values_of_a_sensitive_field_are_hidden() -> None:
    assert read(int, "4711x")[0].value == "4711x"


def test_compiled_and_left_to_pydantic_say_the_same() -> None:
    limits = Field(ge=5, multiple_of=2)
    texts = [[text] for text in ("4", "5", "6", "x", None)]
    compiled = model_of(Annotated[int, limits])
    left = model_of(Annotated[int, limits, BeforeValidator(lambda value: value)])

    assert plan_of(compiled).fields["a"].compiled
    assert not plan_of(left).fields["a"].compiled
    one, other = validate(compiled, *texts), validate(left, *texts)
    assert one.sound.to_list() == other.sound.to_list()
    assert one.values("a") == other.values("a")
    assert one.frame.equals(other.frame)
    firsts = {issue.row: issue.code for issue in reversed(one.issues)}
    assert firsts == {issue.row: issue.code for issue in other.issues}
