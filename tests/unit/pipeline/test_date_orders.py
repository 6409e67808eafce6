from __future__ import annotations

from collections import Counter
from datetime import date

import polars as pl
import pytest

from batchfx.model.issues import Level, Phase
from batchfx.model.notations import Notation
from batchfx.pipeline.days import decide, evidence, explain
from batchfx.pipeline.years import window_of

PLAIN = Notation()


def counted(*texts: str, said: Notation = PLAIN) -> dict[str, int]:
    return evidence(pl.Series(texts, dtype=pl.String), said)


def decided(*texts: str, notation: Notation = PLAIN) -> Notation:
    return decide(counted(*texts), notation)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("31/12/2026", "dmy"),
        ("31.12.2026", "dmy"),
        ("31. 12. 2026", "dmy"),
        ("29/02/2025", "dmy"),
        ("12/31/2026", "mdy"),
        ("12-31-2026 7:05 PM", "mdy"),
        ("3 4 2026", "dmy mdy"),
        ("3/4/2026 10:00", "dmy mdy"),
        ("05/05/2026", "alike"),
        ("2026/3/4", "year first"),
    ],
)
def test_a_date_counts_for_the_orders_it_can_be_read_in(text: str, key: str) -> None:
    assert counted(text) == {key: 1}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("31/12/99", "dmy"),
        ("12/31/99", "mdy"),
        ("99-12-31", "ymd"),
        ("31/12/26", "dmy ymd"),
        ("3/4/26", "dmy mdy"),
        ("03/04/05", "dmy mdy ymd"),
        ("12/31/26", "mdy"),
    ],
)
def test_a_date_with_a_two_digit_year_can_have_the_year_in_front(
    text: str, key: str
) -> None:
    assert counted(text) == {key: 1, "short year": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "2026-03-04",
        "2026-03-04T10:00",
        "3 March 2026",
        "19:05",
        "45707",
        "3/4-2026",
        "3/4/2026 x",
        "31/13/2026",
        "0/5/2026",
        "2026/13/05",
        "3/4/0026",
        "1/2/3",
        "3/4/226",
        "\uff13/\uff14/2025",
    ],
)
def test_what_leaves_nothing_open_has_no_say(text: str) -> None:
    assert counted(text) == {}


def test_dates_in_iso_form_leave_the_notation_as_it_is() -> None:
    assert decided("2026-03-04", "2026-03-05 10:00") is PLAIN


def test_the_only_order_that_all_values_can_have_is_theirs() -> None:
    assert decided("03/04/2026", "18/05/2026", "05/05/2026").date_order == "dmy"
    assert decided("03/04/2026", "05/18/2026", "2026-01-01").date_order == "mdy"
    assert decided("99-12-31", "03-04-05").date_order == "ymd"
    assert decided("2026/03/04", "2026-01-01").date_order == "ymd"
    assert decided("2026/03/04", "31.12.2026").date_order == "dmy"
    assert decided("05/05/2026") == PLAIN


def test_values_that_can_all_be_read_in_two_orders_leave_it_open() -> None:
    notation = decided("03/04/2026", "05/06/2026", "05/05/2026")

    assert notation == Notation(unsettled=("date_order",))


def test_few_values_that_contradict_each_other_leave_it_open() -> None:
    notation = decided(*["31/12/2026"] * 19, "12/31/2026", "03/04/2026")

    assert notation == Notation(unsettled=("date_order",))


def test_a_clear_majority_decides() -> None:
    most = [f"{day}/12/2026" for day in range(13, 32)] * 2

    assert decided(*most[:31], "12/31/2026", "03/04/2026").date_order == "dmy"
    assert decided(*most[:19], "12/31/2026").unsettled == ("date_order",)
    assert decided(*most[:20], "12/31/2026").date_order == "dmy"
    assert decided(*most[:20], *["12/31/2026"] * 2).unsettled == ("date_order",)
    assert decided(*most[:38], *["12/31/2026"] * 2).date_order == "dmy"


def test_values_of_two_readings_make_no_majority() -> None:
    notation = decided("31/12/2026", "12/31/2026", *["03/04/2026"] * 100)

    assert notation.unsettled == ("date_order",)


def test_what_is_said_is_kept() -> None:
    stated = Notation(date_order="mdy")
    formats = Notation(date_formats=("%d/%m/%Y",))

    assert decided("31/12/2026", notation=stated) == stated
    assert decided("31/12/2026", notation=formats) == formats


