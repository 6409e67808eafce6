"""Rows that a person fixes together, excludes and approves."""

from __future__ import annotations

import pytest

from batchfx import Store, report, rerun
from batchfx.errors import IllegalMoveError, NotFoundError
from batchfx.execution import browse, edits, views
from batchfx.model.revisions import Action
from batchfx.model.states import BatchState
from tests.execution.test_edits import CONTENT, codes, edit, kinds, state, store
from tests.execution.test_imports import people, run, verdicts
from tests.oracle import check_batch

__all__ = ["store"]  # the fixture


@pytest.mark.parametrize("chunk_size", [1, 2, 100])
def test_a_fix_replaces_a_value_in_every_row_that_has_it_with_the_issue(
    store: Store, chunk_size: int
) -> None:
    content = people("A,Ann,n/a", "B,Ben,n/a", "C,Cy,old", "D,Dee,1", "E,n/a,2")
    key = run(store, content, chunk_size=chunk_size).key
    fixed = edits.fix(
        store,
        key,
        code="int_parsing",
        field="age",
        value="n/a",
        replacement="0",
        who="ann",
    )

    assert fixed == 2
    assert verdicts(store, key) == {
        2: "pending",
        3: "pending",
        4: "invalid",
        5: "created",
        6: "created",
    }
    (revision,) = browse.history(store, key, 3).revisions
    assert (revision.action, revision.changes) == (Action.FIXED, {"Age": ("n/a", "0")})
    assert kinds(store, key).count("edited") == 1
    check_batch(store, key)


def test_a_fix_of_nothing_changes_nothing(store: Store) -> None:
    key = run(store, CONTENT).key
    assert (
        edits.fix(
            store,
            key,
            code="int_parsing",
            field="age",
            value="z",
            replacement="0",
            who="ann",
        )
        == 0
    )
    assert "edited" not in kinds(store, key)


def test_an_excluded_row_is_final_and_says_by_whom(store: Store) -> None:
    key = run(store, CONTENT, chunk_size=2).key
    assert edits.exclude(store, key, [3], "ann", "a test row") == 1

    view = views.row_view(store, key, 3)
    assert (view.verdict, view.reason) == ("skipped", "Excluded by ann: a test row")
    assert codes(view) == [("age", "int_parsing")]
    with pytest.raises(IllegalMoveError, match="is finished"):
        edit(store, key, 3, 1, age="2")
    with pytest.raises(IllegalMoveError, match="is finished"):
        edits.exclude(store, key, [3], "ann")
    check_batch(store, key)
    assert rerun(store, key).tally.counts()["skipped"] == 1


def test_excluding_the_row_that_others_repeat_frees_the_next(store: Store) -> None:
    key = run(store, people("A,Ann,x", "A,Ben,2", "A,Cy,3"), chunk_size=1).key
    edits.exclude(store, key, [2], "ann")

    assert views.row_view(store, key, 3).verdict == "pending"
    assert views.row_view(store, key, 4).issues[0].parameters["first_row"] == 3
    check_batch(store, key)
    rerun(store, key)
    assert verdicts(store, key) == {2: "skipped", 3: "created", 4: "invalid"}


def test_an_approved_row_keeps_its_value_from_others(store: Store) -> None:
    key = run(store, people("A,Ann,x", "A,Ben,2"), chunk_size=1).key
    edits.approve(store, key, [3], "bob")

    view = views.row_view(store, key, 3)
    assert (view.verdict, view.reason) == ("skipped", "Approved as it is by bob")
    assert codes(views.row_view(store, key, 2)) == [
        ("age", "int_parsing"),
        ("code", "duplicate_in_file"),
    ]
    check_batch(store, key)


def test_all_of_several_rows_are_decided_or_none(store: Store) -> None:
    key = run(store, CONTENT).key
    with pytest.raises(IllegalMoveError, match=r"^Row 2, 4 of batch 1 is finished"):
        edits.exclude(store, key, [2, 3, 4], "ann")
    with pytest.raises(NotFoundError):
        edits.exclude(store, key, [3, 17], "ann")
    assert views.row_view(store, key, 3).verdict == "invalid"
    assert edits.exclude(store, key, [3, 5, 3], "ann") == 2
    assert report(store, key).tally.all_well
    check_batch(store, key)


def test_a_dry_run_all_of_whose_rows_are_decided_is_complete(store: Store) -> None:
    key = run(store, people("A,Ann,1", "B,Ben,x"), dry_run=True).key
    assert state(store, key) is BatchState.CHECKED
    edits.exclude(store, key, [3], "ann")
    assert state(store, key) is BatchState.CHECKED
    edits.exclude(store, key, [2], "ann")
    assert state(store, key) is BatchState.COMPLETED
    check_batch(store, key)
