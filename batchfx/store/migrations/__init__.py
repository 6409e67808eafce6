"""The version of batchfx's tables in a database, and the way from one to the next."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx.errors import StoreError
from batchfx.store import triggers

HEAD = "0001"
VERSION_TABLE = "batchfx_version"
PRERELEASE_TABLE = "batchfx_schema"  # of the versions before 0001
LOCK_KEY = 0x6261_7463_6866_7801  # "batchfx" and 1: nobody else's, it is to be hoped
FOLDER = Path(__file__).parent
_ONE_AT_A_TIME = threading.Lock()  # Alembic's context is one for the whole process


@dataclass(frozen=True, slots=True)
class Found:
    """What is in a database: the version of batchfx's tables, None without any."""

    version: str | None
    is_prerelease: bool = False


def found(connection: Connection) -> Found:
    """Look which version of batchfx's tables is in the database."""
    names = _tables(connection)
    if VERSION_TABLE not in names:
        return Found(None, is_prerelease=PRERELEASE_TABLE in names)
    version = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))
    return Found(connection.scalar(sa.select(version.c.version_num)))


def is_current(database: Found) -> bool:
    """Tell whether this batchfx can work with what was found.

    Raises:
        StoreError: It can't, and it is no new database either.

    """
    _require_known(database)
    if database.version is not None and database.version < HEAD:
        message = (
            "The database was made by an older batchfx (its tables are version "
            f"{database.version}, this one needs {HEAD}). Stop its workers, keep a "
            "copy, and run 'batchfx db upgrade'."
        )
        raise StoreError(message)
    return database.version == HEAD


def bootstrap(connection: Connection) -> None:
    """Make batchfx's tables in a new database, in a transaction that may write.

    Raises:
        StoreError: Somebody else has made tables of another version meanwhile.

    """
    _take_lock(connection)
    if not is_current(found(connection)):
        _migrate(connection)


def upgrade(connection: Connection) -> str | None:
    """Bring the tables to this version, in a transaction that may write.

    Returns the version that was found; None: there were no tables. The triggers are
    made anew in any case.

    Raises:
        StoreError: The tables are of a version that this one does not know.

    """
    _take_lock(connection)
    before = found(connection)
    _require_known(before)
    _migrate(connection)
    return before.version


def _require_known(database: Found) -> None:
    if database.is_prerelease:
        message = (
            "The database was made by a batchfx before its first release, whose tables "
            "can't be brought to this version. Use a new database, or finish its "
            "imports with the version that made it."
        )
        raise StoreError(message)
    if database.version is not None and database.version > HEAD:
        message = (
            "The database was made by a newer batchfx (its tables are version "
            f"{database.version}, this one knows {HEAD}). Install that version or a "
            "later one."
        )
        raise StoreError(message)


def _take_lock(connection: Connection) -> None:
    # Before anything else: what is read after it still holds. SQLite's writing
    # transactions have the database to themselves.
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK_KEY)))


def _migrate(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - 0.1 s that only a migration needs
    from alembic.config import Config  # noqa: PLC0415 - the same

    triggers.drop(connection)
    config = Config(attributes={"connection": connection, "table": VERSION_TABLE})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    with _ONE_AT_A_TIME:
        command.upgrade(config, "head")
    triggers.make(connection)


def _tables(connection: Connection) -> set[str]:
    names = (VERSION_TABLE, PRERELEASE_TABLE)
    if connection.dialect.name == "postgresql":
        # Where an unqualified name leads, by the search path.
        there = [sa.func.to_regclass(name).is_not(None) for name in names]
        row = connection.execute(sa.select(*there)).one()
        return {name for name, is_there in zip(names, row, strict=True) if is_there}
    master = sa.table("sqlite_master", sa.column("name"))
    listed = sa.select(master.c.name).where(master.c.name.in_(names))
    return set(connection.scalars(listed))
