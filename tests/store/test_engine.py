"""Transactions, clocks, faults and addresses, on both databases."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from batchfx.errors import BatchfxError, StoreError
from batchfx.store import engine
from batchfx.store.engine import Store, connect, is_open, is_system_fault, now_epoch
from batchfx.store.engine import open_store as _open_store
from batchfx.store.faults import explain
from samples.servers import Server, start_postgres

SECRET = "s3cr3t-w0rd"  # noqa: S105 - of nobody


@pytest.fixture
def counter(database: str) -> Iterator[Store]:
    """A database with a number in it, and none of batchfx's tables."""
    opened = connect(database)
    with opened.write() as connection:
        connection.exec_driver_sql("CREATE TABLE counter (n INTEGER NOT NULL)")
        connection.exec_driver_sql("INSERT INTO counter VALUES (0)")
    yield opened
    opened.close()


def refusal(url: str) -> str:
    """Open *url*, which fails; return the sentence, in which nothing is secret."""
    with pytest.raises(BatchfxError) as caught:
        _open_store(url)
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in told
    assert "\n" not in str(caught.value)
    return str(caught.value)


def number(connection: sa.Connection) -> int:
    found: int = connection.exec_driver_sql("SELECT n FROM counter").scalar_one()
    return found


def test_the_database_says_the_time_in_seconds_since_1970(store: Store) -> None:
    with store.read() as connection:
        first, second = (
            connection.execute(sa.select(now_epoch())).scalar_one() for _ in range(2)
        )

    assert isinstance(first, float)
    assert abs(first - time.clock_gettime(time.CLOCK_REALTIME)) < 5
    assert 0 <= second - first < 5


def test_the_clock_goes_on_within_a_writing_transaction(store: Store) -> None:
    with store.write() as connection:
        first = connection.execute(sa.select(now_epoch())).scalar_one()
        time.sleep(0.02)
        second = connection.execute(sa.select(now_epoch())).scalar_one()

    assert 0.015 < second - first < 5


def test_a_reading_transaction_sees_one_state_of_the_database(counter: Store) -> None:
    with counter.read() as reader:
        before = number(reader)
        with counter.write() as writer:
            writer.exec_driver_sql("UPDATE counter SET n = 7")
        after = number(reader)
    with counter.read() as reader:
        later = number(reader)

    assert (before, after, later) == (0, 0, 7)


def test_a_writing_transaction_ends_with_its_block(counter: Store) -> None:
    def give_up() -> None:
        with counter.write() as connection:
            connection.exec_driver_sql("UPDATE counter SET n = 7")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    with counter.read() as connection:
        assert number(connection) == 0


def test_updates_at_the_same_time_are_all_counted(counter: Store) -> None:
    def add() -> None:
        for _ in range(25):
            with counter.write() as connection:
                connection.exec_driver_sql("UPDATE counter SET n = n + 1")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with counter.read() as connection:
        assert number(connection) == 100


def test_what_a_writing_transaction_of_sqlite_read_still_holds(tmp_path: Path) -> None:
    store = connect(f"sqlite:///{tmp_path / 'test.db'}")
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE counter (n INTEGER NOT NULL)")
        connection.exec_driver_sql("INSERT INTO counter VALUES (0)")
    failures: list[Exception] = []

    def add() -> None:
        try:
            for _ in range(25):
                with store.write() as connection:
                    more = number(connection) + 1
                    connection.execute(
                        sa.text("UPDATE counter SET n = :n"), {"n": more}
                    )
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with store.read() as connection:
        assert (number(connection), failures) == (100, [])
    store.close()


def test_a_reading_transaction_of_postgresql_can_not_write(postgresql: str) -> None:
    store = connect(postgresql)

    with pytest.raises(StoreError, match="read-only"), store.read() as connection:
        connection.exec_driver_sql("CREATE TABLE t (n INTEGER)")
    store.close()


def test_nothing_outlives_its_transaction_on_postgresql(postgresql: str) -> None:
    store = connect(postgresql, lock_timeout=7, idle_timeout=9)
    names = ("lock_timeout", "idle_in_transaction_session_timeout")
    shown = sa.text("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")

    def settings(connection: sa.Connection) -> dict[str, str]:
        rows = connection.execute(shown, {"names": list(names)})
        return {name: setting for name, setting in rows}  # noqa: C416 - mypy knows no dict of rows

    with store.write() as connection:
        inside = settings(connection)
        prepared = connection.exec_driver_sql("SELECT name FROM pg_prepared_statements")
        assert prepared.all() == []
    with store.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        rows = driver.execute(
            "SELECT setting FROM pg_settings WHERE name = ANY(%s)", [list(names)]
        )
        assert rows.fetchall() == [("0",), ("0",)]
    store.close()

    assert inside == {names[0]: "7000", names[1]: "9000"}


