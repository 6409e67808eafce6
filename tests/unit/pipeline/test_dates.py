from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest

from batchfx.model.notations import Notation
from batchfx.pipeline.moments import date_reader, datetime_reader
from batchfx.pipeline.reading import Complaint, Reader

DMY, MDY, YMD = (Notation(date_order=order) for order in ("dmy", "mdy", "ymd"))
OPEN = Notation(unsettled=("date_order",))
PLAIN = Notation()
ROME = Notation(zone_for_naive="Europe/Rome")
TODAY = "not after 2026-11-29"


def naive(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - read without a zone


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]  # the parts


def typed(reader: Reader, text: str) -> Any:
    frame = pl.DataFrame({"a": [text]}, schema={"a": pl.String})
    series = frame.select(reader.typed(pl.col("a")).alias("a"))["a"]
    assert series.dtype == reader.dtype
    if reader.from_text and series.null_count() == 0:
        return reader.values(frame["a"])[0]
    return reader.values(series)[0]


def found(reader: Reader, text: str, kind: str = "t") -> Any:
    value = reader.read(text, kind)
    if kind == "t" and (sure := typed(reader, text)) is not None:
        assert (sure, type(sure)) == (value, type(value))
    return value


def day(
    text: str, notation: Notation, kind: str = "t", *, form: str | None = None
) -> Any:
    return found(date_reader(form, notation), text, kind)


def moment(text: str, notation: Notation, kind: str = "t", **options: Any) -> Any:
    settings: dict[str, Any] = {"form": None, "zoned": None} | options
    reader = datetime_reader(settings["form"], notation, zoned=settings["zoned"])
    return found(reader, text, kind)


@pytest.mark.parametrize(
    ("text", "notation", "value"),
    [
        ("2024-02-29", PLAIN, date(2024, 2, 29)),
        ("2024-02-29", DMY, date(2024, 2, 29)),
        ("2024-02-03", MDY, date(2024, 2, 3)),
        ("0001-01-01", DMY, date(1, 1, 1)),
        ("2023-01-02T00:00:00.000Z", PLAIN, date(2023, 1, 2)),
        ("2023-07-02T00:00:00+02:00", PLAIN, date(2023, 7, 2)),
        ("2023-07-02 00:00:00-0800", PLAIN, date(2023, 7, 2)),
        ("2023-07-02 00:00:00 UTC", PLAIN, date(2023, 7, 2)),
        ("18/05/1994", DMY, date(1994, 5, 18)),
        ("02.05.1994", DMY, date(1994, 5, 2)),
        ("2-5-1994", DMY, date(1994, 5, 2)),
        ("2 5 1994", DMY, date(1994, 5, 2)),
        ("2. 5. 1994", DMY, date(1994, 5, 2)),
        ("02/05/1994", MDY, date(1994, 2, 5)),
        ("12/31/2026", MDY, date(2026, 12, 31)),
        ("2024/3/5", YMD, date(2024, 3, 5)),
        ("2024.03.05", DMY, date(2024, 3, 5)),
        ("2024-3-5", OPEN, date(2024, 3, 5)),
        ("31/12/2026 00:00", DMY, date(2026, 12, 31)),
        ("12/31/2026 12:00:00 AM", MDY, date(2026, 12, 31)),
        ("05/05/2024", PLAIN, date(2024, 5, 5)),
        ("05/05/2024", OPEN, date(2024, 5, 5)),
        ("29/02/2024", DMY, date(2024, 2, 29)),
    ],
)
def test_a_day_is_read_in_the_order_of_its_column(
    text: str, notation: Notation, value: date
) -> None:
    assert day(text, notation) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3. März 2024", date(2024, 3, 3)),
        ("3. Maerz 2024", date(2024, 3, 3)),
        ("May 3, 2024", date(2024, 5, 3)),
        ("May 3rd, 2024", date(2024, 5, 3)),
        ("3-Mar-2024", date(2024, 3, 3)),
        ("03MAR2024", date(2024, 3, 3)),
        ("3 SEPT. 2024", date(2024, 9, 3)),
        ("1er août 2024", date(2024, 8, 1)),
        ("1º de março de 2024", date(2024, 3, 1)),
        ("31 de enero de 2025", date(2025, 1, 31)),
        ("28 febbraio 2025", date(2025, 2, 28)),
        ("5 mei 2025", date(2025, 5, 5)),
        ("2024-Mar-03", date(2024, 3, 3)),
        ("2024年3月3日", date(2024, 3, 3)),
        ("2024년 3월 3일", date(2024, 3, 3)),
        ("3 Mar 2024 00:00:00", date(2024, 3, 3)),
    ],
)
@pytest.mark.parametrize("notation", [PLAIN, MDY, OPEN])
def test_a_month_in_letters_leaves_nothing_open(
    text: str, notation: Notation, value: date
) -> None:
    assert day(text, notation) == value


