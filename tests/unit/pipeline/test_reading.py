"""Text is read as a careful person would read it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import AnyUrl, AwareDatetime, BaseModel, EmailStr, Field, HttpUrl

from batchfx.columns import Column
from batchfx.model.issues import Issue, Phase
from tests.unit.pipeline.frames import codes, read, validate


class Colour(Enum):
    RED = "red"
    DARK = "Dark Green"


class Size(IntEnum):
    SMALL = 1


SHORT_YEARS = Annotated[date, Column(format="%d/%m/%y", two_digit_year=1930)]
FORMATTED = Annotated[date, Column(format="%d.%m.%Y")]
IDENTIFIER = "0f8fad5b-d9cb-469f-a165-70867728950e"
BIG = "1" * 45


def naive(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - read without a zone


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "  kept as it is ", "  kept as it is "),
        (str, " ", " "),
        (str, "", ""),
        (int, "007", 7),
        (int, "+5", 5),
        (int, " -12\u00a0", -12),
        (int, BIG, int(BIG)),
        (Decimal, "1.50", Decimal("1.50")),
        (Decimal, "-0.1", Decimal("-0.1")),
        (Decimal, f"{BIG}.{BIG}", Decimal(f"{BIG}.{BIG}")),
        (float, "1.5e-3", 0.0015),
        (float, "2", 2.0),
        (bool, "Yes", True),
        (bool, "OFF", False),
        (date, "2024-02-29", date(2024, 2, 29)),
        (date, "0001-01-01", date(1, 1, 1)),
        (date, "2024-02-29T00:00:00", date(2024, 2, 29)),
        (date, "2023-01-02T00:00:00.000Z", date(2023, 1, 2)),
        (date, "5.5.2026", date(2026, 5, 5)),
        (FORMATTED, "31.12.2026", date(2026, 12, 31)),
        (FORMATTED, "4.3.2026", date(2026, 3, 4)),
        (FORMATTED, "2026-03-04", date(2026, 3, 4)),
        (SHORT_YEARS, "02/03/69", date(1969, 3, 2)),
        (Annotated[date, Column(format="%d %b %Y")], "2 Mar 2026", date(2026, 3, 2)),
        (Annotated[date, Column(format="%d%m%Y")], "1112024", date(2024, 1, 11)),
        (Annotated[date, Column(format="%Y/%m/%d")], "2024/2/3", date(2024, 2, 3)),
        (Annotated[date, Column(format="%Y-%m-%d")], "2024-02-03", date(2024, 2, 3)),
        (Annotated[date, Column(format="%Y-%d-%m")], "2024-02-03", date(2024, 3, 2)),
        (Annotated[date, Column(format="%Y%m%d")], "20260302", date(2026, 3, 2)),
        (datetime, "2023-01-02 23:30", naive(2023, 1, 2, 23, 30)),
        (datetime, "2023-01-02T23:30:05.25", naive(2023, 1, 2, 23, 30, 5, 250000)),
        (datetime, "2023-01-02T23:30:00Z", datetime(2023, 1, 2, 23, 30, tzinfo=UTC)),
        (AwareDatetime, "2023-01-02T23:30Z", datetime(2023, 1, 2, 23, 30, tzinfo=UTC)),
        (
            AwareDatetime,
            "2023-07-02T00:15:00+02:00",
            datetime(2023, 7, 2, 0, 15, tzinfo=timezone(timedelta(hours=2))),
        ),
        (
            Annotated[datetime, Column(format="%d.%m.%Y %H:%M")],
            "2.1.2023 7:05",
            naive(2023, 1, 2, 7, 5),
        ),
        (
            Annotated[datetime, Column(format="%d.%m.%Y %H.%M.%S.%f")],
            "2.1.2023 7.05.01.5",
            naive(2023, 1, 2, 7, 5, 1, 500000),
        ),
        (
            Annotated[datetime, Column(format="%d.%m.%Y")],
            "2.1.2023",
            naive(2023, 1, 2),
        ),
        (
            Annotated[datetime, Column(format="%d.%m.%Y %H:%M")],
            "2023-01-02 07:05",
            naive(2023, 1, 2, 7, 5),
        ),
        (time, "23:59", time(23, 59)),
        (time, "10:00:00.5", time(10, 0, 0, 500000)),
        (time, "10:00Z", time(10, tzinfo=UTC)),
        (Annotated[time, Column(format="%I:%M %p")], "7:05 PM", time(19, 5)),
        (timedelta, "32:15", timedelta(hours=32, minutes=15)),
        (timedelta, "32:15:00", timedelta(hours=32, minutes=15)),
        (timedelta, "-0:00:01.5", timedelta(seconds=-1.5)),
        (timedelta, "0:00:00", timedelta()),
        (timedelta, "PT32H15M", timedelta(hours=32, minutes=15)),
        (timedelta, "-P1W2DT3S", -timedelta(days=9, seconds=3)),
        (UUID, IDENTIFIER.upper(), UUID(IDENTIFIER)),
        (Literal["a", 1, True], "1", 1),
        (Literal["a", 1, True], "true", True),
        (Literal["a "], "a ", "a "),
        (Colour, " Dark Green ", Colour.DARK),
        (Size, "1", Size.SMALL),
        (EmailStr, "ann@firm.example.org ", "ann@firm.example.org"),
        (EmailStr, "Ann@Firm.DE", "Ann@firm.de"),
        (EmailStr, "INFO@firm.de", "info@firm.de"),
        (EmailStr, "ann@münchen.de", "ann@münchen.de"),
        (HttpUrl, "https://firm.de/a/b?c=1", HttpUrl("https://firm.de/a/b?c=1")),
        (AnyUrl, "ftp://firm.de", AnyUrl("ftp://firm.de")),
    ],
)
def test_a_cell_becomes_the_value_that_it_means(
    annotation: Any, text: str, value: Any
) -> None:
    found = read(annotation, text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "\uff11\uff12", 12),
        (int, "-\u0663", -3),
        (Decimal, "\u0661\u0662\u0663\u066b\u0665\u0660", Decimal("123.50")),
        (float, "\u096b.\u0968\u096b", 5.25),
        (date, "\uff12\uff10\uff12\uff16-\uff10\uff11\uff0d15", date(2026, 1, 15)),
        (time, "\u0661\u0660:\u0663\u0660", time(10, 30)),
        (timedelta, "\uff13\uff12\uff1a15", timedelta(hours=32, minutes=15)),
    ],
)
def test_digits_of_any_script_are_digits(
    annotation: Any, text: str, value: Any
) -> None:
    assert read(annotation, text) == value


def test_a_decimal_number_keeps_its_last_zeros() -> None:
    assert str(read(Decimal, "1.500")) == "1.500"


@pytest.mark.parametrize(
    ("annotation", "text", "code"),
    [
        (int, "1.0", "int_parsing"),
        (int, "1e3", "int_parsing"),
        (int, "1,000", "int_parsing"),
        (int, "\u2460", "int_parsing"),
        (int, "3\xb2", "int_parsing"),
        (int, "1_000", "int_parsing"),
        (int, "9" * 5000, "int_parsing_size"),
        (Decimal, "1e3", "decimal_parsing"),
        (Decimal, "NaN", "decimal_parsing"),
        (Decimal, "1.", "decimal_parsing"),
        (Decimal, ".5", "decimal_parsing"),
        (Decimal, "1 000.00", "decimal_parsing"),
        (Decimal, "\xbd", "decimal_parsing"),
        (float, "inf", "float_parsing"),
        (float, "nan", "float_parsing"),
        (float, "1e999", "float_parsing"),
        (bool, "maybe", "bool_parsing"),
        (bool, "2", "bool_parsing"),
        (date, "20240101", "date_parsing"),
        (date, "2024-1-5", "date_parsing"),
        (date, "2025-02-29", "date_parsing"),
        (date, "03/04/2026", "ambiguous_date"),
        (date, "0000-01-01", "date_parsing"),
        (date, "1735689600", "date_parsing"),
        (date, "2024-01-01T10:30:00", "date_from_datetime_inexact"),
        (FORMATTED, "12/31/2026", "date_parsing"),
        (FORMATTED, "31.02.2026", "date_parsing"),
        (FORMATTED, "1.2.26", "date_parsing"),
        (Annotated[date, Column(format="%Y-%d-%m")], "2024-02-13", "date_parsing"),
        (Annotated[date, Column(format="%Y-%m-%d")], "2024-2-13", "date_parsing"),
        (datetime, "2024-01-01", "datetime_parsing"),
        (datetime, "2024-02-30T10:00", "datetime_parsing"),
        (datetime, "2024-01-01T24:00", "datetime_parsing"),
        (datetime, "2024-01-01T23:59:60", "datetime_parsing"),
        (datetime, "1735689600", "datetime_parsing"),
        (time, "24:00", "time_parsing"),
        (time, "1.5", "time_parsing"),
        (timedelta, "32:60", "time_delta_parsing"),
        (timedelta, "P1M", "time_delta_parsing"),
        (timedelta, "P", "time_delta_parsing"),
        (timedelta, "PT", "time_delta_parsing"),
        (timedelta, "9999999999999:00:00", "time_delta_parsing"),
        (UUID, IDENTIFIER.replace("-", ""), "uuid_parsing"),
        (Literal["a", "b"], "A", "literal_error"),
        (Colour, "RED", "enum"),
        (EmailStr, "nobody", "value_error"),
        (HttpUrl, "firm.de", "url_parsing"),
        (HttpUrl, "ftp://firm.de", "url_scheme"),
    ],
)
def test_what_is_no_value_is_refused(annotation: Any, text: str, code: str) -> None:
    (issue,) = read(annotation, text)

    assert (issue.code, issue.phase) == (code, Phase.VALUE)
    assert (issue.row, issue.field, issue.value) == (2, "a", text)


@pytest.mark.parametrize(
    ("annotation", "text", "kind", "suggestion"),
    [
        (int, "5.00", "t", "5"),
        (int, "\u2460", "t", None),
        (int, "5.5", "t", None),
        (Decimal, "12,5", "t", "12.5"),
        (Decimal, "1,234", "t", None),
        (Decimal, "\u2212120.00", "t", "-120.00"),
        (Decimal, "1 234,50", "t", "1234.50"),
        (date, "20240101", "t", "2024-01-01"),
        (date, "2024-1-5", "t", "2024-01-05"),
        (date, "31/12/2026", "t", "2026-12-31"),
        (date, "12/31/2026", "t", "2026-12-31"),
        (FORMATTED, "5/5/2026", "t", "05.05.2026"),
        (date, "03/04/2026", "t", None),
        (date, "31/02/2026", "t", None),
        (date, "45707", "n", "2025-02-19"),
        (date, "45707", "t", "2025-02-19"),
        (date, "17", "n", None),
        (date, "2024-01-01T10:30:00", "d", "2024-01-01"),
        (FORMATTED, "31/12/2026", "t", "31.12.2026"),
        (FORMATTED, "2024-01-31T10:30:00", "d", "31.01.2024"),
        (FORMATTED, "45707", "n", "19.02.2025"),
        (datetime, "45707.5", "n", "2025-02-19 12:00:00"),
        (datetime, "x", "n", None),
        (UUID, "0f8fad5b", "t", None),
        (UUID, "{0F8FAD5B-D9CB-469F-A165-70867728950E}", "t", IDENTIFIER),
        (Literal["Germany", "France"], "germany", "t", "Germany"),
        (Literal["Germany", "France"], "Frnace", "t", "France"),
        (Literal["Germany", "France"], "Spain", "t", None),
        (Colour, "RED", "t", "red"),
    ],
)
def test_a_value_is_proposed_where_one_reading_is_possible(
    annotation: Any, text: str, kind: str, suggestion: str | None
) -> None:
    (issue,) = read(annotation, text, kind)

    assert issue.suggestion == suggestion


@pytest.mark.parametrize(
    ("annotation", "text", "message"),
    [
        (date, "x", "Write the date as YYYY-MM-DD"),
        (FORMATTED, "x", "Write the date as DD.MM.YYYY"),
        (date, "2025-02-29", "There is no such day in the calendar"),
        (Literal["a", "b"], "x", "Input should be 'a' or 'b'"),
        (Size, "x", "Input should be 1"),
    ],
)
def test_a_message_says_what_is_expected(
    annotation: Any, text: str, message: str
) -> None:
    (issue,) = read(annotation, text)

    assert issue.message == message


@pytest.mark.parametrize(
    ("annotation", "text", "kind", "value"),
    [
        (int, "5.0", "n", 5),
        (int, "1e3", "n", 1000),
        (Decimal, "1E-7", "n", Decimal("1E-7")),
        (str, "12345", "n", "12345"),
        (bool, "true", "b", True),
        (date, "2024-01-01T00:00:00", "d", date(2024, 1, 1)),
        (
            Annotated[date, Column(format="%Y-%d-%m")],
            "2024-02-03",
            "d",
            date(2024, 2, 3),
        ),
        (datetime, "2024-01-01", "d", naive(2024, 1, 1)),
        (timedelta, "PT32H15M", "s", timedelta(hours=32, minutes=15)),
    ],
)
def test_what_a_sheet_says_of_a_cell_counts(
    annotation: Any, text: str, kind: str, value: Any
) -> None:
    assert read(annotation, text, kind) == value


@pytest.mark.parametrize(
    ("annotation", "text", "kind", "code"),
    [
        (int, "5.5", "n", "int_parsing"),
        (int, "1e999999999", "n", "int_parsing"),
        (date, "45707", "n", "date_parsing"),
        (str, "2024-01-01", "d", "date_in_text_field"),
        (str, "PT5H", "s", "date_in_text_field"),
        (str, "42", "c", "leading_zero_risk"),
    ],
)
def test_a_sheets_cell_of_another_kind_is_refused(
    annotation: Any, text: str, kind: str, code: str
) -> None:
    (issue,) = read(annotation, text, kind)

    assert issue.code == code


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "42", 42),
        (int, "42.0", 42),
        (float, "12.5", 12.5),
        (Decimal, "12.5", Decimal("12.5")),
        (Decimal, "1E+2", Decimal("1E+2")),
    ],
)
def test_a_number_that_its_sheet_shows_as_a_code_is_a_number(
    annotation: Any, text: str, value: Any
) -> None:
    assert read(annotation, text, "c") == value


def test_the_kind_of_a_cell_is_taken_from_its_place_in_the_file() -> None:
    class Row(BaseModel):
        a: str
        b: str

    validated = validate(
        Row, ["2024-01-01", "x"], ["y", "2024-01-01"], kinds=["tt", "dt"]
    )

    assert codes(validated.issues) == [(3, "a", "date_in_text_field")]
    assert validated.values("b") == ["x", "2024-01-01"]


@pytest.mark.parametrize("annotation", [int, date, UUID, EmailStr, Colour, HttpUrl])
@pytest.mark.parametrize("text", [None, "", " \t\u00a0"])
def test_a_cell_of_blanks_is_empty_unless_its_field_is_text(
    annotation: Any, text: str | None
) -> None:
    assert read(annotation | None, text) is None
    (issue,) = read(annotation, text)
    assert (issue.code, issue.phase, issue.message) == (
        "missing",
        Phase.RULE,
        "Field required",
    )


def test_the_same_wrong_text_is_an_issue_in_every_row_that_has_it() -> None:
    class Row(BaseModel):
        a: int

    validated = validate(Row, ["x"], ["1"], ["x"])

    assert codes(validated.issues) == [(2, "a", "int_parsing"), (4, "a", "int_parsing")]
    assert validated.frame.to_dict(as_series=False) == {
        "row": [2, 3, 4],
        "a": [None, 1, None],
    }


def test_upper_case_is_made_after_the_rules() -> None:
    shouting = Annotated[str, Field(pattern="^[a-zß]+$", max_length=3)]

    class Row(BaseModel, str_to_upper=True, str_strip_whitespace=True):
        a: shouting

    validated = validate(Row, [" ab "], ["aß"], ["AB"], ["abcd"])

    assert validated.values("a") == ["AB", "ASS", None, None]
    assert codes(validated.issues) == [
        (4, "a", "string_pattern_mismatch"),
        (5, "a", "string_too_long"),
    ]


def test_blanks_are_no_part_of_the_name_of_another_record() -> None:
    class Row(BaseModel):
        a: Annotated[str, Field(pattern="^C"), Column(lookup="Customer.code")]

    validated = validate(Row, [" C-7 "], [" "], ["D-7"])

    assert validated.values("a") == ["C-7", None, None]
    assert codes(validated.issues) == [
        (3, "a", "missing"),
        (4, "a", "string_pattern_mismatch"),
    ]


def test_parameters_are_plain_values() -> None:
    issues: list[Issue] = read(Annotated[Decimal, Field(gt=Decimal("1.5"))], "1")

    assert issues[0].parameters == {"gt": "1.5"}
