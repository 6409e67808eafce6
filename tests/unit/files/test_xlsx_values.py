"""Numbers, dates, times and durations as text."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.files.xlsx_values import (
    duration_text,
    iso_text,
    moment_text,
    number_text,
)

DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 - a workbook has no time zones
EPOCH_1904 = datetime(1904, 1, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("12345", "12345"),
        ("12345.0", "12345"),
        ("2.0123456789E12", "2012345678900"),
        ("1E3", "1000"),
        ("1e-7", "0.0000001"),
        ("0.1", "0.1"),
        ("0.10000000000000001", "0.1"),
        ("1.1000000000000001", "1.1"),
        ("0.30000000000000004", "0.3"),
        ("110.00000000000001", "110"),
        ("1234.5599999999999", "1234.56"),
        ("-1234567890.1234549", "-1234567890.12345"),
        ("0.41666666666666669", "0.416666666666667"),
        ("0.1234567890123445", "0.123456789012344"),
        ("98765432101.119995", "98765432101.12"),
        ("99999999999999.99", "99999999999999.99"),
        ("123456789012.345678", "123456789012.345678"),
        ("90071992547409.93", "90071992547409.93"),
        ("1.23456789012345678E+17", "123456789012345678"),
        ("123456789012345.00", "123456789012345"),
        ("1E-400", "0"),
        ("-1234.50", "-1234.5"),
        ("-0", "0"),
        ("0", "0"),
        ("007", "7"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        (" 7 ", "7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.5E+300", "15" + "0" * 299),
    ],
)
def test_a_number_is_its_digits_without_exponent(stored: str, text: str) -> None:
    assert number_text(stored) == text


@pytest.mark.parametrize(
    "stored", ["", "abc", "1_000", "1,5", "1e999", "nan", "inf", "٣", "1 2", "9" * 401]
)
def test_what_is_no_finite_number_has_no_number_text(stored: str) -> None:
    assert number_text(stored) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_text_has_the_digits_that_a_sheet_shows_or_all(number: float) -> None:
    text = number_text(repr(number))

    exact = Decimal(repr(number))
    shown = Decimal(format(exact, ".15g"))  # half-even, like every format
    assert text is not None
    assert "e" not in text
    assert Decimal(text) == (
        shown if abs(exact) < 10**10 or float(shown) == number else exact
    )


@given(st.decimals(-(10**12), 10**12, places=3))
def test_an_amount_is_what_was_entered_though_it_is_kept_as_a_binary_number(
    amount: Decimal,
) -> None:
    text = number_text(f"{float(amount):.17g}")

    assert text is not None
    assert Decimal(text) == amount


@pytest.mark.parametrize(
    ("serial", "text"),
    [
        (1, "1900-01-01"),
        (59, "1900-02-28"),
        (60, "1900-02-29"),
        (61, "1900-03-01"),
        (46081, "2026-02-28"),
        (2958465, "9999-12-31"),
        (46081.5, "2026-02-28T12:00:00"),
        (46081.00000578704, "2026-02-28T00:00:00.500"),
        (45946.9999999998, "2025-10-17"),
        (44805.187372685185, "2022-09-01T04:29:49"),
        (0.25, "06:00:00"),
        (0, None),
        (-1, None),
        (2958466, None),
        (2958465.9999999999, None),
        (1e300, None),
    ],
)
def test_a_date_of_the_1900_system(serial: float, text: str | None) -> None:
    assert moment_text(serial, clock=False, date1904=False) == text


@pytest.mark.parametrize(
    ("serial", "text"),
    [
        (0, "1904-01-01"),
        (0.25, "1904-01-01T06:00:00"),
        (17324, "1951-06-07"),
        (2957003, "9999-12-31"),
        (2957004, None),
        (-1, None),
    ],
)
def test_a_date_of_the_1904_system(serial: float, text: str | None) -> None:
    assert moment_text(serial, clock=False, date1904=True) == text


@pytest.mark.parametrize("date1904", [False, True])
@pytest.mark.parametrize(
    ("serial", "text"),
    [
        (0, "00:00:00"),
        (0.5, "12:00:00"),
        (0.99998842592592589, "23:59:59"),
        (0.9999999999, "00:00:00"),
        (1, None),
        (1.5, None),
        (365.9, None),
    ],
)
def test_a_time_of_day_has_no_date(
    serial: float, text: str | None, *, date1904: bool
) -> None:
    assert moment_text(serial, clock=True, date1904=date1904) == text


def test_a_moment_shown_as_a_time_keeps_its_date() -> None:
    assert moment_text(46081.75, clock=True, date1904=False) == "2026-02-28T18:00:00"


@given(st.datetimes(datetime(1904, 3, 1), datetime(9999, 12, 31)))  # noqa: DTZ001 - local
def test_a_moment_as_a_number_of_days_comes_back(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    texts = [
        moment_text((moment - EPOCH) / DAY, clock=False, date1904=False),
        moment_text((moment - EPOCH_1904) / DAY, clock=False, date1904=True),
    ]

    for text in texts:
        assert text is not None
        assert abs(datetime.fromisoformat(text) - moment) <= MILLISECOND


@pytest.mark.parametrize(
    ("serial", "text"),
    [
        (1.34375, "PT32H15M"),
        (1.6454166666666667, "PT39H29M24S"),
        (10.434375, "PT250H25M30S"),
        (-0.25, "-PT6H"),
        (0, "PT0S"),
        (1 / 86400, "PT1S"),
        (1.5 / 86400, "PT1.5S"),
        (10 / 86400, "PT10S"),
        (1 / 1440, "PT1M"),
        (-1e-12, "PT0S"),
        (100, "PT2400H"),
        (1e9, None),
    ],
)
def test_a_duration_is_hours_minutes_and_seconds(
    serial: float, text: str | None
) -> None:
    assert duration_text(serial) == text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("2026-02-28", "2026-02-28"),
        ("2026-02-28T00:00:00", "2026-02-28"),
        ("2026-02-28T12:30:00", "2026-02-28T12:30:00"),
        ("2026-02-28T12:30:00.5", "2026-02-28T12:30:00.500000"),
        ("2026-02-28T00:00:00Z", "2026-02-28"),
        ("2026-02-28T12:30:00.000Z", "2026-02-28T12:30:00"),
        ("2026-02-28T12:30:00+01:00", "2026-02-28T12:30:00+01:00"),
        ("2026-02-28T23:59:59.9999999", "2026-03-01"),
        ("2026-02-28T09:59:59.999999998Z", "2026-02-28T10:00:00"),
        ("2026-02-28T12:30:00.1234567", "2026-02-28T12:30:00.123000"),
        ("9999-12-31T23:59:59.9999999", None),
        ("12:30:00", "12:30:00"),
        ("12:29:59.9999999", "12:30:00"),
        ("28.02.2026", None),
        ("", None),
    ],
)
def test_a_stored_iso_date_is_taken_over(stored: str, text: str | None) -> None:
    assert iso_text(stored) == text