@pytest.mark.parametrize(
    "text",
    [
        *("Mon, 5 Jan 2026", "Montag, 5. Januar 2026", "Monday, January 5, 2026"),
        *("lundi 5 janvier 2026", "lun. 5 janv. 2026", "MONDAY 2026-01-05"),
        *("segunda-feira, 5 de janeiro de 2026", "lunes, 5 de enero de 2026"),
        *("Mo 05.01.2026", "Mo., 05.01.2026", "Mon,5 Jan 2026", "Mo. 5. Jan. 2026"),
    ],
)
def test_the_day_of_the_week_may_stand_in_front(text: str) -> None:
    assert day(text, DMY) == date(2026, 1, 5)
    assert moment(f"{text} 10:30", DMY) == naive(2026, 1, 5, 10, 30)


def test_another_day_of_the_week_than_the_dates_own_is_told() -> None:
    complaint = day("Tue, 5 Jan 2026", PLAIN)

    assert (complaint.code, complaint.message) == (
        "date_parsing",
        "The 5 January 2026 is a Monday, not the day of the week it says",
    )
    assert day("mar 6 enero 2026", PLAIN) == date(2026, 1, 6)
    assert day("Mo 03/04/2026", PLAIN).code == "ambiguous_date"
    assert day("Foo, 5 Jan 2026", PLAIN).code == "date_parsing"
    assert day("Mon, Mon", PLAIN).code == "date_parsing"


@pytest.mark.parametrize(
    ("text", "message", "suggestion"),
    [
        ("2026-W02-1", "Write the date as YYYY-MM-DD, not by its week", "2026-01-05"),
        ("2026W021", "Write the date as YYYY-MM-DD, not by its week", "2026-01-05"),
        (
            "2026-W02",
            "This names a week and not a day; write the date as YYYY-MM-DD",
            None,
        ),
        ("2026-W54-1", "There is no such day in the calendar", None),
        ("2026-W02-8", "There is no such day in the calendar", None),
    ],
)
def test_the_date_of_a_week_is_refused_with_its_day(
    text: str, message: str, suggestion: str | None
) -> None:
    complaint = day(text, PLAIN)

    assert (complaint.code, complaint.message) == ("date_parsing", message)
    assert complaint.suggestion == suggestion
    assert moment(f"{text}T10:00", PLAIN).code == "datetime_parsing"


def test_months_are_read_in_the_languages_that_are_named() -> None:
    german = Notation(languages=("de", "it"))

    assert day("3. Dezember 2024", german) == date(2024, 12, 3)
    assert day("3 dicembre 2024", german) == date(2024, 12, 3)
    assert day("3 December 2024", german).code == "date_parsing"
    assert day("3 diciembre 2024", Notation(languages=("es-MX",))) == date(2024, 12, 3)


