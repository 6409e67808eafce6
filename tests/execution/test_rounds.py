"""Rows that name a record which another row of the same file makes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Annotated

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import (
    Column,
    Options,
    Report,
    Store,
    TableImporter,
    import_source,
    open_store,
)
from batchfx.execution import views
from tests.oracle import check_batch


class Base(DeclarativeBase):
    """The tables of these tests."""


class Group(Base):
    """A group, perhaps within another."""

    __tablename__ = "grouping"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    parent: Mapped[int | None] = mapped_column(sa.ForeignKey("grouping.id"))


class GroupRow(BaseModel):
    """A group and the code of the one that it is in."""

    code: Annotated[str, Column(unique=True)]
    parent: Annotated[str | None, Column(lookup=Group.code)] = None


class GroupImporter(TableImporter[GroupRow]):
    """Adds groups."""

    name = "rounds-groups"
    model = Group
    match_on = "code"
    mode = "upsert"
    create_tables = True


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(database)
    yield opened
    opened.close()


def run(store: Store, text: str, **options: object) -> Report:
    report = import_source(
        store,
        GroupImporter,
        io.BytesIO(text.encode()),
        name="groups.csv",
        options=Options(**options),  # type: ignore[arg-type]  # the tests name them
    )
    check_batch(store, report.key)
    return report


def tree(store: Store) -> set[tuple[str, str | None]]:
    child, parent = sa.orm.aliased(Group), sa.orm.aliased(Group)
    with store.read() as connection:
        found = connection.execute(
            sa.select(child.code, parent.code).outerjoin(
                parent, parent.id == child.parent
            )
        )
        return {(code, above) for code, above in found}


def issues(store: Store, report: Report) -> dict[int, str]:
    return {
        view.row: view.issues[0].code
        for view in views.rows(store, report.key)
        if view.issues
    }


LATER = "code,parent\nC3,B2\nB2,A1\nA1,\nA2,\nB5,A1\nD1,C3\n"


@pytest.mark.parametrize("chunk_size", [1, 2, 4, 1000])
def test_a_parent_may_be_named_before_its_own_row(
    store: Store, chunk_size: int
) -> None:
    report = run(store, LATER, chunk_size=chunk_size)

    assert report.tally.created == 6
    assert tree(store) == {
        ("C3", "B2"),
        ("B2", "A1"),
        ("A1", None),
        ("A2", None),
        ("B5", "A1"),
        ("D1", "C3"),
    }


@pytest.mark.parametrize("chunk_size", [1, 2, 1000])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_parent_that_nothing_makes_is_not_found(
    store: Store, chunk_size: int, *, dry_run: bool
) -> None:
    text = "code,parent\nA,\nB,nowhere\nC,A\nD,C\n"
    report = run(store, text, chunk_size=chunk_size, dry_run=dry_run)

    assert issues(store, report) == {3: "not_found"}
    assert report.tally.created == (0 if dry_run else 3)


@pytest.mark.parametrize("chunk_size", [1, 2, 1000])
def test_children_of_a_row_that_is_invalid_are_not_found(
    store: Store, chunk_size: int
) -> None:
    text = "code,parent\nD,C\nC,B\nB,nowhere\nA,\n"
    report = run(store, text, chunk_size=chunk_size)

    assert issues(store, report) == dict.fromkeys([2, 3, 4], "not_found")
    assert tree(store) == {("A", None)}


@pytest.mark.parametrize("chunk_size", [1, 2, 1000])
def test_rows_that_wait_for_each_other_end_invalid(
    store: Store, chunk_size: int
) -> None:
    text = "code,parent\nA,B\nB,A\nC,C\nD,\n"
    report = run(store, text, chunk_size=chunk_size)

    assert report.tally.invalid == 3
    assert set(issues(store, report).values()) <= {"cycle", "not_found"}
    assert issues(store, report)[4] == "cycle"
    assert tree(store) == {("D", None)}


def test_a_dry_run_lets_pass_what_another_chunk_would_make(store: Store) -> None:
    report = run(store, LATER, chunk_size=1, dry_run=True)

    assert issues(store, report) == {}
    assert tree(store) == set()
