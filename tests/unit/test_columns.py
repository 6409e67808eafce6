"""Where a field's `Column` is found, and what is refused of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Optional

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

from batchfx.columns import Column, columns_of
from batchfx.errors import DeclarationError


def column(annotation: Any, default: Any = ...) -> Column:
    return columns_of(create_model("Row", a=(annotation, default)))["a"]


CODE = Column("Code", unique=True)
Named = TypeAliasType("Named", Annotated[str, CODE])


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str, CODE],
        Annotated[str | None, CODE],
        Annotated[str, CODE] | None,
        Optional[Annotated[str, CODE]],  # noqa: UP045 - the other spelling
        Annotated[Annotated[str, CODE] | None, Field(max_length=3)],
        Annotated[int, Field(gt=1), CODE] | Annotated[str, Field(max_length=3)] | None,
        Named,
        Named | None,
    ],
    ids=[
        "plain",
        "around",
        "inside",
        "optional",
        "nested",
        "choice",
        "named",
        "named choice",
    ],
)
def test_a_column_counts_wherever_it_stands_in_the_type(annotation: Any) -> None:
    assert column(annotation) == CODE
    assert column(annotation, None) == CODE


def test_a_field_without_a_column_has_a_plain_one() -> None:
    assert column(str | None) == Column()


class Misplaced(BaseModel):
    a: str = Column("X")  # type: ignore[assignment]  # the very fault


class Uncalled(BaseModel):
    a: Annotated[str, Column]


class UncalledInside(BaseModel):
    a: Annotated[str, Column] | None = None


class Doubled(BaseModel):
    a: Annotated[str, Column("A"), Column("B")]


class DoubledInside(BaseModel):
    a: Annotated[Annotated[str, Column("A")] | None, Column("B")]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            Misplaced,
            (
                "Misplaced.a has a Column as its default. "
                "Put it into the type: Annotated[str, Column(...)]."
            ),
        ),
        (
            Uncalled,
            (
                "Uncalled.a has the class Column in its type. "
                "Write Column() with parentheses, such as Annotated[str, Column()]."
            ),
        ),
        (
            UncalledInside,
            (
                "UncalledInside.a has the class Column in its type. "
                "Write Column() with parentheses, such as Annotated[str, Column()]."
            ),
        ),
        (
            Doubled,
            "Doubled.a has 2 Columns. Put all that they say into one Column(...).",
        ),
        (
            DoubledInside,
            (
                "DoubledInside.a has 2 Columns. "
                "Put all that they say into one Column(...)."
            ),
        ),
    ],
)
def test_a_column_that_would_be_ignored_is_refused(
    model: type[BaseModel], sentence: str
) -> None:
    with pytest.raises(DeclarationError, match=f"^{re.escape(sentence)}$"):
        columns_of(model)


def any_of(value: Any) -> Any:
    """Return *value* as one of any type, which the wrong arguments below are."""
    return value


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Column(any_of(5)),
            'Column(name=5) must be a text. Write Column(name="...").',
        ),
        (
            lambda: Column(aliases=any_of(["A", 5])),
            (
                "Column(aliases=['A', 5]) must be a tuple of texts. "
                'Write Column(aliases=("...", "...")).'
            ),
        ),
        (
            lambda: Column(aliases=any_of(5)),
            (
                "Column(aliases=5) must be a tuple of texts. "
                'Write Column(aliases=("...", "...")).'
            ),
        ),
        (
            lambda: Column(null_tokens=any_of([-1])),
            (
                "Column(null_tokens=[-1]) must be a tuple of texts. "
                'Write Column(null_tokens=("...", "...")).'
            ),
        ),
        (
            lambda: Column(example=any_of(12)),
            'Column(example=12) must be a text. Write Column(example="...").',
        ),
        (
            lambda: Column(unique=any_of("yes")),
            "Column(unique='yes') must be True or False. Write Column(unique=True).",
        ),
        (
            lambda: Column(format="DD.MM.YYYY"),
            (
                "Column(format='DD.MM.YYYY') has none of strptime's letters. "
                'Write one such as Column(format="%d.%m.%Y").'
            ),
        ),
        (
            lambda: Column(" "),
            (
                "A Column has a blank name or alias, which no header can be. "
                "Leave it out, or write the header of the file."
            ),
        ),
        (
            lambda: Column(aliases=("A", "")),
            (
                "A Column has a blank name or alias, which no header can be. "
                "Leave it out, or write the header of the file."
            ),
        ),
    ],
)
def test_a_wrong_argument_is_refused(make: Callable[[], Column], sentence: str) -> None:
    with pytest.raises(DeclarationError, match=f"^{re.escape(sentence)}$"):
        make()


def test_one_alias_may_be_a_text_of_its_own() -> None:
    assert Column(aliases="Mail").aliases == ("Mail",)


class Aliased(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    order_number: str
    price: Annotated[int, Field(alias="Unit price")]
    mail: Annotated[
        str,
        Column(aliases=("Post",)),
        Field(validation_alias=AliasChoices("E-mail", "Mail")),
    ]
    place: Annotated[str, Column("Place"), Field(alias="place_name")]
    note: Annotated[str, Field(serialization_alias="Remark")]


def test_an_alias_of_pydantic_is_the_header_unless_the_column_names_one() -> None:
    columns = columns_of(Aliased)

    assert {name: each.header(name) for name, each in columns.items()} == {
        "order_number": "orderNumber",
        "price": "Unit price",
        "mail": "E-mail",
        "place": "Place",
        "note": "note",
    }
    assert columns["mail"].aliases == ("Mail", "Post")
