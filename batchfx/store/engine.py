"""The database: how it is opened, and which transactions are safe.

SQLite's own default transactions lose updates and commit on their own at every change
of the schema. Here a reading transaction is ``BEGIN`` and sees one snapshot; a writing
one is ``BEGIN IMMEDIATE``: it takes the write lock before it reads, so what it read
still holds when it writes. The journal is a write-ahead log, so readers never wait, and
every commit is on disk before it is reported (``synchronous = FULL``).

On PostgreSQL a reading transaction is ``REPEATABLE READ READ ONLY`` and a writing one
``READ COMMITTED``, in which statements lock what they decide upon. Nothing outlives its
transaction, so a pooler such as PgBouncer may give each to another connection: limits
are set with ``SET LOCAL``, and no statement is prepared under a name.
"""

from __future__ import annotations

import math
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, RootTransaction
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from batchfx.errors import IllegalMoveError, StoreError
from batchfx.store import migrations
from batchfx.store.addresses import address, visible
from batchfx.store.faults import explain, is_system_fault, refusal

__all__ = [
    "Store",
    "connect",
    "cut_off",
    "cutter",
    "is_open",
    "is_system_fault",
    "now_epoch",
    "open_store",
    "up_for",
    "upgrade",
    "version",
    "written_once",
]

# A frozen process holds its locks until it is idle for too long; who waits for them
# waits a little longer than that. Another import may hold SQLite for a whole chunk.
IDLE_SECONDS = 120.0
LOCK_SECONDS = 150.0
CACHE_KIB = 16_384
# While a file is kept, whose pages are written once and not read again.
CACHE_KIB_OF_FILES = 1_024
# Pages in the journal before they are copied into the database: a page of an index is
# changed by one chunk after the other, and is so copied once for several of them.
CHECKPOINT_PAGES = 16_000
JOURNAL_BYTES = 64 << 20  # what the journal is cut back to after a large transaction
WRITE = "batchfx_write"
OLDEST_POSTGRESQL = 13
OLDEST_SQLITE = (3, 35)  # the first with RETURNING
NO_TRANSACTION = frozenset({"IDLE", "UNKNOWN"})  # names that psycopg gives them

# Unless the address says otherwise. A server that vanished without a word is noticed
# within a minute, before or after a statement was sent.
POSTGRESQL_OPTIONS = {
    "application_name": "batchfx",
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "50000",
}


class now_epoch(GenericFunction[float]):  # noqa: N801 - SQL functions are lower case
    """The database's clock, in seconds since 1970-01-01 UTC."""

    type = sa.Float()
    inherit_cache = True


@compiles(now_epoch, "sqlite")
def _now_sqlite(element: Any, compiler: SQLCompiler, **options: Any) -> str:
    del element, compiler, options
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now_epoch, "postgresql")
def _now_postgresql(element: Any, compiler: SQLCompiler, **options: Any) -> str:
    # A subquery is read once a statement, so that an index can be used. Not the start
    # of the transaction: that may be long ago when a lock was waited for.
    del element, compiler, options
    return "(SELECT extract(epoch FROM clock_timestamp())::double precision)"


def up_for(connection: Connection) -> float:
    """Return the seconds since the database's server started; infinite without one."""
    if connection.dialect.name != "postgresql":
        return math.inf
    age = sa.func.clock_timestamp() - sa.func.pg_postmaster_start_time()
    seconds = sa.select(sa.extract("epoch", age))
    return float(connection.execute(seconds).scalar_one())


