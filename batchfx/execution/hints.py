"""Hints: "there may be work", said to workers through Dramatiq and Redis.

A hint saves a worker the wait until it looks by itself, every two seconds or so.
Nothing rests on it: work is a row in the database, and what a worker may do is decided
when it claims. So a hint says nothing else, is never tried again, and its loss costs a
moment; one that somebody forged costs a look in vain. All of Redis may be lost.

This is the only module that knows Dramatiq and Redis.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import dramatiq
import dramatiq.errors
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AgeLimit

from batchfx.errors import UsageError

QUEUE = "batchfx"
ACTOR = "batchfx_work_may_wait"
AGE_MS = 10_000  # whoever has looked since then knows
APART = 0.25  # seconds between two hints of one process
PATIENCE = 0.5  # seconds that a sender waits for Redis
SILENCE = 5.0  # seconds without a try after Redis did not answer
MOST_WAITING = 64  # hints in the queue; more say nothing new
IDLE_MS = 200  # between two looks into an idle queue
LEAVING_MS = 2_000

_LOG = logging.getLogger("batchfx.worker")
_FAULTS = (redis.RedisError, dramatiq.errors.BrokerConnectionError, OSError)


class Hints:
    """Hints over the Redis at *url*; nothing is connected until it is used.

    Raises:
        UsageError: *url* is no address of a Redis.

    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._next_at = 0.0  # by the monotonic clock
        self._broker, self._actor = _queue(_client(url), _nothing)
        self._listener: _Listener | None = None

    def send(self) -> bool:
        """Hint at work, after it was committed; tell whether the hint was taken.

        It waits half a second at most, and not at all soon after Redis was not there.
        """
        with self._lock:
            if time.monotonic() < self._next_at:
                return False
            self._next_at = time.monotonic() + APART
        try:
            if _waiting(self._broker) < MOST_WAITING:
                self._broker.enqueue(self._actor.message())
        except _FAULTS:
            self._next_at = time.monotonic() + SILENCE
            return False
        return True

    def listen(self, hear: Callable[[], None]) -> None:
        """Call *hear*, in a thread of its own, whenever a hint comes."""
        _quieten_dramatiq()
        self._listener = _Listener(self._url, hear)

    def tend(self) -> None:
        """Look whether hints can come; say so once when they can't, and once again.

        Call it every few seconds; it waits half a second at most.
        """
        if self._listener is not None:
            self._listener.tend()

    def close(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            self._listener.close()
        self._broker.client.close()


class _Listener:
    """A worker of Dramatiq, in threads of this process."""

    def __init__(self, url: str, hear: Callable[[], None]) -> None:
        self._url = url
        self._hear = hear
        self._is_lost = False
        self._is_deaf = False
        self._start()

    def tend(self) -> None:
        try:
            is_waiting = _waiting(self._broker) > 0
        except _FAULTS as error:
            if not self._is_lost:
                _LOG.warning("Redis is lost (%s): looking for work without.", error)
            self._is_lost = True
            return
        if self._is_lost:
            _LOG.info("Redis is back.")
            self._hear()  # for what was not heard of meanwhile
        self._is_lost = False
        # A forged message may keep Dramatiq from taking others, for ever.
        if is_waiting and self._is_deaf:
            self.close()
            self._start()
        self._is_deaf = is_waiting  # unless it hears something until the next time

    def _take(self) -> None:
        self._is_deaf = False
        self._hear()

    def close(self) -> None:
        with suppress(*_FAULTS):
            self._worker.stop(timeout=LEAVING_MS)
            self._broker.client.close()

    def _start(self) -> None:
        self._broker, _ = _queue(_client(self._url), self._take)
        self._worker = dramatiq.Worker(
            self._broker, queues={QUEUE}, worker_threads=1, worker_timeout=IDLE_MS
        )
        self._worker.queue_prefetch = 1  # more would only idle here
        self._worker.start()


def _queue(client: Any, hear: Callable[[], None]) -> tuple[Any, Any]:
    """Return a broker that knows nothing but hints, and their actor."""
    # Without the other middleware nothing is tried again, delayed or interrupted.
    make: Any = RedisBroker  # which has no types
    broker = make(client=client, middleware=[AgeLimit()])

    def take(*_: object, **__: object) -> None:
        hear()

    declared = dramatiq.actor(
        actor_name=ACTOR, queue_name=QUEUE, broker=broker, max_age=AGE_MS
    )
    return broker, declared(take)


def _waiting(broker: Any) -> int:
    """Return how many hints wait, without those that a worker has taken."""
    count: int = broker.client.llen(f"{broker.namespace}:{QUEUE}")
    return count


def _client(url: str) -> Any:
    try:
        return redis.Redis.from_url(
            url,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
            retry=None,
        )
    except ValueError as error:
        message = (  # without the address: it may hold a password
            "What was given as the address of Redis is none. "
            "Write one such as redis://localhost:6379/0."
        )
        raise UsageError(message) from error


def _nothing() -> None:
    """Hear nothing: a sender's own actor is never called."""


def _quieten_dramatiq() -> None:
    """Keep to ourselves what Dramatiq logs: every lost connection, again and again."""
    logger = logging.getLogger("dramatiq")
    logger.propagate = False
    logger.handlers = [logging.NullHandler()]
