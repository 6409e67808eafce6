"""PostgreSQL dies and comes back, again and again, whatever is under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from batchfx import Store, cancel
from batchfx.errors import AlreadyImportedError, IllegalMoveError, StoreError
from batchfx.execution.sweep import sweep
from samples.servers import Server, start_postgres
from tests.faults import worlds
from tests.faults.duels import end
from tests.faults.operations import judge
from tests.faults.worlds import OTHER, Place, drain, opened, submit, the_batch

RESTARTS = 10
UP = (0.05, 0.3)  # seconds between two deaths of the server


@pytest.fixture(scope="module")
def server(session_folder: Path) -> Iterator[Server]:
    """A server that may die."""
    with start_postgres(session_folder / "restarts", safe=False) as started:
        yield started


@dataclass
class Persistent:
    """Does some work in a thread, over and over, however often it breaks."""

    work: Callable[[], object]
    broke: int = 0
    done: int = 0
    wrong: list[BaseException] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Work until told to end."""
        while not self.is_over.is_set():
            try:
                self.work()
                self.done += 1
            except StoreError:
                self.broke += 1
            except (AlreadyImportedError, IllegalMoveError):
                self.done += 1
            except BaseException as error:
                self.wrong.append(error)
                return
            time.sleep(0.01)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Work beside what comes."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.is_over.set()
            thread.join(60)
        assert not thread.is_alive()
        assert self.wrong == []


def restart(server: Server, times: int = RESTARTS) -> None:
    dice = Random(times)  # noqa: S311 - the same moments in every run
    for _ in range(times):
        time.sleep(dice.uniform(*UP))
        server.restart()


@pytest.fixture
def prepared(server: Server, tmp_path: Path) -> Iterator[Store]:
    """Chunks that wait, in a database of that server."""
    url = Place(tmp_path, server.url).empty()
    worlds.make(url, "prepared")
    store = opened(url)
    yield store
    store.close()


def test_work_and_recovery_outlive_restarts(server: Server, prepared: Store) -> None:
    url = prepared.engine.url.render_as_string(hide_password=False)
    other = opened(url)
    recovery = Persistent(lambda: sweep(other))
    work = Persistent(lambda: drain(prepared, OTHER))
    with recovery.at_work(), work.at_work():
        restart(server)
    assert recovery.broke + work.broke >= 1
    assert recovery.done >= 1
    end(prepared)
    other.close()


def test_a_sweep_that_finds_no_database_says_so_and_can_be_repeated(
    server: Server, prepared: Store
) -> None:
    server.kill()
    with pytest.raises(StoreError, match="is the server up"):
        sweep(prepared)
    server.start()
    sweep(prepared)
    end(prepared)


def test_an_import_outlives_restarts(server: Server, tmp_path: Path) -> None:
    url = Place(tmp_path, server.url).empty()
    worlds.make(url, "tables")
    store = opened(url)
    work = Persistent(lambda: submit(store, detached=False))
    with work.at_work():
        restart(server)
    assert work.broke >= 1
    with suppress(AlreadyImportedError):
        submit(store, detached=False)
    judge(store)
    store.close()


def test_a_cancel_outlives_restarts(server: Server, prepared: Store) -> None:
    url = prepared.engine.url.render_as_string(hide_password=False)
    other = opened(url)
    key = the_batch(prepared)
    work = Persistent(lambda: drain(prepared, OTHER))
    with work.at_work():
        cancelling = Persistent(lambda: cancel(other, key))
        with cancelling.at_work():
            restart(server, 4)
    cancel(prepared, key)
    sweep(prepared)
    judge(prepared, "cancelled")
    other.close()


def test_a_bootstrap_outlives_restarts(server: Server, tmp_path: Path) -> None:
    url = Place(tmp_path, server.url).empty()
    work = Persistent(lambda: opened(url).close())
    with work.at_work():
        restart(server, 4)
    store = opened(url)
    assert not worlds.has_batch(store)
    store.close()
