"""Rows that a person edits, fixes, excludes and approves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa

from batchfx import (
    BatchKey,
    Store,
    Watch,
    cancel,
    import_source,
    open_store,
    pause,
    report,
    rerun,
    resume,
)
from batchfx.errors import (
    ConflictError,
    IllegalMoveError,
    NotFoundError,
    UsageError,
)
from batchfx.execution import browse, edits, views
from batchfx.execution.views import RowView
from batchfx.model.revisions import Action
from batchfx.model.states import BatchState
from batchfx.store import claims, events, outcomes, units
from batchfx.store.schema import BATCH, CHUNK, REVISION
from importers.models import Base as ShopBase
from importers.shop import CategoryImporter
from tests.execution.test_imports import people, run, stored, verdicts
from tests.oracle import check_batch
from tests.people import Base

CONTENT = people("A,Ann,1", "B,Ben,x", "C,Cy,3", "A,Dee,4")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def edit(
    store: Store, key: BatchKey, row: int, version: int = 0, **values: str | None
) -> RowView:
    return edits.edit(store, key, row, values, version=version, who="ann")


def codes(view: RowView) -> list[tuple[str, str]]:
    return sorted((str(issue.field), issue.code) for issue in view.issues)


def kinds(store: Store, key: BatchKey) -> list[str]:
    with store.read() as connection:
        return [str(event.kind) for event in events.since(connection, key, 0, 100)]


def state(store: Store, key: BatchKey) -> BatchState:
    return report(store, key).batch.state


def test_a_row_that_an_edit_makes_sound_waits_for_the_rerun_that_imports_it(
    store: Store,
) -> None:
    key = run(store, CONTENT, chunk_size=2).key
    view = edit(store, key, 3, age="2")

    assert (view.verdict, view.version, view.issues) == ("pending", 1, ())
    assert view.values == {"Code": "B", "Name": "Ben", "Age": "2"}
    assert report(store, key).tally.counts()["pending"] == 1
    assert state(store, key) is BatchState.CHECKED
    assert kinds(store, key)[-3:] == ["completed", "edited", "checked"]
    check_batch(store, key)

    again = rerun(store, key)
    assert verdicts(store, key)[3] == "created"
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2), ("C", "Cy", 3)]
    assert again.batch.state is BatchState.COMPLETED
    check_batch(store, key)


def test_an_edited_row_that_is_still_wrong_has_the_issues_that_it_has_now(
    store: Store,
) -> None:
    key = run(store, CONTENT).key
    view = edit(store, key, 3, age="200", code="Xa")

    assert view.verdict == "invalid"
    assert codes(view) == [("age", "less_than_equal"), ("code", "reserved_code")]
    assert [issue.value for issue in view.issues if issue.field == "age"] == ["200"]
    assert state(store, key) is BatchState.COMPLETED
    check_batch(store, key)


def test_the_rules_that_see_the_whole_row_see_the_edit(store: Store) -> None:
    key = run(store, CONTENT).key
    assert codes(edit(store, key, 3, age="2", name="Boss")) == [("age", "child_boss")]
    check_batch(store, key)


def test_a_completed_batch_whose_edited_row_is_spoiled_again_is_complete(
    store: Store,
) -> None:
    key = run(store, CONTENT).key
    edit(store, key, 3, age="2")
    edit(store, key, 3, 1, age="y")

    assert state(store, key) is BatchState.COMPLETED
    assert report(store, key).tally.counts()["pending"] == 0
    check_batch(store, key)


def test_an_edit_is_kept_with_who_when_before_and_after(store: Store) -> None:
    key = run(store, CONTENT).key
    edit(store, key, 3, age="200")
    edits.edit(store, key, 3, {"Age": "2", "name": None}, version=1, who="bob")

    told = browse.history(store, key, 3)
    assert told.as_read == {"Code": "B", "Name": "Ben", "Age": "x"}
    assert [(r.version, r.action, r.who) for r in told.revisions] == [
        (1, Action.EDITED, "ann"),
        (2, Action.EDITED, "bob"),
    ]
    assert told.revisions[0].changes == {"Age": ("x", "200")}
    assert told.revisions[1].changes == {"Name": ("Ben", None), "Age": ("200", "2")}
    assert told.revisions[0].at <= told.revisions[1].at
    assert codes(told.row) == [("name", "missing")]


def test_the_later_of_two_editors_is_told_and_overwrites_nothing(store: Store) -> None:
    key = run(store, CONTENT).key
    edit(store, key, 3, age="2")
    with pytest.raises(ConflictError) as caught:
        edits.edit(store, key, 3, {"age": "3"}, version=0, who="bob")

    assert str(caught.value) == (
        "Row 3 of batch 1 was changed meanwhile by ann (it is at version 1, not 0). "
        "Nothing was overwritten: look at it again, then edit it."
    )
    assert views.row_view(store, key, 3).values["Age"] == "2"
    check_batch(store, key)


def test_of_two_editors_at_the_same_moment_one_is_told(store: Store) -> None:
    key = run(store, CONTENT).key
    start = Barrier(2)

    def write(age: str) -> str:
        start.wait()
        try:
            return str(edit(store, key, 3, age=age).values["Age"])
        except ConflictError:
            return "told"

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(write, ["5", "6"]))

    assert sorted(ends)[1] == "told"
    assert views.row_view(store, key, 3).values["Age"] == min(ends)
    assert browse.history(store, key, 3).row.version == 1
    check_batch(store, key)


def test_an_edit_that_changes_nothing_is_no_version(store: Store) -> None:
    key = run(store, CONTENT).key
    assert edit(store, key, 3, age="x").version == 0
    assert "edited" not in kinds(store, key)


def test_a_finished_row_is_not_edited(store: Store) -> None:
    key = run(store, CONTENT).key
    with pytest.raises(IllegalMoveError, match=r"^Row 2 of batch 1 is finished"):
        edit(store, key, 2, age="2")
    assert browse.history(store, key, 2).revisions == ()


def test_what_is_not_there_is_not_edited(store: Store) -> None:
    key = run(store, CONTENT).key
    with pytest.raises(NotFoundError, match=r"^Batch 1 has no row 99\.$"):
        edit(store, key, 99, age="2")
    with pytest.raises(NotFoundError, match=r"^Tenant 'other' has no batch 1"):
        edit(store, BatchKey("other", 1), 3, age="2")
    with pytest.raises(UsageError, match="there is no field 'size'"):
        edit(store, key, 3, size="2")
    with pytest.raises(UsageError, match="at least one field"):
        edit(store, key, 3)


def test_a_row_is_not_edited_while_a_worker_is_at_it(store: Store) -> None:
    key = run(store, CONTENT, chunk_size=2, max_error_rate=0.0).key
    assert state(store, key) is BatchState.STOPPED
    with store.write() as connection:
        connection.execute(
            sa.update(BATCH).values(state="running", ended_at=None)
        )  # as a rerun by workers has it, its preparation done
        connection.execute(
            sa.update(CHUNK).where(CHUNK.c.state == "held").values(state="queued")
        )
        units.queue(connection, key)
        claim = claims.of_batch(connection, key, "somebody", 60.0)
    assert claim is not None
    with pytest.raises(IllegalMoveError, match=r"^Row 4 of batch 1 is being worked on"):
        edit(store, key, claim.first_row, age="2")


def test_a_value_that_another_row_has_is_refused_at_once(store: Store) -> None:
    key = run(store, CONTENT, chunk_size=1).key
    view = edit(store, key, 3, age="2", code="C")

    assert codes(view) == [("code", "duplicate_in_file")]
    assert view.issues[0].parameters == {"first_row": 4, "fields": ["code"]}
    check_batch(store, key)


def test_a_later_row_is_freed_by_the_edit_of_the_row_that_it_repeats(
    store: Store,
) -> None:
    content = people("A,Ann,x", "A,Ben,2", "A,Cy,3")
    key = run(store, content, chunk_size=1).key
    assert codes(views.row_view(store, key, 4)) == [("code", "duplicate_in_file")]
    edit(store, key, 2, code="B", age="1")

    after = [views.row_view(store, key, row) for row in (2, 3, 4)]
    assert [view.verdict for view in after] == ["pending", "pending", "invalid"]
    assert after[2].issues[0].parameters["first_row"] == 3
    check_batch(store, key)
    rerun(store, key)
    assert verdicts(store, key) == {2: "created", 3: "created", 4: "invalid"}
    assert views.row_view(store, key, 4).issues[0].parameters["first_row"] == 3


def test_an_edit_of_an_earlier_row_takes_a_value_from_a_later_one(store: Store) -> None:
    key = run(store, people("A,Ann,x", "B,Ben,y"), chunk_size=1).key
    edit(store, key, 2, code="B")

    assert codes(views.row_view(store, key, 2)) == [("age", "int_parsing")]
    assert codes(views.row_view(store, key, 3)) == [
        ("age", "int_parsing"),
        ("code", "duplicate_in_file"),
    ]
    check_batch(store, key)


def test_a_checked_batch_is_edited_before_anything_is_written(store: Store) -> None:
    key = run(store, CONTENT, dry_run=True, chunk_size=1).key
    edit(store, key, 2, name="Anna")
    edit(store, key, 5, code="D")
    edit(store, key, 3, age="2")

    assert stored(store) == []
    assert report(store, key).tally.counts()["pending"] == 4
    assert kinds(store, key)[-2:] == ["edited", "checked"]
    check_batch(store, key)
    rerun(store, key)
    assert stored(store)[0] == ("A", "Anna", 1)
    assert len(stored(store)) == 4


def test_rows_of_a_paused_batch_that_were_done_are_run_when_it_goes_on(
    store: Store,
) -> None:
    key = stopped_and_running(store)
    pause(store, key)
    edit(store, key, 3, age="2")
    with store.read() as connection:
        states = connection.execute(
            sa.select(CHUNK.c.ordinal, CHUNK.c.state).order_by(CHUNK.c.ordinal)
        ).all()
    assert dict(states[1:]) == {0: "held", 1: "held"}
    resume(store, key)
    told = [kind for kind in kinds(store, key) if kind != "progressed"]
    assert told[-3:] == ["paused", "edited", "resumed"]


def test_rows_of_a_running_batch_that_were_done_wait_for_a_worker_again(
    store: Store,
) -> None:
    key = stopped_and_running(store)
    edit(store, key, 3, age="2")
    with store.read() as connection:
        states = connection.execute(
            sa.select(CHUNK.c.ordinal, CHUNK.c.state).order_by(CHUNK.c.ordinal)
        ).all()
    assert dict(states[1:]) == {0: "queued", 1: "queued"}
    assert state(store, key) is BatchState.RUNNING


def stopped_and_running(store: Store) -> BatchKey:
    """Return a batch whose first chunk is done, and whose second waits for workers."""
    asked: list[bool] = []

    def is_interrupted() -> bool:
        asked.append(True)
        return len(asked) > 3

    key = run(store, CONTENT, Watch(is_interrupted=is_interrupted), chunk_size=2).key
    assert state(store, key) is BatchState.STOPPED
    with store.write() as connection:
        connection.execute(sa.update(BATCH).values(state="running", ended_at=None))
        units.queue(connection, key)
    return key


def test_a_record_that_was_broken_is_right_once_it_is_given_as_a_whole(
    store: Store,
) -> None:
    key = run(store, people("A,Ann,1,2,3", "B,Ben,2")).key
    before = views.row_view(store, key, 2)
    assert before.verdict == "invalid"
    part = edit(store, key, 2, age="7")
    assert part.verdict == "invalid"
    whole = edit(store, key, 2, 1, code="A", name="Ann", age="7")
    assert (whole.verdict, whole.issues) == ("pending", ())
    rerun(store, key)
    assert stored(store) == [("A", "Ann", 7), ("B", "Ben", 2)]


def test_an_edit_of_a_typed_cell_is_read_as_text(store: Store) -> None:
    content = b'[{"Code": "A", "Name": "Ann", "Age": 1.5}]'
    key = run(store, content).key
    (row,) = [view.row for view in views.rows(store, key)]
    assert codes(edit(store, key, row, name="Anna")) == codes(
        views.row_view(store, key, row)
    )
    assert edit(store, key, row, 1, age="2").verdict == "pending"
    check_batch(store, key)


def test_a_record_that_a_row_names_is_looked_for_when_the_row_is_edited(
    store: Store,
) -> None:
    with store.write() as connection:
        ShopBase.metadata.create_all(connection)
    content = b"code,name,parent\ntools,Tools,\nsaws,Saws,nowhere\nbits,Bits,\n"
    source = io.BytesIO(content)
    key = import_source(store, CategoryImporter, source, name="c.csv").key
    still = edits.edit(store, key, 3, {"parent": "no"}, version=0, who="ann")
    assert [(each.field, each.value) for each in still.issues] == [("parent_id", "no")]
    assert still.verdict == "invalid"
    sound = edits.edit(store, key, 3, {"parent": "tools"}, version=1, who="ann")
    assert (sound.verdict, sound.issues) == ("pending", ())
    assert rerun(store, key).tally.created == 3
    check_batch(store, key)


def test_a_cancelled_batch_is_not_edited(store: Store) -> None:
    key = run(store, CONTENT, dry_run=True).key
    cancel(store, key)
    with pytest.raises(IllegalMoveError, match="was cancelled, for good"):
        edit(store, key, 3, age="2")


def test_an_edit_leaves_nothing_behind_when_it_is_refused(store: Store) -> None:
    key = run(store, CONTENT).key
    with pytest.raises(IllegalMoveError):
        edits.exclude(store, key, [2], "ann")
    with store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(REVISION)) == 0
        assert outcomes.count(connection, key) == 4
