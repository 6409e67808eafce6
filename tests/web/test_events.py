"""The event stream: replayed, live, reset, ended, and cheap for many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from batchfx.errors import StoreError
from batchfx.execution.follow import cursor_after
from batchfx.model.events import Event, EventKind
from batchfx.store import events
from batchfx.store.schema import EVENT, BatchKey
from batchfx.web import feeds, stream
from tests.web.site import (
    GOOD,
    Site,
    as_user,
    count_statements,
    following,
    running,
    set_state,
    site_on,
)

FOLLOWERS = 200


@pytest.fixture
def place(site: Site) -> Iterator[str]:
    """The application over HTTP."""
    with running(site.app) as address:
        yield address


@pytest.fixture
def place_here(here: Site) -> Iterator[str]:
    """The same, on SQLite."""
    with running(here.app) as address:
        yield address


def kept(site: Site, number: int) -> list[Event]:
    with site.store.read() as connection:
        return list(events.since(connection, BatchKey("acme", number), 0, 500))


def test_a_new_follower_is_told_where_the_batch_is_and_then_what_comes(
    site: Site, place: str
) -> None:
    number = site.started(GOOD)
    with following(place, number) as sent:
        first = next(sent)
        site.worked(number)
        rest = list(sent)

    assert first.name == "snapshot"
    assert first.content["batch"]["state"] == "staging"
    told = [each for each in rest if each.name == "message"]
    assert [each.content["kind"] for each in told][-1] == "completed"
    assert [each.content["seq"] for each in told] == [
        each.seq for each in kept(site, number)[2:]
    ]
    shares = [each.content["progress"]["share"] for each in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert all(share < 1 for share in shares[:-1])
    assert rest[-1].name == "end"
    assert rest[-1].content["batch"]["tally"]["created"] == 3


def test_a_follower_goes_on_after_the_event_that_it_had(site: Site, place: str) -> None:
    number = site.done(GOOD)
    events_of_it = kept(site, number)
    key = BatchKey("acme", number)
    second = cursor_after(key, events_of_it[1])

    with following(place, number, f"?after={second}") as sent:
        by_query = list(sent)
    first = cursor_after(key, events_of_it[0])
    with following(
        place, number, f"?after={second}", **{"Last-Event-ID": first}
    ) as sent:
        by_header = list(sent)
    with following(place, number, "?after=earliest") as sent:
        from_the_first = list(sent)

    def numbers(found: list[object]) -> list[int]:
        return [each.content["seq"] for each in found if each.name == "message"]  # type: ignore[attr-defined]

    every = [each.seq for each in events_of_it]
    assert numbers([*by_query]) == every[2:]
    assert numbers([*by_header]) == every[1:]
    assert numbers([*from_the_first]) == every
    assert by_query[-2].cursor == cursor_after(key, events_of_it[-1])


def test_who_has_everything_of_an_ended_batch_need_not_come_again(
    here: Site, place_here: str
) -> None:
    number = here.done(GOOD)
    cursor = here.get(f"/api/batches/{number}").json()["cursor"]
    url = f"{place_here}/api/batches/{number}/events"
    answer = httpx.get(url, headers=as_user() | {"Last-Event-ID": cursor})
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("cursor", ["nonsense", "99.1.5f", "1.2.abc", "1.99999.0"])
def test_an_unknown_cursor_gets_a_reset_with_a_place_to_start_from(
    here: Site, place_here: str, cursor: str
) -> None:
    number = here.started(GOOD)
    with following(place_here, number, f"?after={cursor}") as sent:
        first = next(sent)
        here.worked(number)
        rest = list(sent)
    assert first.name == "reset"
    assert first.content["batch"]["cursor"] == first.cursor
    seqs = [each.content["seq"] for each in rest if each.name == "message"]
    assert seqs == [each.seq for each in kept(here, number)[2:]]


def test_a_cursor_that_is_too_old_gets_a_reset(here: Site, place_here: str) -> None:
    number = here.done(GOOD)
    key = BatchKey("acme", number)
    first, *_, last = kept(here, number)
    set_state(here.store, number, first_seq=last.seq)
    with here.store.write() as connection:
        connection.execute(EVENT.delete().where(EVENT.c.seq < last.seq))

    with following(place_here, number, f"?after={cursor_after(key, first)}") as sent:
        told = list(sent)

    assert [each.name for each in told] == ["reset", "end"]
    assert told[0].content["batch"]["state"] == "completed"
    assert told[0].cursor == cursor_after(key, last)


def test_silence_is_filled_with_signs_of_life(
    here: Site, place_here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT", 0.1)
    number = here.started(GOOD)
    url = f"{place_here}/api/batches/{number}/events"
    with httpx.stream("GET", url, headers=as_user()) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "retry: 2000"
        assert any(line.startswith(":") for line in lines)


def test_a_stream_does_not_outlast_its_hour(
    here: Site, place_here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LONGEST", 0.0)
    number = here.started(GOOD)
    with following(place_here, number) as sent:
        assert [each.name for each in sent] == ["snapshot"]


def test_a_change_made_here_is_told_at_once(
    here: Site, place_here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "POLL", 60.0)
    number = here.started(GOOD)
    with following(place_here, number) as sent:
        next(sent)
        httpx.post(f"{place_here}/api/batches/{number}/pause", headers=as_user())
        assert next(sent).content["kind"] == "paused"


def test_another_tenant_can_not_follow(here: Site, place_here: str) -> None:
    number = here.started(GOOD)
    url = f"{place_here}/api/batches/{number}/events"
    answer = httpx.get(url, headers=as_user("zeta:zoe"))
    assert answer.status_code == 404
    missing = httpx.get(
        f"{place_here}/api/batches/999/events", headers=as_user("zeta:zoe")
    )
    assert answer.json() | {"detail": ""} == missing.json() | {"detail": ""}


async def _follow_all(
    place: str, number: int, all_in: asyncio.Event
) -> list[list[str]]:
    """Follow with everybody at once until the batch ends; return the cursors seen."""
    limits = httpx.Limits(max_connections=FOLLOWERS)
    ready = asyncio.Semaphore(0)

    async def one(client: httpx.AsyncClient) -> list[str]:
        seen: list[str] = []
        url = f"{place}/api/batches/{number}/events"
        async with client.stream("GET", url, headers=as_user(), timeout=60) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("event: snapshot"):
                    ready.release()
                if line.startswith("id: "):
                    seen.append(line)
        return seen

    async with httpx.AsyncClient(limits=limits) as client:
        tasks = [asyncio.create_task(one(client)) for _ in range(FOLLOWERS)]
        for _ in range(FOLLOWERS):
            await ready.acquire()
        all_in.set()
        return list(await asyncio.gather(*tasks))


def _wait_for_quiet(asked: Callable[[], int]) -> None:
    """Wait until everybody has what was before they came."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        before = asked()
        time.sleep(0.5)
        if asked() - before < FOLLOWERS // 4:
            return
    pytest.fail("they never came to rest")


