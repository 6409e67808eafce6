"""What the page about databases says can be done, can be done."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from batchfx.errors import IllegalMoveError
from batchfx.model.states import BatchState, ChunkState
from batchfx.model.verdicts import Verdict
from batchfx.store.engine import Store, open_store, upgrade
from batchfx.store.schema import BATCH, CHUNK, EFFECT, EVENT, METADATA, OUTCOME
from tests.store.test_triggers import add_batch, add_chunk

PAGE = (Path(__file__).parents[2] / "docs" / "databases.md").read_text("utf-8")
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
GRANTS, REMOVAL, DROPS = ([s.strip() for s in b.split(";")[:-1]] for b in BLOCKS)
KEPT = {EFFECT.name}  # so that they don't happen again


def removal(store: Store) -> list[str]:
    """Return the statements between begin and commit."""
    inner = REMOVAL[1:-1]
    if store.engine.dialect.name == "postgresql":
        return inner
    return [*DROPS, *(s for s in inner if not s.startswith("ALTER"))]


def test_a_batch_is_removed_as_the_page_says(store: Store) -> None:
    with store.write() as connection:
        for _ in range(7):
            number = add_batch(connection, BatchState.COMPLETED)
            add_chunk(connection, number, ChunkState.DONE, created=10)
            values = {"batch": number, "row": 1, "attempt": 1}
            connection.execute(
                sa.insert(OUTCOME).values(verdict=Verdict.CREATED, **values)
            )
            event = {"batch": number, "seq": 1, "at": 1.0, "kind": "completed"}
            connection.execute(sa.insert(EVENT).values(content={}, **event))

    with store.write() as connection:
        for statement in removal(store):
            connection.exec_driver_sql(statement)
    upgrade(store.engine.url.render_as_string(hide_password=False))

    with store.read() as connection:
        for column in (BATCH.c.id, CHUNK.c.batch, EVENT.c.batch, OUTCOME.c.batch):
            left = connection.scalars(sa.select(column).order_by(column)).all()
            assert left == [1, 2, 3, 4, 5, 6]
    for table in (EVENT, OUTCOME):
        with pytest.raises(IllegalMoveError), store.write() as connection:
            connection.execute(sa.delete(table))


def test_every_table_of_a_batch_is_named_for_its_removal() -> None:
    of_batches = {table.name for table in METADATA.sorted_tables if "batch" in table.c}
    named = set(re.findall(r"DELETE FROM (\w+) WHERE batch", ";".join(REMOVAL)))

    assert named == of_batches - KEPT


def test_a_worker_needs_no_more_rights_than_the_page_says(postgresql: str) -> None:
    open_store(postgresql).close()
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS worker")
        connection.execute("CREATE ROLE worker LOGIN PASSWORD 'w'")
        for statement in GRANTS:
            connection.execute(statement)
    address = make_url(postgresql).set(username="worker", password="w")  # noqa: S106 - of nobody

    store = open_store(address.render_as_string(hide_password=False))
    with store.write() as connection:
        number = add_batch(connection, BatchState.STAGING)
        add_chunk(connection, number, ChunkState.HELD)
        connection.execute(sa.update(CHUNK).values(state=ChunkState.QUEUED))
        connection.execute(sa.delete(CHUNK))
    store.close()
