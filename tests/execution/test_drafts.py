"""Drafts: kept, looked at, said otherwise, and started."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from threading import Barrier
from typing import Annotated, Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel

from batchfx import (
    BatchKey,
    Column,
    Context,
    Importer,
    Options,
    Report,
    Store,
    cancel,
    open_store,
    pause,
    rerun,
)
from batchfx.errors import (
    AlreadyImportedError,
    ConflictError,
    IllegalMoveError,
    NotFoundError,
    SourceError,
    UsageError,
)
from batchfx.execution import mappings
from batchfx.execution.drafts import draft, redraft, start, view
from batchfx.model.states import BatchState
from batchfx.store import claims, events, sources
from batchfx.store.schema import BATCH, CHUNK, SOURCE
from tests.execution.test_imports import people, run, stored
from tests.oracle import check_batch
from tests.people import Base, PersonImporter

CONTENT = people("A,Ann,1", "B,Ben,x", "C,Cy,3")
ODD = b"Code;Full name;Age\nA;Ann;1\nB;Ben;2\n"


class StayRow(BaseModel):
    """A stay with a day."""

    guest: str
    day: Annotated[date, Column("Day")]


class StayImporter(Importer[StayRow]):
    """Keeps nothing."""

    name = "stays_for_drafts"

    def process(self, row: StayRow, context: Context) -> Any:
        """Say that it was kept."""
        del row, context
        return 1


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def keep(
    store: Store,
    content: bytes = CONTENT,
    importer: type[Importer[Any]] = PersonImporter,
    **more: Any,
) -> Report:
    return draft(store, importer, io.BytesIO(content), name="people.csv", **more)


def count(store: Store, table: sa.Table) -> int:
    with store.read() as connection:
        found = connection.scalar(sa.select(sa.func.count()).select_from(table))
    return found or 0


def kinds(store: Store, key: BatchKey) -> list[str]:
    with store.read() as connection:
        return [str(event.kind) for event in events.since(connection, key, 0, 100)]


def test_a_draft_keeps_the_source_and_imports_nothing(store: Store) -> None:
    report = keep(store, created_by="ann")
    batch = report.batch

    assert batch.state is BatchState.DRAFT
    assert batch.created_by == "ann"
    assert batch.digest == hashlib.sha256(CONTENT).hexdigest()
    assert report.tally.total == 0
    assert not report.is_orphaned
    assert kinds(store, report.key) == ["created"]
    assert (count(store, CHUNK), count(store, SOURCE)) == (0, 1)
    assert sources.open_source(store, report.key).read() == CONTENT
    assert stored(store) == []


def test_a_draft_shows_layout_columns_and_first_rows(store: Store) -> None:
    seen = view(store, keep(store).key)

    assert seen.layout.format == "csv"
    assert seen.layout.header == ("Code", "Name", "Age")
    assert "delimiter" in seen.layout.reasons
    assert [(f.name, f.column, f.position, f.match) for f in seen.fields] == [
        ("code", "Code", 0, "name"),
        ("name", "Name", 1, "name"),
        ("age", "Age", 2, "name"),
    ]
    assert [(row.row, row.cells) for row in seen.rows] == [
        (2, ("A", "Ann", "1")),
        (3, ("B", "Ben", "x")),
        (4, ("C", "Cy", "3")),
    ]
    assert [issue.code for row in seen.rows for issue in row.issues] == ["int_parsing"]
    assert (seen.missing, seen.unused, seen.questions) == ((), (), ())
    assert seen.imported_before is None


def test_a_draft_may_lack_columns_and_says_what_is_like_them(store: Store) -> None:
    key = keep(store, ODD).key
    seen = view(store, key)

    assert seen.missing == ("name",)
    assert seen.unused == ("Full name",)
    (name,) = [field for field in seen.fields if field.name == "name"]
    assert (name.column, name.match, name.is_required) == (None, None, True)
    with pytest.raises(SourceError) as caught:
        start(store, key)
    assert caught.value.code == "missing_column"
    assert (count(store, CHUNK), kinds(store, key)) == (0, ["created"])


def test_a_draft_whose_columns_were_said_is_started(store: Store) -> None:
    key = keep(store, ODD).key
    seen = redraft(store, key, mapping={"Full name": "name"})
    assert (seen.missing, seen.mapping) == ((), {"Full name": "name"})
    assert [field.match for field in seen.fields] == ["name", "said", "name"]

    report = start(store, key)
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]
    assert report.batch.state is BatchState.COMPLETED
    assert kinds(store, key)[:2] == ["created", "started"]
    assert dict(report.batch.given).keys() == {"notation", "columns"}
    check_batch(store, key)


def test_columns_that_could_both_be_a_field_are_candidates(store: Store) -> None:
    key = keep(store, b"CODE,cOde,Name,Age\n1,2,Ann,3\n").key
    seen = view(store, key)

    assert seen.missing == ("code",)
    assert seen.fields[0].candidates == ("CODE", "cOde")
    with pytest.raises(SourceError) as caught:
        start(store, key)
    assert caught.value.code == "duplicate_column"
    redraft(store, key, mapping={"CODE": "code"})
    assert start(store, key).tally.created == 1


def test_what_is_said_anew_takes_the_place_of_what_was_said(store: Store) -> None:
    key = keep(store, ODD, options=Options(settings={"delimiter": ","})).key
    assert view(store, key).layout.header == ("Code;Full name;Age",)
    seen = redraft(store, key, settings={"delimiter": ";"})
    assert seen.layout.header == ("Code", "Full name", "Age")
    redraft(store, key, mapping={"Full name": None})
    seen = redraft(store, key, mapping={})
    assert (seen.settings, seen.mapping) == ({"delimiter": ";"}, {})
    assert (seen.left_out, seen.unused) == ((), ("Full name",))


def test_what_can_not_be_said_changes_nothing(store: Store) -> None:
    key = keep(store).key
    before = view(store, key)
    with pytest.raises(UsageError, match="there is no field 'size'"):
        redraft(store, key, mapping={"Age": "size"})
    with pytest.raises(UsageError, match="bogus"):
        redraft(store, key, settings={"bogus": 1})
    with pytest.raises(SourceError):
        redraft(store, key, settings={"header_row": 99})
    assert replace(view(store, key), batch=before.batch) == before
    assert view(store, key).batch.given == before.batch.given


def test_a_question_about_the_file_is_asked_and_answered(store: Store) -> None:
    content = b"guest,Day\nAnn,01/02/2026\nBen,03/04/2026\n"
    key = keep(store, content, StayImporter).key
    (question,) = view(store, key).questions
    assert (question.code, question.field) == ("ambiguous_date", "day")

    seen = redraft(store, key, settings={"date_order": "dmy"})
    assert seen.questions == ()
    assert start(store, key).tally.created == 2


def test_a_draft_is_checked_then_imported(store: Store) -> None:
    key = keep(store).key
    checked = start(store, key, dry_run=True)
    assert (checked.batch.state, stored(store)) == (BatchState.CHECKED, [])
    assert checked.tally.counts()["pending"] == 2

    rerun(store, key)
    assert stored(store) == [("A", "Ann", 1), ("C", "Cy", 3)]
    check_batch(store, key)


def test_a_detached_start_waits_for_a_worker(store: Store) -> None:
    key = keep(store).key
    report = start(store, key, detached=True)
    assert (report.batch.state, report.is_queued) == (BatchState.STAGING, True)
    with store.write() as connection:
        claim = claims.of_batch(connection, key, "somebody", 60.0, preparation=True)
    assert claim is not None
    assert claim.is_preparation


def test_a_started_draft_is_none_any_more(store: Store) -> None:
    key = keep(store).key
    start(store, key, detached=True)
    for call in (view, redraft, start):
        with pytest.raises(IllegalMoveError, match="no draft any more"):
            call(store, key)
    assert kinds(store, key) == ["created", "started"]


def test_a_draft_is_cancelled_but_neither_paused_nor_run_again(store: Store) -> None:
    key = keep(store).key
    with pytest.raises(IllegalMoveError):
        pause(store, key)
    with pytest.raises(IllegalMoveError, match="has to be started first"):
        rerun(store, key)
    assert cancel(store, key).batch.state is BatchState.CANCELLED
    check_batch(store, key)
    assert count(store, SOURCE) == 0
    assert run(store, CONTENT).tally.created == 2  # as if it had never been


def test_another_tenant_s_draft_is_not_there(store: Store) -> None:
    other = BatchKey("other", keep(store).key.number)
    for call in (view, redraft, start):
        with pytest.raises(NotFoundError):
            call(store, other)


def test_content_that_was_imported_is_imported_again_only_if_that_is_said(
    store: Store,
) -> None:
    first = run(store, CONTENT)
    key = keep(store).key
    assert view(store, key).imported_before == first.key.number
    with pytest.raises(AlreadyImportedError):
        start(store, key)
    assert start(store, key, again=True).batch.state is BatchState.COMPLETED


def test_a_request_that_is_made_again_finds_its_draft(store: Store) -> None:
    first = keep(store, idempotency_key="k1")
    second = keep(store, idempotency_key="k1")
    assert second.key == first.key
    assert count(store, BATCH) == 1
    start(store, first.key)
    assert keep(store, idempotency_key="k1").batch.state is BatchState.COMPLETED
    other = keep(store, idempotency_key="k1", options=Options(tenant="other"))
    assert other.key != first.key


def test_a_request_s_key_is_for_one_content(store: Store) -> None:
    keep(store, idempotency_key="k1")
    with pytest.raises(ConflictError, match=r"^The idempotency key 'k1' was used"):
        keep(store, people("Z,Zoe,9"), idempotency_key="k1")
    with pytest.raises(ConflictError):
        keep(store, importer=AnyPerson, idempotency_key="k1")
    assert (count(store, BATCH), count(store, SOURCE)) == (1, 1)


class AnyPerson(PersonImporter):
    """The same under another name."""

    name = "people_for_drafts"


def test_of_two_equal_requests_at_once_one_makes_the_draft(store: Store) -> None:
    gate = Barrier(4)

    def ask(_: int) -> int:
        gate.wait()
        return keep(store, idempotency_key="k1").key.number

    with ThreadPoolExecutor(4) as pool:
        numbers = set(pool.map(ask, range(4)))
    assert len(numbers) == 1
    assert count(store, BATCH) == 1


def test_of_two_starts_at_once_one_begins(store: Store) -> None:
    key = keep(store).key
    gate = Barrier(2)

    def begin(_: int) -> str:
        gate.wait()
        try:
            return str(start(store, key, detached=True).batch.state)
        except (IllegalMoveError, ConflictError):
            return "told"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(begin, range(2))) == ["staging", "told"]
    assert count(store, CHUNK) == 1


def test_what_can_not_be_read_is_not_kept(store: Store) -> None:
    for content in (b"", b"Code,Name,Age\n"):
        with pytest.raises(SourceError):
            keep(store, content)
    with pytest.raises(UsageError):
        keep(store, options=Options(mapping={"Nope": "age"}))
    assert (count(store, BATCH), count(store, SOURCE)) == (0, 0)


def test_a_draft_remembers_the_mapping_that_is_to_be_saved(store: Store) -> None:
    options = Options(mapping={"Full name": "name"}, save_mapping="odd")
    key = keep(store, ODD, options=options).key
    assert mappings.listing(store, "default") == []
    start(store, key)
    (saved,) = mappings.listing(store, "default")
    assert (saved.name, saved.content["columns"]["Full name"]) == ("odd", "name")

    other = keep(store, ODD + b"C;Cy;3\n", options=Options(saved_mapping="odd")).key
    assert [field.match for field in view(store, other).fields] == ["saved"] * 3
    assert start(store, other).batch.saved_mapping == {"name": "odd", "version": 1}


def test_what_is_odd_of_the_file_is_told_once_it_is_started(store: Store) -> None:
    key = keep(store, b"Code,Name,Age,Shoe\nA,Ann,1,x\n").key
    told = [issue.code for issue in view(store, key).warnings]
    assert told
    report = start(store, key)
    assert [issue.code for issue in report.file_issues] == told


def test_a_digest_that_was_computed_on_the_way_is_taken(store: Store) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert keep(store, digest=digest).batch.digest == digest
