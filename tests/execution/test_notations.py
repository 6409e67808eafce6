"""How the columns of a batch are written is decided once, and kept with it."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import BaseModel

from batchfx import Column, Context, Importer, Options, Store, import_source, open_store
from batchfx.execution import views
from batchfx.execution.control import rerun
from batchfx.execution.reports import Report, report
from batchfx.model.notations import Notation

SEEN: list[tuple[str, Decimal]] = []


class AmountRow(BaseModel):
    """A number under a key."""

    code: Annotated[str, Column(unique=True)]
    amount: Annotated[Decimal, Column("Amount")]


class AmountImporter(Importer[AmountRow]):
    """Shows what it was given."""

    name = "notation-amounts"

    def process(self, row: AmountRow, context: Context) -> str:
        SEEN.append((row.code, row.amount))
        return row.code


class SwissImporter(AmountImporter):
    """Has a notation of its own."""

    name = "notation-swiss"
    notation: ClassVar[Notation] = Notation(decimal=",")


class UniqueAmountRow(BaseModel):
    """A number that may be in the file once."""

    amount: Annotated[Decimal, Column(unique=True)]


class UniqueAmountImporter(Importer[UniqueAmountRow]):
    """Stores nothing."""

    name = "notation-unique"

    def process(self, row: UniqueAmountRow, context: Context) -> str:
        return str(row.amount)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database."""
    SEEN.clear()
    opened = open_store(database)
    yield opened
    opened.close()


def run(
    store: Store, importer: type[Importer[Any]], *lines: str, **settings: Any
) -> Report:
    """Import lines of a file with semicolons, a row to a chunk."""
    source = io.BytesIO("\n".join([*lines, ""]).encode())
    options = Options(chunk_size=1, settings=settings)
    return import_source(store, importer, source, name="x.csv", options=options)


def codes(store: Store, found: Report) -> dict[int, list[str]]:
    return {
        view.row: [issue.code for issue in view.issues]
        for view in views.rows(store, found.key)
        if view.issues
    }


def told(found: Report) -> list[str]:
    return [issue.code for issue in found.file_issues]


def test_a_column_is_decided_over_all_chunks(store: Store) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.234", "B;12", "C;1.234,50")

    assert [
        ("A", Decimal(1234)),
        ("B", Decimal(12)),
        ("C", Decimal("1234.50")),
    ] == SEEN
    assert found.batch.notations == {"amount": {"decimal": ","}}
    assert told(found) == ["number_notation"]


def test_an_open_question_is_asked_once_and_answered_in_a_rerun(store: Store) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.234", "B;2.500", "C;7")

    assert codes(store, found) == {2: ["ambiguous_number"], 3: ["ambiguous_number"]}
    assert told(found) == ["ambiguous_number"]
    assert [("C", Decimal(7))] == SEEN

    found = rerun(store, found.key, settings={"decimal": ","})

    assert SEEN[1:] == [("A", Decimal(1234)), ("B", Decimal(2500))]
    assert codes(store, found) == {}


def test_a_question_that_stays_open_is_asked_again(store: Store) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.234")

    found = rerun(store, found.key)

    assert codes(store, found) == {2: ["ambiguous_number"]}
    assert found.batch.notations == {"amount": {"unsettled": ["decimal"]}}


def test_a_corrected_file_settles_an_open_question(
    store: Store, tmp_path: Path
) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.234", "B;x")
    corrected = tmp_path / "corrected.csv"
    corrected.write_text("row;code;Amount\n3;B;0,5\n")

    found = rerun(store, found.key, corrected)

    assert [("A", Decimal(1234)), ("B", Decimal("0.5"))] == SEEN
    assert found.batch.notations == {"amount": {"decimal": ","}}


def corrected(store: Store, found: Report, *lines: str, **settings: Any) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corrected.csv"
        path.write_text("\n".join([*lines, ""]))
        return rerun(store, found.key, path, settings=settings)


COMMA_FILE = ("code;Amount", "A;1,5", "B;x", "C;x", "D;2,5")


def test_a_plain_number_of_a_corrected_file_is_read_as_such(store: Store) -> None:
    found = run(store, AmountImporter, *COMMA_FILE)

    found = corrected(store, found, "row,Amount", "3,2.5", "4,-0.125")

    assert SEEN[2:] == [("B", Decimal("2.5")), ("C", Decimal("-0.125"))]
    assert found.batch.notations == {"amount": {"decimal": ","}}


