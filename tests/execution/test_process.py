"""Rows under savepoints: one row's error is its own, its neighbours lose nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Context, Importer, Invalid, Store, Verdict, open_store
from batchfx.errors import StoreError
from batchfx.execution.process import ChunkSession, process_rows
from batchfx.model.verdicts import Decision


class Base(DeclarativeBase):
    """The tables of these tests."""


class Item(Base):
    """A stored item, whose number must be positive and unique."""

    __tablename__ = "item"
    __table_args__ = (sa.CheckConstraint("number > 0"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)


class ItemRow(BaseModel):
    """A number."""

    number: int


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A database with the table of items."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def decide(
    store: Store,
    numbers: list[int],
    process: Callable[[ItemRow, Context], Any],
    savepoints: str = "group",
) -> tuple[Decision, list[int], Context]:
    """Process rows 1, 2, … with *process*; return the decision and what was stored."""

    class ItemImporter(Importer[ItemRow], abstract=True):
        def process(self, row: ItemRow, context: Context) -> Any:
            return process(row, context)

    ItemImporter.savepoints = savepoints  # type: ignore[assignment]  # given as a word
    pairs: Any = [(i, ItemRow(number=n)) for i, n in enumerate(numbers, start=1)]
    with store.write() as connection:
        session = ChunkSession(bind=connection, join_transaction_mode="rollback_only")
        context = Context("default", 1, 1, session)
        decision = process_rows(ItemImporter(), pairs, context)
    with store.read() as connection:
        stored = list(
            connection.execute(sa.select(Item.number).order_by(Item.number)).scalars()
        )
    return decision, stored, context


def add_and_flush(row: ItemRow, context: Context) -> int:
    item = Item(number=row.number)
    context.session.add(item)
    context.session.flush()
    return item.id


def add_without_flush(row: ItemRow, context: Context) -> str:
    context.session.add(Item(number=row.number))
    return f"no. {row.number}"


@pytest.mark.parametrize("process", [add_and_flush, add_without_flush])
@pytest.mark.parametrize("savepoints", ["group", "row"])
@pytest.mark.parametrize(
    "numbers",
    [
        [-1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, 3, -4, 5, 6, 7, 8],
        [1, 2, 3, 4, 5, 6, 7, -8],
        [-1, -2, 3, 4, -5, 6, -7, -8],
        [-1, -2, -3],
        [1, 2, 3, 2, 5, 1, 7],
    ],
)
def test_a_row_that_the_database_refuses_fails_alone(
    store: Store, numbers: list[int], savepoints: str, process: Callable[..., Any]
) -> None:
    decision, stored, _ = decide(store, numbers, process, savepoints)

    seen: set[int] = set()
    expected: list[Verdict] = []
    for number in numbers:
        is_good = number > 0 and number not in seen
        expected.append(Verdict.CREATED if is_good else Verdict.FAILED)
        seen.add(number)
    assert [outcome.verdict for outcome in decision.outcomes] == expected
    assert [o.row for o in decision.outcomes] == list(range(1, len(numbers) + 1))
    assert stored == sorted({number for number in numbers if number > 0})
    assert len(decision.issues) == expected.count(Verdict.FAILED)
    assert all("IntegrityError" in issue.message for issue in decision.issues)


def test_what_a_row_did_before_it_raised_is_undone(store: Store) -> None:
    def add_then_refuse(row: ItemRow, context: Context) -> int:
        number = add_and_flush(row, context)
        if row.number == 2:
            raise Invalid("two", "Two is not wanted.")
        return number

    decision, stored, _ = decide(store, [1, 2, 3], add_then_refuse)

    assert stored == [1, 3]
    assert [o.verdict for o in decision.outcomes] == ["created", "invalid", "created"]
    assert decision.issues[0].code == "two"


def test_savepoints_a_row_call_each_row_once(store: Store) -> None:
    calls: Counter[int] = Counter()

    def count(row: ItemRow, context: Context) -> int:
        calls[row.number] += 1
        return add_and_flush(row, context)

    decide(store, [1, -2, 3, -4, 5], count, "row")

    assert set(calls.values()) == {1}


def test_a_group_calls_good_rows_again_at_most_once_for_each_bad_one(
    store: Store,
) -> None:
    calls: Counter[int] = Counter()

    def count(row: ItemRow, context: Context) -> int:
        calls[row.number] += 1
        return add_and_flush(row, context)

    decide(store, [1, 2, -3, 4, 5], count)

    assert calls == {1: 2, 2: 2, -3: 2, 4: 1, 5: 1}


def test_calls_after_the_commit_are_kept_of_good_rows_only(store: Store) -> None:
    def put_off(row: ItemRow, context: Context) -> int:
        context.after_commit(lambda: None)
        return add_and_flush(row, context)

    _, _, context = decide(store, [1, -2, 3, -4], put_off)

    assert [row for row, _ in context.calls] == [1, 3]


@pytest.mark.parametrize("name", ["commit", "rollback", "close"])
def test_a_processor_that_ends_the_transaction_is_refused(
    store: Store, name: str
) -> None:
    def end(row: ItemRow, context: Context) -> int:
        number = add_and_flush(row, context)
        getattr(context.session, name)()
        return number

    decision, stored, _ = decide(store, [1, 2], end)

    assert stored == []
    assert [o.verdict for o in decision.outcomes] == ["failed", "failed"]
    assert decision.issues[0].message.startswith(
        f"A processor must not call session.{name}()"
    )


@pytest.mark.parametrize("result", [True, 1.5, object(), [], ""])
def test_an_id_that_is_none_is_refused(store: Store, result: Any) -> None:
    decision, _, _ = decide(store, [1], lambda row, context: result)

    assert decision.outcomes[0].verdict is Verdict.FAILED
    assert decision.issues[0].code == "broken_contract"


def test_a_database_that_gives_out_is_nobodys_row(store: Store) -> None:
    gives_out = {
        "sqlite": "PRAGMA query_only = ON",
        "postgresql": "SELECT pg_terminate_backend(pg_backend_pid())",
    }

    def fill(row: ItemRow, context: Context) -> int:
        dialect = context.session.connection().dialect.name
        context.session.execute(sa.text(gives_out[dialect]))
        return add_and_flush(row, context)

    with pytest.raises(StoreError, match="can't be used"):
        decide(store, [1, 2], fill)


def test_a_record_may_be_returned_in_place_of_its_id(store: Store) -> None:
    def add(row: ItemRow, context: Context) -> Item:
        item = Item(number=row.number)
        context.session.add(item)
        return item

    decision, stored, _ = decide(store, [5, -6, 7], add)

    assert stored == [5, 7]
    first, refused, last = (outcome.record_id for outcome in decision.outcomes)
    with store.read() as connection:
        numbers = dict(connection.execute(sa.select(Item.id, Item.number)).all())
    assert refused is None
    assert [numbers[int(first or 0)], numbers[int(last or 0)]] == [5, 7]


def test_a_record_that_was_not_added_is_refused(store: Store) -> None:
    decision, stored, _ = decide(
        store, [5], lambda row, context: Item(number=row.number)
    )

    assert stored == []
    assert decision.issues[0].message.endswith("Updated, Unchanged with it.")
