"""Hints are quick, few, and worth nothing: whatever becomes of Redis."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from batchfx.errors import UsageError
from batchfx.execution import hints
from batchfx.execution.hints import Hints
from samples.servers import Server, start_redis
from tests.workers.fleet import wait_for

LIST, BODIES = "dramatiq:batchfx", "dramatiq:batchfx.msgs"


@pytest.fixture
def server(server_folder: Path) -> Iterator[Server]:
    """A Redis of the test's own."""
    with start_redis(server_folder / "redis") as started:
        yield started


@pytest.fixture
def make(server: Server) -> Iterator[Callable[[], Hints]]:
    """Return what makes hints over the server."""
    made: list[Hints] = []

    def one() -> Hints:
        made.append(Hints(server.url))
        return made[-1]

    yield one
    for each in made:
        each.close()


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    """A client of the server."""
    with redis.Redis.from_url(server.url) as opened:
        yield opened


def sent(sender: Hints) -> bool:
    """Send a hint as soon as that may be."""
    time.sleep(hints.APART)
    return sender.send()


def test_a_hint_is_heard(make: Callable[[], Hints]) -> None:
    heard: list[float] = []
    make().listen(lambda: heard.append(time.monotonic()))
    assert make().send()
    wait_for(lambda: heard, 5)


def test_hints_of_one_process_keep_apart_whoever_sends_them(
    make: Callable[[], Hints], client: Any
) -> None:
    sender = make()
    assert [sender.send() for _ in range(100)] == [True] + [False] * 99
    assert client.llen(LIST) == 1
    assert sent(sender)


def test_no_more_hints_wait_than_say_something(
    make: Callable[[], Hints], client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "APART", 0.0)
    sender = make()
    for _ in range(hints.MOST_WAITING + 20):
        assert sender.send()
    assert client.llen(LIST) == hints.MOST_WAITING


def test_a_hint_says_nothing(make: Callable[[], Hints], client: Any) -> None:
    assert make().send()
    (body,) = client.hvals(BODIES)
    message = json.loads(body)
    assert (message["args"], message["kwargs"]) == ([], {})
    assert set(message["options"]) <= {"redis_message_id"}


def test_a_redis_that_is_gone_costs_a_sender_nothing(
    make: Callable[[], Hints], server: Server
) -> None:
    sender = make()
    server.kill()
    began = time.monotonic()
    assert [sent(sender) for _ in range(3)] == [False] * 3
    assert time.monotonic() - began < 3 * hints.APART + hints.PATIENCE


def test_a_redis_that_never_answers_costs_a_sender_a_moment_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        sender = Hints(f"redis://127.0.0.1:{mute.getsockname()[1]}/0")
        began = time.monotonic()
        assert not sender.send()
        assert time.monotonic() - began < 3 * hints.PATIENCE
        began = time.monotonic()
        assert not sent(sender)
        assert time.monotonic() - began < hints.APART + 0.1
        sender.close()


def test_a_listener_survives_messages_that_somebody_forged(
    make: Callable[[], Hints], client: Any
) -> None:
    forged = {
        "garbage": "no JSON at all",
        "stranger": body(actor_name="nobody"),
        "payload": body(args=[1], kwargs={"tenant": "acme"}),
        "nonsense": body(args=5, kwargs=7, options={"max_age": "x"}),
        "old": body(message_timestamp=1),
        "later": body(options={"eta": 9_999_999_999_999, "redis_message_id": "later"}),
    }
    heard: list[float] = []
    listener, sender = make(), make()
    listener.listen(lambda: heard.append(time.monotonic()))
    for name, text in forged.items():
        client.hset(BODIES, name, text)
        client.rpush(LIST, name)
    wait_for(lambda: client.llen(LIST) == 0, 30)
    heard.clear()

    def is_heard() -> bool:
        listener.tend()
        sent(sender)
        return bool(heard)

    wait_for(is_heard, 15)


def body(**more: Any) -> str:
    """Return a message as Dramatiq writes it, but for *more*."""
    message = {
        "queue_name": hints.QUEUE,
        "actor_name": hints.ACTOR,
        "args": [],
        "kwargs": {},
        "options": {},
        "message_id": "forged",
        "message_timestamp": int(9e12),
    }
    return json.dumps(message | more)


def test_a_listener_survives_a_redis_that_forgets_everything(
    make: Callable[[], Hints], client: Any
) -> None:
    heard: list[float] = []
    listener, sender = make(), make()
    listener.listen(lambda: heard.append(time.monotonic()))
    assert sender.send()
    wait_for(lambda: heard, 5)
    client.flushall()
    client.script_flush()
    heard.clear()
    wait_for(lambda: sent(sender) and heard, 10)


def test_a_listener_may_be_there_before_its_redis(server_folder: Path) -> None:
    with start_redis(server_folder / "late") as server:
        server.kill()
        heard: list[float] = []
        listener, sender = Hints(server.url), Hints(server.url)
        listener.listen(lambda: heard.append(time.monotonic()))
        listener.tend()
        server.start()
        wait_for(lambda: sent(sender) and heard, 10)
        listener.close()
        sender.close()


@pytest.mark.parametrize(
    "url", ["nonsense", "http://localhost", "redis://a:pass@b:x/0"]
)
def test_an_address_that_is_none_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        Hints(url)
    assert str(refused.value) == (
        "What was given as the address of Redis is none. "
        "Write one such as redis://localhost:6379/0."
    )