class Store:
    """An open database that holds batches; make it with `open_store`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def url(self) -> str:
        """Where the database is, without a password."""
        return visible(self.engine.url)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database and writes nothing.

        Raises:
            StoreError: The database can't be used now.

        """
        with self._faults(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that may write; commit it at the end.

        On SQLite it alone has the right to write; on PostgreSQL others write, too.

        Raises:
            IllegalMoveError: What is final was to be changed.
            StoreError: The database can't be used now.

        """
        with (
            self._faults(),
            self.engine.connect().execution_options(**{WRITE: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            if isinstance(error, DBAPIError) and (refused := refusal(error)):
                raise IllegalMoveError(refused) from error
            if is_system_fault(error):
                raise StoreError(explain(error, self.url)) from error
            raise


def open_store(
    url: str, *, lock_timeout: float = LOCK_SECONDS, idle_timeout: float = IDLE_SECONDS
) -> Store:
    """Open the database at *url*; make batchfx's tables when it is a new one.

    Args:
        url: Such as ``sqlite:///batchfx.db`` or ``postgresql://user@host/database``.
        lock_timeout: Seconds to wait for what another transaction holds.
        idle_timeout: Seconds after which PostgreSQL ends a writing transaction that
            does nothing, as that of a machine that froze.

    Raises:
        StoreError: It can't be opened, is no database, is too old, or was made by
            another version.
        UsageError: *url* is no address of a database that batchfx can use.

    """
    with _kept_if_well(
        connect(url, lock_timeout=lock_timeout, idle_timeout=idle_timeout)
    ) as store:
        _require_tables(store)
    return store


def upgrade(url: str) -> str | None:
    """Bring the tables in the database at *url* to the version of this batchfx.

    Returns the version that was found; None: there were no tables.

    Raises:
        StoreError: The database can't be used, or its tables are of a version that
            this batchfx does not know.
        UsageError: *url* is no address of a database that batchfx can use.

    """
    with _kept_if_well(connect(url)) as store:
        with store.read() as connection:
            _require_new_enough(connection)
        with store.write() as connection:
            before = migrations.upgrade(connection)
    store.close()
    return before


def version(url: str) -> migrations.Found:
    """Look which version of batchfx's tables is in the database at *url*.

    Raises:
        StoreError: The database can't be used.
        UsageError: *url* is no address of a database that batchfx can use.

    """
    with _kept_if_well(connect(url)) as store, store.read() as connection:
        found = migrations.found(connection)
    store.close()
    return found


@contextmanager
def _kept_if_well(store: Store) -> Iterator[Store]:
    """Close *store* when its database can't be used; say so, whatever it was."""
    try:
        yield store
    except SQLAlchemyError as error:
        store.close()
        raise StoreError(explain(error, store.url)) from error
    except BaseException:
        store.close()
        raise


def connect(
    url: str, *, lock_timeout: float = LOCK_SECONDS, idle_timeout: float = IDLE_SECONDS
) -> Store:
    """Prepare for the database at *url*, whatever is in it; nothing is opened yet.

    Raises:
        StoreError: It is kept in memory, or what is needed to talk to it is missing.
        UsageError: *url* is no address of a database that batchfx can use.

    """
    place = address(url)
    if place.get_backend_name() == "postgresql":
        return Store(_postgresql(place, lock_timeout, idle_timeout))
    return Store(_sqlite(place, lock_timeout))


def _require_tables(store: Store) -> None:
    with store.read() as connection:
        _require_new_enough(connection)
        found = migrations.found(connection)
    if not migrations.is_current(found):
        with store.write() as connection:
            migrations.bootstrap(connection)


def _require_new_enough(connection: Connection) -> None:
    dialect = connection.dialect
    found = dialect.server_version_info or ()
    is_sqlite = dialect.name == "sqlite"
    oldest = OLDEST_SQLITE if is_sqlite else (OLDEST_POSTGRESQL,)
    if found < oldest:
        name = "SQLite" if is_sqlite else "PostgreSQL"
        have, need = (".".join(map(str, version)) for version in (found, oldest))
        message = (
            f"The database {visible(connection.engine.url)} is run by {name} {have}; "
            f"batchfx needs {need} or a later one."
        )
        raise StoreError(message)


@contextmanager
def written_once(connection: Connection) -> Iterator[None]:
    """Keep little in memory of what is written meanwhile: nobody reads it soon."""
    if connection.dialect.name != "sqlite":
        yield
        return
    connection.exec_driver_sql(f"PRAGMA cache_size = -{CACHE_KIB_OF_FILES}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA cache_size = -{CACHE_KIB}")


def is_open(transaction: RootTransaction | None) -> bool:
    """Tell whether *transaction* is still what its connection's statements are in."""
    if transaction is None or not transaction.is_active:
        return False
    connection = transaction.connection
    if connection.closed or connection.invalidated:
        return False
    if connection.get_transaction() is not transaction:
        return False
    driver: Any = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        return driver.in_transaction
    return driver.info.transaction_status.name not in NO_TRANSACTION


def cutter(store: Store) -> Callable[[], None]:
    """Return what makes the connections of *store* useless, for a fork to call.

    Whoever forked goes on with them; nothing is said to the server.
    """
    opened: dict[int, Any] = {}

    def note(connection: Any, *_: Any) -> None:
        opened[id(connection)] = connection

    def forget(connection: Any, *_: Any) -> None:
        opened.pop(id(connection), None)

    sa.event.listen(store.engine, "checkout", note)
    sa.event.listen(store.engine, "close", forget)

    def cut() -> None:
        for each in opened.values():
            if isinstance(each, sqlite3.Connection):
                each.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
            elif not each.closed:
                cut_off(each.fileno())

    return cut


def cut_off(descriptor: int) -> None:
    """Put a socket that leads nowhere in the place of *descriptor*."""
    here, there = socket.socketpair()
    with here, there:
        os.dup2(here.fileno(), descriptor, inheritable=False)


def _sqlite(url: URL, lock_timeout: float) -> Engine:
    # Parameters of a statement are values of many rows: they stay out of error texts.
    engine = sa.create_engine(url, hide_parameters=True)

    def prepare(connection: sqlite3.Connection, record: Any) -> None:
        del record
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout = {round(lock_timeout * 1000)}",
            "journal_mode = WAL",
            "synchronous = FULL",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
            f"journal_size_limit = {JOURNAL_BYTES}",
            "foreign_keys = ON",
            f"cache_size = -{CACHE_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    sa.event.listen(engine, "connect", prepare)
    _begin_with(engine, read="BEGIN", write="BEGIN IMMEDIATE")
    return engine


def _postgresql(url: URL, lock_timeout: float, idle_timeout: float) -> Engine:
    options = {k: v for k, v in POSTGRESQL_OPTIONS.items() if k not in url.query}
    try:
        engine = sa.create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,  # a server that was restarted costs a new connection
            use_native_hstore=False,
            connect_args={**options, "autocommit": True, "prepare_threshold": None},
        )
    except ImportError as error:
        message = (
            "PostgreSQL needs the package psycopg, which is missing or broken: "
            "pip install 'batchfx[postgres]'."
        )
        raise StoreError(message) from error
    limits = {
        "lock_timeout": lock_timeout,
        "idle_in_transaction_session_timeout": idle_timeout,
    }
    set_limits = (f"SET LOCAL {k} = {round(v * 1000)}" for k, v in limits.items())
    _begin_with(
        engine,
        read="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        write="; ".join(["BEGIN ISOLATION LEVEL READ COMMITTED", *set_limits]),
    )
    return engine


def _begin_with(engine: Engine, *, read: str, write: str) -> None:
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITE, False)
        connection.exec_driver_sql(write if writes else read)

    sa.event.listen(engine, "begin", begin)
