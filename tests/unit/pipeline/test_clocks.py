from __future__ import annotations

from datetime import UTC, time, timedelta, timezone

import pytest

from batchfx.model.notations import Notation
from batchfx.pipeline.clocks import time_reader
from batchfx.pipeline.durations import duration_reader

TIMES = time_reader(None, Notation())
DURATIONS = duration_reader()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("19:05", time(19, 5)),
        ("7:05", time(7, 5)),
        ("7:05 PM", time(19, 5)),
        ("7:05pm", time(19, 5)),
        ("7:05:01 p.m.", time(19, 5, 1)),
        ("12:00 AM", time(0)),
        ("12:30 pm", time(12, 30)),
        ("7 PM", time(19)),
        ("19:05:30.5", time(19, 5, 30, 500000)),
        ("19:05:30,25", time(19, 5, 30, 250000)),
        ("19:05Z", time(19, 5, tzinfo=UTC)),
        ("19:05-03:30", time(19, 5, tzinfo=timezone(-timedelta(hours=3.5)))),
    ],
)
def test_a_time_is_read_on_either_clock(text: str, value: time) -> None:
    assert TIMES.read(text, "t") == value


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("24:00", "t", None),
        ("13:05 PM", "t", None),
        ("0:05 AM", "t", None),
        ("19:60", "t", None),
        ("19", "t", None),
        ("19.05", "t", "19:05:00"),
        ("7h05", "t", "07:05:00"),
        ("19.05 Uhr", "t", "19:05:00"),
        ("\uff11\uff19:05", "t", None),
        ("1.5", "n", None),
        ("0.5", "n", "12:00:00"),
        ("0.9999999", "n", None),
        ("2026-01-01T19:05:00", "d", None),
        ("PT19H5M", "s", None),
    ],
)
def test_what_is_no_time_of_day_is_refused(
    text: str, kind: str, suggestion: str | None
) -> None:
    complaint = TIMES.read(text, kind)

    assert (complaint.code, complaint.suggestion) == ("time_parsing", suggestion)


def test_a_time_can_have_a_format_of_its_own() -> None:
    reader = time_reader(None, Notation(date_formats=("%H.%M", "%d.%m.%Y %H:%M")))

    assert reader.read("19.05", "t") == time(19, 5)
    assert reader.read("19:05", "t") == time(19, 5)
    assert reader.read("01.02.2026 19:05", "t").code == "time_parsing"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("32:15", "t", timedelta(hours=32, minutes=15)),
        ("32:15:00", "t", timedelta(hours=32, minutes=15)),
        ("250:25:30.5", "t", timedelta(hours=250, minutes=25, seconds=30.5)),
        ("-6:00", "t", timedelta(hours=-6)),
        ("-PT6H", "s", timedelta(hours=-6)),
        ("PT0,5S", "t", timedelta(seconds=0.5)),
        ("07:05:00", "d", timedelta(hours=7, minutes=5)),
        ("PT1.5H", "t", timedelta(hours=1, minutes=30)),
        ("PT1,5H", "t", timedelta(hours=1, minutes=30)),
        ("-PT0.25M", "t", timedelta(seconds=-15)),
        ("P0.5W", "t", timedelta(days=3, hours=12)),
        ("P1DT0.1H", "t", timedelta(days=1, minutes=6)),
        ("PT1H2.5M", "t", timedelta(hours=1, minutes=2, seconds=30)),
    ],
)
def test_a_duration_counts_hours_first(text: str, kind: str, value: timedelta) -> None:
    assert DURATIONS.read(text, kind) == value


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("1.5", "n", "36:00:00"),
        ("0.0104166666666667", "n", "0:15:00"),
        ("1h 30m", "t", "PT1H30M"),
        ("90 min", "t", "PT90M"),
        ("1 hour, 5 minutes", "t", "PT1H5M"),
        ("1900-01-01T08:15:00", "d", None),
        ("32:60", "t", None),
        ("", "t", None),
        ("x", "t", None),
        ("PT1.5H30M", "t", None),
        ("P1.5DT1H", "t", None),
        ("PT.5H", "t", None),
        ("PT0.3333333333H", "t", None),
        ("PT1.0000001S", "t", None),
        (f"PT{'9' * 5_000}H", "t", None),
    ],
)
def test_what_is_no_duration_is_refused(
    text: str, kind: str, suggestion: str | None
) -> None:
    complaint = DURATIONS.read(text, kind)

    assert (complaint.code, complaint.suggestion) == ("time_delta_parsing", suggestion)