@pytest.mark.parametrize(
    ("answer", "meant"), [(".", Decimal("1.234")), (",", Decimal(1234))]
)
def test_a_corrected_file_with_another_decimal_mark_asks_what_is_meant(
    store: Store, answer: str, meant: Decimal
) -> None:
    found = run(store, AmountImporter, *COMMA_FILE)

    found = corrected(store, found, "row,Amount", "3,1.234", "4,2.5")

    assert SEEN[2:] == [("C", Decimal("2.5"))]
    (view,) = (view for view in views.rows(store, found.key) if view.issues)
    (issue,) = view.issues
    assert (view.row, issue.code, issue.value) == (3, "ambiguous_number", "1.234")
    assert issue.message == (
        "The corrected file writes 'Amount' with a decimal point, but the batch is "
        "read with a decimal comma: this value can be read both ways. Say which it is "
        'when you run the batch again: --set "decimal.Amount=." or '
        '--set "decimal.Amount=,"'
    )
    assert issue.parameters["question"] == "decimal"

    found = rerun(store, found.key)
    assert codes(store, found) == {3: ["ambiguous_number"]}
    found = rerun(store, found.key, settings={"decimal": {"Amount": answer}})
    assert SEEN[3:] == [("B", meant)]
    assert found.tally.all_well


def test_a_doubted_value_that_comes_again_unchanged_is_doubted_still(
    store: Store,
) -> None:
    found = run(store, AmountImporter, *COMMA_FILE)
    found = corrected(store, found, "row,Amount", "3,1.234", "4,2.5")

    found = corrected(store, found, "row,Amount", "3,1.234")

    assert codes(store, found) == {3: ["ambiguous_number"]}
    found = corrected(store, found, "row,Amount", '3,"1,25"')
    assert SEEN[3:] == [("B", Decimal("1.25"))]


def test_an_answer_may_come_with_the_corrected_file(store: Store) -> None:
    found = run(store, AmountImporter, *COMMA_FILE)

    corrected(store, found, "row,Amount", "3,1.234", "4,2.5", decimal=".")

    assert SEEN[2:] == [("B", Decimal("1.234")), ("C", Decimal("2.5"))]


def test_a_corrected_file_of_the_batchs_notation_is_read_by_it(store: Store) -> None:
    found = run(store, AmountImporter, *COMMA_FILE)

    found = corrected(store, found, "row;Amount", "3;1.234", "4;2,5")

    assert SEEN[2:] == [("B", Decimal(1234)), ("C", Decimal("2.5"))]


DAYS: list[date] = []


class DayRow(BaseModel):
    """A day under a key."""

    code: Annotated[str, Column(unique=True)]
    day: date


class DayImporter(Importer[DayRow]):
    """Shows the days."""

    name = "notation-days"

    def process(self, row: DayRow, context: Context) -> str:
        DAYS.append(row.day)
        return row.code


@pytest.mark.parametrize(
    ("order", "meant"), [("dmy", [date(2024, 5, 4)]), ("mdy", [date(2024, 4, 5)])]
)
def test_a_corrected_file_with_another_order_of_dates_asks_what_is_meant(
    store: Store, order: str, meant: list[date]
) -> None:
    lines = ("code;day", "A;13.04.2024", "B;x", "C;x", "D;x")
    found = run(store, DayImporter, *lines)
    DAYS.clear()

    found = corrected(
        store, found, "row,day", "3,04/05/2024", "4,12/31/2024", "5,2024-05-04"
    )

    assert [date(2024, 5, 4)] == DAYS
    assert codes(store, found) == {3: ["ambiguous_date"], 4: ["date_parsing"]}
    rerun(store, found.key, settings={"date_order": order})
    assert DAYS[1:2] == meant


def test_what_was_said_of_an_earlier_corrected_file_is_not_said_again(
    store: Store,
) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.234", "B;7")
    assert told(found) == ["ambiguous_number"]

    found = corrected(store, found, "row;Amount;Note", "3;7;x", "2;x;y")
    asked = ["correction_of_finished_row", "correction_of_unknown_column"]
    assert told(found) == asked

    found = rerun(store, found.key)
    assert told(found) == []
    assert told(report(store, found.key)) == []


def test_the_importer_says_how_its_files_are_written(store: Store) -> None:
    found = run(store, SwissImporter, "code;Amount", "A;1.234", "B;7")

    assert [("A", Decimal(1234)), ("B", Decimal(7))] == SEEN
    assert (found.batch.notations, told(found)) == ({}, [])


def test_what_is_said_on_import_counts_more_than_the_importer(store: Store) -> None:
    run(store, SwissImporter, "code;Amount", "A;1.234", decimal=".")

    assert [("A", Decimal("1.234"))] == SEEN


def test_a_plain_file_is_told_nothing(store: Store) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1.50", "B;7")

    assert (found.batch.notations, told(found)) == ({}, [])


def test_repeated_values_are_found_however_they_are_written(store: Store) -> None:
    found = run(
        store, UniqueAmountImporter, "amount;", "1.234,50;", "1234,5;", "7;", "7,00;"
    )

    assert codes(store, found) == {
        3: ["duplicate_in_file"],
        5: ["duplicate_in_file"],
    }


def test_the_decision_is_still_there_for_who_reads_the_batch(store: Store) -> None:
    found = run(store, AmountImporter, "code;Amount", "A;1,5")

    assert report(store, found.key).batch.notations == {"amount": {"decimal": ","}}
