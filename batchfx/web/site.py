"""What one application of the web has at hand: its database, its threads, its feeds.

Nothing is opened before it is asked for: a mounted application is never told that its
server has started.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from batchfx.importer import Importer, registered
from batchfx.store.engine import Store, open_store
from batchfx.web.access import Authenticate
from batchfx.web.feeds import Feeds
from batchfx.web.refusals import UnknownImporterError
from batchfx.web.tokens import LocalToken

THREADS = 10  # at the database at once: not more than its pool has connections
_log = logging.getLogger("batchfx.web")
_limiters: RunVar[CapacityLimiter] = RunVar("batchfx_web_limiter")

Given = ParamSpec("Given")
Result = TypeVar("Result")
Kinds = Mapping[str, type[Importer[Any]]]


@dataclass
class Site:
    """An application's settings and what it keeps while it runs."""

    place: Store | str
    authenticate: Authenticate
    max_upload: int
    importers: Kinds | None = None
    token: LocalToken | None = None
    hint: Callable[[], object] | None = None
    sign_in: str | None = None
    feeds: Feeds = field(init=False)
    _store: Store | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Prepare the feeds, which read through this."""
        self.feeds = Feeds(self.at_store)

    async def at_store(
        self,
        function: Callable[..., Result],
        /,
        *arguments: Any,
        **named: Any,
    ) -> Result:
        """Call *function* with the store, then *arguments*, in a thread."""
        return await self.in_thread(self._called, function, *arguments, **named)

    async def in_thread(
        self,
        function: Callable[Given, Result],
        /,
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Call *function* in one of the threads for what waits."""
        called = partial(function, *arguments, **named)
        return await anyio.to_thread.run_sync(called, limiter=_limiter())

    async def tell_workers(self) -> None:
        """Tell workers that there may be work; they find it by themselves, too."""
        if self.hint is None:
            return
        try:
            await self.in_thread(self.hint)
        except Exception:  # noqa: BLE001 - the host's code; what was asked for is done
            _log.exception("Workers were given no hint")

    @property
    def way_in(self) -> str:
        """How people sign in: "token", an address of the host's, or empty: unknown."""
        return "token" if self.token is not None else self.sign_in or ""

    def kinds(self) -> Kinds:
        """Return the importers that files may be uploaded for, by name."""
        return registered() if self.importers is None else self.importers

    def importer(self, name: str) -> type[Importer[Any]]:
        """Return the importer called *name*.

        Raises:
            UnknownImporterError: There is none.

        """
        kinds = self.kinds()
        if name not in kinds:
            known = ", ".join(kinds) or "none"
            message = f"There is no importer called '{name}'. There are: {known}."
            raise UnknownImporterError(message)
        return kinds[name]

    def _called(
        self, function: Callable[..., Result], *arguments: Any, **named: Any
    ) -> Result:
        return function(self._opened(), *arguments, **named)

    def _opened(self) -> Store:
        if isinstance(self.place, Store):
            return self.place
        with self._lock:
            if self._store is None:
                self._store = open_store(self.place)
            return self._store


def _limiter() -> CapacityLimiter:
    """Return the limit of the event loop at work: one limit belongs to one loop."""
    try:
        return _limiters.get()
    except LookupError:
        limiter = CapacityLimiter(THREADS)
        _limiters.set(limiter)
        return limiter
