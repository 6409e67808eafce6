"""Chunks that want the same records at the same time, on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.engine import Connection
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Store, TableImporter
from batchfx.errors import StoreError
from batchfx.model.verdicts import Decision
from batchfx.store.engine import connect
from tests.store.writing import Rows, codes, verdicts, write


class Base(DeclarativeBase):
    """The tables of this module."""


class Seat(Base):
    __tablename__ = "seat"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    guest: Mapped[str | None] = mapped_column(unique=True)


class SeatRow(BaseModel):
    code: str
    guest: str | None = None


class Seats(TableImporter[SeatRow]):
    name = "concurrent-seats"
    model = Seat
    match_on = "code"
    mode = "upsert"


class NewSeats(TableImporter[SeatRow]):
    name = "concurrent-new-seats"
    model = Seat
    match_on = "code"


@pytest.fixture
def store(postgresql: str) -> Iterator[Store]:
    """A database with the table of this module."""
    opened = connect(postgresql)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Two more threads."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def seats(store: Store) -> dict[str, str | None]:
    with store.read() as connection:
        found = connection.execute(sa.select(Seat.code, Seat.guest))
        return {row.code: row.guest for row in found}


def await_lock(store: Store, waiting: Future[Decision]) -> None:
    """Return when a transaction of this database waits for another one."""
    query = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND datname = current_database()"
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with store.read() as connection:
            if connection.execute(query).scalar_one():
                return
        assert not waiting.done(), waiting.result()
        time.sleep(0.005)
    pytest.fail("nobody waits")


def add(connection: Connection, code: str, guest: str | None) -> None:
    connection.execute(sa.insert(Seat), {"code": code, "guest": guest})


def beside(
    store: Store,
    threads: ThreadPoolExecutor,
    importer: type[TableImporter[SeatRow]],
    rows: Rows,
    stored: tuple[str, str | None],
) -> Decision:
    """Write *rows* while another transaction that has *stored* one is not done yet."""
    with store.write() as connection:
        add(connection, *stored)
        waiting = threads.submit(write, store, importer, "code guest", rows)
        await_lock(store, waiting)
    return waiting.result(30)


def test_a_record_that_another_chunk_makes_meanwhile_is_changed(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    rows = [("a", "ann"), ("b", "bob"), ("c", "cy")]

    decision = beside(store, threads, Seats, rows, ("b", "bea"))

    assert [each[1] for each in verdicts(decision)] == ["created", "updated", "created"]
    assert seats(store) == {"a": "ann", "b": "bob", "c": "cy"}


def test_a_record_that_another_chunk_makes_meanwhile_is_skipped_by_a_creation(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    rows = [("a", "ann"), ("b", "bob")]

    decision = beside(store, threads, NewSeats, rows, ("b", "bea"))

    assert [each[1] for each in verdicts(decision)] == ["created", "skipped"]
    assert decision.outcomes[1].reason == "exists already: it differs in guest"
    assert seats(store) == {"a": "ann", "b": "bea"}


def test_a_value_that_another_chunk_takes_meanwhile_makes_that_row_invalid(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    rows = [("a", "ann"), ("b", "bob"), ("c", "cy")]

    decision = beside(store, threads, Seats, rows, ("z", "bob"))

    assert [each[1] for each in verdicts(decision)] == ["created", "invalid", "created"]
    assert codes(decision) == [(3, "guest", "unique_violation")]
    assert decision.issues[0].message == "Another record in seat has this guest: 1."
    assert seats(store) == {"a": "ann", "c": "cy", "z": "bob"}


def test_a_record_that_is_made_between_two_questions_is_no_stranger(
    store: Store,
) -> None:
    asked: list[str] = []

    def answered(_c: object, _cursor: object, statement: str, *_others: object) -> None:
        if "unnest" in statement:
            asked.append(statement)
            if len(asked) == 1:  # it is not there yet; the next asks for its guest
                with store.write() as connection:
                    add(connection, "a", "ann")

    sa.event.listen(store.engine, "after_cursor_execute", answered)
    decision = write(store, Seats, "code guest", [("a", "ann"), ("b", "bob")])

    assert len(asked) > 1
    assert [each[1] for each in verdicts(decision)] == ["unchanged", "created"]
    assert seats(store) == {"a": "ann", "b": "bob"}


def test_a_changed_value_that_another_chunk_takes_meanwhile_is_refused(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    write(store, Seats, "code guest", [("a", "ann"), ("b", "bob")])
    rows = [("a", "amy"), ("b", "cy")]

    decision = beside(store, threads, Seats, rows, ("z", "cy"))

    assert [each[1] for each in verdicts(decision)] == ["updated", "invalid"]
    assert seats(store) == {"a": "amy", "b": "bob", "z": "cy"}


def test_two_chunks_change_one_record_one_after_the_other(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    write(store, Seats, "code guest", [("a", "ann"), ("b", "bob")])

    with store.write() as connection:
        connection.execute(sa.update(Seat).where(Seat.code == "b").values(guest="ben"))
        waiting = threads.submit(
            write, store, Seats, "code guest", [("b", "bill"), ("a", "amy")]
        )
        await_lock(store, waiting)

    assert [each[1] for each in verdicts(waiting.result(30))] == ["updated", "updated"]
    assert seats(store) == {"a": "amy", "b": "bill"}


def test_a_record_that_is_deleted_meanwhile_stops_the_chunk_which_can_be_repeated(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    rows = [("a", "amy"), ("b", "bill")]
    write(store, Seats, "code guest", [("a", "ann"), ("b", "bob")])

    with store.write() as connection:
        connection.execute(sa.delete(Seat).where(Seat.code == "b"))
        waiting = threads.submit(write, store, Seats, "code guest", rows)
        await_lock(store, waiting)

    with pytest.raises(StoreError, match=r"1 of 2 rows, .* has just deleted"):
        waiting.result(30)
    again = write(store, Seats, "code guest", rows)
    assert [each[1] for each in verdicts(again)] == ["updated", "created"]


def test_of_two_chunks_that_wait_for_each_other_one_is_repeated(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    rows = [("a", "ann"), ("b", "bob")]

    with store.write() as connection:
        # The other one looks for what it waits for first, and so gives way.
        connection.exec_driver_sql("SET LOCAL deadlock_timeout = '20s'")
        add(connection, "b", None)
        waiting = threads.submit(write, store, Seats, "code guest", rows)
        await_lock(store, waiting)
        add(connection, "a", None)

    with pytest.raises(StoreError, match=r"deadlock detected .*try again"):
        waiting.result(30)
    again = write(store, Seats, "code guest", rows)
    assert [each[1] for each in verdicts(again)] == ["updated", "updated"]


def test_chunks_with_the_same_records_in_another_order_do_not_wait_for_each_other(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    names = [f"s{i:03}" for i in range(200)]
    together = Barrier(2)

    def run(attempt: int, step: int) -> list[str]:
        rows = [(name, f"{name}.{attempt}") for name in names[::step]]
        together.wait(30)
        decision = write(store, Seats, "code guest", rows)
        return [str(each.verdict) for each in decision.outcomes]

    for attempt in range(6):
        ways = [threads.submit(run, attempt, step) for step in (1, -1)]
        found = {verdict for way in ways for verdict in way.result(60)}
        assert found <= {"created", "updated", "unchanged"}
    assert seats(store) == {name: f"{name}.5" for name in names}