def test_no_statement_is_prepared_however_often_it_is_run(postgresql: str) -> None:
    store = connect(postgresql)
    with store.write() as connection:
        for n in range(12):
            connection.execute(sa.select(sa.literal(n)))
        left = connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements")
        assert left.scalar_one() == 0
    store.close()


def test_a_lock_that_is_not_given_in_time_is_told(database: str) -> None:
    store = connect(database, lock_timeout=0.05)
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE counter (n INTEGER NOT NULL)")
        connection.exec_driver_sql("INSERT INTO counter VALUES (0)")

    with store.write() as holder:
        holder.exec_driver_sql("UPDATE counter SET n = 1")
        with (
            pytest.raises(StoreError, match=r"another (program|transaction)"),
            store.write() as other,
        ):
            other.exec_driver_sql("UPDATE counter SET n = 2")

    with store.read() as connection:
        assert number(connection) == 1
    store.close()


def test_an_idle_transaction_loses_its_locks(postgresql: str) -> None:
    store = connect(postgresql, idle_timeout=0.05)
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE counter (n INTEGER NOT NULL)")
        connection.exec_driver_sql("INSERT INTO counter VALUES (0)")

    def freeze() -> None:
        with store.write() as frozen:
            frozen.exec_driver_sql("UPDATE counter SET n = 1")
            time.sleep(0.2)
            with store.write() as other:
                other.exec_driver_sql("UPDATE counter SET n = 2")
            frozen.exec_driver_sql("UPDATE counter SET n = 3")

    with pytest.raises(StoreError, match="did nothing for too long"):
        freeze()
    with store.read() as connection:
        assert number(connection) == 2
    store.close()


def test_a_transaction_is_open_until_it_ends(counter: Store) -> None:
    with counter.write() as connection:
        transaction = connection.get_transaction()
        at_first = is_open(transaction)
        connection.exec_driver_sql("UPDATE counter SET n = 1")
        after_a_statement = is_open(transaction)
        connection.exec_driver_sql("COMMIT")
        after_its_end = is_open(transaction)

    assert (at_first, after_a_statement, after_its_end) == (True, True, False)
    assert not is_open(transaction)
    assert not is_open(None)


def test_a_transaction_that_an_error_spoiled_is_still_open(postgresql: str) -> None:
    store = connect(postgresql)
    with store.engine.connect() as connection, connection.begin() as transaction:
        with pytest.raises(sa.exc.DBAPIError):
            connection.exec_driver_sql("SELECT 1 / 0")
        assert is_open(transaction)
        transaction.rollback()
        assert not is_open(transaction)
    store.close()


def test_a_restarted_server_costs_only_a_new_connection(server_folder: Path) -> None:
    with start_postgres(server_folder / "pg", safe=False) as server:
        store = _open_store(server.url)
        server.restart()
        with store.read() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1

        server.stop()
        with pytest.raises(StoreError, match="is the server up"), store.read():
            pass
        server.start()
        with store.read() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
        store.close()


def test_a_connection_that_breaks_ends_its_transaction(server_folder: Path) -> None:
    with start_postgres(server_folder / "pg", safe=False) as server:
        store = _open_store(server.url)

        found: list[bool] = []

        def go_on_though_it_is_lost() -> None:
            with store.write() as connection:
                transaction = connection.get_transaction()
                server.restart()
                try:
                    connection.exec_driver_sql("SELECT 1")
                except sa.exc.DBAPIError as error:
                    found.append(is_system_fault(error))
                    found.append(is_open(transaction))
                connection.exec_driver_sql("SELECT 1")

        with pytest.raises(StoreError, match="made anew"):
            go_on_though_it_is_lost()
        store.close()
        assert found == [True, False]


def test_a_wrong_value_is_no_fault_of_the_system(counter: Store) -> None:
    with (
        pytest.raises(sa.exc.IntegrityError) as caught,
        counter.write() as connection,
    ):
        connection.exec_driver_sql("INSERT INTO counter VALUES (NULL)")

    assert not is_system_fault(caught.value)
    assert not is_system_fault(ValueError("x"))
    assert is_system_fault(MemoryError())


