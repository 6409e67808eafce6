"""What number formats make of a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.files.xlsx_formats import BUILTIN, NumberFormat, Shape, read_format

DATES = [
    "yyyy-mm-dd",
    "dd.mm.yyyy",
    "d/m/yy h:mm",
    "m/d/yyyy\\ h:mm:ss\\ AM/PM",
    "[$-409]mmmm\\ d\\,\\ yyyy;@",
    "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy",
    "mmm-yy",
    "mm",
    "yyyy",
    "[Red]dd/mm",
    'yyyy"年"m"月"d"日"',
    "yyyy年m月d日",
    "[$-411]ggge年m月d日",
    "aaaa",
    "yyyy-mm-dd hh:mm:ss.000",
    'yyyy-mm-dd"T"hh:mm:ss',
    "mmm hh:mm",
    "YYYY-MM-DD",
]
TIMES = [
    "hh:mm:ss",
    "h:mm AM/PM",
    "h:mm a/p",
    "mm:ss",
    "mm:ss.0",
    "ss",
    "[$-F400]h:mm:ss\\ AM/PM",
]
DURATIONS = ["[h]:mm", "[hh]:mm:ss", "[mm]:ss", "[s]", "[H]:MM"]
NUMBERS = [
    "",
    "General",
    "GENERAL",
    "Standard",
    "@",
    "0",
    "0.00",
    "#,##0",
    "0.00E+00",
    "##0.0E+0",
    "# ?/?",
    '"yes";"no"',
    '0.00" days"',
    '#,##0,," M"',
    "#,##0;[Red]\\(#,##0\\)",
    "#,##0_M_M_M;#,##0_M_M_M;_(@_M_M_M",
    "[Red]General",
    "[Yellow]",
    "[Green]0;[Red]-0",
    '_-* #,##0.00\\ "€"_-',
    "[$USD] #,##0",
    "[<=9999999]###\\-####;\\(###\\)\\ ###\\-####",
    "0 d",
    "d" * 256,
]


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        *[(code, Shape.DATE) for code in DATES],
        *[(code, Shape.TIME) for code in TIMES],
        *[(code, Shape.DURATION) for code in DURATIONS],
        *[(code, Shape.NUMBER) for code in NUMBERS],
    ],
)
def test_a_format_says_what_its_numbers_are(code: str, shape: Shape) -> None:
    assert read_format(code) == NumberFormat(shape)


@pytest.mark.parametrize(
    ("code", "digits"),
    [
        ("00000", 5),
        ("00", 2),
        ("000\\-00\\-0000", 9),
        ("0000;-0", 4),
        ("00 00 00", 6),
        ("000-00-0000", 9),
        ("(000) 000-0000", 10),
        ("00,000", 5),
        ("?00000", 5),
        ("00\\.000\\.000", 8),
        ('000"/"000', 6),
        ("[$-407]00000", 5),
        ("00000_);(00000)", 5),
    ],
)
def test_a_format_of_zeros_pads_to_its_digits(code: str, digits: int) -> None:
    assert read_format(code) == NumberFormat(Shape.NUMBER, digits)


@pytest.mark.parametrize(
    ("code", "digits", "least"),
    [('0#" "##" "##" "##" "##', 10, 9), ("0##########", 11, 10), ("00##", 4, 2)],
)
def test_places_behind_a_zero_are_sure_for_numbers_that_fill_them(
    code: str, digits: int, least: int
) -> None:
    assert read_format(code) == NumberFormat(Shape.NUMBER, digits, least)


@pytest.mark.parametrize(
    "code",
    [
        '"0"0000',
        "\\00000",
        '"0"0',
        '"0"General',
        "*00",
        "00000.0",
        "0000.00",
        '"K-"0000',
        '"No. "0000',
        "000\\-00\\-0000x",
        "0000,",
        "[<=99999]00000;00000\\-0000",
    ],
)
def test_zeros_and_signs_that_are_not_surely_known_make_a_number_a_code(
    code: str,
) -> None:
    assert read_format(code) == NumberFormat(Shape.NUMBER, coded=True)


@pytest.mark.parametrize(
    ("number", "shape"),
    [
        (14, Shape.DATE),
        (17, Shape.DATE),
        (18, Shape.TIME),
        (21, Shape.TIME),
        (22, Shape.DATE),
        (45, Shape.TIME),
        (46, Shape.DURATION),
        (47, Shape.TIME),
        (57, Shape.DATE),
    ],
)
def test_a_built_in_format_is_known_by_its_number(number: int, shape: Shape) -> None:
    assert BUILTIN[number] == NumberFormat(shape)


@pytest.mark.parametrize("number", [0, 1, 11, 13, 23, 37, 44, 48, 49])
def test_a_built_in_number_format_is_none_of_these(number: int) -> None:
    assert number not in BUILTIN


@given(st.text('ymdhsAMP/[]$-0#?.,;"\\_* egb', max_size=255))
def test_any_code_is_read_without_delay(code: str) -> None:
    assert read_format(code).shape in Shape


@pytest.mark.parametrize(
    "code", ["0%", "0.00%", "#,##0.0%;[Red]-0%", "0000%", "[Blue]0%_)", "%0"]
)
def test_a_format_with_a_per_cent_sign_shows_a_hundred_times_the_number(
    code: str,
) -> None:
    assert read_format(code) == NumberFormat(Shape.NUMBER, percent=True)
    assert BUILTIN[9] == BUILTIN[10] == read_format(code)


@pytest.mark.parametrize("code", ["0.00\\%", '0"%"', "[<1]0%;0", "0_%"])
def test_a_per_cent_sign_that_is_only_written_beside_a_number_changes_none(
    code: str,
) -> None:
    assert not read_format(code).percent
