"""Who a worker is, and what it may work on."""

from __future__ import annotations

from dataclasses import dataclass

EVERY = "*"
"""All tenants or all importers; only where somebody wrote it."""

FOREVER = 253_402_300_799.0
"""The end of the year 9999: of a right to work that does not expire by itself."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who may work until *expires_at*, in seconds since 1970-01-01 UTC.

    *credential* is the row that says so, if one does. Empty *tenants* or *importers*
    allow none, never all.
    """

    name: str
    tenants: frozenset[str]
    importers: frozenset[str]
    expires_at: float
    credential: int | None = None
