"""Names folded and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.model.names import folded
from batchfx.pipeline.likeness import likeness, nearest


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        (" E-Mail\u200b", "email"),
        ("Größe", "grosse"),
        ("Straße", "strasse"),
        ("Łódź Øre", "lodzore"),
        ("CITTÀ", "citta"),
        ("Ⅻ. № 5", "xiino5"),
        ("İd", "id"),
        ("عُمَر", "عمر"),
        ("%", "%"),
        ("", ""),
    ],
)
def test_a_folded_name_has_letters_and_digits_only(name: str, plain: str) -> None:
    assert folded(name) == plain


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("काल", "कल"), ("ば", "ぱ")])
def test_marks_that_make_another_letter_are_kept(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("customer id", "ID Customer"),
        ("cust_id", "CustId No"),
        ("email", "E-Mail Adresse"),
        ("price", "Unit price"),
        ("quantity", "Quantitiy"),
    ],
)
def test_the_nearest_name_is_found(name: str, meant: str) -> None:
    near = nearest([name], ["Colour", "Weight", meant, "Sold by"])

    assert near is not None
    assert near[1] == meant


def test_a_name_that_is_like_none_has_no_nearest() -> None:
    assert nearest(["phone", "tel"], ["Colour", "Weight"]) is None


@given(st.text(max_size=100), st.text(max_size=100))
def test_likeness_is_a_part_of_one_and_whole_for_equal_names(
    one: str, other: str
) -> None:
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, one) == 1


@given(st.text(max_size=50))
def test_a_folded_name_folds_to_itself(name: str) -> None:
    assert folded(folded(name)) == folded(name)