@pytest.mark.parametrize(
    ("text", "notation", "code", "suggestion"),
    [
        ("12/31/2026", DMY, "date_parsing", "2026-12-31"),
        ("31/12/2026", MDY, "date_parsing", "2026-12-31"),
        ("31/12/2026", YMD, "date_parsing", "2026-12-31"),
        ("03/04/2026", YMD, "ambiguous_date", None),
        ("03/04/2026", PLAIN, "ambiguous_date", None),
        ("31/12/2026", PLAIN, "date_parsing", "2026-12-31"),
        ("03/04/2026", OPEN, "ambiguous_date", None),
        ("31/12/2026", OPEN, "ambiguous_date", "2026-12-31"),
        ("2024-1-5", PLAIN, "date_parsing", "2024-01-05"),
        ("29/02/2025", DMY, "date_parsing", None),
        ("31.04.2025", DMY, "date_parsing", None),
        ("2024/13/05", YMD, "date_parsing", None),
        ("2025-02-29", DMY, "date_parsing", None),
        ("1900-02-29", PLAIN, "date_parsing", None),
        ("0000-01-01", PLAIN, "date_parsing", None),
        ("03/04/0026", DMY, "date_parsing", None),
        ("20230102", DMY, "date_parsing", "2023-01-02"),
        ("45707", DMY, "date_parsing", "2025-02-19"),
        ("1735689600", DMY, "date_parsing", None),
        ("17.08", DMY, "date_parsing", None),
        ("n/a", DMY, "date_parsing", None),
        ("3/4-2025", DMY, "date_parsing", None),
        ("31 Foo 2024", DMY, "date_parsing", None),
        ("31 Feb 2024", DMY, "date_parsing", None),
        ("May 2024", DMY, "date_parsing", None),
        ("\uff13/\uff14/2025", DMY, "date_parsing", None),
        ("2024-01-01T10:30:00", DMY, "date_from_datetime_inexact", "2024-01-01"),
        ("31/12/2026 7:05 PM", DMY, "date_from_datetime_inexact", "2026-12-31"),
        ("2023-01-01T23:00:00Z", DMY, "date_from_datetime_inexact", "2023-01-01"),
        ("31/12/2026 24:00", DMY, "date_parsing", None),
    ],
)
def test_what_is_no_day_in_the_columns_order_is_refused(
    text: str, notation: Notation, code: str, suggestion: str | None
) -> None:
    complaint = day(text, notation)

    assert (complaint.code, complaint.suggestion) == (code, suggestion)


def test_a_date_of_two_readings_is_told_with_both_and_how_to_answer() -> None:
    complaint = day("03/04/2026", OPEN)

    assert complaint == Complaint(
        "ambiguous_date",
        "The date can be 4 March 2026 or 3 April 2026. State the order, such as "
        "--set date_order=dmy, or write YYYY-MM-DD",
        {"choices": ["2026-03-04", "2026-04-03"]},
        quotes=True,
    )


def test_the_message_says_what_form_is_expected() -> None:
    assert day("x", DMY).message == "Write the date as DD/MM/YYYY"
    assert day("x", YMD).message == "Write the date as YYYY-MM-DD"
    assert day("x", DMY, form="%d.%m.%Y").message == "Write the date as DD.MM.YYYY"
    assert day("31.04.2025", DMY).message == "There is no such day in the calendar"
    assert (
        day("12/31/2026", DMY).message
        == "There is no such day when it is read as DD/MM/YYYY"
    )


@pytest.mark.parametrize(
    ("text", "kind", "code", "suggestion"),
    [
        ("45707", "n", "date_parsing", "2025-02-19"),
        ("20230102", "n", "date_parsing", "2023-01-02"),
        ("17.08", "n", "date_parsing", None),
        ("17", "n", "date_parsing", None),
        ("2025-02-19T18:00:00", "d", "date_from_datetime_inexact", "2025-02-19"),
        ("1900-02-29", "d", "date_parsing", None),
    ],
)
def test_a_sheets_number_is_no_date(
    text: str, kind: str, code: str, suggestion: str | None
) -> None:
    complaint = day(text, DMY, kind)

    assert (complaint.code, complaint.suggestion) == (code, suggestion)


@pytest.mark.parametrize(
    ("text", "window", "value"),
    [
        ("01/02/99", 1000, date(1099, 2, 1)),
        ("02/03/58", TODAY, date(1958, 3, 2)),
        ("19-08-67", TODAY, date(1967, 8, 19)),
        ("11.12.63", TODAY, date(1963, 12, 11)),
        ("05/06/01", TODAY, date(2001, 6, 5)),
        ("31/12/99", TODAY, date(1999, 12, 31)),
        ("29/11/26", TODAY, date(2026, 11, 29)),
        ("30/11/26", TODAY, date(1926, 11, 30)),
        ("29/02/00", TODAY, date(2000, 2, 29)),
        ("3-Mar-24", TODAY, date(2024, 3, 3)),
        ("01/02/30", 1930, date(1930, 2, 1)),
        ("01/02/29", 1930, date(2029, 2, 1)),
        ("1/2/99", 1930, date(1999, 2, 1)),
        ("01/02/2058", TODAY, date(2058, 2, 1)),
    ],
)
def test_two_digit_years_lie_in_the_stated_window(
    text: str, window: int | str, value: date
) -> None:
    assert day(text, Notation(date_order="dmy", two_digit_year=window)) == value


