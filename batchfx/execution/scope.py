"""What a worker is to work on: never more than its credential allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from batchfx.errors import AccessError
from batchfx.model.access import EVERY, Identity


def narrowed(
    identity: Identity,
    tenants: Collection[str] | None = None,
    importers: Collection[str] | None = None,
) -> Identity:
    """Return *identity* with what is left of its rights; None leaves them as they are.

    Raises:
        AccessError: Something is named that it does not allow.

    """
    return replace(
        identity,
        tenants=_narrow("tenant", identity.tenants, tenants),
        importers=_narrow("importer", identity.importers, importers),
    )


def _narrow(
    what: str, allowed: frozenset[str], wanted: Collection[str] | None
) -> frozenset[str]:
    if wanted is None or EVERY in wanted:
        return allowed
    refused = sorted(set(wanted) - allowed)
    if refused and EVERY not in allowed:
        names = ", ".join(f"'{name}'" for name in refused)
        message = (
            f"The credential of this worker does not allow the {what} {names}; leave "
            "it out, or have a credential issued that does."
        )
        raise AccessError(message)
    return frozenset(wanted)
