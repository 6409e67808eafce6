"""What a Column, or an importer's class, may say of how values are written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel

from batchfx import Column, Context, Importer
from batchfx.errors import DeclarationError
from batchfx.model.notations import Notation
from batchfx.pipeline.plan import plan_of
from batchfx.testing import try_rows
from tests.unit.pipeline.frames import model_of


def test_what_a_column_says_makes_its_notation() -> None:
    column = Column(
        "Price",
        decimal=",",
        thousands=".",
        currency=True,
        percent="fraction",
        two_digit_year=1930,
        zone="Europe/Rome",
        languages="it",
        null_tokens=("-",),
        values={"gratis": "0"},
    )

    assert column.notation == Notation(
        decimal=",",
        thousands=".",
        currency=True,
        percent="fraction",
        two_digit_year=1930,
        zone_for_naive="Europe/Rome",
        languages=("it",),
        null_tokens=("-",),
        values={"gratis": "0"},
    )
    assert Column().notation == Notation()


def test_columns_that_say_the_same_are_one() -> None:
    one, other = Column(values={"a": "b"}), Column(values={"a": "b"})

    assert {one, other} == {one}
    assert one != Column(values={"a": "c"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Column(decimal=";"),
            'Column(decimal=\';\') must be "." or ",".',
        ),
        (
            lambda: Column(thousands="-"),
            'Column(thousands=\'-\') must be ".", ",", " ", "\'" or "".',
        ),
        (
            lambda: Column(decimal=",", thousands=","),
            (
                "Column(decimal=',', thousands=','): one sign can't be both. Leave "
                "thousands out, or write another sign."
            ),
        ),
        (
            lambda: Column(currency=cast("Any", "EUR")),
            "Column(currency='EUR') must be True or False.",
        ),
        (
            lambda: Column(percent="part"),
            'Column(percent=\'part\') must be "fraction" or "number".',
        ),
        (
            lambda: Column(date_order="DMY"),
            'Column(date_order=\'DMY\') must be "dmy", "mdy" or "ymd".',
        ),
        (
            lambda: Column(two_digit_year=30),
            (
                "Column(two_digit_year=30) must be the first year of a hundred, "
                'such as 1930, or "not after today".'
            ),
        ),
        (
            lambda: Column(zone="Europe"),
            (
                "Column(zone='Europe') must be the name of a zone of IANA, such as "
                '"Europe/Rome".'
            ),
        ),
        (
            lambda: Column(zone="Mars/Olympus"),
            (
                "Column(zone='Mars/Olympus') must be the name of a zone of IANA, "
                'such as "Europe/Rome".'
            ),
        ),
        (
            lambda: Column(normal_form="nfc"),
            'Column(normal_form=\'nfc\') must be "NFC", "NFD", "NFKC" or "NFKD".',
        ),
        (
            lambda: Column(values=cast("Any", {"a": 1})),
            (
                "Column(values={'a': 1}) must be a mapping of texts, such as "
                '{"Germania": "DE"}.'
            ),
        ),
        (
            lambda: Column(languages=cast("Any", [1])),
            (
                "Column(languages=[1]) must be a tuple of texts. "
                'Write Column(languages=("...", "...")).'
            ),
        ),
    ],
)
def test_what_can_not_be_said_is_refused(
    make: Callable[[], Column], message: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        make()

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("annotation", "column", "reason"),
    [
        (str, Column(decimal=","), "a decimal mark is for numbers"),
        (date, Column(thousands="."), "a sign between thousands is for numbers"),
        (str, Column(currency=True), "a currency is for numbers"),
        (bool, Column(percent="number"), "a percentage is a number"),
        (int, Column(date_order="dmy"), "an order of dates is for dates"),
        (int, Column(two_digit_year=1930), "a window of years is for dates"),
        (date, Column(zone="UTC"), "a zone is for dates with a time"),
        (
            int,
            Column(languages=("de",)),
            "languages are for words of yes and no, and months",
        ),
        (
            int,
            Column(trim=True),
            "outer blanks are no part of such values anyway",
        ),
        (int, Column(normal_form="NFC"), "a normal form is for text"),
    ],
)
def test_what_means_nothing_to_a_field_is_refused(
    annotation: Any, column: Column, reason: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        plan_of(model_of(Annotated[annotation, column]))

    assert str(refused.value).startswith("Row.a has ")
    assert str(refused.value).endswith(f": {reason}.")


def test_what_only_pydantic_reads_has_no_notation() -> None:
    with pytest.raises(DeclarationError) as refused:
        plan_of(model_of(Annotated[Decimal | date, Column(decimal=",")]))

    assert str(refused.value) == (
        "Row.a has decimal=',', but only Pydantic can read its type: use a type of "
        "single values, or make the value in a BeforeValidator."
    )
    assert plan_of(model_of(Annotated[str | int, Column(trim=True)])).fields["a"].raw


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"Row\.a has the language 'xx', which"):
        plan_of(model_of(Annotated[bool, Column(languages=("xx",))]))


def test_an_example_is_written_as_its_column_says() -> None:
    good = Column(decimal=",", example="1.234,50")
    assert plan_of(model_of(Annotated[Decimal, good])).fields["a"].column is good
    mapped = Column(example="gratis", values={"gratis": "0"})
    assert plan_of(model_of(Annotated[Decimal, mapped])).fields["a"].column is mapped

    with pytest.raises(DeclarationError, match=r"the example '1,234\.50' that it"):
        plan_of(model_of(Annotated[Decimal, Column(decimal=",", example="1,234.50")]))


class Row(BaseModel):
    """One number."""

    amount: Decimal


class CommaImporter(Importer[Row]):
    """Has a notation of its own."""

    name = "column-notation-comma"
    notation = Notation(decimal=",")

    def process(self, row: Row, context: Context) -> None:
        """Store nothing."""


def test_rows_are_tried_in_the_notation_of_the_class() -> None:
    good, bad = try_rows(CommaImporter, [{"amount": "1.234,50"}, {"amount": "1.5"}])

    assert good.row == Row(amount=Decimal("1234.50"))
    assert bad.codes == ["decimal_parsing"]


@pytest.mark.parametrize(
    ("notation", "message"),
    [
        (
            {"decimal": ","},
            (
                "notation = {'decimal': ','} is no Notation. "
                'Write one such as Notation(decimal=",").'
            ),
        ),
        (Notation(decimal=";"), 'Notation(decimal=\';\') must be "." or ",".'),
    ],
)
def test_the_notation_of_a_class_is_judged_when_it_is_defined(
    notation: Any, message: str
) -> None:
    said = notation

    def declare() -> object:
        class Wrong(Importer[Row]):
            notation = said

            def process(self, row: Row, context: Context) -> None:
                """Store nothing."""

        return Wrong

    with pytest.raises(DeclarationError) as refused:
        declare()

    assert str(refused.value).endswith(f"Wrong: {message}")
