from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.cli.text import (
    clock,
    counted,
    cut,
    duration,
    listed,
    percent,
    plain,
    timestamp,
)


def test_what_could_steer_a_terminal_is_spelt_out() -> None:
    assert plain("a\x1b[31mb\u202ec\td") == "a\\x1b[31mb\\u202ec\\td"
    assert plain("Zoë 東京 5 €") == "Zoë 東京 5 €"


@given(st.text())
def test_nothing_invisible_is_left_but_line_breaks(text: str) -> None:
    assert plain(text).replace("\n", "").isprintable()


def test_a_long_value_is_cut_on_one_line() -> None:
    assert cut("one\ntwo", 10) == "one\\ntwo"
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789a", 10) == "012345678…"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (1234, "1,234 rows")]
)
def test_a_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert counted(number, "row") == text


def test_words_are_listed_as_in_a_sentence() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_only_the_whole_is_a_hundred_percent() -> None:
    assert percent(0.999999) == 99
    assert percent(1.0) == 100


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_a_duration_has_the_precision_that_matters(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (6.2, "0:07"), (750, "12:30"), (3723, "1:02:03")]
)
def test_time_left_is_written_as_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_a_timestamp_is_in_utc() -> None:
    assert timestamp(0.5) == "1970-01-01T00:00:00.500000+00:00"
    assert timestamp(None) is None
