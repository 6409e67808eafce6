"""`batchfx serve`: one person on this machine, from the printed address to the end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest
import sqlalchemy as sa

from batchfx.cli.serve import listening
from batchfx.errors import UsageError
from batchfx.store.engine import open_store
from batchfx.store.schema import WORKER
from tests.benchmarks.runs import peak_memory
from tests.web.site import messages

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("batchfx")
FILE = ROOT / "samples" / "customers.csv"


@dataclass
class Served:
    """A page that was started."""

    process: subprocess.Popen[str]
    place: str
    token: str
    log: Path

    def tree(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def served(folder: Path, *arguments: str, **variables: str) -> Iterator[Served]:
    """Start the page on a free port, and end it if the test doesn't."""
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [
                str(SCRIPT),
                "serve",
                "--port",
                "0",
                "--importers",
                "importers",
                *arguments,
            ],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | variables,
            stdout=errors,
            stderr=errors,
            text=True,
        )
    try:
        deadline = time.monotonic() + 30
        while "Ctrl-C ends it." not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        found = re.search(r"(http://\S+?)/(?:sign-in#token=(\S+))?", log.read_text())
        assert found is not None
        yield Served(process, found[1], found[2] or "", log)
    finally:
        process.kill()
        process.wait()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), "serve", "--importers", "importers", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ON_EACH = [("sqlite", signal.SIGINT), ("postgresql", signal.SIGTERM)]


@pytest.mark.parametrize(("database", "number"), ON_EACH, indirect=["database"])
def test_a_file_is_imported_by_the_pages_own_worker_and_all_of_it_ends(
    database: str, tmp_path: Path, number: signal.Signals
) -> None:
    with (
        served(tmp_path, "--database", database) as page,
        httpx.Client(base_url=page.place, headers={"X-Batchfx": "1"}) as web,
    ):
        assert web.get("/api/batches").status_code == 401
        let_in = web.post("/api/session", json={"token": page.token})
        assert let_in.json()["user"] == "local"
        uploaded = web.post(
            "/api/batches?importer=customers&name=customers.csv",
            content=FILE.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
        )
        assert uploaded.status_code == 201, uploaded.text
        assert web.post("/api/batches/1/start").status_code == 202
        with web.stream("GET", "/api/batches/1/events", timeout=30) as answer:
            last = list(messages(answer.iter_lines()))[-1]
        assert last.content["batch"]["state"] == "completed"
        assert last.content["batch"]["tally"]["created"] == 457

        web.post(
            "/api/batches?importer=customers",
            content=FILE.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
        )
        with web.stream("GET", "/api/batches/2/events", timeout=30) as open_one:
            sent = messages(open_one.iter_lines())
            assert next(sent).name == "snapshot"
            below = page.tree()
            page.process.send_signal(number)
            assert list(sent) == []  # let go, not broken off
        assert page.process.wait(20) == 0
    assert below
    assert not [each for each in below if each.is_running()]
    told = page.log.read_text()
    assert told.count(page.token) == 1
    assert "Traceback" not in told


def test_a_page_that_is_killed_leaves_no_worker_behind(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    store = open_store(url)

    def ends() -> list[float | None]:
        with store.read() as connection:
            ended = sa.select(WORKER.c.ended_at).where(WORKER.c.installed.is_not(None))
            return list(connection.execute(ended).scalars())

    def wait(is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    with served(tmp_path, "--database", url) as page:
        wait(lambda: ends() == [None])  # it is in, and its handler has begun
        below = page.tree()
        assert len(below) >= 2
        page.process.kill()
        wait(lambda: not any(map(is_at_work, below)))
    left = ends()
    assert len(left) == 1
    assert left[0] is not None  # it said that it left
    store.close()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_the_memory_of_an_upload_does_not_grow_with_it(
    database: str, tmp_path: Path
) -> None:
    part = b"".join(b"%d,Ann %d,a%d@example.org\n" % (n, n, n) for n in range(2_000))

    def file_of(megabytes: int) -> Iterator[bytes]:
        yield b"customer_no,name,email\n"
        for _ in range(megabytes * 1_000_000 // len(part)):
            yield part

    def peak(megabytes: int) -> float:
        """Return the most that a process of its own has had, in MiB."""
        with served(tmp_path, "--database", database, "--workers", "0") as page:
            answer = httpx.post(
                f"{page.place}/api/batches?importer=customers",
                content=file_of(megabytes),
                headers={
                    "Authorization": f"Bearer {page.token}",
                    "Content-Type": "application/octet-stream",
                },
                timeout=120,
            )
            assert answer.status_code == 201, answer.text
            return peak_memory(page.process.pid)

    open_store(database).close()  # to make the tables takes memory of its own
    small, large = peak(20), peak(200)
    assert large - small < 10
    assert small < 250


def is_at_work(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_address_that_is_printed_has_the_token_where_no_server_sees_it(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with served(tmp_path, "--database", url, "--workers", "0") as page:
        assert page.tree() == []
        assert httpx.get(f"{page.place}/sign-in").status_code == 200
        assert len(page.token) >= 32


def test_the_page_is_for_this_machine_unless_somebody_says_who_comes() -> None:
    refused = run("--host", "0.0.0.0")  # noqa: S104 - that is refused
    assert refused.returncode == 2
    assert "--auth MODULE:FUNCTION" in refused.stderr
    named = run("--host", "example.org")
    assert named.returncode == 2


def test_a_host_says_who_comes_in_and_then_no_token_is_printed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    auth = "samples.mounting.signing_in:principal"
    more = ("--auth", auth, "--host", "0.0.0.0", "--database", url)  # noqa: S104
    with served(tmp_path, *more, PYTHONPATH=str(ROOT)) as page:
        assert page.token == ""
        place = page.place.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert httpx.get(f"{place}/api/session").status_code == 401
        ann = httpx.get(f"{place}/api/session", headers={"X-Remote-User": "ann"})
        assert ann.json()["tenant"] == "shop"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--auth", "nothing.here:it"], "names no function"),
        (["--auth", "importers:nothing"], "names no function"),
    ],
)
def test_a_host_that_can_not_be_imported_is_said(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    refused = run("--database", url, "--port", "0", *arguments)
    assert refused.returncode == 2
    assert words in refused.stderr


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("--database", url, "--port", str(taken.getsockname()[1]))
    assert refused.returncode == 2
    assert "take another port" in refused.stderr


def test_small_answers_are_sent_at_once() -> None:
    listener = listening("127.0.0.1", 0)
    with listener, socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        assert accepted.proto == client.proto == socket.IPPROTO_TCP
        accepted.close()


def test_a_place_that_can_not_be_listened_at_is_said() -> None:
    with pytest.raises(UsageError, match="Nothing can listen at"):
        listening("192.0.2.1", 9)