def test_two_digit_years_are_a_question_until_a_window_is_stated() -> None:
    stated = Notation(two_digit_year=1930, unsettled=("decimal",))

    assert decided("31/12/99") == Notation(
        date_order="dmy", unsettled=("two_digit_year",)
    )
    assert decided("31/12/99", notation=stated) == Notation(
        date_order="dmy", two_digit_year=1930, unsettled=("decimal",)
    )


def test_today_is_written_down_so_that_it_stays_the_same() -> None:
    notation = decided("31/12/99", notation=Notation(two_digit_year="not after today"))

    assert isinstance(window_of(notation.two_digit_year), date)
    assert notation.two_digit_year != "not after today"
    assert decide({}, notation) == notation


def test_a_question_names_the_choices_and_how_to_answer() -> None:
    counts = counted("03/04/2026", "05/06/2026")
    issue = explain(counts, decide(counts, PLAIN), "when")

    assert issue is not None
    assert (issue.code, issue.phase, issue.level) == (
        "ambiguous_date",
        Phase.FILE,
        Level.WARNING,
    )
    assert issue.message == (
        "In the column 'when' every date can be read as DD/MM/YYYY or as MM/DD/YYYY. "
        "State which is meant: --set date_order=dmy or --set date_order=mdy"
    )
    assert issue.parameters == {"choices": ["dmy", "mdy"]}


def test_a_contradiction_is_told_with_its_numbers() -> None:
    counts = counted("31/12/2026", "30/12/2026", "12/31/2026")
    issue = explain(counts, decide(counts, PLAIN), "when")

    assert issue is not None
    assert issue.message == (
        "In the column 'when' the dates contradict each other (2 only as DD/MM/YYYY, "
        "1 only as MM/DD/YYYY). State which is meant: --set date_order=dmy or "
        "--set date_order=mdy"
    )


def test_a_decision_is_told_where_values_hung_on_it() -> None:
    counts = counted(*["31/12/2026"] * 31, "12/31/2026", "03/04/2026")
    issue = explain(counts, decide(counts, PLAIN), "when")

    assert issue is not None
    assert (issue.code, issue.level) == ("date_order", Level.WARNING)
    assert issue.message == (
        "The dates of the column 'when' are read as DD/MM/YYYY: 31 can be read in no "
        "other order. Those that can be read in another order only, 1, are refused. "
        "Taken alone, 1 could be read in another order too"
    )


def test_a_stated_order_is_not_counted_nor_told() -> None:
    stated = Notation(date_order="dmy")
    counts = counted("31/12/99", "12/31/2026", "03/04/2026", said=stated)

    assert counts == {"short year": 1}
    issue = explain(counts, decide(counts, stated), "when")
    assert issue is not None
    assert issue.code == "two_digit_year"


def test_an_order_can_be_the_only_one_without_a_value_that_has_no_other() -> None:
    counts = counted("05/06/2026", "31/12/26")
    notation = decide(counts, Notation(two_digit_year=1930))
    issue = explain(counts, notation, "when")

    assert notation.date_order == "dmy"
    assert issue is not None
    assert issue.message == (
        "The dates of the column 'when' are read as DD/MM/YYYY, the only order that "
        "fits all of them. Taken alone, 2 could be read in another order too"
    )


def test_nothing_is_told_where_no_value_hung_on_the_decision() -> None:
    for texts in (["31/12/2026"], ["2026/03/04"], ["05/05/2026"]):
        counts = counted(*texts)

        assert explain(counts, decide(counts, PLAIN), "when") is None


def test_two_digit_years_are_asked_about() -> None:
    counts = counted("31/12/99", "3/4/99", "05/06/2001")
    issue = explain(counts, decide(counts, PLAIN), "born")

    assert issue is not None
    assert issue.message == (
        "In the column 'born' the years of 2 dates have two digits. State which years "
        "are meant, such as --set two_digit_year=1930 or "
        '--set two_digit_year="not after today"'
    )


def test_both_questions_are_asked_at_once() -> None:
    counts = counted("3/4/99", "3/5/99")
    issue = explain(counts, decide(counts, PLAIN), "born")

    assert issue is not None
    assert issue.message == (
        "In the column 'born' every date can be read as DD/MM/YYYY or as MM/DD/YYYY. "
        "State which is meant: --set date_order=dmy or --set date_order=mdy. "
        "In the column 'born' the years of 2 dates have two digits. State which years "
        "are meant, such as "
        '--set two_digit_year=1930 or --set two_digit_year="not after today"'
    )


def test_evidence_of_blocks_adds_up() -> None:
    texts = ["31/12/2026", "03/04/2026", "2026-01-01", "31/12/99", "03/04/2026"]
    parts = Counter(counted(*texts[:2])) + Counter(counted(*texts[2:]))

    assert parts == counted(*texts)