def test_two_digit_years_can_stand_in_front() -> None:
    notation = Notation(date_order="ymd", two_digit_year=1950)

    assert day("49-12-31", notation) == date(2049, 12, 31)
    assert day("50-12-31", notation) == date(1950, 12, 31)
    assert day("31-12-50", notation).code == "date_parsing"


def test_a_two_digit_year_is_refused_where_no_window_is_stated() -> None:
    complaint = day("02/03/58", DMY)

    assert complaint.code == "two_digit_year"
    assert complaint.parameters == {"choices": ["1958-03-02", "2058-03-02"]}
    assert complaint.message == (
        "The year has two digits. Write all four, or state which years are meant, such "
        'as --set two_digit_year=1930 or --set two_digit_year="not after today": '
        "1958-03-02 or 2058-03-02"
    )
    assert day("02/03/58", OPEN).code == "two_digit_year"
    assert day("3-Mar-24", PLAIN).code == "two_digit_year"
    assert day("30-Feb-24", PLAIN).code == "date_parsing"
    assert day("3 " + "Mar" * 20 + " 24", PLAIN).code == "date_parsing"


@pytest.mark.parametrize(
    ("form", "text"),
    [("%d/%m/%y", "02/03/58"), ("%d%m%y", "020358"), ("%d %B %y", "2 March 58")],
)
def test_a_format_makes_no_year_of_two_digits_without_a_window(
    form: str, text: str
) -> None:
    of_column = day(text, PLAIN, form=form)
    of_file = day(text, Notation(date_formats=(form, "%d.%m.%Y")))

    assert of_column.code == of_file.code == "two_digit_year"
    assert of_file.parameters == {"choices": ["1958-03-02", "2058-03-02"]}
    stated = Notation(date_formats=(form,), two_digit_year=1930)
    assert day(text, stated) == date(1958, 3, 2)


def test_a_window_of_years_counts_for_a_format_too() -> None:
    window = Notation(two_digit_year=TODAY)
    assert day("02/03/58", window, form="%d/%m/%y") == date(1958, 3, 2)


def test_another_form_than_the_stated_one_is_no_question() -> None:
    complaints = {
        text: day(text, PLAIN, form="%d.%m.%Y")
        for text in ("03/04/2026", "31/12/2026", "1.2.26")
    }

    assert {each.code for each in complaints.values()} == {"date_parsing"}
    assert complaints["31/12/2026"].suggestion == "31.12.2026"
    assert complaints["03/04/2026"].suggestion is None


def test_a_day_that_is_none_is_not_taken_for_another_order_of_it() -> None:
    refused = day("29.02.23", Notation(two_digit_year=1930), form="%d.%m.%y")
    assert (refused.code, refused.suggestion) == ("date_parsing", None)
    meant = day("28/02/2023", Notation(two_digit_year=1930), form="%d.%m.%y")
    assert (meant.code, meant.suggestion) == ("date_parsing", "28.02.23")


def test_formats_are_read_beside_iso() -> None:
    notation = Notation(date_formats=("%d.%m.%Y", "%Y%m%d"))

    assert day("31.12.2026", notation) == date(2026, 12, 31)
    assert day("20261231", notation) == date(2026, 12, 31)
    assert day("2026-12-31", notation) == date(2026, 12, 31)
    assert day("12/31/2026", notation).code == "date_parsing"