def test_two_hundred_followers_cost_no_more_reads_than_one(
    site: Site, place: str
) -> None:
    number = site.started(GOOD)
    key = BatchKey("acme", number)

    def watch() -> float:
        """Count the reads of two seconds in which everybody follows; then end it."""
        asked = count_statements(site.store)
        _wait_for_quiet(asked)
        before, begun = asked(), time.monotonic()
        time.sleep(2.0)
        rate = (asked() - before) / (time.monotonic() - begun)
        for _ in range(5):
            with site.store.write() as connection:
                events.add(connection, key, EventKind.PROGRESSED, {})
        site.post(f"/api/batches/{number}/cancel")
        return rate

    async def both() -> tuple[list[list[str]], float]:
        all_in = asyncio.Event()
        followed = asyncio.create_task(_follow_all(place, number, all_in))
        await all_in.wait()
        rate = await asyncio.to_thread(watch)
        return await followed, rate

    seen, rate = asyncio.run(both())

    assert 0 < rate <= 3 / feeds.POLL + 2  # a look is BEGIN and two statements
    assert len(seen) == FOLLOWERS
    assert {tuple(each) for each in seen} == {tuple(seen[0])}
    assert len(seen[0]) == 1 + 5 + 1 + 1  # snapshot, events, cancelled, end


def test_a_follower_who_is_too_slow_is_let_go_with_a_bounded_memory() -> None:
    async def slow() -> tuple[int, bool]:
        follower = feeds.Follower()
        for seq in range(10_000):
            follower.give(feeds.Told(seq, b""))
        taken = 0
        while await follower.next(1) is not None:
            taken += 1
        return taken, follower.is_slow

    assert asyncio.run(slow()) == (feeds.WAITING, True)


def test_a_follower_who_leaves_leaves_no_reader_behind(
    here: Site, place_here: str
) -> None:
    number = here.started(GOOD)
    with following(place_here, number) as sent:
        next(sent)
    asked = count_statements(here.store)
    deadline = time.monotonic() + 5
    while True:
        before = asked()
        time.sleep(3 * feeds.POLL)
        if asked() == before:
            break
        assert time.monotonic() < deadline


def test_no_character_of_a_message_ends_its_line_but_the_last() -> None:
    told = feeds.message('{"a":"\u2028\u2029\x85"}', name="end", cursor="1.2.3")
    assert told.decode().splitlines() == [
        "event: end",
        "id: 1.2.3",
        'data: {"a":"\\u2028\\u2029\\u0085"}',
        "",
    ]


def test_workers_are_given_a_hint_and_no_failure_of_that_is_the_callers(
    here: Site, caplog: pytest.LogCaptureFixture
) -> None:
    hints: list[int] = []

    def hint() -> None:
        hints.append(1)
        raise ConnectionError

    hinted = site_on(here.store, hint=hint)
    number = hinted.started(GOOD)
    assert len(hints) == 1
    assert hinted.post(f"/api/batches/{number}/cancel").status_code == 200
    assert len(hints) == 2
    assert "no hint" in caplog.text


def test_followers_wait_for_a_database_that_is_away(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "PATIENCE", 0.01)
    number = here.done(GOOD)
    away = [feeds.read_page, feeds.read_page]

    async def at_store(function: Any, *arguments: Any) -> Any:
        if function in away:
            away.remove(function)
            raise StoreError("away")
        return function(here.store, *arguments)

    async def follow() -> feeds.Told | None:
        async with feeds.Feeds(at_store).followed(BatchKey("acme", number)) as follower:
            return await follower.next(5)

    assert asyncio.run(follow()) is None  # the end, once it was back
    assert away == []


def test_a_feed_of_a_batch_that_is_not_there_lets_its_followers_go(
    here: Site,
) -> None:
    async def at_store(function: Any, *arguments: Any) -> Any:
        return function(here.store, *arguments)

    async def follow() -> feeds.Told | None:
        async with feeds.Feeds(at_store).followed(BatchKey("acme", 99)) as follower:
            return await follower.next(5)

    assert asyncio.run(follow()) is None


def test_followers_at_one_process_hear_of_what_another_has_done(site: Site) -> None:
    number = site.started(GOOD)
    other = site_on(site.store)  # shares nothing with the first but the database
    with running(other.app) as place, following(place, number) as sent:
        next(sent)
        site.post(f"/api/batches/{number}/pause")
        assert next(sent).content["kind"] == "paused"
        site.post(f"/api/batches/{number}/cancel")
        assert [each.name for each in sent] == ["message", "end"]
