"""Handlers are kept at their number: programs that misbehave in each way there is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from batchfx.execution.handlers import Launch
from batchfx.execution.holdings import Timing
from batchfx.execution.worker_pool import Fall, Pool

READY = """
import os, socket, sys, time
end = socket.socket(fileno=int(sys.argv[1]))
end.sendall(b'{"kind": "ready", "importers": []}\\n')
"""


@contextmanager
def pool_of(program: str, size: int = 1, boot: float = 30.0) -> Iterator[Pool]:
    """Make a pool whose handlers run *program*."""
    launch = Launch((sys.executable, "-S", "-c", program), {})
    pool = Pool(launch, size, Timing(boot=boot))
    try:
        yield pool
    finally:
        for handler in pool.handlers():
            pool.doom(handler)
        while pool.is_striking():
            pool.strike()


def run(pool: Pool, seconds: float) -> list[Fall]:
    """Tend *pool* for a while; return what fell."""
    fallen: list[Fall] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pool.fill()
        for handler, message in pool.hear():
            handler.is_ready = message["kind"] == "ready"
        fallen += pool.fallen()
        pool.strike()
        time.sleep(0.01)
    return fallen


def test_a_handler_that_dies_at_its_start_is_started_ever_more_rarely() -> None:
    with pool_of("import os; os._exit(3)") as pool:
        fallen = run(pool, 2.5)
    assert 2 <= len(fallen) <= 5  # after 0, 0.2, 0.6, 1.4 and 3 seconds
    assert {fall.how for fall in fallen} == {
        "its process ended itself with exit code 3"
    }


def test_one_that_dies_stops_no_other() -> None:
    with pool_of(READY + "time.sleep(600)", size=2) as pool:
        while len(pool.free()) < 2:
            run(pool, 0.1)
        first, second = pool.free()
        first.tree.strike()
        fallen = run(pool, 1.0)
        assert [fall.pid for fall in fallen] == [first.pid]
        assert second in pool.free()
        while len(pool.free()) < 2:
            run(pool, 0.1)


def test_a_handler_that_never_gets_ready_is_replaced() -> None:
    with pool_of("import time; time.sleep(600)", boot=0.5) as pool:
        run(pool, 0.3)
        (handler,) = pool.handlers()
        fallen = run(pool, 0.5)
        assert [fall.how for fall in fallen] == [
            "it took too long to import the importers"
        ]
        assert handler not in pool.handlers()


def test_a_handler_that_can_not_be_heard_any_more_is_replaced() -> None:
    with pool_of(READY + "end.close(); time.sleep(600)") as pool:
        fallen = run(pool, 2.5)
    assert [fall.how for fall in fallen][:1] == ["its process has closed its socket"]


def test_a_program_that_can_not_be_started_is_told_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = Pool(Launch(("/no/such/program",), {}), 1, Timing())
    assert run(pool, 1.0) == []
    assert pool.handlers() == []
    told = [record.getMessage() for record in caplog.records]
    assert 2 <= len(told) <= 3
    assert told[0].startswith("A handler can't be started: [Errno 2]")
