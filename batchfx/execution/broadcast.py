"""Progress told to a listener at a bounded rate; the last of it always comes."""

from __future__ import annotations

import time
from collections.abc import Callable

from batchfx.model.progress import Progress
from batchfx.store import batches
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

INTERVAL = 0.25  # seconds: at most four a second

Listener = Callable[[Progress], None]


class Broadcast:
    """What one run of a batch tells about how far it is."""

    def __init__(self, store: Store, key: BatchKey, listener: Listener | None) -> None:
        self._store, self._key, self._listener = store, key, listener
        self._told = float("-inf")
        self._underway = 0
        self.restart()

    def restart(self) -> None:
        """Begin to count rate and time left anew: another kind of work begins."""
        self._started = time.monotonic()
        self._before: int | None = None

    def at_times(self, underway: int = 0) -> None:
        """Tell how far the batch is, unless that was told just before.

        *underway* rows of the chunk at work were processed. Those of a group that is
        tried again still count, or the bar would go back.
        """
        self._underway = max(self._underway, underway) if underway else 0
        if time.monotonic() - self._told >= INTERVAL:
            self.now()

    def now(self) -> None:
        """Tell how far the batch is."""
        if self._listener is None:
            return
        with self._store.read() as connection:
            batch = batches.read(connection, self._key)
            tally = batches.tally(connection, self._key)
            examined = batches.examined(connection, self._key)
        if self._before is None:
            self._before = examined
        self._told = time.monotonic()
        seconds = self._told - self._started
        self._listener(
            Progress(
                batch.state, tally, examined, self._before, seconds, self._underway
            )
        )
