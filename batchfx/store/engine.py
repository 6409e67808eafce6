"""The database: how it is opened, and which transactions are safe.

SQLite's own default transactions lose updates and commit on their own at every change
of the schema. Here a reading transaction is ``BEGIN`` and sees one snapshot; a writing
one is ``BEGIN IMMEDIATE``: it takes the write lock before it reads, so what it read
still holds when it writes. The journal is a write-ahead log, so readers never wait, and
every commit is on disk before it is reported (``synchronous = FULL``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, RootTransaction, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from batchfx.errors import BatchfxError, StoreError, UsageError
from batchfx.store import schema

BUSY_TIMEOUT_MS = 120_000  # another import may hold the lock for a whole chunk
CACHE_KIB = 16_384
# Pages in the journal before they are copied into the database: a page of an index is
# changed by one chunk after the other, and is so copied once for several of them.
CHECKPOINT_PAGES = 16_000
JOURNAL_BYTES = 64 << 20  # what the journal is cut back to after a large transaction
WRITE = "batchfx_write"

# Primary result codes of SQLite (https://sqlite.org/rescode.html) that are about the
# system and not about what was asked of it.
SYSTEM_CODES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)


class now_epoch(GenericFunction[float]):  # noqa: N801 - SQL functions are lower case
    """The database's clock, in seconds since 1970-01-01 UTC."""

    type = sa.Float()
    inherit_cache = True


@compiles(now_epoch, "sqlite")
def _now_sqlite(element: Any, compiler: SQLCompiler, **options: Any) -> str:
    del element, compiler, options
    return "((julianday('now') - 2440587.5) * 86400.0)"


class Store:
    """An open database that holds batches; make it with `open_store`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def url(self) -> str:
        """Where the database is, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database and writes nothing."""
        with self._faults(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that holds the right to write; commit it at the end.

        Raises:
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
        except DBAPIError as error:
            if is_system_fault(error):
                raise StoreError(_explain(error, self.url)) from error
            raise


def open_store(url: str) -> Store:
    """Open the database at *url* and make batchfx's tables where they are missing.

    Raises:
        StoreError: It can't be opened, is no database, or was made by a newer version.
        UsageError: *url* is no address of a database that batchfx can use.

    """
    # Parameters of a statement are values of many rows: they stay out of error texts.
    engine = sa.create_engine(_checked(url), hide_parameters=True)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_connection)
        sa.event.listen(engine, "begin", _begin)
    store = Store(engine)
    try:
        _require_tables(store)
    except BatchfxError:
        store.close()
        raise
    return store


def _require_tables(store: Store) -> None:
    with store.read() as connection:
        is_current = _version(connection) == schema.VERSION
    if not is_current:
        with store.write() as connection:
            _make_tables(connection)


def is_open(transaction: RootTransaction | None) -> bool:
    """Tell whether *transaction* is still what its connection's statements are in."""
    if transaction is None or not transaction.is_active:
        return False
    connection = transaction.connection
    if connection.closed or connection.get_transaction() is not transaction:
        return False
    in_driver = getattr(connection.connection.driver_connection, "in_transaction", True)
    return bool(in_driver)


def is_system_fault(error: BaseException) -> bool:
    """Tell whether *error* means that the system gave out, and no row is to blame."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in SYSTEM_CODES


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        message = (
            f"'{url}' is no database address. Write one such as sqlite:///batchfx.db."
        )
        raise UsageError(message) from error
    if parsed.drivername not in {"sqlite", "sqlite+pysqlite"} or parsed.query:
        message = (
            f"A database '{parsed.render_as_string()}' is not supported; "
            "write an address such as sqlite:///batchfx.db."
        )
        raise UsageError(message)
    if parsed.database in (None, "", ":memory:"):
        message = (
            "A database in memory forgets every batch when the process ends; "
            "name a file: sqlite:///batchfx.db."
        )
        raise StoreError(message)
    return parsed


def _prepare_connection(connection: sqlite3.Connection, record: Any) -> None:
    del record
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"journal_size_limit = {JOURNAL_BYTES}",
        "foreign_keys = ON",
        f"cache_size = -{CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _version(connection: Connection) -> int:
    """Return the version of batchfx's tables; 0 when there are none.

    It is kept in a table: `PRAGMA user_version` may be the application's own.
    """
    if not sa.inspect(connection).has_table(schema.RELEASE.name):
        return 0
    newest = sa.select(sa.func.max(schema.RELEASE.c.version))
    return connection.execute(newest).scalar_one() or 0


def _make_tables(connection: Connection) -> None:
    found = _version(connection)
    if found > schema.VERSION:
        message = (
            "The database was made by a newer batchfx (its tables are version "
            f"{found}, this one knows {schema.VERSION}). Install that version or a "
            "later one."
        )
        raise StoreError(message)
    if 0 < found < schema.VERSION:
        message = (
            "The database was made by an older batchfx (its tables are version "
            f"{found}, this one needs {schema.VERSION}). Use a new database, or finish "
            "its imports with the version that made it."
        )
        raise StoreError(message)
    if found < schema.VERSION:
        schema.METADATA.create_all(connection)
        connection.execute(sa.insert(schema.RELEASE), {"version": schema.VERSION})


def _explain(error: DBAPIError, url: str) -> str:
    reason = str(error.orig)
    hints = {
        "locked": "another program is writing to it; try again when that has ended",
        "readonly": "the file or its folder can't be written; mend its permissions",
        "full": "the disk is full; make room and run it again, what is done is kept",
        "unable to open": "its folder must exist and allow writing",
        "not a database": "the file is something else; name another one",
    }
    hint = next((text for sign, text in hints.items() if sign in reason), "")
    return f"The database {url} can't be used: {reason}" + (
        f" ({hint})." if hint else "."
    )
