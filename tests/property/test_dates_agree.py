"""Dates in digits: what is written is read back, and the two ways of reading agree."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from batchfx.model.notations import Notation
from batchfx.pipeline.clocks import time_reader
from batchfx.pipeline.days import decide, evidence
from batchfx.pipeline.moments import date_reader, datetime_reader
from batchfx.pipeline.orders import ORDERS, is_short, readings
from batchfx.pipeline.reading import Complaint, Reader
from batchfx.pipeline.written_days import ISO_DAY

DAYS = st.dates(date(1000, 1, 1))
SEPARATORS = st.sampled_from([".", "/", "-", " ", ". "])
WINDOWS = st.sampled_from([None, 1930, 1999, "not after 2026-11-29"])
NEARLY = st.one_of(
    st.text("0123456789./- :TZAPMapm+", max_size=24),
    st.from_regex(r"[0-3]?[0-9][./ -][01]?[0-9][./ -]([0-9]{2}){1,2}", fullmatch=True),
    st.from_regex(
        r"[0-3]?[0-9][./-][01]?[0-9][./-]20[0-9]{2}[T ][0-2]?[0-9]:[0-5][0-9]"
        r"(:[0-5][0-9])?( ?[AaPp][Mm])?",
        fullmatch=True,
    ),
    st.from_regex(
        r"20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-5][0-9](:[0-5][0-9])?Z?)?",
        fullmatch=True,
    ),
)


@st.composite
def notations(draw: st.DrawFn) -> Notation:
    order = draw(st.sampled_from([None, *ORDERS]))
    return Notation(
        date_order=order,
        two_digit_year=draw(WINDOWS),
        zone_for_naive=draw(
            st.sampled_from([None, "Europe/Rome", "America/St_Johns", "UTC"])
        ),
        unsettled=() if order else draw(st.sampled_from([(), ("date_order",)])),
    )


def written(day: date, order: str, separator: str, *, short: bool = False) -> str:
    year = f"{day.year % 100:02}" if short else str(day.year)
    parts = {"d": str(day.day), "m": f"{day.month:02}", "y": year}
    return separator.join(parts[letter] for letter in order)


def both_ways(reader: Reader, texts: list[str]) -> list[tuple[Any, Any]]:
    """Return what both ways make of each text of which *typed* is sure."""
    frame = pl.DataFrame({"a": texts}, schema={"a": pl.String})
    typed = frame.select(reader.typed(pl.col("a")).alias("a"))["a"]
    sure = typed.is_not_null()
    source = frame["a"] if reader.from_text else typed
    values = reader.values(source.filter(sure))
    kept = frame["a"].filter(sure).to_list()
    return [
        (value, reader.read(text, "t"))
        for value, text in zip(values, kept, strict=True)
    ]


@given(DAYS, st.sampled_from(ORDERS), SEPARATORS)
def test_a_day_is_read_back_in_the_order_it_was_written_in(
    day: date, order: str, separator: str
) -> None:
    reader = date_reader(None, Notation(date_order=order))

    assert reader.read(written(day, order, separator), "t") == day


@given(
    st.dates(date(1930, 1, 1), date(2029, 12, 31)),
    st.sampled_from(ORDERS),
    SEPARATORS,
)
def test_a_two_digit_year_is_read_back_in_its_window(
    day: date, order: str, separator: str
) -> None:
    reader = date_reader(None, Notation(date_order=order, two_digit_year=1930))

    assert reader.read(written(day, order, separator, short=True), "t") == day


@given(st.lists(DAYS, min_size=1), st.sampled_from(ORDERS), SEPARATORS)
def test_polars_is_sure_of_days_in_order(
    days: list[date], order: str, separator: str
) -> None:
    reader = date_reader(None, Notation(date_order=order))
    texts = [written(day, order, separator.strip() or " ") for day in days]

    found = both_ways(reader, texts)

    assert found == [(day, day) for day in days]


@given(st.lists(NEARLY, min_size=1, max_size=20), notations())
def test_both_ways_of_reading_days_agree(texts: list[str], notation: Notation) -> None:
    for typed, read in both_ways(date_reader(None, notation), texts):
        assert typed == read


@given(
    st.lists(NEARLY, min_size=1, max_size=20),
    notations(),
    st.sampled_from([None, "aware", "naive"]),
)
def test_both_ways_of_reading_moments_agree(
    texts: list[str], notation: Notation, zoned: str | None
) -> None:
    reader = datetime_reader(None, notation, zoned=zoned)
    for typed, read in both_ways(reader, texts):
        assert (typed, typed.tzinfo) == (read, read.tzinfo)
        assert reader.fits(typed)


@given(
    st.lists(
        st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - clocks of a zone
        min_size=1,
    ),
    st.sampled_from(["Europe/Rome", "America/New_York", "Australia/Lord_Howe"]),
)
def test_both_ways_put_moments_into_a_zone_alike(
    moments: list[datetime], zone: str
) -> None:
    reader = datetime_reader(None, Notation(zone_for_naive=zone), zoned="aware")
    texts = [moment.isoformat(" ") for moment in moments]

    for typed, read in both_ways(reader, texts):
        assert typed == read
        assert typed.tzinfo is UTC


@given(st.text("0123456789:. aApPmM+Z-", max_size=16))
def test_both_ways_of_reading_times_agree(text: str) -> None:
    for typed, read in both_ways(time_reader(None, Notation()), [text]):
        assert typed == read


@given(st.lists(NEARLY, max_size=30), st.integers(1, 7), st.randoms())
def test_the_decision_hangs_on_neither_blocks_nor_order(
    texts: list[str], size: int, random: Any
) -> None:
    whole = decide(evidence(pl.Series(texts, dtype=pl.String), Notation()), Notation())
    mixed = random.sample(texts, len(texts))
    counts: Counter[str] = Counter()
    for start in range(0, len(mixed), size):
        block = mixed[start : start + size]
        counts.update(evidence(pl.Series(block, dtype=pl.String), Notation()))

    assert decide(counts, Notation()) == whole


@given(
    st.from_regex(
        r"[0-9]{1,4}(\.[0-9]{1,2}\.|/[0-9]{1,2}/|-[0-9]{1,2}-| [0-9]{1,2} )[0-9]{1,4}",
        fullmatch=True,
    ).filter(lambda text: readings(text) and not ISO_DAY.fullmatch(text))
)
def test_a_text_counts_for_the_orders_in_which_it_can_be_read(text: str) -> None:
    possible = readings(text) or {}
    counts = evidence(pl.Series([text]), Notation())

    orders = {"alike": "dmy mdy", "year first": "ymd"}
    counted = {each for key in counts for each in orders.get(key, key).split(" ")}
    assert counted - {"short", "year"} == possible.keys()
    assert ("short year" in counts) == is_short(possible)


@given(st.lists(NEARLY, min_size=1, max_size=10))
def test_no_value_is_read_that_hangs_on_an_open_question(texts: list[str]) -> None:
    reader = date_reader(None, Notation(unsettled=("date_order",)))
    other = [date_reader(None, Notation(date_order=order)) for order in ("dmy", "mdy")]
    for text in texts:
        value = reader.read(text, "t")
        if not isinstance(value, Complaint):
            assert {each.read(text, "t") for each in other} == {value}
