"""Pages of rows, and the history of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from batchfx import BatchKey, Store, Verdict, open_store, rerun
from batchfx.errors import NotFoundError, UsageError
from batchfx.execution import browse, edits, views
from batchfx.execution.browse import ColumnView
from batchfx.execution.views import RowView
from batchfx.model.revisions import Action
from batchfx.store.schema import ISSUE
from tests.execution.test_downloads import notes
from tests.execution.test_imports import people, run
from tests.people import Base


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a page all the time that a busy machine needs."""
    monkeypatch.setattr(browse, "BUDGET", 60.0)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def mixed(store: Store, chunk_size: int = 3) -> BatchKey:
    """Return a batch of 24 rows, each third of which is faulty, in its own way."""
    ages = {0: "x", 3: "200"}
    rows = [
        f"C{i},{'Ann Ähre' if i % 4 == 0 else 'Ben'},{ages.get(i % 6, '7')}"
        for i in range(24)
    ]
    return run(store, people(*rows), chunk_size=chunk_size).key


def numbers(rows: tuple[RowView, ...]) -> list[int]:
    return [view.row for view in rows]


def pages(store: Store, key: BatchKey, limit: int, **wanted: Any) -> list[list[int]]:
    found, after = [], 0
    while True:
        page = browse.page(store, key, after=after, limit=limit, **wanted)
        found.append(numbers(page.rows))
        if page.next is None:
            return found
        assert page.next > after
        after = page.next


def test_pages_follow_each_other_without_a_gap_or_a_repeat(store: Store) -> None:
    key = mixed(store)
    assert pages(store, key, 10) == [
        list(range(2, 12)),
        list(range(12, 22)),
        list(range(22, 26)),
    ]
    assert pages(store, key, 12) == [list(range(2, 14)), list(range(14, 26))]


def test_a_page_has_rows_as_they_are_listed(store: Store) -> None:
    key = mixed(store)
    page = browse.page(store, key, limit=1000)
    assert list(page.rows) == list(views.rows(store, key))
    assert page.columns == (
        ColumnView("Code", "code", is_hidden=False),
        ColumnView("Name", "name", is_hidden=False),
        ColumnView("Age", "age", is_hidden=False),
    )


WAYS: list[dict[str, Any]] = [
    {"verdict": "invalid"},
    {"verdict": "created"},
    {"verdict": "pending"},
    {"code": "int_parsing"},
    {"field": "age"},
    {"field": "Age", "code": "less_than_equal"},
    {"field": "name", "code": "int_parsing"},
    {"code": "no_such_code"},
    {"text": "ÄHRE"},
    {"text": "c1"},
    {"text": "ann", "verdict": "invalid"},
    {"text": "c2", "code": "int_parsing", "verdict": "invalid"},
    {"code": "int_parsing", "verdict": "created"},
]


def is_wanted(view: RowView, wanted: dict[str, Any]) -> bool:
    """Tell whether *view* is as it is said, found in the plainest way."""
    field = str(wanted.get("field", "")).lower()
    code = wanted.get("code", "")
    of_issues = not (field or code) or any(
        issue.field == (field or issue.field) and issue.code == (code or issue.code)
        for issue in view.issues
    )
    text = str(wanted.get("text", "")).lower()
    has_text = any(text in str(value).lower() for value in view.values.values())
    return (
        of_issues and has_text and view.verdict == wanted.get("verdict", view.verdict)
    )


@pytest.mark.parametrize("chunk_size", [1, 5, 100])
def test_a_filter_finds_the_rows_that_a_look_at_every_row_finds(
    store: Store, chunk_size: int
) -> None:
    key = mixed(store, chunk_size)
    every = list(views.rows(store, key))
    for wanted in WAYS:
        expected = [view.row for view in every if is_wanted(view, wanted)]
        for limit in (3, 100):
            found = pages(store, key, limit, **wanted)
            assert [row for page in found for row in page] == expected, wanted
            assert all(len(page) <= limit for page in found)
    assert [v.row for v in browse.every(store, key, text="c2")] == [4, *range(22, 26)]


def test_a_page_that_is_late_says_where_to_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = mixed(store)
    monkeypatch.setattr(browse, "BUDGET", -1.0)
    page = browse.page(store, key, text="c23")
    assert (page.rows, page.next) == ((), 4)
    assert pages(store, key, 10, text="c23") == [[]] * 7 + [[25], []]
    assert pages(store, key, 10, field="name", code="int_parsing")[-1] == []


