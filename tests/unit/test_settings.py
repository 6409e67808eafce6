"""Options for a file, from what a person writes to what readers are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batchfx.errors import UsageError
from batchfx.execution.settings import OPTIONS, given_of, settings_of
from batchfx.model.notations import Notation
from batchfx.model.settings import Settings


def said(*pairs: str) -> Settings:
    return settings_of(given_of(pairs))


def test_nothing_said_is_nothing_set() -> None:
    assert said() == Settings()
    assert said("decimal=auto", "thousands=null", "quote=null") == Settings()


def test_a_value_is_json_where_it_can_be_and_text_otherwise() -> None:
    assert said("header_row=3").layout == {"header_row": 3}
    assert said("encoding=cp1252").layout == {"encoding": "cp1252"}
    assert said("encoding=1252").layout == {"encoding": "1252"}
    assert said("sheet=2").layout == {"sheet": 2}
    assert said('sheet="2"').layout == {"sheet": "2"}
    assert said("sheet=Prices 2026").layout == {"sheet": "Prices 2026"}


@pytest.mark.parametrize(
    ("written", "delimiter"), [("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (";;", ";;")]
)
def test_a_tab_can_be_written(written: str, delimiter: str) -> None:
    assert said(f"delimiter={written}").layout == {"delimiter": delimiter}


def test_no_quote_is_something_said() -> None:
    assert said("quote=").layout == {"quote": ""}
    assert said("thousands=").notation == Notation(thousands="")
    assert said("thousands=space").notation == Notation(thousands=" ")


def test_what_is_said_of_one_column_is_not_said_of_the_others() -> None:
    settings = said(
        "null_tokens.score=N/A,-",
        "null_tokens.rank=NULL",
        "decimal=,",
        "decimal.rank=.",
    )

    assert settings.notation == Notation(decimal=",")
    assert settings.columns == {
        "score": Notation(null_tokens=("N/A", "-")),
        "rank": Notation(null_tokens=("NULL",), decimal="."),
    }
    assert settings.notations({"score": "a", "rank": "b"}.get) == {
        "a": Notation(null_tokens=("N/A", "-"), decimal=","),
        "b": Notation(null_tokens=("NULL",), decimal="."),
    }


def test_the_order_of_all_and_one_makes_no_difference() -> None:
    one_first = said("null_tokens.score=-", "null_tokens=NULL")
    all_first = said("null_tokens=NULL", "null_tokens.score=-")

    assert one_first == all_first
    assert one_first.notation == Notation(null_tokens=("NULL",))
    assert one_first.columns == {"score": Notation(null_tokens=("-",))}


def test_a_column_s_name_may_have_dots() -> None:
    assert said("decimal.a.b=,").columns == {"a.b": Notation(decimal=",")}


def test_a_window_of_years_can_be_said_in_two_digits() -> None:
    assert said("two_digit_year=30").notation == Notation(two_digit_year=1930)
    assert said("two_digit_year=2000").notation == Notation(two_digit_year=2000)
    assert said("two_digit_year=not after today").notation == Notation(
        two_digit_year="not after today"
    )


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            ("decimal=,", "thousands=,"),
            (
                "The options 'decimal' and 'thousands' can't both be ',': one sign "
                "can't be both. Leave one out, or write another sign."
            ),
        ),
        (
            ("decimal.b=,", "thousands=,"),
            (
                "The options 'decimal.b' and 'thousands.b' can't both be ',': one sign "
                "can't be both. Leave one out, or write another sign."
            ),
        ),
        (
            ("delimiter=;", "quote=;"),
            (
                "The options 'delimiter' and 'quote' can't both be ';': one character "
                "has one meaning."
            ),
        ),
        (
            ('delimiter="',),
            (
                "The options 'delimiter' and 'quote' can't both be '\"': one character "
                "has one meaning."
            ),
        ),
        (
            (r'delimiter="\n"',),
            "The option 'delimiter' can't be the end of a line, which ends a row.",
        ),
    ],
)
def test_one_sign_has_one_meaning(pairs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        said(*pairs)

    assert str(refused.value) == message


def test_choices_may_be_numbers_and_truth_values() -> None:
    assert said("choices.s=[1,2]").choices == {"s": ("1", "2")}
    assert said("choices.s=[1.50,true]").choices == {"s": ("1.50", "true")}
    assert said("choices.s=1").choices == {"s": ("1",)}


def test_values_are_words_for_all_columns_or_for_one() -> None:
    assert said('values={"sì": true}').notation == Notation(values={"sì": "true"})
    assert said('values.land={"Germania": "DE"}').columns == {
        "land": Notation(values={"Germania": "DE"})
    }
    assert settings_of({"values": {"land": {"Germania": "DE"}}}).columns == {
        "land": Notation(values={"Germania": "DE"})
    }


def test_every_option_is_taken() -> None:
    given: dict[str, Any] = {
        "encoding": "utf-8",
        "delimiter": ";",
        "quote": "'",
        "escape": "\\",
        "skip_initial_space": True,
        "header_row": 2,
        "header_rows": 2,
        "skip_after_header": 1,
        "sheet": "Data",
        "records": "data.items",
        "member": "a.csv",
        "guards": "keep",
        "merged": "fill",
        "hidden_rows": "skip",
        "hidden_columns": "read",
        "decimal": ",",
        "thousands": ".",
        "currency_allowed": True,
        "percent": "fraction",
        "date_order": "dmy",
        "date_formats": ["%d.%m.%Y"],
        "two_digit_year": 1930,
        "zone_for_naive": "Europe/Paris",
        "null_tokens": ["-"],
        "trim": "yes",
        "normal_form": "nfc",
        "languages": "de, FR",
        "values": {"a": "b"},
        "required": "sku, name",
        "choices": {"size": ["S", "M"]},
        "unique": ["sku", ["a", "b"]],
        "unique_fold": "true",
        "expected_columns": ["sku"],
    }

    assert given.keys() == OPTIONS.keys()
    assert settings_of(given) == Settings(
        layout={
            "encoding": "utf-8",
            "delimiter": ";",
            "quote": "'",
            "escape": "\\",
            "skip_initial_space": True,
            "header_row": 2,
            "header_rows": 2,
            "skip_after_header": 1,
            "sheet": "Data",
            "records": "data.items",
            "member": "a.csv",
            "guards": "keep",
            "merged": "fill",
            "hidden_rows": "skip",
            "hidden_columns": "read",
            "expected_columns": ("sku",),
        },
        notation=Notation(
            decimal=",",
            thousands=".",
            currency=True,
            percent="fraction",
            date_order="dmy",
            date_formats=("%d.%m.%Y",),
            two_digit_year=1930,
            zone_for_naive="Europe/Paris",
            null_tokens=("-",),
            trim=True,
            normal_form="NFC",
            languages=("de", "fr"),
            values={"a": "b"},
        ),
        required=("sku", "name"),
        choices={"size": ("S", "M")},
        unique=(("sku",), ("a", "b")),
        unique_fold=True,
        expected_columns=("sku",),
    )


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("decimals=,", "no option 'decimals'. Is 'decimal' meant?"),
        ("decimal=;", "'decimal' can't be \";\": it is '.' or ','"),
        ("decimal.a=;", "'decimal.a' can't be"),
        ("header_row=-1", "the number of a row, or 0"),
        ("header_row=1.5", "the number of a row, or 0"),
        ("header_rows=0", "from 1"),
        ("sheet=0", "from 1"),
        ("delimiter=", "one character or several, or 'tab'"),
        ("quote=ab", "one character, or nothing"),
        ("encoding=klingon", "cp1252"),
        ("date_order=ydm", "'dmy', 'mdy' or 'ymd'"),
        ("date_formats=dmy", "%d.%m.%Y"),
        ("two_digit_year=193", "1930"),
        ("two_digit_year=soon", "1930"),
        ("zone_for_naive=Mars/Base", "Europe/Paris"),
        ("zone_for_naive=../../etc", "Europe/Paris"),
        ("trim=3", "true or false"),
        ("languages=german", "de,fr"),
        ("thousands=1", "one character"),
        ("values=[1]", "Germania"),
        ("choices=S", "columns and their values"),
        ("required.a=1", "said of the file"),
        ("header_row.a=1", "said of the file"),
        ("decimal", "no option: write KEY=VALUE"),
        ("=1", "no option: write KEY=VALUE"),
        ("decimal.=1", "no option: write KEY=VALUE"),
    ],
)
def test_what_is_impossible_is_refused_with_what_is_possible(
    pair: str, told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        said(pair)

    assert told in str(refused.value)


def test_an_unknown_option_lists_all() -> None:
    with pytest.raises(UsageError) as refused:
        settings_of({"zzz": 1})

    assert all(name in str(refused.value) for name in OPTIONS)


def test_options_of_a_file_give_way_to_those_of_the_command_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "options.json"
    options = {"decimal": ",", "date_order": "dmy", "null_tokens": {"a": ["-"]}}
    path.write_text(json.dumps(options), "utf-8")

    assert given_of(["decimal=.", "null_tokens.b=?"], path) == {
        "decimal": ".",
        "date_order": "dmy",
        "null_tokens": {"a": ["-"], "b": "?"},
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{", "holds no JSON"), (b"[1]", "must hold an object"), (b"\xff", "no JSON")],
)
def test_a_file_of_options_that_is_none_is_refused(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "options.json"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=told):
        given_of([], path)
    with pytest.raises(UsageError, match="can't be read"):
        given_of([], tmp_path / "none.json")
