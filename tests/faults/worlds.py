"""Databases in the states in which an operation may be killed, made once and copied.

Nothing here waits for a clock: what is leased has a lease that ran out already, and
what is tried again is due at once.
"""

from __future__ import annotations

import io
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from batchfx import BatchKey, Options, Report, import_source
from batchfx.execution.operate import pause
from batchfx.execution.run import run_claim
from batchfx.execution.sweep import sweep
from batchfx.model.access import EVERY, FOREVER, Identity
from batchfx.store import access, batches, claims
from batchfx.store.claims import Claim, Failure
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import CHUNK
from batchfx.store.schema import WORKER as WORKER_ROW
from tests.faults import payments
from tests.faults.ledgers import KEPT, LedgerImporter, begin_feed
from tests.people import Base

ROWS, CHUNK_SIZE = 11, 4
TENANT = "acme"
CONTENT = "Code,Name,Age\n" + "".join(
    f"A{n},{'boom' if n == 5 else 'Ann'},{'x' if n == 9 else n}\n" for n in range(ROWS)
)
GOOD = {f"A{n}" for n in range(ROWS) if n not in {5, 9}}
OPTIONS = Options(tenant=TENANT, chunk_size=CHUNK_SIZE)
WORKER, OTHER = "first/boot", "second/boot"
RAN_OUT = -1.0  # seconds of a lease
BROKE = Failure("broke", "a test", "It was broken by a test.")


@dataclass(frozen=True)
class Place:
    """Where databases are made: a folder, or a server of PostgreSQL."""

    folder: Path
    server: str | None = None

    @property
    def name(self) -> str:
        """The kind of database."""
        return "sqlite" if self.server is None else "postgresql"

    def empty(self) -> str:
        """Return the address of a new database without a table."""
        if self.server is None:
            folder = tempfile.mkdtemp(dir=self.folder)
            return f"sqlite:///{folder}/test.db"
        return self._made("template0")

    def copy(self, url: str) -> str:
        """Return the address of a new database with what is in the one at *url*."""
        if self.server is None:
            copied = self.empty()
            shutil.copyfile(_path(url), _path(copied))
            return copied
        template = make_url(url).database
        return self._made(str(template))

    def drop(self, url: str) -> None:
        """Remove the database at *url*."""
        if self.server is None:
            shutil.rmtree(Path(_path(url)).parent)
            return
        with psycopg.connect(self.server, autocommit=True) as connection:
            name = make_url(url).database
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _made(self, template: str) -> str:
        assert self.server is not None
        name = f"fault_{uuid.uuid4().hex}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        address = make_url(self.server).set(database=name)
        return address.render_as_string(hide_password=False)


def settled(url: str) -> None:
    """Put everything of a SQLite database into its one file, so that it can be copied.

    A journal that a process left is emptied into it.
    """
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(_path(url))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _path(url: str) -> str:
    return str(make_url(url).database)


def opened(url: str) -> Store:
    """Open the database; what waits between two tries takes no time."""
    claims.BACKOFF = 0.0
    payments.be_at(url)
    return open_store(url, lock_timeout=20.0, idle_timeout=10.0)


class Roaming:
    """A store that goes from one database to the next and compiles a statement once."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self.store = opened(url)
        sa.event.listen(self.store.engine, "do_connect", self._redirect)

    def go(self, url: str) -> Store:
        """Go to the database at *url*, which has batchfx's tables."""
        self.store.close()
        self._url = make_url(url)
        return self.store

    def _redirect(
        self, dialect: Any, record: Any, values: list[Any], named: dict[str, Any]
    ) -> None:
        if dialect.name == "sqlite":
            values[0] = self._url.database
        else:
            named["dbname"] = self._url.database


def the_batch(store: Store) -> BatchKey:
    """Return the batch of the database, which has one."""
    with store.read() as connection:
        (batch,) = batches.listing(connection, TENANT, 10)
    return batch.key


def has_batch(store: Store) -> bool:
    """Tell whether the database has a batch."""
    with store.read() as connection:
        return bool(batches.listing(connection, TENANT, 10))


def submit(store: Store, *, detached: bool = True) -> Report:
    """Enter the import, or go on with it; run it here unless it is *detached*."""
    source = io.BytesIO(CONTENT.encode())
    return import_source(
        store,
        LedgerImporter,
        source,
        name="people.csv",
        options=OPTIONS,
        detached=detached,
    )


def let_in(store: Store, *workers: str) -> None:
    """Let workers in that may do everything."""
    everything = frozenset({EVERY})
    identity = Identity("test", everything, everything, FOREVER)
    with store.write() as connection:
        for worker in workers:
            access.enter(connection, worker, identity, "test")


def claim(store: Store, worker: str = WORKER, ttl: float = RAN_OUT) -> Claim | None:
    """Claim a unit as a worker does."""
    names = [LedgerImporter.name, *payments.NAMES]
    with store.write() as connection:
        found = claims.fair(connection, worker, names, ttl)
    return found[0] if found else None