def test_many_issues_of_a_row_are_one_row(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = mixed(store)
    with store.write() as connection:
        rows = connection.execute(sa.select(ISSUE).where(ISSUE.c.row == 8)).mappings()
        one = {k: v for k, v in rows.one().items() if k != "id"}
        connection.execute(sa.insert(ISSUE), [one] * 700)
    found = pages(store, key, 2, code="int_parsing")
    assert [row for page in found for row in page] == [2, 8, 14, 20]


def test_sensitive_cells_are_neither_shown_nor_searched(store: Store) -> None:
    key = notes(store, [{"Text": "a", "Number": 1, "Secret": "hush"}])
    page = browse.page(store, key)
    assert page.rows[0].values["Secret"] == views.HIDDEN
    assert page.columns[-1] == ColumnView("Secret", "secret", is_hidden=True)
    assert browse.page(store, key, text="hush").rows == ()


def test_the_history_of_sensitive_cells_says_only_that_they_changed(
    store: Store,
) -> None:
    key = notes(store, [{"Text": "a", "Number": "x", "Secret": "hush"}])
    row = browse.page(store, key).rows[0].row
    edits.edit(store, key, row, {"secret": "psst"}, version=0, who="ann")
    told = browse.history(store, key, row)
    assert told.as_read["Secret"] == views.HIDDEN
    assert told.revisions[0].changes == {"Secret": (views.HIDDEN, views.HIDDEN)}


def test_the_history_names_every_change_and_the_issues_now(store: Store) -> None:
    key = mixed(store)
    edits.edit(store, key, 2, {"age": "-1"}, version=0, who="ann")
    rerun(store, key)
    edits.exclude(store, key, [2], "bob")

    told = browse.history(store, key, 2)
    assert [(r.action, r.who, dict(r.changes)) for r in told.revisions] == [
        (Action.EDITED, "ann", {"Age": ("x", "-1")}),
        (Action.EXCLUDED, "bob", {}),
    ]
    assert told.row.verdict == "skipped"
    assert [issue.code for issue in told.row.issues] == ["greater_than_equal"]
    assert told.as_read["Age"] == "x"


def test_what_is_not_there_is_not_shown(store: Store) -> None:
    key = mixed(store)
    other = BatchKey("other", key.number)
    for call in (browse.page, browse.groups):
        with pytest.raises(NotFoundError):
            call(store, other)
    for row in (1, 26):
        with pytest.raises(NotFoundError, match=rf"^Batch 1 has no row {row}\.$"):
            browse.history(store, key, row)
    with pytest.raises(UsageError, match=r"^There is no verdict 'bad'"):
        browse.page(store, key, verdict="bad")
    with pytest.raises(UsageError, match=r"^A page has from 1 to 1,000 rows, not 0"):
        browse.page(store, key, limit=0)


def test_no_statement_of_a_page_reads_a_whole_table(store: Store) -> None:
    key = mixed(store)
    if store.engine.dialect.name != "sqlite":  # which has no statistics of 24 rows
        with store.write() as connection:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    statements: list[tuple[str, Any]] = []

    def note(*arguments: Any) -> None:
        statements.append((arguments[2], arguments[3]))

    sa.event.listen(store.engine, "before_cursor_execute", note)
    for wanted in (*WAYS, {}):
        browse.page(store, key, **wanted)
    sa.event.remove(store.engine, "before_cursor_execute", note)

    explain = "EXPLAIN QUERY PLAN"
    settings = ""
    if store.engine.dialect.name == "postgresql":
        explain, settings = "EXPLAIN", "SET LOCAL enable_seqscan = off"
    selects = [each for each in statements if each[0].startswith("SELECT")]
    assert len(selects) > len(WAYS)
    with store.write() as connection:
        if settings:
            connection.exec_driver_sql(settings)
        for text, parameters in selects:
            plan = connection.exec_driver_sql(f"{explain} {text}", parameters)
            lines = [str(row[-1]) for row in plan]
            assert not [each for each in lines if reads_all(each)], (text, lines)


def reads_all(step: str) -> bool:
    """Tell whether a step of a plan reads a table without a condition."""
    return step.startswith("SCAN batchfx_") or "Seq Scan on batchfx_" in step


def test_every_verdict_can_be_asked_for(store: Store) -> None:
    key = mixed(store)
    for verdict in (*Verdict, views.PENDING):
        assert isinstance(browse.page(store, key, verdict=str(verdict)).rows, tuple)