def test_formats_that_read_one_text_as_two_days_leave_it_open() -> None:
    notation = Notation(date_formats=("%d/%m/%Y", "%m/%d/%Y"))

    assert day("31/12/2026", notation) == date(2026, 12, 31)
    assert day("12/31/2026", notation) == date(2026, 12, 31)
    assert day("05/05/2026", notation) == date(2026, 5, 5)
    assert day("03/04/2026", notation).code == "ambiguous_date"
    assert day("2024-02-03", Notation(date_formats=("%Y-%d-%m",))).code == (
        "ambiguous_date"
    )


def test_formats_that_read_one_text_as_two_times_leave_it_open() -> None:
    notation = Notation(date_formats=("%d.%m.%Y %H:%M", "%d.%m.%Y %M:%H"))

    assert moment("31.12.2026 10:30", notation) == naive(2026, 12, 31, 10, 30)
    complaint = moment("31.12.2026 10:20", notation)
    assert complaint.code == "ambiguous_date"
    assert complaint.message == (
        "The formats DD.MM.YYYY hh:mm and DD.MM.YYYY mm:hh read two different times. "
        "State one of them"
    )


def test_a_format_that_reads_iso_in_its_own_way_has_the_only_word() -> None:
    assert day("2024-03-02", PLAIN, form="%Y-%d-%m") == date(2024, 2, 3)
    assert day("2024-02-13", PLAIN, form="%Y-%d-%m").suggestion == "2024-13-02"
    assert day("20240213", PLAIN, form="%Y-%d-%m").suggestion == "2024-13-02"
    assert moment("2024-02-13 10:00", PLAIN, form="%Y-%d-%m %H:%M").code == (
        "datetime_parsing"
    )


def test_a_format_and_a_stated_order_that_differ_leave_a_date_open() -> None:
    assert day("31.12.2026", MDY, form="%d.%m.%Y") == date(2026, 12, 31)
    assert day("03.04.2026", MDY, form="%d.%m.%Y").code == "ambiguous_date"
    assert day("03.04.2026", DMY, form="%d.%m.%Y") == date(2026, 4, 3)
    assert day("03/04/2026", DMY, form="%d.%m.%Y") == date(2026, 4, 3)


@pytest.mark.parametrize(
    ("text", "notation", "value"),
    [
        ("2023-01-02 23:30", PLAIN, naive(2023, 1, 2, 23, 30)),
        ("2023-01-02T23:30:00Z", PLAIN, utc(2023, 1, 2, 23, 30)),
        ("2023-01-02t23:30:00z", PLAIN, utc(2023, 1, 2, 23, 30)),
        ("2023-01-02 23:30:00 UTC", PLAIN, utc(2023, 1, 2, 23, 30)),
        ("20230102T233000Z", PLAIN, utc(2023, 1, 2, 23, 30)),
        ("2023-01-02T23:30:00,25", PLAIN, naive(2023, 1, 2, 23, 30, 0, 250000)),
        ("2023-01-02T23:30:00.1230000", PLAIN, naive(2023, 1, 2, 23, 30, 0, 123000)),
        ("31.12.2026 7:05", DMY, naive(2026, 12, 31, 7, 5)),
        ("31.12.2026, 07:05:09", DMY, naive(2026, 12, 31, 7, 5, 9)),
        ("12/31/2026 7:05 PM", MDY, naive(2026, 12, 31, 19, 5)),
        ("12/31/2026 12:05:01 am", MDY, naive(2026, 12, 31, 0, 5, 1)),
        ("12/31/2026 12:05PM", MDY, naive(2026, 12, 31, 12, 5)),
        ("2026/12/31 19:05", YMD, naive(2026, 12, 31, 19, 5)),
        ("3-Mar-2024 19:05", PLAIN, naive(2024, 3, 3, 19, 5)),
        ("05/05/2024 10:00", OPEN, naive(2024, 5, 5, 10)),
    ],
)
def test_a_moment_is_a_day_in_the_columns_order_and_a_time(
    text: str, notation: Notation, value: datetime
) -> None:
    assert moment(text, notation) == value


@pytest.mark.parametrize("offset", ["+02", "+0200", "+02:00", " +0200"])
def test_an_offset_is_kept(offset: str) -> None:
    value = moment(f"2023-07-02T00:15:00{offset}", PLAIN)

    assert value == datetime(2023, 7, 2, 0, 15, tzinfo=timezone(timedelta(hours=2)))
    assert value.isoformat() == "2023-07-02T00:15:00+02:00"


