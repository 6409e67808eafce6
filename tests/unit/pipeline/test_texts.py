"""Words and texts in the notation of their column."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from batchfx.columns import Column
from batchfx.errors import UsageError
from batchfx.model.notations import Notation
from batchfx.pipeline.decisions import SHEET_DIGITS
from batchfx.pipeline.words import ALWAYS, LANGUAGES, LETTERS, words_of
from tests.unit.pipeline.frames import read
from tests.unit.pipeline.test_decisions import Read

COMPOSED, DECOMPOSED = "no\u00ebl", "noe\u0308l"


def test_no_word_means_yes_in_one_language_and_no_in_another() -> None:
    every = [ALWAYS, *LANGUAGES.values()]
    yes = frozenset[str]().union(*(words.yes for words in every))
    no = frozenset[str]().union(*(words.no for words in every))

    assert yes & no == set()
    assert all(word == word.lower() for word in yes | no)


@pytest.mark.parametrize("language", sorted({*LANGUAGES, *LETTERS}))
def test_every_language_has_words_of_its_own(language: str) -> None:
    words = words_of([language])

    assert words.yes > ALWAYS.yes
    assert words.no > ALWAYS.no


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("No", False),
        ("oui", True),
        ("NON", False),
        ("Ja", True),
        ("nein", False),
        ("WAHR", True),
        ("FAUX", False),
        ("sí", True),
        ("Sì", True),
        ("tAk", True),
        ("ДА", True),
        ("Όχι", False),
        ("否", False),
        ("はい", True),
        ("x", True),
        ("X", True),
        ("✓", True),
        ("✗", False),
        ("☐", False),
        ("1", True),
        ("0", False),
        ("T", True),
    ],
)
def test_yes_and_no_are_read_in_many_languages(text: str, value: bool) -> None:  # noqa: FBT001 - the value itself
    assert read(bool, text) is value
    assert read(bool, f" {text}") is value


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("maybe", None), ("2", None), ("ture", "true"), ("yess", "yes"), ("o", None)],
)
def test_what_means_neither_is_refused(text: str, suggestion: str | None) -> None:
    (issue,) = read(bool, text)

    assert (issue.code, issue.suggestion) == ("bool_parsing", suggestion)


@pytest.mark.parametrize(
    ("languages", "text", "suggestion"),
    [
        (("de",), "yes", "ja"),
        (("de",), "NO", "nein"),
        (("de", "fr"), "sí", "ja"),
        (("de",), "ture", "true"),
        (("de",), "maybe", None),
    ],
)
def test_a_word_of_another_language_is_answered_in_the_columns_own(
    languages: tuple[str, ...], text: str, suggestion: str | None
) -> None:
    (issue,) = read(Annotated[bool, Column(languages=languages)], text)

    assert issue.message == "Write true or false, ja or nein, or 1 or 0"
    assert (issue.code, issue.suggestion) == ("bool_parsing", suggestion)


@pytest.mark.parametrize(
    ("languages", "text", "value"),
    [
        (("fr",), "oui", True),
        (("fr",), "O", True),
        (("fr",), "true", True),
        (("fr",), "ja", None),
        (("tr",), "e", True),
        (("fi",), "e", False),
        (("fi", "tr"), "e", None),
        (("en", "fr", "de", "es"), "sí", True),
        (("en",), "x", True),
    ],
)
def test_languages_narrow_the_words(
    languages: tuple[str, ...],
    text: str,
    value: bool | None,  # noqa: FBT001 - the value itself
) -> None:
    found = read(Annotated[bool, Column(languages=languages)], text)

    assert (found if value is not None else found[0].code) == (
        "bool_parsing" if value is None else value
    )


def test_an_unknown_language_is_told() -> None:
    with pytest.raises(UsageError, match="The language 'xx' is not known"):
        words_of(["xx"])


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        (Column(), f" {DECOMPOSED} ", f" {DECOMPOSED} "),
        (Column(trim=True), f" {DECOMPOSED} ", DECOMPOSED),
        (Column(normal_form="NFC"), f" {DECOMPOSED} ", f" {COMPOSED} "),
        (Column(normal_form="NFKC"), "\uff21\u2126", "A\u03a9"),
        (Column(values={"Germania": "DE"}), "Germania", "DE"),
        (Column(values={"Germania": "DE"}), " GERMÀNIA", "DE"),
        (Column(values={"Germania": "DE"}), "Francia", "Francia"),
        (Column(values={"a": "1", "A": "2"}), "A", "2"),
        (Column(values={"a": "1", "A": "2"}), "Á", "Á"),
        (Column(null_tokens=("NULL",)), "NULL", None),
        (Column(null_tokens=("NULL",)), "null", "null"),
        (Column(null_tokens=("-",), trim=True), " - ", None),
        (Column(trim=True), "  ", None),
    ],
)
def test_text_is_changed_where_its_column_says_so(
    column: Column, text: str, value: str | None
) -> None:
    assert read(Annotated[str | None, column], text, default=None) == value


def test_a_mapped_value_is_read_as_any_other() -> None:
    sure = Column(values={"sicher": "ja", "sì": "true"})

    assert read(Annotated[bool, sure], "Sicher") is True
    assert read(Annotated[bool, sure], "SI") is True
    assert read(Annotated[Literal["DE"], Column(values={"D": "DE"})], "D") == "DE"


@pytest.mark.parametrize("text", ["Germany", "GERMANY ", "Ger many", "Gérmany"])
def test_a_near_choice_is_proposed_and_not_taken(text: str) -> None:
    kind = Literal["Germany", "France"]
    if text == "Germany":
        assert read(kind, text) == text
        return
    (issue,) = read(kind, text)
    assert (issue.code, issue.suggestion) == ("literal_error", "Germany")


@pytest.mark.parametrize(
    "text", ["2.01235E+12", "5.2207714E+17", "1,5E+10", "2E+12", "1.5e+12"]
)
def test_a_number_that_a_sheet_rounded_is_no_text(text: str) -> None:
    (issue,) = read(str, text)

    assert (issue.code, issue.value) == ("precision_lost", text)


@pytest.mark.parametrize(
    "text", ["2E4", "3_500", "0x1F", "1.5e3", "E+12", "A1.5E+12", "NULL", "nan", "007"]
)
def test_other_texts_stay_what_they_are(text: str) -> None:
    assert read(str, text) == text


@pytest.mark.parametrize("annotation", [str, int])
@pytest.mark.parametrize(
    ("text", "is_lost"),
    [("123456789012345", False), ("-1234567890123456", True), ("-123456", False)],
)
def test_a_number_cell_of_a_sheet_has_fifteen_digits(
    annotation: Any,
    text: str,
    is_lost: bool,  # noqa: FBT001 - a case of two
) -> None:
    found = Read(annotation, [text], kinds="n", digits=SHEET_DIGITS).values
    as_text = Read(annotation, [text], kinds="t", digits=SHEET_DIGITS).values

    assert found == (["precision_lost"] if is_lost else [annotation(text)])
    assert as_text == [annotation(text)]
    assert Read(annotation, [text], kinds="n").values == [annotation(text)]


def test_a_fraction_in_a_number_cell_is_a_text_as_it_is() -> None:
    third = "0.33333333333333331"

    assert Read(str, [third], kinds="n", digits=SHEET_DIGITS).values == [third]


@pytest.mark.parametrize(
    ("text", "is_lost"),
    [
        ("99999999999999.99", True),
        ("-123456789012.345678", True),
        ("1234567890123456", True),
        ("1234567890123.45", False),
        ("0.33333333333333331", False),
        ("0000000000000000042", False),
    ],
)
def test_a_decimal_number_of_a_sheet_has_fifteen_digits(
    text: str,
    is_lost: bool,  # noqa: FBT001 - a case of two
) -> None:
    found = Read(Decimal, [text], kinds="n", digits=SHEET_DIGITS).values

    assert found == (["precision_lost"] if is_lost else [Decimal(text)])
    for kind, digits in (("t", SHEET_DIGITS), ("n", None)):
        kept = Read(Decimal, [text], kinds=kind, digits=digits).values
        assert kept == [Decimal(text)]


def test_rules_judge_the_decided_value() -> None:
    kind = Annotated[int, Field(le=2000), Column(decimal=",")]

    assert read(kind, "1.234") == 1234
    (issue,) = read(kind, "1.234.567")
    assert issue.code == "less_than_equal"


def test_a_notation_is_laid_over_another() -> None:
    said = Notation(decimal=",", thousands="", currency=False)

    assert said.over(Notation(decimal=".", percent="number", thousands=" ")) == (
        Notation(decimal=",", thousands="", currency=False, percent="number")
    )
    assert Notation.load(said.dump()) == said


def test_what_texts_stand_for_is_said_for_each_text() -> None:
    declared = Notation(values={"offen": "open", "neu": "draft"}, trim=True)
    given = Notation(values={"neu": "open"})
    assert given.over(declared) == Notation(
        values={"offen": "open", "neu": "open"}, trim=True
    )
    assert declared.over(given).values == {"offen": "open", "neu": "draft"}
    assert Notation().over(declared).values == declared.values
