"""Whether the database can be used, said once when it can't and once when it can."""

from __future__ import annotations

import logging
import threading

from sqlalchemy.exc import DBAPIError

_LOG = logging.getLogger("batchfx.worker")


class Availability:
    """What several users of one database find; it is down while one of them fails."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failing: set[str] = set()

    def failed(self, user: str, error: Exception) -> None:
        """Enter that *user* could not use it."""
        with self._lock:
            is_news = not self._failing
            self._failing.add(user)
        if is_news:
            _LOG.error("%s Trying again until it is back.", _sentence(error))

    def worked(self, user: str) -> None:
        """Enter that *user* could use it."""
        with self._lock:
            was_failing = user in self._failing
            self._failing.discard(user)
            is_news = was_failing and not self._failing
        if is_news:
            _LOG.info("The database is back.")


def _sentence(error: Exception) -> str:
    """Return what is wrong in one line."""
    text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return text.strip().split("\n", 1)[0]
