"""Mappings as they are written on the command line."""

from __future__ import annotations

import pytest

from batchfx.cli.given import columns_of, values_of
from batchfx.errors import UsageError


def test_a_mapping_is_split_at_its_last_equals_sign() -> None:
    assert columns_of(["Mail=email", "a=b=c", " Name = name "]) == {
        "Mail": "email",
        "a=b": "c",
        " Name ": "name",
    }


@pytest.mark.parametrize("text", ["Mail=", "Mail= ", "-Mail"])
def test_a_column_without_a_field_is_left_out(text: str) -> None:
    assert columns_of([text]) == {"Mail": None}


def test_a_column_that_begins_with_a_dash_can_be_mapped() -> None:
    assert columns_of(["-Mail=email"]) == {"-Mail": "email"}


@pytest.mark.parametrize("text", ["Mail", "=email", "", "-", " =email"])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no mapping: write COLUMN=FIELD"):
        columns_of([text])


def test_a_column_that_is_mapped_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="names the column 'Mail' twice"):
        columns_of(["Mail=email", "Mail=name"])


def test_a_value_mapping_has_a_field_a_text_and_what_it_means() -> None:
    assert values_of(["country:Germania=DE", "note:a:b=c=d", "vip:sì=", "x: =y"]) == [
        ("country", "Germania", "DE"),
        ("note", "a:b=c", "d"),
        ("vip", "sì", ""),
        ("x", " ", "y"),
    ]


@pytest.mark.parametrize(
    "text", ["country", "country:DE", ":a=b", "country:=DE", "a=b"]
)
def test_what_maps_no_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="maps no value: write FIELD:TEXT=VALUE"):
        values_of([text])
