"""Every place between two steps of a transaction, as a point at which a test may act.

A point comes before and after each statement that goes through an engine (BEGIN and
savepoints are statements, too), before and after each COMMIT and each ROLLBACK. The
product knows nothing of it: the listeners are SQLAlchemy's own. A thread sees the
points of its own work only, and only within `watched`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.engine.default import DefaultDialect

BEFORE, AFTER = "before", "after"
BEGIN_TO_WRITE, COMMIT, ROLLBACK = "BEGIN to write", "COMMIT", "ROLLBACK"
TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|TABLE|INDEX|TRIGGER)\s+(?!clock_)\"?(\w+)")


@dataclass(frozen=True, slots=True)
class Point:
    """A place: before or after what; *driver* is the connection of the driver."""

    when: str
    what: str
    driver: Any = None

    @property
    def name(self) -> str:
        """What tells this kind of place from others."""
        return f"{self.when} {self.what}"


At = Callable[[Point], None]


class _Watching(threading.local):
    at: At | None = None


_WATCHING = _Watching()


@contextmanager
def watched(at: At) -> Iterator[None]:
    """Call *at* at every point that this thread comes to."""
    _listen_once()
    before, _WATCHING.at = _WATCHING.at, at
    try:
        yield
    finally:
        _WATCHING.at = before


def short(statement: str) -> str:
    """Return the verb of a statement and the table that it is about."""
    verb, _, rest = " ".join(statement.split()).partition(" ")
    if verb == "BEGIN":
        writes = "IMMEDIATE" in rest or "READ COMMITTED" in rest
        return BEGIN_TO_WRITE if writes else "BEGIN to read"
    if verb.upper() == "WITH":
        found = re.search(r"\)\s(UPDATE|INSERT|DELETE|SELECT)\b(.*)", rest)
        verb, rest = (found[1], found[2]) if found else (verb, rest)
        if verb == "UPDATE":
            return f"UPDATE {rest.split()[0]}"
    table = TABLE.search(f"{verb} {rest}")
    return f"{verb} {table[1]}" if table else verb


def _tell(when: str, what: str, driver: Any) -> None:
    if _WATCHING.at is not None:
        _WATCHING.at(Point(when, what, driver))


def _listen_once() -> None:
    if sa.event.contains(Engine, "before_cursor_execute", _before):
        return
    sa.event.listen(Engine, "before_cursor_execute", _before)
    sa.event.listen(Engine, "after_cursor_execute", _after)
    for name, what in (("do_commit", COMMIT), ("do_rollback", ROLLBACK)):
        setattr(DefaultDialect, name, _between(getattr(DefaultDialect, name), what))


def _before(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
    _tell(BEFORE, short(statement), cursor.connection)


def _after(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
    _tell(AFTER, short(statement), cursor.connection)


def _between(real: Callable[..., None], what: str) -> Callable[..., None]:
    def step(dialect: DefaultDialect, connection: Any) -> None:
        driver = getattr(connection, "driver_connection", connection)
        _tell(BEFORE, what, driver)
        real(dialect, connection)
        _tell(AFTER, what, driver)

    return step
