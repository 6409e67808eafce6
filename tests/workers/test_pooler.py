"""Everything that is done on PostgreSQL, behind a pooler in its transaction mode.

The pooler gives a client another session for each transaction and discards nothing, so
whatever is kept in a session is not there in the next transaction.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Options, Store, TableImporter, import_source
from batchfx.execution.sweep import sweep
from batchfx.store import claims
from batchfx.store.engine import open_store
from batchfx.store.schema import CHUNK
from tests.faults.poolers import Pooler
from tests.oracle import check_batch
from tests.workers.fleet import Fleet
from tests.workers.test_entry import BATCHFX

AGAIN = Options(again=True)


class Base(DeclarativeBase):
    """The application's table."""


class Part(Base):
    """A part as stored."""

    __tablename__ = "pooled_part"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    stock: Mapped[int]
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("pooled_part.id"))


class PartRow(BaseModel):
    """A part as a row."""

    code: str
    stock: int


class PartImporter(TableImporter[PartRow]):
    """Adds or changes parts, by way of a temporary table."""

    name = "pooled-parts"
    model = Part
    match_on = "code"
    mode = "upsert"
    chunk_size = 10


@pytest.fixture
def pooler(postgresql: str) -> Iterator[Pooler]:
    """A pooler before an empty database."""
    with Pooler(postgresql) as made:
        yield made
        assert made.leases > 0
        assert made.repeats == 0


@pytest.fixture
def pooled(pooler: Pooler, tmp_path: Path) -> Iterator[Fleet]:
    """Workers behind it, as everything else is."""
    store = open_store(pooler.url)
    fleet = Fleet(pooler.url, store, tmp_path)
    yield fleet
    fleet.close()
    store.close()


def test_what_is_kept_in_a_session_is_not_there_in_the_next_transaction(
    pooler: Pooler,
) -> None:
    with psycopg.connect(pooler.url, autocommit=True) as client:

        def first(statement: str) -> object:
            row = client.execute(statement).fetchone()
            return None if row is None else row[0]

        usual = first("SHOW work_mem")
        client.execute("SET work_mem = '7777kB'")
        assert first("SHOW work_mem") == usual
        assert first("SELECT pg_try_advisory_lock(7)") is True
        assert first("SELECT pg_advisory_unlock(7)") is False
        client.execute("CREATE TEMPORARY TABLE kept (n integer)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("SELECT n FROM kept")
        client.execute("PREPARE kept AS SELECT 1")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            client.execute("EXECUTE kept")
        with client.transaction():  # inside of one everything stays
            client.execute("SET LOCAL work_mem = '7777kB'")
            client.execute("CREATE TEMPORARY TABLE kept (n integer) ON COMMIT DROP")
            assert first("SHOW work_mem") == "7777kB"
            assert first("SELECT count(*) FROM kept") == 0
        assert first("SHOW work_mem") == usual


def test_a_client_that_dies_in_a_transaction_leaves_nothing_of_it(
    pooler: Pooler,
) -> None:
    with psycopg.connect(pooler.url, autocommit=True) as client:
        client.execute("CREATE TABLE kept (n integer)")
        dying = psycopg.connect(pooler.url)
        dying.execute("INSERT INTO kept VALUES (1)")
        dying.execute("LOCK TABLE kept")
        dying.close()
        assert client.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_tables_are_made_and_upgraded(pooler: Pooler, tmp_path: Path) -> None:
    store = open_store(pooler.url)
    fleet = Fleet(pooler.url, store, tmp_path)
    for _ in range(2):
        command = [str(BATCHFX), "db", "upgrade", "--database", pooler.url]
        upgraded = fleet.run(command)
        assert upgraded.process.wait(60) == 0, upgraded.log
    store.close()


def test_a_supervised_worker_runs_renews_and_is_watched(pooled: Fleet) -> None:
    key = pooled.submit("sleep:4", *["nothing"] * 7, "sleep:4")
    watching = [str(BATCHFX), "watch", str(key.number), "--database", pooled.database]
    watch = pooled.run(watching)
    worker = pooled.start(processes=2, ttl=3.0)
    pooled.wait(key, seconds=60)
    check_batch(pooled.store, key)
    assert watch.process.wait(30) == 0, watch.log
    assert "completed" in watch.log
    assert worker.stop() == 0
    charged = [(unit.failures, unit.losses) for unit in pooled.chunks(key)]
    assert charged == [(0, 0)] * 9


def test_a_sweep_mends_what_a_dead_worker_left(pooled: Fleet) -> None:
    key = pooled.submit("nothing", "nothing")
    with pooled.store.write() as connection:
        assert claims.of_batch(connection, key, "dead", -1.0, preparation=True)
    command = [str(BATCHFX), "sweep", "--database", pooled.database]
    assert pooled.run(command).process.wait(60) == 0
    with pooled.store.write() as connection:
        connection.execute(sa.update(CHUNK).values(due_at=0.0))
    assert sweep(pooled.store).due == 1
    pooled.start()
    pooled.wait(key)
    check_batch(pooled.store, key)


def test_a_table_gets_the_same_rows_as_directly(
    pooler: Pooler, postgresql: str
) -> None:
    lines = ["code,stock", *(f"P{n},{n}" for n in range(40)), "P41,many"]
    content = "\n".join(lines).encode()
    direct, behind = open_store(postgresql), open_store(pooler.url)
    with direct.write() as connection:
        Base.metadata.create_all(connection)
    tallies, parts = [], []
    for store in (direct, behind):
        with direct.write() as connection:
            connection.execute(sa.delete(Part))
        tallies.append([_imported(store, content) for _ in range(2)])
        parts.append(_parts(direct))
    assert tallies[0] == tallies[1]
    assert parts[0] == parts[1] == sorted((f"P{n}", n) for n in range(40))
    first, second = tallies[1]
    assert (first["created"], first["invalid"]) == (40, 1)
    assert (second["unchanged"], second["invalid"]) == (40, 1)
    direct.close()
    behind.close()


def _imported(store: Store, content: bytes) -> dict[str, int]:
    source = io.BytesIO(content)
    ended = import_source(store, PartImporter, source, name="p.csv", options=AGAIN)
    check_batch(store, ended.key)
    return ended.tally.counts()


def _parts(store: Store) -> list[tuple[str, int]]:
    with store.read() as connection:
        found = connection.execute(sa.select(Part.code, Part.stock).order_by(Part.code))
        return [(row.code, row.stock) for row in found]


def test_many_clients_share_few_sessions(pooled: Fleet) -> None:
    keys = [pooled.submit(*["nothing"] * 5, tenant=name) for name in "abc"]
    workers = [pooled.start(processes=2) for _ in range(2)]
    for key in keys:
        pooled.wait(key, seconds=60)
        check_batch(pooled.store, key)
    assert [worker.stop() for worker in workers] == [0, 0]