@pytest.mark.parametrize(
    ("text", "notation", "code", "suggestion"),
    [
        ("2024-01-01", PLAIN, "datetime_parsing", "2024-01-01 00:00:00"),
        ("31/12/2026", DMY, "datetime_parsing", "2026-12-31 00:00:00"),
        ("12/31/2026 10:00", DMY, "datetime_parsing", "2026-12-31 10:00:00"),
        ("03/04/2026 10:00", OPEN, "ambiguous_date", None),
        ("31/12/2026 10:00", PLAIN, "datetime_parsing", "2026-12-31 10:00:00"),
        ("31/04/2026 10:00", DMY, "datetime_parsing", None),
        ("31/12/2026 13:00 PM", DMY, "datetime_parsing", None),
        ("31/12/2026 0:30 AM", DMY, "datetime_parsing", None),
        ("2024-01-01T24:00", DMY, "datetime_parsing", None),
        ("20240101T240000", DMY, "datetime_parsing", None),
        (
            "2024-01-01T10:00:00.1234567Z",
            DMY,
            "datetime_parsing",
            "2024-01-01T10:00:00.123456Z",
        ),
        ("2024-01-01T30:00:00.1234567", DMY, "datetime_parsing", None),
        ("31/12/26 10:00", DMY, "two_digit_year", None),
        ("10:00", DMY, "datetime_parsing", None),
    ],
)
def test_what_is_no_moment_is_refused(
    text: str, notation: Notation, code: str, suggestion: str | None
) -> None:
    complaint = moment(text, notation)

    assert (complaint.code, complaint.suggestion) == (code, suggestion)


@pytest.mark.parametrize("zoned", ["aware", None])
def test_a_moment_without_a_zone_is_on_the_clocks_of_the_stated_one(
    zoned: str | None,
) -> None:
    rome = Notation(zone_for_naive="Europe/Rome", date_order="dmy")

    assert moment("2023-07-02 00:15", rome, zoned=zoned) == utc(2023, 7, 1, 22, 15)
    assert moment("02/01/2023 00:15", rome, zoned=zoned) == utc(2023, 1, 1, 23, 15)
    assert moment("2023-07-02T00:15Z", rome, zoned=zoned) == utc(2023, 7, 2, 0, 15)
    assert moment("2023-07-02T00:15+05", rome, zoned=zoned) == utc(2023, 7, 1, 19, 15)
    assert moment("2050-07-02 00:15", rome, zoned=zoned) == utc(2050, 7, 1, 22, 15)
    assert moment("2023-07-02", rome, "d", zoned=zoned) == utc(2023, 7, 1, 22)


def test_a_moment_that_the_clocks_left_out_is_refused() -> None:
    complaint = moment("2023-03-26 02:30", ROME)

    assert complaint == Complaint(
        "datetime_parsing",
        "The clocks of Europe/Rome went forward: there was no such time",
        {"zone": "Europe/Rome"},
    )


def test_a_moment_that_the_clocks_had_twice_is_told_with_both() -> None:
    complaint = moment("2023-10-29T02:30:00", ROME)

    assert complaint.code == "ambiguous_time"
    assert complaint.parameters["choices"] == [
        "2023-10-29T02:30:00+02:00",
        "2023-10-29T02:30:00+01:00",
    ]
    assert complaint.message == (
        "The clocks of Europe/Rome went back: there were two such times. Write "
        "2023-10-29T02:30:00+02:00 or 2023-10-29T02:30:00+01:00"
    )


def test_a_field_that_wants_no_zone_gets_none() -> None:
    assert moment("2023-07-02 00:15", ROME, zoned="naive") == naive(2023, 7, 2, 0, 15)


def test_a_moment_beyond_the_calendar_is_refused() -> None:
    assert moment("0001-01-01 00:15", ROME).code == "datetime_parsing"


def test_an_aware_field_gets_a_moment_without_a_zone_as_it_is() -> None:
    assert moment("31/12/2026 10:00", DMY, zoned="aware") == naive(2026, 12, 31, 10)