def drain(store: Store, worker: str = WORKER) -> None:
    """Work as a worker does, and sweep, until nothing is left that could be done."""
    while True:
        swept = sweep(store)
        found = claim(store, worker, ttl=30.0)
        if found is not None:
            run_claim(store, found)
        elif not (swept.has_work or swept.ended):
            return


# The states, each made from the one before it.


def make_tables(store: Store) -> None:
    """Make what is watched, and let two workers in."""
    with store.write() as connection:
        begin_feed(connection)
    let_in(store, WORKER, OTHER)


def make_submitted(store: Store) -> None:
    """Enter a batch; its preparation waits."""
    submit(store)


def make_prepared(store: Store) -> None:
    """Prepare it; its chunks wait."""
    found = claim(store)
    assert found is not None
    run_claim(store, found)


def make_leased(store: Store) -> None:
    """Have a worker at the first chunk, whose lease has run out."""
    assert claim(store) is not None


def make_troubled(store: Store) -> None:
    """Leave work for every step of a sweep."""
    make_leased(store)
    assert claim(store, OTHER) is not None
    with store.write() as connection:
        found = claims.of_batch(connection, the_batch(store), WORKER, RAN_OUT)
        assert found is not None
        claims.fail(connection, found, BROKE)
        nearly_dead = (CHUNK.c.ordinal == 1, CHUNK.c.state == "leased")
        connection.execute(sa.update(CHUNK).where(*nearly_dead).values(losses=2))
        connection.execute(sa.text("UPDATE batchfx_lane SET has_work = false"))
    let_in(store, "long gone")
    with store.write() as connection:
        gone = sa.update(WORKER_ROW).where(WORKER_ROW.c.id == "long gone")
        connection.execute(gone.values(seen_at=0.0))


def make_dueling(store: Store) -> None:
    """Have a worker at the first chunk, which breaks for the last time if it does."""
    make_leased(store)
    nearly_dead = sa.update(CHUNK).where(CHUNK.c.state == "leased")
    with store.write() as connection:
        connection.execute(nearly_dead.values(failures=claims.TRIES - 1))


def make_last_two(store: Store) -> None:
    """Have two workers at what is left: the first chunk and the second one."""
    make_leased(store)
    assert claim(store, OTHER) is not None
    last = claim(store)
    assert last is not None
    run_claim(store, last)


def make_dead(store: Store) -> None:
    """Have the first chunk dead."""
    for _ in range(claims.TRIES):
        sweep(store)
        key = the_batch(store)
        with store.write() as connection:
            found = claims.of_batch(connection, key, WORKER, RAN_OUT)
            assert found is not None
            assert found.ordinal == 0
            claims.fail(connection, found, BROKE)


def make_completed(store: Store) -> None:
    """Have everything done; a row is invalid, and one failed."""
    drain(store)


def make_paused(store: Store) -> None:
    """Pause the batch with a worker at its first chunk."""
    make_leased(store)
    pause(store, the_batch(store))


def make_paying(store: Store) -> None:
    """Have a worker at the only chunk of payments, with none of them made."""
    payments.submit(store, payments.PaymentImporter, TENANT)
    make_prepared(store)
    assert claim(store) is not None


def make_asking(store: Store) -> None:
    """Have another worker at the chunk of payments that one died in the middle of."""
    payments.submit(store, payments.AskingImporter, TENANT)
    make_prepared(store)
    payments.leave_in_the_middle(store, the_batch(store), "dead")
    assert claim(store) is not None


def make_doubtful(store: Store) -> None:
    """Have payments of which nobody knows whether they were made."""
    payments.submit(store, payments.PaymentImporter, TENANT)
    make_prepared(store)
    payments.leave_in_the_middle(store, the_batch(store), "dead")


STATES: dict[str, list[Callable[[Store], None]]] = {
    "empty": [],
    "tables": [make_tables],
    "submitted": [make_tables, make_submitted],
    "prepared": [make_tables, make_submitted, make_prepared],
    "leased": [make_tables, make_submitted, make_prepared, make_leased],
    "troubled": [make_tables, make_submitted, make_prepared, make_troubled],
    "dueling": [make_tables, make_submitted, make_prepared, make_dueling],
    "last two": [make_tables, make_submitted, make_prepared, make_last_two],
    "dead": [make_tables, make_submitted, make_prepared, make_dead],
    "paused": [make_tables, make_submitted, make_prepared, make_paused],
    "completed": [make_tables, make_submitted, make_completed],
    "paying": [make_tables, make_paying],
    "asking": [make_tables, make_asking],
    "doubtful": [make_tables, make_doubtful],
}


def make(url: str, state: str) -> None:
    """Bring the empty database at *url* into *state*."""
    engine = sa.create_engine(url)
    for metadata in (Base.metadata, KEPT):
        metadata.create_all(engine)
    engine.dispose()
    steps = STATES[state]
    if steps:
        store = opened(url)
        for step in steps:
            step(store)
        store.close()
    settled(url)
