"""An import from the file to the outcomes, on a real database."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from batchfx import (
    BatchKey,
    Options,
    Progress,
    Report,
    Store,
    Verdict,
    Watch,
    import_source,
    open_store,
    rerun,
)
from batchfx.errors import AlreadyImportedError, IllegalMoveError, SourceError
from batchfx.execution import views
from batchfx.execution.reports import listing
from batchfx.store import claims
from tests.oracle import check_batch
from tests.people import Base, Person, PersonImporter


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def people(*rows: str) -> bytes:
    return "\n".join(["Code,Name,Age", *rows, ""]).encode()


def run(
    store: Store, content: bytes, watch: Watch | None = None, **options: object
) -> Report:
    return import_source(
        store,
        PersonImporter,
        io.BytesIO(content),
        name="people.csv",
        options=Options(**options),  # type: ignore[arg-type]  # the tests name them
        watch=watch,
    )


def stored(store: Store) -> list[tuple[str, str, int]]:
    with store.read() as connection:
        found = connection.execute(
            sa.select(Person.code, Person.name, Person.age).order_by(Person.code)
        )
        return [(code, name, age) for code, name, age in found]


def verdicts(store: Store, key: BatchKey) -> dict[int, str]:
    return {view.row: view.verdict for view in views.rows(store, key)}


def codes(store: Store, key: BatchKey) -> dict[int, list[str]]:
    return {
        view.row: [issue.code for issue in view.issues]
        for view in views.rows(store, key)
        if view.issues
    }


MIXED = people(
    "A1,Ann,31",
    "A2,boom,44",
    "A3,Cy,200",
    "X4,Dee,5",
    "A5,Boss,7",
    "A6,skip,1",
    "A7,nothing,1",
    "A1,Again,2",
    "A9,Ida,9",
    ",A very long name indeed,-1",
)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 1000])
def test_every_row_gets_the_verdict_that_is_its_own(
    store: Store, chunk_size: int
) -> None:
    report = run(store, MIXED, chunk_size=chunk_size)

    assert verdicts(store, report.key) == {
        2: "created",
        3: "failed",
        4: "invalid",
        5: "invalid",
        6: "invalid",
        7: "skipped",
        8: "failed",
        9: "invalid",
        10: "created",
        11: "invalid",
    }
    assert codes(store, report.key) == {
        3: ["exception"],
        4: ["less_than_equal"],
        5: ["reserved_code"],
        6: ["child_boss"],
        8: ["broken_contract"],
        9: ["duplicate_in_file"],
        11: ["missing", "string_too_long", "greater_than_equal"],
    }
    assert stored(store) == [("A1", "Ann", 31), ("A9", "Ida", 9)]
    assert report.batch.state == "completed"
    assert report.tally.counts() == {
        "created": 2,
        "updated": 0,
        "unchanged": 0,
        "skipped": 1,
        "invalid": 5,
        "failed": 2,
        "unknown": 0,
        "pending": 0,
    }
    check_batch(store, report.key)


def test_a_failure_names_the_error_and_its_place_and_keeps_the_traceback(
    store: Store,
) -> None:
    report = run(store, people("A2,boom,44"))

    (view,) = views.rows(store, report.key)
    (issue,) = view.issues
    assert issue.message.startswith("ZeroDivisionError: A2 (people.py, line ")
    assert issue.message.endswith(", in process)")
    assert issue.detail is not None
    assert "Traceback (most recent call last)" in issue.detail


def test_a_processor_that_returns_nothing_is_told_to_return_an_id(store: Store) -> None:
    report = run(store, people("A7,nothing,1"))

    (view,) = views.rows(store, report.key)
    assert view.issues[0].message.startswith(
        "process returned nothing: return the record"
    )


def test_updated_and_unchanged_records_are_told_apart(store: Store) -> None:
    run(store, people("A,Ann,1", "B,Ben,2"))
    report = run(store, people("A,Ann,1", "B,Ben,3", "C,Cy,4"))

    assert list(verdicts(store, report.key).values()) == [
        "unchanged",
        "updated",
        "created",
    ]
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 3), ("C", "Cy", 4)]


def test_a_later_duplicate_names_the_row_that_has_the_value_first(store: Store) -> None:
    report = run(store, people("A,Ann,1", "B,Ben,2", "A,Cy,3"), chunk_size=1)

    *_, last = views.rows(store, report.key)
    (issue,) = last.issues
    assert (issue.field, issue.parameters["first_row"]) == ("code", 2)
    assert issue.message == "Row 2 has this Code already; each may be in the file once."


def test_the_same_content_is_refused_with_the_first_batch_unless_again(
    store: Store,
) -> None:
    first = run(store, people("A,Ann,1"))

    with pytest.raises(
        AlreadyImportedError, match=f"batch {first.key.number}"
    ) as caught:
        run(store, people("A,Ann,1"))
    assert caught.value.batch == first.key.number

    again = run(store, people("A,Ann,1"), again=True)
    assert again.key.number == first.key.number + 1
    assert again.tally.unchanged == 1


def test_another_tenant_may_import_the_same_content(store: Store) -> None:
    run(store, people("A,Ann,1"), tenant="one")
    report = run(store, people("A,Ann,1"), tenant="two")

    assert report.tally.unchanged == 1
    assert report.key.tenant == "two"


def test_a_dry_run_finds_every_issue_and_writes_no_record(store: Store) -> None:
    report = run(store, MIXED, dry_run=True)

    assert report.batch.state == "checked"
    assert stored(store) == []
    assert report.tally.invalid == 5
    assert report.tally.pending == 5
    check_batch(store, report.key)


def test_a_real_run_after_a_dry_run_imports_the_same_rows(store: Store) -> None:
    run(store, people("A,Ann,1"), dry_run=True)
    report = run(store, people("A,Ann,1"))

    assert report.tally.created == 1


def test_a_dry_run_can_be_carried_out_by_a_rerun(store: Store) -> None:
    checked = run(store, MIXED, dry_run=True)
    report = rerun(store, checked.key)

    assert report.batch.state == "completed"
    assert report.tally.created == 2
    assert report.batch.attempt == 2


def test_too_many_faulty_rows_stop_the_batch_cleanly(store: Store) -> None:
    rows = [f"A{n},{'Ann' if n < 4 else 'boom'},1" for n in range(10)]
    report = run(store, people(*rows), chunk_size=2, max_error_rate=0.25)

    assert report.batch.state == "stopped"
    assert report.tally.created == 4
    assert report.tally.failed == 2
    assert report.tally.pending == 4
    assert report.batch.reason == (
        "2 of the first 6 rows are faulty (33.3%), "
        "more than the 25.0% that was allowed."
    )
    check_batch(store, report.key)


def test_a_stopped_batch_is_gone_on_with_by_a_rerun(store: Store) -> None:
    rows = [f"A{n},{'Ann' if n < 4 else 'boom'},1" for n in range(10)]
    stopped = run(store, people(*rows), chunk_size=2, max_error_rate=0.25)
    report = rerun(store, stopped.key)

    assert report.batch.state == "completed"
    assert (report.tally.created, report.tally.failed) == (4, 6)
    check_batch(store, report.key)


def test_an_interruption_stops_between_chunks_and_keeps_what_is_done(
    store: Store,
) -> None:
    seen: list[Progress] = []
    rows = [f"A{n},Ann,1" for n in range(10)]
    answers = iter([False] * 7 + [True] * 100)  # 5 chunks are staged, then two are run
    report = run(
        store,
        people(*rows),
        Watch(seen.append, lambda: next(answers)),
        chunk_size=2,
    )

    assert report.batch.state == "stopped"
    assert (report.tally.created, report.tally.pending) == (4, 6)
    assert seen[-1].share == 0.4
    check_batch(store, report.key)

    resumed = run(store, people(*rows))
    assert resumed.key == report.key
    assert resumed.tally.created == 10
    check_batch(store, report.key)


def test_an_interruption_while_staging_is_gone_on_with(store: Store) -> None:
    rows = [f"A{n},Ann,1" for n in range(10)]
    answers = iter([False, True])
    report = run(
        store, people(*rows), Watch(is_interrupted=lambda: next(answers)), chunk_size=2
    )

    assert report.batch.state == "stopped"
    assert report.tally.total == 4

    resumed = rerun(store, report.key)
    assert resumed.batch.state == "completed"
    assert resumed.tally.created == 10
    assert list(verdicts(store, report.key)) == list(range(2, 12))
    check_batch(store, report.key)


def test_progress_never_goes_back_and_ends_at_all_rows(store: Store) -> None:
    seen: list[Progress] = []
    rows = [f"A{n},Ann,1" for n in range(10)]
    run(store, people(*rows), Watch(seen.append), chunk_size=2)

    counted = [each for each in seen if each.is_counted]
    shares = [each.share for each in counted]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert counted[-1].tally.total == 10
    assert counted[-1].state == "completed"


def test_a_batch_that_another_process_holds_is_refused(store: Store) -> None:
    report = run(store, people("A,Ann,1", "B,boom,2"))
    again = rerun(store, report.key, detached=True)
    assert again.is_waiting
    with store.write() as connection:
        claims.of_batch(connection, report.key, "elsewhere", 30.0, preparation=True)

    with pytest.raises(IllegalMoveError, match="is being worked on by"):
        rerun(store, report.key)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"Code,Name,Age\n", "no_rows"),
        (b"Code,Name\nA,Ann\n", "missing_column"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "unsupported_format"),
    ],
)
def test_what_can_not_be_imported_is_refused_and_nothing_is_written(
    store: Store, content: bytes, code: str
) -> None:
    with pytest.raises(SourceError) as caught:
        run(store, content)

    assert caught.value.code == code
    assert listing(store, "default", 10) == []


def test_terminal_rows_are_not_processed_again_by_a_rerun(store: Store) -> None:
    report = run(store, MIXED)
    with store.write() as connection:
        connection.execute(sa.update(Person).values(name="changed since"))

    again = rerun(store, report.key)

    assert again.batch.attempt == 2
    assert again.tally == report.tally
    assert stored(store) == [("A1", "changed since", 31), ("A9", "changed since", 9)]
    attempts = {v.row: v.attempt for v in views.rows(store, report.key)}
    assert attempts[2] == 1
    assert attempts[3] == 2
    check_batch(store, report.key)


def test_a_rerun_of_a_finished_batch_has_nothing_to_do(store: Store) -> None:
    report = run(store, people("A,Ann,1"))
    again = rerun(store, report.key)

    assert again.batch.attempt == 1
    assert again.tally == report.tally


def test_outcomes_are_counted_by_verdict_in_every_state(store: Store) -> None:
    report = run(store, MIXED)
    for verdict in Verdict:
        listed = list(views.rows(store, report.key, verdict.value))
        assert len(listed) == report.tally.count(verdict)
