"""A database or a Redis that is not there: work waits, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchfx.execution.hints import Hints
from batchfx.store.engine import open_store
from samples.servers import Server, start_postgres, start_redis
from tests.oracle import check_batch
from tests.workers.fleet import Fleet, wait_for


@pytest.fixture
def server(server_folder: Path) -> Iterator[Server]:
    """A PostgreSQL of the test's own."""
    with start_postgres(server_folder / "postgres") as started:
        yield started


@pytest.fixture
def own_fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on it."""
    store = open_store(server.url)
    made = Fleet(server.url, store, tmp_path)
    yield made
    made.close()
    store.close()


def test_a_worker_waits_for_a_database_that_is_not_there_yet(
    own_fleet: Fleet, server: Server
) -> None:
    key = own_fleet.submit("nothing")
    secret = own_fleet.secret()
    server.kill()
    worker = own_fleet.start(secret=secret)
    wait_for(lambda: "Trying again until it is back." in worker.log)
    time.sleep(1)
    server.start()
    own_fleet.wait(key)
    assert worker.log.count("Trying again until it is back.") == 1
    assert worker.log.count("The database is back.") == 1
    check_batch(own_fleet.store, key)


def test_a_database_that_is_gone_for_a_moment_costs_a_chunk_nothing(
    own_fleet: Fleet, server: Server
) -> None:
    key = own_fleet.submit("sleep:1.5", "nothing")
    worker = own_fleet.start(ttl=6.0)
    wait_for(lambda: own_fleet.states(key)[:1] == ["leased"])
    server.kill()
    time.sleep(0.5)
    server.start()
    own_fleet.wait(key)
    assert [(c.failures, c.losses) for c in own_fleet.chunks(key)] == [(0, 0)] * 2
    assert worker.log.count("Trying again until it is back.") <= 1
    check_batch(own_fleet.store, key)


def test_a_handler_is_ended_before_its_lease_when_the_database_stays_away(
    own_fleet: Fleet, server: Server
) -> None:
    key = own_fleet.submit("sleep_once:30")
    worker = own_fleet.start(ttl=2.0)
    wait_for(own_fleet.fell_asleep)
    (handler,) = worker.handlers()
    server.kill()
    began = time.monotonic()
    wait_for(lambda: not handler.is_running())
    assert time.monotonic() - began < 2.0
    assert f"lease lost: batch {key.number}, chunk 0" in worker.log
    server.start()
    own_fleet.wait(key)
    assert own_fleet.chunks(key)[0].failures == 0
    check_batch(own_fleet.store, key)


def test_a_worker_leaves_though_the_database_is_gone(
    own_fleet: Fleet, server: Server
) -> None:
    worker = own_fleet.start()
    wait_for(lambda: "Importers here" in worker.log)
    server.kill()
    assert worker.stop(10) == 0
    assert worker.tree() == []
    server.start()


def test_a_hint_is_quicker_than_a_poll(hinted_fleet: Fleet) -> None:
    worker = hinted_fleet.start(poll=60.0, sweep=60.0)
    wait_for(lambda: "Importers here" in worker.log)
    time.sleep(0.5)  # its first look is over
    key = hinted_fleet.submit("nothing")
    assert hinted_fleet.redis is not None
    hints = Hints(hinted_fleet.redis)
    assert hints.send()
    hints.close()
    hinted_fleet.wait(key, seconds=5)


def test_without_redis_work_is_found_by_looking(
    fleet: Fleet, server_folder: Path
) -> None:
    with start_redis(server_folder / "redis") as redis:
        fleet.redis = redis.url
        worker = fleet.start(poll=0.5)
        wait_for(lambda: "Importers here" in worker.log)
        redis.kill()
        wait_for(lambda: "Redis is lost" in worker.log)
        began = time.monotonic()
        fleet.wait(fleet.submit("nothing"))
        assert time.monotonic() - began < 3
        time.sleep(1)
        redis.start()
        wait_for(lambda: "Redis is back." in worker.log)
        fleet.wait(fleet.submit("nothing"))
        assert worker.stop() == 0
    assert worker.log.count("Redis is lost") == 1
    assert worker.log.count("Redis is back.") == 1
    assert "dramatiq" not in worker.log
