"""What the database refuses itself, whoever asks for it."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from batchfx.errors import IllegalMoveError
from batchfx.model.effects import TERMINAL_EFFECTS, EffectState
from batchfx.model.states import BATCH_MOVES, CHUNK_MOVES, BatchState, ChunkState
from batchfx.model.verdicts import TERMINAL, Verdict
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import BATCH, CHUNK, EFFECT, EVENT, OUTCOME, PREPARATION
from batchfx.store.triggers import COUNTERS

TAIL = " Nothing was changed."
FINAL_CHUNK = "The chunk is final and can't be {}." + TAIL


def add_batch(connection: sa.Connection, state: BatchState) -> int:
    values = {
        "tenant": "t",
        "importer": "people",
        "source_name": "p.csv",
        "digest": "0",
        "layout": {},
        "mapping": {},
        "chunk_size": 10,
        "dry_run": False,
        "created_at": 0.0,
        "started_at": 0.0,
    }
    made = connection.execute(sa.insert(BATCH).values(state=state, **values))
    number = made.inserted_primary_key
    assert number is not None
    return int(number[0])


def add_chunk(
    connection: sa.Connection,
    batch: int,
    state: ChunkState,
    *,
    ordinal: int = 0,
    rows: int = 10,
    **tally: int,
) -> None:
    values = {"tenant": "t", "importer": "people", "first_row": 1, "last_row": rows}
    connection.execute(
        sa.insert(CHUNK).values(
            batch=batch, ordinal=ordinal, state=state, rows=rows, **values, **tally
        )
    )


def is_refused(connection: sa.Connection, statement: sa.UpdateBase) -> bool:
    """Try a statement, and take it back; tell whether a trigger refused it."""
    savepoint = connection.begin_nested()
    try:
        found = connection.execute(statement)
        assert found.rowcount == 1
    except sa.exc.DBAPIError as error:
        assert TAIL in str(error.orig)  # noqa: PT017 - whatever else fails is an error
        return True
    else:
        return False
    finally:
        savepoint.rollback()


@contextlib.contextmanager
def refused(store: Store, sentence: str) -> Iterator[sa.Connection]:
    """Open a transaction in which something is refused, for the reason given."""
    with pytest.raises(IllegalMoveError) as caught, store.write() as connection:
        yield connection
    assert str(caught.value) == sentence


def moves_of(table: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (str(source), str(move.target))
        for move in table.values()
        for source in move.sources
    }


def test_an_outcome_is_final_when_its_verdict_is_terminal(store: Store) -> None:
    refusals: dict[str, set[Verdict]] = {"UPDATE": set(), "DELETE": set()}
    with store.write() as connection:
        for row, verdict in enumerate(Verdict):
            values = {"batch": 1, "row": row, "verdict": verdict, "attempt": 1}
            connection.execute(sa.insert(OUTCOME).values(**values))
            of_row = OUTCOME.c.row == row
            change = sa.update(OUTCOME).where(of_row).values(attempt=2)
            if is_refused(connection, change):
                refusals["UPDATE"].add(verdict)
            if is_refused(connection, sa.delete(OUTCOME).where(of_row)):
                refusals["DELETE"].add(verdict)

    assert refusals == {"UPDATE": set(TERMINAL), "DELETE": set(TERMINAL)}


def test_an_effect_is_final_when_it_is_done_or_refused(store: Store) -> None:
    refusals: dict[str, set[EffectState]] = {"UPDATE": set(), "DELETE": set()}
    values = {"tenant": "t", "name": "mail", "digest": "0", "batch": 1, "row": 1}
    with store.write() as connection:
        for state in EffectState:
            row = {**values, "key": state, "state": state, "worker": "w"}
            connection.execute(sa.insert(EFFECT).values(claimed_at=0.0, **row))
            of_key = EFFECT.c.key == state
            change = sa.update(EFFECT).where(of_key).values(digest="1")
            if is_refused(connection, change):
                refusals["UPDATE"].add(state)
            if is_refused(connection, sa.delete(EFFECT).where(of_key)):
                refusals["DELETE"].add(state)

    assert refusals == {
        "UPDATE": set(TERMINAL_EFFECTS),
        "DELETE": set(TERMINAL_EFFECTS),
    }


def test_a_chunk_moves_as_the_table_of_moves_says(store: Store) -> None:
    allowed = set()
    with store.write() as connection:
        batch = add_batch(connection, BatchState.RUNNING)
        for ordinal, source in enumerate(ChunkState):
            add_chunk(connection, batch, source, ordinal=ordinal, created=9, failed=1)
        for (ordinal, source), target in itertools.product(
            enumerate(ChunkState), ChunkState
        ):
            row = (CHUNK.c.batch == batch) & (CHUNK.c.ordinal == ordinal)
            if not is_refused(
                connection, sa.update(CHUNK).where(row).values(state=target)
            ):
                allowed.add((str(source), str(target)))

    as_it_was = {(str(s), str(s)) for s in ChunkState if s != ChunkState.CANCELLED}
    assert allowed == moves_of(CHUNK_MOVES) | as_it_was


def test_a_batch_moves_as_the_table_of_moves_says(store: Store) -> None:
    allowed = set()
    with store.write() as connection:
        for source in BatchState:
            batch = add_batch(connection, source)
            add_chunk(connection, batch, ChunkState.DONE, created=9, failed=1)
            for target in BatchState:
                change = sa.update(BATCH).where(BATCH.c.id == batch)
                if not is_refused(connection, change.values(state=target)):
                    allowed.add((str(source), str(target)))

    as_it_was = {(str(s), str(s)) for s in BatchState if s != BatchState.CANCELLED}
    assert allowed == moves_of(BATCH_MOVES) | as_it_was


@pytest.mark.parametrize(
    ("state", "ordinal", "rows", "tally", "is_final"),
    [
        (ChunkState.CANCELLED, 0, 10, {}, True),
        (ChunkState.CANCELLED, PREPARATION, 0, {}, True),
        (ChunkState.DONE, 0, 10, {v.value: 1 for v in TERMINAL} | {"created": 7}, True),
        (ChunkState.DONE, 0, 10, {"created": 9, "invalid": 1}, False),
        (ChunkState.DONE, 0, 10, {"created": 9, "unknown": 1}, False),
        (ChunkState.DONE, 0, 10, {"created": 9}, False),
        (ChunkState.DONE, PREPARATION, 0, {}, False),
        (ChunkState.LEASED, 0, 10, {"created": 10}, False),
        (ChunkState.DEAD, 0, 10, {}, False),
    ],
)
def test_a_chunk_with_nothing_left_to_decide_is_final(
    store: Store,
    *,
    state: ChunkState,
    ordinal: int,
    rows: int,
    tally: dict[str, int],
    is_final: bool,
) -> None:
    with store.write() as connection:
        batch = add_batch(connection, BatchState.RUNNING)
        add_chunk(connection, batch, state, ordinal=ordinal, rows=rows, **tally)
        row = (CHUNK.c.batch == batch) & (CHUNK.c.ordinal == ordinal)
        changes = [
            sa.update(CHUNK).where(row).values(fence=CHUNK.c.fence + 1),
            sa.update(CHUNK).where(row).values(worker=None),
            sa.delete(CHUNK).where(row),
        ]

        found = [is_refused(connection, change) for change in changes]

    assert found == [is_final] * 3


@pytest.mark.parametrize(
    ("tallies", "is_final"),
    [
        ([{"created": 10}, {"updated": 4, "skipped": 6}], True),
        ([{"created": 10}, {"updated": 4, "failed": 6}], False),
        ([], True),
    ],
)
def test_a_completed_batch_with_nothing_left_to_decide_is_final(
    store: Store, *, tallies: list[dict[str, int]], is_final: bool
) -> None:
    with store.write() as connection:
        batch = add_batch(connection, BatchState.COMPLETED)
        add_chunk(connection, batch, ChunkState.DONE, ordinal=PREPARATION, rows=0)
        for ordinal, tally in enumerate(tallies):
            add_chunk(connection, batch, ChunkState.DONE, ordinal=ordinal, **tally)
        of_batch = BATCH.c.id == batch
        again = sa.update(BATCH).where(of_batch).values(state=BatchState.RUNNING)
        named = sa.update(BATCH).where(of_batch).values(reason="x")

        found = (is_refused(connection, again), is_refused(connection, named))

    assert found == (is_final, is_final)


def test_a_final_batch_can_not_be_deleted(store: Store) -> None:
    with store.write() as connection:
        numbers = {state: add_batch(connection, state) for state in BatchState}
        found = {
            state
            for state, number in numbers.items()
            if is_refused(connection, sa.delete(BATCH).where(BATCH.c.id == number))
        }

    assert found == {BatchState.COMPLETED, BatchState.CANCELLED}


FINAL = [BatchState.CANCELLED, BatchState.COMPLETED]
OTHER_VALUES: dict[str, Any] = {
    "id": 99,
    "tenant": "evil",
    "importer": "orders",
    "source_name": "q.csv",
    "digest": "1",
    "layout": {"a": 1},
    "mapping": {"a": 1},
    "saved_mapping": {"a": 1},
    "given": {"a": 1},
    "notations": {"a": 1},
    "chunk_size": 11,
    "dry_run": True,
    "max_error_rate": 0.5,
    "state": BatchState.RUNNING,
    "reason": "x",
    "attempt": 7,
    "staged": True,
    "position": {"a": 1},
    "blank": 1,
    "priority": 1,
    "version": {"a": 1},
    "created_by": "eve",
    "idempotency_key": "k",
    "created_at": 1.0,
    "started_at": 1.0,
    "ended_at": 1.0,
}


@pytest.mark.parametrize("state", FINAL)
def test_nothing_of_a_final_batch_changes_but_its_counters(
    store: Store, state: BatchState
) -> None:
    with store.write() as connection:
        batch = add_batch(connection, state)
        refusals = {
            name
            for name, value in OTHER_VALUES.items()
            if is_refused(
                connection,
                sa.update(BATCH).where(BATCH.c.id == batch).values({name: value}),
            )
        }

    assert refusals == {column.name for column in BATCH.columns} - set(COUNTERS)


@pytest.mark.parametrize("state", FINAL)
@pytest.mark.parametrize(
    ("values", "is_allowed"),
    [
        ({"event_seq": 5}, True),
        ({"event_seq": 6}, True),
        ({"event_seq": 7}, False),
        ({"event_seq": 4}, False),
        ({"event_seq": 0}, False),
        ({"first_seq": 3}, True),
        ({"first_seq": 5}, True),
        ({"first_seq": 6}, False),
        ({"first_seq": 1}, False),
        ({"progress_at": 9.0}, True),
    ],
)
def test_events_of_a_final_batch_are_added_and_expire(
    store: Store, *, state: BatchState, values: dict[str, Any], is_allowed: bool
) -> None:
    with store.write() as connection:
        batch = add_batch(connection, BatchState.RUNNING)
        of_batch = sa.update(BATCH).where(BATCH.c.id == batch)
        connection.execute(of_batch.values(event_seq=5, first_seq=2))
        connection.execute(of_batch.values(state=state))

        assert is_refused(connection, of_batch.values(**values)) is not is_allowed


def test_events_can_not_be_changed_and_only_expired_ones_deleted(store: Store) -> None:
    with store.write() as connection:
        batch = add_batch(connection, BatchState.RUNNING)
        for seq in (1, 2, 3):
            values = {"batch": batch, "seq": seq, "at": 1.0, "kind": "progressed"}
            connection.execute(sa.insert(EVENT).values(content={}, **values))
        of_batch = sa.update(BATCH).where(BATCH.c.id == batch)
        connection.execute(of_batch.values(event_seq=3, first_seq=3))
        changed, deleted = set(), set()
        for seq in (1, 2, 3):
            of_seq = EVENT.c.seq == seq
            if is_refused(connection, sa.update(EVENT).where(of_seq).values(at=2.0)):
                changed.add(seq)
            if is_refused(connection, sa.delete(EVENT).where(of_seq)):
                deleted.add(seq)

    assert (changed, deleted) == ({1, 2, 3}, {3})


def test_what_was_refused_is_a_sentence_and_nothing_else_is_kept(store: Store) -> None:
    with store.write() as connection:
        batch = add_batch(connection, BatchState.RUNNING)
        add_chunk(connection, batch, ChunkState.DONE, created=10)
        add_chunk(connection, batch, ChunkState.HELD, ordinal=1)
        done = add_batch(connection, BatchState.COMPLETED)

    with refused(store, FINAL_CHUNK.format("changed")) as connection:
        connection.execute(sa.update(CHUNK).values(fence=9))
    with refused(store, FINAL_CHUNK.format("deleted")) as connection:
        connection.execute(sa.delete(CHUNK))
    with refused(
        store,
        "The chunk can't go from the state it is in to that one." + TAIL,
    ) as connection:
        held = sa.update(CHUNK).where(CHUNK.c.ordinal == 1)
        connection.execute(held.values(state=ChunkState.DONE))
    with refused(
        store,
        "The batch is final and can't be changed." + TAIL,
    ) as connection:
        ended = sa.update(BATCH).where(BATCH.c.id == done)
        connection.execute(ended.values(state=BatchState.RUNNING))

    with store.read() as connection:
        rows = connection.execute(sa.select(CHUNK.c.fence, CHUNK.c.state)).all()
    assert rows == [(0, "done"), (0, "held")]


def test_other_programs_are_refused_too(postgresql: str, tmp_path: Path) -> None:
    statement = "DELETE FROM batchfx_outcome"
    added = "INSERT INTO batchfx_outcome VALUES (1, 1, 'created', NULL, NULL, 1)"
    path = tmp_path / "test.db"
    for url in (postgresql, f"sqlite:///{path}"):
        open_store(url).close()
    with psycopg.connect(postgresql, autocommit=True) as server:
        server.execute(added)
        with pytest.raises(psycopg.Error, match="outcome of a row is final") as caught:
            server.execute(statement)
        assert caught.value.sqlstate == "BX001"
        with pytest.raises(psycopg.Error, match="batchfx_outcome holds what is final"):
            server.execute("TRUNCATE batchfx_outcome")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(added)
        with pytest.raises(sqlite3.IntegrityError, match="outcome of a row is final"):
            file.execute(statement)


def test_a_terminal_outcome_is_not_overwritten_by_an_insert(store: Store) -> None:
    with store.write() as connection:
        values = {"batch": 1, "row": 1, "verdict": Verdict.CREATED, "attempt": 1}
        connection.execute(sa.insert(OUTCOME).values(**values))

    sentence = f"The outcome of a row is final and can't be changed.{TAIL}"
    with refused(store, sentence) as connection:
        connection.exec_driver_sql(
            "INSERT INTO batchfx_outcome VALUES (1, 1, 'failed', NULL, NULL, 2)"
            " ON CONFLICT (batch, row) DO UPDATE SET verdict = excluded.verdict"
        )


def test_a_trigger_of_the_application_may_change_its_own_table(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'test.db'}")
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE app (n INTEGER, changes INTEGER)")
        connection.exec_driver_sql(
            "CREATE TRIGGER app_changed AFTER UPDATE ON app"
            " BEGIN UPDATE app SET changes = changes + 1; END"
        )
        connection.exec_driver_sql("INSERT INTO app VALUES (1, 0)")
        connection.exec_driver_sql("UPDATE app SET n = 2")

        assert connection.exec_driver_sql("SELECT * FROM app").all() == [(2, 1)]
    store.close()


def test_triggers_of_the_application_are_not_taken_for_ours(store: Store) -> None:
    if store.engine.dialect.name == "sqlite":
        made = [
            """CREATE TRIGGER app_no BEFORE INSERT ON app
            BEGIN SELECT RAISE(ABORT, 'The app says no.'); END"""
        ]
    else:
        made = [
            """CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'The app says no.'; END $$""",
            "CREATE TRIGGER no BEFORE INSERT ON app EXECUTE FUNCTION no()",
        ]
    with store.write() as connection:
        for statement in ["CREATE TABLE app (n INTEGER)", *made]:
            connection.exec_driver_sql(statement)

    with (
        pytest.raises(sa.exc.DBAPIError, match="The app says no"),
        store.write() as connection,
    ):
        connection.exec_driver_sql("INSERT INTO app VALUES (1)")


def test_rows_are_added_without_a_trigger(store: Store) -> None:
    listed = {
        "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'"
        " AND sql LIKE '%BEFORE INSERT%'",
        # A bit of tgtype says INSERT.
        "postgresql": "SELECT count(*) FROM pg_trigger"
        " WHERE NOT tgisinternal AND tgtype & 4 <> 0",
    }
    with store.read() as connection:
        found = connection.exec_driver_sql(listed[connection.dialect.name])

        assert found.scalar_one() == 0
