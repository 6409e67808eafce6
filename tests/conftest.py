"""What all tests share: databases, and how hard Hypothesis tries.

One PostgreSQL and one Redis serve a whole run of pytest; each is started by the first
test that asks for it. A test gets a database of its own.

``default`` is repeatable where it decides about a change (CI); elsewhere each run tries
other examples. ``--hypothesis-profile=long`` looks much further.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from sqlalchemy.engine import make_url

from batchfx.store.engine import Store, open_store
from samples.servers import Server, start_postgres, start_redis

# A process of pytest-xdist ignores Ctrl-C, and so would what its tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def session_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="batchfx-tests-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def server_folder() -> Iterator[Path]:
    """A folder for a server of the test's own."""
    folder = Path(tempfile.mkdtemp(prefix="batchfx-server-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres(session_folder: Path) -> Iterator[Server]:
    """The PostgreSQL of this run; a test may not stop it."""
    with start_postgres(session_folder / "postgres", safe=False) as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(session_folder: Path) -> Iterator[str]:
    """The address of the Redis of this run, which is shared."""
    with start_redis(session_folder / "redis") as server:
        yield server.url


@pytest.fixture(scope="session")
def make_postgresql(postgres: Server) -> Iterator[Callable[..., str]]:
    """Return what makes a database, as a copy of a template, and says its address."""
    numbers = itertools.count(1)
    with psycopg.connect(postgres.url, autocommit=True) as connection:

        def make(template: str = "template0") -> str:
            name = f"test_{next(numbers)}"
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
            address = make_url(postgres.url).set(database=name)
            return address.render_as_string(hide_password=False)

        yield make


@pytest.fixture(scope="session")
def filled_template(make_postgresql: Callable[..., str]) -> str:
    """The name of a database with batchfx's tables: a copy of it is made faster."""
    url = make_postgresql()
    open_store(url).close()
    return str(make_url(url).database)


@pytest.fixture
def postgresql(
    request: pytest.FixtureRequest,
    postgres: Server,
    make_postgresql: Callable[..., str],
) -> Iterator[str]:
    """The address of a new database on PostgreSQL; empty if there is no `store`."""
    is_filled = "store" in request.fixturenames
    template = request.getfixturevalue("filled_template") if is_filled else "template0"
    url = make_postgresql(template)
    yield url
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        name = make_url(url).database
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new database, on each of the two; empty without `store`."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    url: str = request.getfixturevalue("postgresql")
    return url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Batchfx's tables in a new database, open."""
    opened = open_store(database)
    yield opened
    opened.close()
