"""Why a batch that is left to workers has not begun, or does not go on."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy.engine import Connection

from batchfx.model.switches import SwitchScope
from batchfx.store import access, switches
from batchfx.store.batches import Batch
from batchfx.store.switches import Switch


class Wait(StrEnum):
    """What a batch waits for."""

    TURN = "turn"  # workers have other work
    WORKER = "worker"  # none that was heard of lately may take it
    IMPORTER = "importer"  # none that may has its importer installed
    SWITCH = "switch"  # it is turned off
    RESTART = "restart"  # the process that ran it has died


def wait_of(connection: Connection, batch: Batch) -> tuple[Wait, str | None]:
    """Return what a batch that is queued waits for, and why, as a sentence.

    There is nothing to explain when it only waits for its turn.
    """
    tenant, importer = batch.key.tenant, batch.importer
    off = switches.holding(connection, tenant, importer)
    if off is not None:
        return Wait.SWITCH, _told(off)
    installed = access.installed(connection, tenant, importer)
    if not installed:
        return Wait.WORKER, (
            "No worker that was heard of in the last minute may run the importer "
            f"'{importer}' for the tenant '{tenant}'."
        )
    if not any(names is None or importer in names for names in installed):
        return Wait.IMPORTER, (
            f"No worker that was heard of in the last minute has the importer "
            f"'{importer}'; BATCHFX_IMPORTERS of the worker says where it looks."
        )
    return Wait.TURN, None


def _told(off: Switch) -> str:
    name = f"The {off.scope} '{off.name}'"
    what = "Everything" if off.scope is SwitchScope.ALL else name
    why = f": {off.reason}" if off.reason else ""
    return (
        f"{what} was turned off by {off.changed_by}{why}. "
        "('batchfx switch list' shows what is off.)"
    )
