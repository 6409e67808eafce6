"""Events to their followers: one reader for each batch, however many follow it.

A follower first listens to the batch's feed and then replays what the database has, so
nothing falls between; what comes twice it drops by its number. The database is asked
for the truth each time; a wake-up only makes it sooner.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from batchfx.errors import BatchfxError, StoreError
from batchfx.execution.follow import Cursor
from batchfx.execution.pace import EVENTS, Pacer
from batchfx.model.events import Event
from batchfx.store import events
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey
from batchfx.web.showing import event_shape

POLL = 0.4  # seconds between two looks at a batch that somebody follows
PATIENCE = 5.0  # seconds between two, while the database is away
PAGE = 500  # events read at once
LINE_ENDS = re.compile("[\x85\u2028\u2029]")
WAITING = 256  # messages that a follower may be behind

Result = TypeVar("Result")
_log = logging.getLogger("batchfx.web")


class AtStore(Protocol):
    """What calls a function with the store in a thread."""

    def __call__(
        self, function: Callable[..., Result], /, *arguments: Any, **named: Any
    ) -> Awaitable[Result]:
        """Return what *function* returns."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it goes to a follower; *seq* is its number."""

    seq: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """Some events after a number, and whether these were the last by themselves."""

    events: Sequence[Event]
    is_behind: bool  # there are more already
    has_ended: bool


def tell(key: BatchKey, event: Event, pacer: Pacer) -> Told:
    """Return *event* as a message of the stream."""
    cursor = str(Cursor.after(key, event))
    shape = event_shape(cursor, event, pacer.take(event))
    return Told(event.seq, message(shape.model_dump_json(), cursor=cursor))


def message(text: str, *, name: str | None = None, cursor: str | None = None) -> bytes:
    """Return *text*, JSON on one line, as a message of the stream."""
    lines = [] if name is None else [f"event: {name}"]
    lines += [] if cursor is None else [f"id: {cursor}"]
    # Some readers take these for ends of lines, though neither JSON nor a stream does.
    data = LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return "\n".join([*lines, f"data: {data}", "", ""]).encode()


def read_page(store: Store, key: BatchKey, seq: int) -> Page:
    """Return the batch's events after number *seq*.

    Raises:
        NotFoundError: The tenant has no such batch.

    """
    with store.read() as connection:
        bounds = events.bounds(connection, key)
        found = events.since(connection, key, seq, PAGE)
    last = found[-1].seq if found else seq
    is_behind = last < bounds.newest
    return Page(found, is_behind, bounds.has_ended and not is_behind)


def read_latest(store: Store, key: BatchKey) -> Sequence[Event]:
    """Return the batch's newest events, as many as its pace is made from."""
    with store.read() as connection:
        newest = events.bounds(connection, key).newest
        return events.since(connection, key, newest - EVENTS, EVENTS)


class Follower:
    """One who follows: messages wait for it, but not without end."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Told | None] = asyncio.Queue(WAITING + 1)
        self.is_slow = False

    def give(self, told: Told | None) -> None:
        """Let a message wait, or None for the end; one who is too slow is cut off."""
        if self.is_slow:
            return
        if self._queue.qsize() >= WAITING:
            self.is_slow = told is not None
            told = None
        self._queue.put_nowait(told)

    async def next(self, seconds: float) -> Told | None:
        """Return the next message, or None at the end.

        Raises:
            TimeoutError: There is none for so many *seconds*.

        """
        return await asyncio.wait_for(self._queue.get(), seconds)


class Feed:
    """What happens to one batch, read once for all who follow it."""

    def __init__(self, key: BatchKey, at_store: AtStore) -> None:
        self._key, self._at_store = key, at_store
        self._followers: set[Follower] = set()
        self._woken = asyncio.Event()
        self._ready = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run(), name=f"batchfx feed {key}")

    @property
    def is_over(self) -> bool:
        """True when it tells nothing any more."""
        return self._task.done()

    def wake(self) -> None:
        """Look at once; from any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._woken.set)

    def end(self) -> None:
        """Let every follower go; from any thread."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def join(self, follower: Follower) -> None:
        """Give the follower whatever happens from now on."""
        self._followers.add(follower)
        ready = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait({ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()

    def leave(self, follower: Follower) -> bool:
        """Give it nothing more; return whether nobody is left."""
        self._followers.discard(follower)
        return not self._followers

    async def _run(self) -> None:
        try:
            await self._read_on()
        except BatchfxError as error:  # the batch is gone
            _log.info("Following batch %s ended: %s", self._key.number, error)
        finally:
            for follower in self._followers:
                follower.give(None)

    async def _read_on(self) -> None:
        latest = await self._at_store(read_latest, self._key)
        pacer = Pacer(latest)
        seq = latest[-1].seq if latest else 0
        self._ready.set()
        while True:
            self._woken.clear()
            page, pause = await self._look(seq), POLL
            if page is None:
                pause = PATIENCE
            else:
                for event in page.events:
                    told = tell(self._key, event, pacer)
                    for follower in tuple(self._followers):
                        follower.give(told)
                    seq = event.seq
                if page.has_ended:
                    return
            if page is None or not page.is_behind:
                await self._wait(pause)

    async def _look(self, seq: int) -> Page | None:
        """Return the next events; None while the database is away."""
        try:
            return await self._at_store(read_page, self._key, seq)
        except StoreError as error:
            _log.warning("Following batch %s waits: %s", self._key.number, error)
            return None

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)


class Feeds:
    """The feeds of an application: one for each batch that is followed.

    An event loop has its own: a server of threads may have several.
    """

    def __init__(self, at_store: AtStore) -> None:
        self._at_store = at_store
        self._feeds: dict[tuple[asyncio.AbstractEventLoop, BatchKey], Feed] = {}
        self.is_ending = False

    @asynccontextmanager
    async def followed(self, key: BatchKey) -> AsyncIterator[Follower]:
        """Listen to the batch: what happens from here on waits for the follower."""
        place, follower = (asyncio.get_running_loop(), key), Follower()
        feed = self._feeds.get(place)
        if feed is None or feed.is_over:
            feed = self._feeds[place] = Feed(key, self._at_store)
        try:
            await feed.join(follower)
            yield follower
        finally:
            if feed.leave(follower):
                feed.end()
                if self._feeds.get(place) is feed:
                    del self._feeds[place]

    def wake(self, key: BatchKey) -> None:
        """Tell that something has happened to the batch here."""
        for (_, each), feed in tuple(self._feeds.items()):
            if each == key:
                feed.wake()

    def end(self) -> None:
        """Let every follower go: the server ends."""
        self.is_ending = True
        for feed in tuple(self._feeds.values()):
            feed.end()
