"""How a database gets batchfx's tables, and which databases are refused."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from batchfx.errors import StoreError
from batchfx.store import migrations, triggers
from batchfx.store.engine import Store, connect, open_store
from batchfx.store.schema import METADATA

ROOT = Path(__file__).parents[2]
PROCESSES = 64
CATALOGUE = {
    "sqlite": (
        "SELECT type, tbl_name, name, sql FROM sqlite_master"
        " WHERE tbl_name <> 'batchfx_version' AND type <> 'trigger' ORDER BY 1, 2, 3"
    ),
    "postgresql": """
        SELECT 'column', table_name, column_name,
               concat_ws(' ', data_type, is_nullable, column_default, is_identity)
        FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name <> 'batchfx_version'
        UNION ALL
        SELECT 'constraint', conrelid::regclass::text, conname,
               pg_get_constraintdef(oid)
        FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
          AND conrelid::regclass::text <> 'batchfx_version'
        UNION ALL
        SELECT 'index', tablename, indexname, indexdef
        FROM pg_indexes
        WHERE schemaname = 'public' AND tablename <> 'batchfx_version'
        ORDER BY 1, 2, 3
    """,
}


@pytest.fixture
def other(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Store]:
    """Another new database of the same kind, with nothing in it."""
    if database.startswith("sqlite"):
        url = f"sqlite:///{tmp_path / 'other.db'}"
    else:
        make: Callable[[], str] = request.getfixturevalue("make_postgresql")
        url = make()
    opened = connect(url)
    yield opened
    opened.close()


def catalogue(store: Store) -> list[tuple[str, ...]]:
    """Return everything that is in the database, as the database writes it."""
    with store.read() as connection:
        found = connection.exec_driver_sql(CATALOGUE[connection.dialect.name])
        return [tuple(" ".join(str(v).split()) for v in row) for row in found]


def tables(store: Store) -> set[str]:
    with store.read() as connection:
        return set(sa.inspect(connection).get_table_names())


def versions(store: Store) -> list[str]:
    with store.read() as connection:
        found = connection.exec_driver_sql("SELECT version_num FROM batchfx_version")
        return list(found.scalars())


def address(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


def set_version(store: Store, version: str) -> None:
    with store.write() as connection:
        connection.execute(
            sa.text("UPDATE batchfx_version SET version_num = :v"), {"v": version}
        )


def test_a_new_database_gets_the_tables_when_it_is_opened(store: Store) -> None:
    assert tables(store) == {*METADATA.tables, "batchfx_version"}
    assert versions(store) == [migrations.HEAD]


def test_the_migrations_make_what_the_schema_says(store: Store, other: Store) -> None:
    with other.write() as connection:
        METADATA.create_all(connection)

    assert catalogue(store) == catalogue(other)


def test_alembic_finds_no_difference_to_the_schema(store: Store) -> None:
    ours = {"version_table": migrations.VERSION_TABLE, "compare_type": True}
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts=ours)

        assert compare_metadata(context, METADATA) == []


def test_the_newest_migration_goes_with_the_triggers_of_today() -> None:
    newest = importlib.import_module(
        f"batchfx.store.migrations.versions.r{migrations.HEAD}"
    )

    assert newest.triggers == triggers.fingerprint()


def test_there_is_one_newest_migration_and_its_name_is_known() -> None:
    files = (migrations.FOLDER / "versions").glob("r*.py")

    assert max(path.stem for path in files) == f"r{migrations.HEAD}"


def test_tables_of_the_application_stay_as_they_are(database: str) -> None:
    before = connect(database)
    with before.write() as connection:
        connection.exec_driver_sql("CREATE TABLE app (n INTEGER)")
        connection.exec_driver_sql("CREATE TABLE alembic_version (n INTEGER)")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (7)")
    before.close()

    store = open_store(database)
    with store.read() as connection:
        kept = connection.exec_driver_sql("SELECT n FROM alembic_version").scalars()
        assert kept.all() == [7]
    assert "app" in tables(store)
    store.close()


def test_tables_of_a_newer_version_are_refused(store: Store) -> None:
    set_version(store, "0999")

    with pytest.raises(StoreError, match=r"made by a newer batchfx .*0999"):
        open_store(address(store))
    for step in (migrations.upgrade, migrations.bootstrap):
        with (
            pytest.raises(StoreError, match=r"made by a newer batchfx .*0999"),
            store.write() as connection,
        ):
            step(connection)


def test_tables_of_an_older_version_are_refused_until_they_are_upgraded(
    store: Store,
) -> None:
    set_version(store, "0000")

    with pytest.raises(StoreError, match=r"0000.* run 'batchfx db upgrade'"):
        open_store(address(store))


def test_tables_of_before_the_first_release_are_refused(database: str) -> None:
    store = connect(database)
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE batchfx_schema (version INTEGER)")
        connection.exec_driver_sql("INSERT INTO batchfx_schema VALUES (5)")

    with pytest.raises(StoreError, match="before its first release"):
        open_store(database)
    assert tables(store) == {"batchfx_schema"}
    store.close()


def test_an_upgrade_says_where_it_began_and_mends_the_triggers(other: Store) -> None:
    with other.write() as connection:
        assert migrations.upgrade(connection) is None
    with other.write() as connection:
        triggers.drop(connection)
    with other.write() as connection:
        assert migrations.upgrade(connection) == migrations.HEAD

    assert versions(other) == [migrations.HEAD]
    with (
        pytest.raises(sa.exc.DBAPIError, match="already exists"),
        other.write() as connection,
    ):
        triggers.make(connection)


def test_an_upgrade_that_does_not_get_its_lock_says_so(postgresql: str) -> None:
    holder = connect(postgresql)
    with holder.write() as connection:
        key = sa.func.pg_advisory_xact_lock(migrations.LOCK_KEY)
        connection.execute(sa.select(key))

        with pytest.raises(StoreError, match="another transaction holds"):
            open_store(postgresql, lock_timeout=0.05)
    assert tables(holder) == set()
    holder.close()


def test_the_lock_comes_before_everything_else(postgresql: str) -> None:
    store = connect(postgresql)
    said: list[str] = []
    with store.write() as connection:
        sa.event.listen(
            connection, "before_cursor_execute", lambda *event: said.append(event[2])
        )
        migrations.bootstrap(connection)
    store.close()

    assert said[0].startswith("SELECT pg_advisory_xact_lock(")
    assert sum("lock(" in statement for statement in said) == 1


def bootstraps(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.store.bootstraps", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_many_processes_may_open_a_new_database_at_once(database: str) -> None:
    made = bootstraps("open", database, str(PROCESSES))

    assert (made.stdout.strip(), made.stderr) == (str(PROCESSES), "")
    store = connect(database)
    assert versions(store) == [migrations.HEAD]
    assert tables(store) == {*METADATA.tables, "batchfx_version"}
    store.close()


def test_threads_may_open_new_databases_at_once(
    tmp_path: Path, make_postgresql: Callable[[], str]
) -> None:
    urls = [f"sqlite:///{tmp_path}/{n}.db" for n in range(4)]
    urls += [make_postgresql() for _ in range(4)]
    opened: list[Store] = []
    threads = [
        threading.Thread(target=lambda url=url: opened.append(open_store(url)))
        for url in urls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [versions(store) for store in opened] == [[migrations.HEAD]] * 8
    for store in opened:
        store.close()


@pytest.mark.parametrize("statement", [2, 9, 30, 1000])
def test_a_killed_bootstrap_leaves_nothing(database: str, statement: int) -> None:
    killed = bootstraps("die", database, str(statement))

    assert killed.returncode == -signal.SIGKILL
    store = connect(database)
    assert tables(store) == set()
    store.close()
    store = open_store(database)
    assert tables(store) == {*METADATA.tables, "batchfx_version"}
    store.close()
