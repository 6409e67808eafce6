"""A rerun with a corrected file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batchfx import Report, Store, open_store, rerun
from batchfx.errors import SourceError
from batchfx.execution import views
from tests.execution.test_imports import people, run, stored, verdicts
from tests.oracle import check_batch
from tests.people import Base

CONTENT = people("A,Ann,1", "B,Ben,x", "C,boom,3", "A,Dee,4")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(f"sqlite:///{tmp_path / 'test.db'}")
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
        "corrected.csv: 1 rows (2) belong to finished rows; they were left out."
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


def test_a_corrected_file_without_a_required_column_is_refused(
    store: Store, tmp_path: Path
) -> None:
    report = run(store, people("A,Ann,1", "B,,2"))
    with pytest.raises(SourceError, match="has no column 'Age'"):
        correct(store, report, tmp_path, "row,Code,Name\n3,B,Ben\n")


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