def test_an_error_of_a_lost_connection_is_one_of_the_system() -> None:
    def error(*, is_lost: bool) -> sa.exc.DBAPIError:
        cause = psycopg.InterfaceError("gone")
        return sa.exc.InterfaceError("SELECT 1", None, cause, False, is_lost)  # noqa: FBT003 - parameters are not hidden

    assert is_system_fault(error(is_lost=True))
    assert not is_system_fault(error(is_lost=False))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"password": SECRET}, "check the user and the password"),
        ({"password": SECRET, "username": "bob"}, "check the user and the password"),
        ({"database": "nowhere"}, 'database "nowhere" does not exist'),
        ({"port": 1}, "is the server up"),
        ({"host": "nowhere.invalid"}, "check the host"),
        ({"query": {"bad": "1"}}, "check what follows the '?'"),
    ],
)
def test_a_refused_connection_says_what_to_do(
    postgres: Server, change: dict[str, str], sentence: str
) -> None:
    url = make_url(postgres.url).set(**change)  # type: ignore[arg-type] # as the parameters say

    told = refusal(url.render_as_string(hide_password=False))

    assert sentence in told
    assert (url.password or "") not in told


@pytest.mark.parametrize(
    ("told", "advice"),
    [
        ("the database system is starting up", "the server is starting; try again"),
        ("the database system is shutting down", "the server is stopping; try again"),
        ("the database system is in recovery mode", "the server is starting; try"),
        ('database "x" does not exist', "make it first, with createdb"),
        ('role "x" does not exist', "there is no such user"),
        ('permission denied for database "x"', "its user has not the rights"),
    ],
)
def test_what_the_client_says_of_a_connection_has_its_advice(
    told: str, advice: str
) -> None:
    refused = psycopg.OperationalError(f"connection failed: FATAL:  {told}")
    error = sa.exc.OperationalError("", None, refused)
    assert f"({advice}" in explain(error, "here")


def test_a_user_without_rights_is_told_to_ask_the_owner(postgresql: str) -> None:
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS weak")
        connection.execute(f"CREATE ROLE weak LOGIN PASSWORD '{SECRET}'")
    weak = make_url(postgresql).set(username="weak", password=SECRET)

    told = refusal(weak.render_as_string(hide_password=False))

    assert "permission denied for schema public (its user has not the rights" in told


def test_a_server_that_is_read_only_is_told(postgresql: str) -> None:
    name = make_url(postgresql).database
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_read_only = on"
        )

    told = refusal(postgresql)

    assert "in a read-only transaction (it is read-only, as a standby is" in told


def test_a_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    told = refusal(f"sqlite:///{tmp_path / 'none' / 'x.db'}")

    assert told.endswith("(its folder must exist and allow writing).")


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("id;name\n" * 1000)

    assert "the file is something else" in refusal(f"sqlite:///{path}")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("customers", "'customers' is no database address"),
        (f"postgresql:/bob:{SECRET}@h/d", "This is no database address"),
        (f"postgresql://bob:{SECRET}@h:port/d", "This is no database address"),
        (f"mysql://bob:{SECRET}@h/d", "'mysql://bob:***@h/d' is not supported"),
        (f"postgresql+asyncpg://bob:{SECRET}@h/d", "is not supported"),
        ("sqlite:///x.db?mode=ro", "is not supported"),
        ("sqlite://", "forgets every batch"),
        ("sqlite:///:memory:", "forgets every batch"),
    ],
)
def test_an_address_that_can_not_be_used_is_told(url: str, sentence: str) -> None:
    assert sentence in refusal(url)


def test_what_is_secret_in_an_address_is_never_shown() -> None:
    query = f"password={SECRET}&sslpassword={SECRET}&sslmode=require"
    store = connect(f"postgresql://bob@h/d?{query}")

    assert store.url == "postgresql://bob:***@h/d?sslmode=require&sslpassword=hidden"
    assert store.engine.url.password == SECRET
    assert SECRET not in repr(store)


def test_servers_that_are_too_old_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "OLDEST_POSTGRESQL", 99)
    monkeypatch.setattr(engine, "OLDEST_SQLITE", (99, 1))
    url = store.engine.url.render_as_string(hide_password=False)

    assert "or a later one" in refusal(url)


def test_the_package_that_is_missing_is_named() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from batchfx.store.engine import connect\n"
        "connect('postgresql://h/d')"
    )

    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert "pip install 'batchfx[postgres]'" in made.stderr.splitlines()[-1]


def test_opening_imports_no_more_than_it_needs(database: str) -> None:
    _open_store(database).close()
    code = (
        "import sys\n"
        "from batchfx.store.engine import open_store\n"
        f"open_store({database!r}).close()\n"
        "print(*sorted({'alembic', 'psycopg'} & set(sys.modules)))"
    )

    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    expected = "psycopg" if database.startswith("postgresql") else ""
    assert made.stdout.strip() == expected
