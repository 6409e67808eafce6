"""A rerun with a corrected file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel

from batchfx import (
    Column,
    Context,
    Importer,
    Report,
    Store,
    import_source,
    open_store,
    rerun,
)
from batchfx.errors import SourceError, UsageError
from batchfx.execution import views
from batchfx.execution.corrections import CODES
from batchfx.execution.downloads import faulty_rows
from tests.execution.test_imports import people, run, stored, verdicts
from tests.oracle import check_batch
from tests.people import Base

CASES = Path(__file__).parents[1] / "cases" / "files"
CONTENT = people("A,Ann,1", "B,Ben,x", "C,boom,3", "A,Dee,4")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def correct(store: Store, report: Report, folder: Path, text: str) -> Report:
    path = folder / "corrected.csv"
    path.write_text(text)
    return rerun(store, report.key, path)


@pytest.mark.parametrize("chunk_size", [1, 3, 100])
def test_rows_named_by_number_take_the_corrected_values(
    store: Store, tmp_path: Path, chunk_size: int
) -> None:
    report = run(store, CONTENT, chunk_size=chunk_size)
    again = correct(
        store,
        report,
        tmp_path,
        "row,Code,Name,Age\n3,B,Ben,2\n4,C,Cy,3\n5,D,Dee,4\n",
    )

    assert again.tally.created == 4
    assert again.tally.all_well
    assert stored(store) == [
        ("A", "Ann", 1),
        ("B", "Ben", 2),
        ("C", "Cy", 3),
        ("D", "Dee", 4),
    ]
    check_batch(store, report.key)


def test_a_terminal_row_is_left_alone_and_that_is_said(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, CONTENT)
    again = correct(
        store, report, tmp_path, "row,Code,Name,Age\n2,A,Changed,99\n3,B,Ben,2\n"
    )

    assert ("A", "Ann", 1) in stored(store)
    assert again.tally.created == 2
    (warning,) = again.file_issues
    assert warning.code == "correction_of_finished_row"
    assert warning.message == (
        "corrected.csv: 1 row (2) belongs to a finished row; it was left out."
    )


def test_rows_are_matched_by_the_unique_field_without_a_row_column(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, CONTENT)
    again = correct(
        store, report, tmp_path, "Code,Name,Age\nB,Ben,2\nC,Cy,3\nA,Other,1\nZ,New,1\n"
    )

    assert verdicts(store, report.key) == {
        2: "created",
        3: "created",
        4: "created",
        5: "invalid",
    }
    assert {issue.code for issue in again.file_issues} == {
        "correction_of_finished_row",
        "correction_of_unknown_row",
    }


def test_a_column_that_the_corrected_file_has_not_keeps_its_values(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann,1", "B,,2", "C,Cy,x"))
    again = correct(store, report, tmp_path, "row,Name\n3,Ben\n")

    assert again.file_issues == ()
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]
    again = correct(store, report, tmp_path, "Age,Code\n3,C\n")
    assert stored(store)[2] == ("C", "Cy", 3)


def test_a_corrected_file_without_any_of_the_columns_is_refused(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, CONTENT)
    with pytest.raises(
        SourceError,
        match=r"corrected.csv has no column of batch 1\. It has: 'row', 'Town'; the "
        r"batch has: 'Code', 'Name', 'Age'\.",
    ):
        correct(store, report, tmp_path, "row,Town\n3,Rome\n")


def test_columns_that_correct_nothing_are_told(store: Store, tmp_path: Path) -> None:
    report = run(store, CONTENT)
    again = correct(
        store, report, tmp_path, "row,Age,Town,Error,Shoe\n3,2,Rome,age: bad,44\n"
    )

    (warning,) = again.file_issues
    assert warning.code == "correction_of_unknown_column"
    assert warning.message == (
        "corrected.csv: 'Town', 'Shoe' correct nothing, the batch has no such field; "
        "they were left out."
    )
    assert ("B", "Ben", 2) in stored(store)


def test_the_guards_of_a_file_of_faulty_rows_are_taken_off(
    store: Store, tmp_path: Path
) -> None:
    report = run(
        store, people("A,+44 20 7946,-x", "B,=SUM(A1),x", "C,'+1,x", "D,@home,x")
    )
    corrected = (
        "\ufeffCode,Name,Age,Error\n"
        "A,'+44 20 7946,1,age: no number\n"
        "B,'=SUM(B1),2,age: no number\n"
        "C,'+1,3,age: no number\n"
        "D,'0044,4,age: no number\n"
    )
    again = correct(store, report, tmp_path, corrected)

    assert again.file_issues == ()
    assert [name for _, name, _ in stored(store)] == [
        "+44 20 7946",
        "=SUM(B1)",
        "'+1",  # as it was in the file
        "'0044",  # not guarded: a digit needs no guard
    ]


class ContactRow(BaseModel):
    """A contact with an account."""

    name: Annotated[str, Column(unique=True)]
    phone: str
    balance: Decimal
    note: str


class ContactImporter(Importer[ContactRow]):
    """Keeps nothing."""

    name = "correction-contacts"

    def process(self, row: ContactRow, context: Context) -> str:
        """Return what was read."""
        return json.dumps([row.name, row.phone, str(row.balance), row.note])


def test_the_file_of_faulty_rows_that_was_handed_out_is_taken_back(
    store: Store,
) -> None:
    lines = "name,phone,balance,note", "Ann,?,x,?", "Ben,?,x,?", "Cy,'0044123,x,?", ""
    report = import_source(
        store, ContactImporter, io.BytesIO("\n".join(lines).encode()), name="a.csv"
    )
    again = rerun(store, report.key, CASES / "app_failed_rows_reupload.csv")

    right = json.loads(
        (CASES / "app_failed_rows_reupload.expected.json").read_text("utf-8")
    )
    found = [json.loads(v.record_id or "") for v in views.rows(store, report.key)]
    assert found == right["rows"]
    assert again.tally.all_well


def test_a_guarded_number_is_a_number_again(store: Store, tmp_path: Path) -> None:
    report = run(store, people("A,Ann,x"))
    again = correct(store, report, tmp_path, "row,Age\n2,'+31\n")

    assert again.tally.created == 1
    assert stored(store) == [("A", "Ann", 31)]


def test_a_guarded_key_names_its_row(store: Store, tmp_path: Path) -> None:
    report = run(store, people("-A,Ann,x", "'-B,Ben,x"))
    correct(store, report, tmp_path, "Code,Age\n'-A,1\n'-B,2\n")

    assert stored(store) == [("'-B", "Ben", 2), ("-A", "Ann", 1)]


def test_a_ragged_record_is_mended_by_one_that_has_every_field(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann", "B,Ben,2"))
    again = correct(store, report, tmp_path, "row,Name\n2,Ann\n")
    assert again.tally.invalid == 1
    again = correct(store, report, tmp_path, "row,Name,Code,Age\n2,Ann,A,1\n")

    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]
    assert again.tally.all_well


def test_a_corrected_file_may_be_laid_out_as_is_said(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, CONTENT)
    path = tmp_path / "corrected.csv"
    path.write_text("row|Age\n3|2\n")
    rerun(store, report.key, path, settings={"delimiter": "|"})

    assert ("B", "Ben", 2) in stored(store)


def test_a_layout_without_a_corrected_file_is_refused(store: Store) -> None:
    report = run(store, CONTENT)
    with pytest.raises(
        UsageError, match="delimiter can't be said now: the file of batch 1 was looked"
    ):
        rerun(store, report.key, settings={"delimiter": "|"})


def test_values_as_corrected_are_shown(store: Store, tmp_path: Path) -> None:
    report = run(store, CONTENT)
    correct(store, report, tmp_path, "row,Code,Name,Age\n3,B,Ben,still wrong\n")

    (view,) = [v for v in views.rows(store, report.key) if v.row == 3]
    assert view.values == {"Code": "B", "Name": "Ben", "Age": "still wrong"}
    assert view.verdict == "invalid"


def test_a_file_that_corrects_nothing_is_refused(store: Store, tmp_path: Path) -> None:
    report = run(store, CONTENT)
    with pytest.raises(SourceError, match="corrects no row of batch 1"):
        correct(store, report, tmp_path, "row,Code,Name,Age\n77,B,Ben,1\n")


def test_a_corrected_row_may_not_take_a_finished_rows_value(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("B,Ben,x", "A,Ann,1"))
    again = correct(store, report, tmp_path, "row,Code,Name,Age\n2,A,Ben,1\n")

    assert verdicts(store, again.key) == {2: "invalid", 3: "created"}
    (view,) = views.rows(store, again.key, "invalid")
    assert view.issues[0].parameters["first_row"] == 3


def test_a_file_that_corrects_nothing_by_its_key_is_refused(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, CONTENT)
    with pytest.raises(SourceError, match=r"matched by its column 'Code'\."):
        correct(store, report, tmp_path, "Code,Age\nZ,1\n")


def test_a_file_that_names_no_rows_is_told_how_to(store: Store, tmp_path: Path) -> None:
    report = run(store, CONTENT)
    with pytest.raises(UsageError, match="Give it a column 'row' with their numbers"):
        correct(store, report, tmp_path, "Name,Age\nBen,1\n")


def test_full_width_signs_are_guarded_and_come_back_as_they_were(
    store: Store, tmp_path: Path
) -> None:
    names = ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff201"]
    report = run(store, people(*(f"{name[0]}{name},{name},x" for name in names)))
    path = tmp_path / "faulty.csv"
    path.write_bytes(b"".join(faulty_rows(store, report.key, "csv")))
    text = path.read_text("utf-8-sig")
    assert all(f'"\'{name}"' in text for name in names)

    path.write_text(text.replace('"x"', '"5"'), "utf-8")
    again = rerun(store, report.key, path)

    assert again.file_issues == ()
    assert sorted(name for _, name, _ in stored(store)) == sorted(names)


@pytest.mark.parametrize("written", ["3", " 3 ", "3.0", "3,00", "003"])
def test_a_spreadsheets_way_to_write_a_rows_number_names_it(
    store: Store, tmp_path: Path, written: str
) -> None:
    report = run(store, CONTENT)
    again = correct(store, report, tmp_path, f'row,Age\n"{written}",2\n')

    assert again.file_issues == ()
    assert ("B", "Ben", 2) in stored(store)


@pytest.mark.parametrize("written", ["3.5", "-3", str(2**31), "9" * 5_000, "x"])
def test_what_is_no_number_of_a_row_is_told(
    store: Store, tmp_path: Path, written: str
) -> None:
    report = run(store, CONTENT)
    again = correct(store, report, tmp_path, f"row,Age\n3,2\n{written},7\n")

    (warning,) = again.file_issues
    assert warning.code == "correction_of_unknown_row"
    assert warning.message == (
        "corrected.csv: 1 row (3) belongs to no row of the batch; it was left out."
    )


def test_a_column_that_the_batch_has_itself_is_no_surprise(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, b"Code,Name,Age,Remark,,Note\nA,Ann,x,hello,a,b\n")
    path = tmp_path / "faulty.csv"
    text = b"".join(faulty_rows(store, report.key, "csv")).decode("utf-8-sig")
    path.write_text(text.replace('"x"', '"5"'), "utf-8")

    again = rerun(store, report.key, path)

    assert [each.code for each in again.file_issues if each.code in CODES] == []
    assert again.tally.created == 1


def test_notes_of_earlier_corrections_do_not_pile_up(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann,1", "B,Ben,x"))
    for column in ("Shoe", "Hat", "Coat"):
        report = correct(store, report, tmp_path, f"row,Age,{column}\n3,2,1\n")
        told = [each.message for each in report.file_issues if each.code in CODES]
        assert told[-1] == (
            f"corrected.csv: '{column}' corrects nothing, the batch has no such "
            "field; it was left out."
        )
        assert len(told) == (1 if column == "Shoe" else 2)  # its row is finished then
    assert report.tally.all_well


def test_news_of_a_check_are_checked_and_not_imported(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann,1", "B,Ben,x", "C,Cy,y"), dry_run=True)
    again = correct(store, report, tmp_path, "row,Age\n3,2\n")
    assert (again.batch.state, again.batch.dry_run) == ("checked", True)
    assert (again.tally.pending, again.tally.invalid) == (2, 1)
    again = rerun(store, report.key, settings={"null_tokens": ["y"]})
    assert again.batch.state == "checked"
    assert stored(store) == []

    again = rerun(store, report.key)

    assert (again.batch.state, again.batch.dry_run) == ("completed", False)
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]
    again = correct(store, report, tmp_path, "row,Age\n4,3\n")
    assert again.tally.created == 3
    check_batch(store, report.key)


def test_a_correction_may_be_imported_at_once_where_that_is_said(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann,1", "B,Ben,x"), dry_run=True)
    path = tmp_path / "corrected.csv"
    path.write_text("row,Age\n3,2\n")
    assert rerun(store, report.key, path, dry_run=False).tally.created == 2
