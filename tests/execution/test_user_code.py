"""Whatever the application's code does, it is that row's failure and no other's."""

from __future__ import annotations

import io
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import Session

from batchfx import (
    BatchfxError,
    Context,
    Importer,
    Invalid,
    Options,
    Report,
    Skip,
    Store,
    Watch,
    import_source,
    open_store,
    rerun,
)
from batchfx.errors import AlreadyImportedError
from batchfx.execution import control, views
from batchfx.execution.lease import is_alive, is_dead, new_worker
from batchfx.execution.reports import report as report_of
from batchfx.model.states import BatchState
from batchfx.store import batches, claims
from tests.execution.test_imports import people, run, stored
from tests.execution.test_imports import store as people_store
from tests.oracle import check_batch
from tests.people import PersonImporter

__all__ = ["people_store"]


class OddRow(BaseModel):
    """A row whose name says what happens to it."""

    name: str


class Unprintable(Exception):  # noqa: N818 - a fault of its own kind
    """An exception that can't be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")


ENDINGS: dict[str, Callable[[Session], object]] = {
    "commit": lambda session: session.connection().commit(),
    "COMMIT": lambda session: session.connection().exec_driver_sql("COMMIT"),
    "rollback": lambda session: session.connection().rollback(),
    "close": lambda session: session.connection().close(),
    "transaction": lambda session: session.get_transaction().commit(),  # type: ignore[union-attr]  # there is one
}


class OddImporter(Importer[OddRow]):
    """Raises what it is asked for."""

    name = "odd"

    def check_name(self, value: str) -> None:
        if value == "exit in check":
            raise SystemExit(0)
        if value == "other field":
            raise Invalid("c", "m", field="elsewhere")

    def check_row(self, row: OddRow) -> None:
        if row.name == "exit in check_row":
            raise SystemExit(7)

    def process(self, row: OddRow, context: Context) -> Any:
        raised: dict[str, BaseException] = {
            "exit": SystemExit(0),
            "generator": GeneratorExit(),
            "unprintable": Unprintable(),
            "surrogate": ValueError("\udcff"),
            "skip": Skip("\udcff"),
            "invalid": Invalid(5, None),  # type: ignore[arg-type]  # the very fault
        }
        if row.name in raised:
            raise raised[row.name]
        if row.name == "flush":
            context.session.execute(sa.text("INSERT INTO nowhere VALUES (1)"))
        if row.name in ENDINGS:
            ENDINGS[row.name](context.session)
        return "\udcff" if row.name == "id" else row.name


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(database)
    yield opened
    opened.close()


def odd(store: Store, *names: str) -> Report:
    source = io.BytesIO("\n".join(["name", *names, ""]).encode())
    report = import_source(store, OddImporter, source, name="odd.csv")
    check_batch(store, report.key)
    return report


def test_identical_rows_are_legitimate_when_no_field_is_unique(store: Store) -> None:
    report = odd(store, "same", "same", "same")

    assert report.tally.created == 3


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("exit", "failed", "SystemExit: 0 (test_user_code.py, line "),
        ("exit in check", "failed", "SystemExit: 0 (test_user_code.py, line "),
        ("exit in check_row", "failed", "SystemExit: 7 (test_user_code.py, line "),
        ("generator", "failed", "GeneratorExit (test_user_code.py, line "),
        ("unprintable", "failed", "Unprintable (test_user_code.py, line "),
        ("surrogate", "failed", "ValueError: ? (test_user_code.py, line "),
        ("invalid", "invalid", "None"),
        ("flush", "failed", ("OperationalError: ", "ProgrammingError: ")),
    ],
)
def test_an_odd_exception_is_one_rows_and_its_neighbours_go_on(
    store: Store, name: str, verdict: str, message: str | tuple[str, ...]
) -> None:
    report = odd(store, "before", name, "after")

    first, middle, last = views.rows(store, report.key)
    assert (first.verdict, last.verdict) == ("created", "created")
    assert middle.verdict == verdict
    assert middle.issues[0].message.startswith(message)


def test_the_place_of_an_error_in_the_database_is_the_applications_line(
    store: Store,
) -> None:
    report = odd(store, "flush")

    (view,) = views.rows(store, report.key)
    assert "(test_user_code.py, line " in view.issues[0].message
    assert view.issues[0].message.endswith(", in process)")


def test_reasons_and_ids_that_no_database_takes_are_kept_as_far_as_they_go(
    store: Store,
) -> None:
    report = odd(store, "skip", "id")

    skipped, made = views.rows(store, report.key)
    assert (skipped.verdict, skipped.reason) == ("skipped", "?")
    assert (made.verdict, made.record_id) == ("created", "?")


def test_a_check_that_names_another_field_shows_no_value_of_its_own(
    store: Store,
) -> None:
    report = odd(store, "other field")

    (view,) = views.rows(store, report.key)
    assert (view.issues[0].field, view.issues[0].value) == ("elsewhere", None)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize("name", ENDINGS)
def test_a_processor_that_ends_the_transaction_around_the_session_is_told(
    store: Store, name: str
) -> None:
    with pytest.raises(BatchfxError, match="A processor ended the transaction"):
        odd(store, "before", name, "after")


def test_failures_are_grouped_by_what_was_raised_and_where(store: Store) -> None:
    report = odd(store, "surrogate", "surrogate", "unprintable", "exit")

    groups = views.issue_groups(store, report.key)
    assert [(g.count, g.message.split(" ")[0].rstrip(":")) for g in groups] == [
        (2, "ValueError"),
        (1, "Unprintable"),
        (1, "SystemExit"),
    ]


def test_the_applications_own_version_of_its_database_is_left_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE app (x)")
        connection.execute("PRAGMA user_version = 7")
    connection.close()

    opened = open_store(f"sqlite:///{path}")
    odd(opened, "one")
    opened.close()

    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
    connection.close()


def test_a_worker_that_still_runs_is_alive_though_its_lease_ran_out(
    people_store: Store,
) -> None:
    report = run(people_store, people("A,Ann,1", "B,boom,2"))
    host, parent = new_worker().split("/")[0], os.getppid()
    stat = Path(f"/proc/{parent}/stat").read_text("ascii")
    began = stat.rpartition(")")[2].split()[19]
    assert is_alive(f"{host}/{parent}.{began}/x")
    assert not is_dead(f"{host}/{parent}.{began}/x")
    assert not is_alive(f"{host}/{parent}.1/x")  # the number was given again
    assert is_dead(f"{host}/{parent}.1/x")
    assert not is_alive(f"elsewhere/{parent}.{began}/x")
    rerun(people_store, report.key, detached=True)
    with people_store.write() as connection:
        claims.of_batch(
            connection, report.key, "elsewhere/1.5/x", 0.0, preparation=True
        )
    time.sleep(0.01)
    assert report_of(people_store, report.key).is_orphaned


def test_too_many_invalid_rows_stop_the_batch_before_they_cost_a_record(
    people_store: Store,
) -> None:
    rows = [f"A{n},Ann,{'x' if n % 2 else n}" for n in range(10)]
    source = io.BytesIO(people(*rows))
    report = import_source(
        people_store,
        PersonImporter,
        source,
        name="p.csv",
        options=Options(max_error_rate=0.1),
    )

    assert report.batch.state == "stopped"
    assert stored(people_store) == []
    assert (report.tally.invalid, report.tally.pending) == (5, 5)
    check_batch(people_store, report.key)


def test_a_dry_run_is_stopped_by_the_share_of_all_rows_that_were_gone_through(
    people_store: Store,
) -> None:
    rows = [f"A{n},Ann,{'x' if n == 0 else n}" for n in range(10)]
    source = io.BytesIO(people(*rows))
    options = Options(dry_run=True, max_error_rate=0.5, chunk_size=2)
    report = import_source(
        people_store, PersonImporter, source, name="p.csv", options=options
    )

    assert report.batch.state == "checked"
    assert report.tally.invalid == 1


def test_content_whose_import_ended_meanwhile_is_refused(people_store: Store) -> None:
    report = run(people_store, people("A,Ann,1", "B,boom,2"))
    running = replace(report.batch, state=BatchState.RUNNING)  # as it was seen before

    with pytest.raises(AlreadyImportedError):
        control._again(people_store, running, Options(), Watch(), detached=False)  # noqa: SLF001 - the moment can't be met from outside
    check_batch(people_store, report.key)
    with people_store.read() as connection:
        assert batches.read(connection, report.key).attempt == 1
