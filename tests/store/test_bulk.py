"""Rows of batchfx's own tables, written in bulk."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from batchfx.model.issues import Issue, Phase
from batchfx.model.verdicts import Outcome, Verdict
from batchfx.store import bulk, outcomes, revisions
from batchfx.store.engine import Store
from batchfx.store.schema import DUPLICATE, ISSUE, OUTCOME, REVISION, BatchKey

KEY = BatchKey("acme", 7)


def nul(store: Store) -> str:
    """What the database has where a NUL was given."""
    return "\0" if store.engine.dialect.name == "sqlite" else "\u2400"


def rows_of(store: Store, table: sa.Table, *names: str) -> list[tuple[Any, ...]]:
    columns = [table.c[name] for name in names]
    with store.read() as connection:
        found = connection.execute(sa.select(*columns).order_by(table.c.row))
        return [tuple(row) for row in found]


def test_outcomes_are_kept_as_they_are(store: Store) -> None:
    given = [
        Outcome(3, Verdict.SKIPPED, "a\tb\\N\n", "exists already"),
        Outcome(2, Verdict.CREATED, "1", None),
    ]

    with store.write() as connection:
        outcomes.add(connection, KEY, 2, given)

    assert rows_of(store, OUTCOME, *OUTCOME.c.keys()) == [
        (7, 2, "created", "1", None, 2),
        (7, 3, "skipped", "a\tb\\N\n", "exists already", 2),
    ]


def test_a_second_outcome_of_a_row_is_refused(store: Store) -> None:
    given = [Outcome(2, Verdict.CREATED, "1", None)]
    with store.write() as connection:
        outcomes.add(connection, KEY, 1, given)

    def add_again() -> None:
        with store.write() as connection:
            outcomes.add(connection, KEY, 1, given)

    with pytest.raises(sa.exc.IntegrityError):
        add_again()


def test_a_nul_is_kept_or_made_visible_in_texts_and_in_json(store: Store) -> None:
    issue = Issue(
        "odd",
        "It is 'a\0b'.",
        Phase.VALUE,
        row=2,
        field="f",
        value="a\0b",
        suggestion="\0",
        parameters={"cause": "\0", "\0": ["\\\0", "\\u0000"]},
        detail="x\0",
    )
    with store.write() as connection:
        outcomes.add(connection, KEY, 1, [Outcome(2, Verdict.SKIPPED, "\0", "r\0")])
        outcomes.add_issues(connection, KEY, 1, [issue])
        revisions.add(connection, KEY, "corrected", [(2, {"0": "a\0", "1": None})])

    shown = nul(store)
    texts = ("message", "value", "suggestion", "detail", "cause", "parameters")
    assert rows_of(store, OUTCOME, "record_id", "reason") == [(shown, f"r{shown}")]
    assert rows_of(store, ISSUE, *texts) == [
        (
            f"It is 'a{shown}b'.",
            f"a{shown}b",
            shown,
            f"x{shown}",
            shown,
            {"cause": shown, shown: [f"\\{shown}", "\\u0000"]},
        )
    ]
    ((cells,),) = rows_of(store, REVISION, "cells")
    assert revisions.decoded(cells) == {"0": "a\0", "1": None}  # kept as they are


def test_issues_are_numbered_in_the_order_in_which_they_were_found(
    store: Store,
) -> None:
    found = [Issue(code, "m", Phase.CHECK, row=2) for code in "cab"]
    with store.write() as connection:
        outcomes.add_issues(connection, KEY, 1, found)

    with store.read() as connection:
        kept = connection.scalars(sa.select(ISSUE.c.code).order_by(ISSUE.c.id))
        assert list(kept) == ["c", "a", "b"]


def test_no_rows_are_no_work(store: Store) -> None:
    with store.write() as connection:
        bulk.insert_rows(connection, DUPLICATE, ("batch", "row"), [])

    assert rows_of(store, DUPLICATE, "row") == []


@pytest.mark.parametrize(
    "content", [{"a": 1}, ["x", None, "ä"], "\\u0000", "\\\\u0000"]
)
def test_json_without_a_nul_is_kept_as_it_is(store: Store, content: Any) -> None:
    with store.read() as connection:
        assert bulk.kept(connection, content) == content
