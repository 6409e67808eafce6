"""Why a batch that is left to workers has not begun, or does not go on."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from sqlalchemy.engine import Connection

from batchfx.execution.versions import misfit
from batchfx.model.switches import SwitchScope
from batchfx.model.versions import Version
from batchfx.store import access, switches
from batchfx.store.batches import Batch
from batchfx.store.switches import Switch


class Wait(StrEnum):
    """What a batch waits for."""

    TURN = "turn"  # workers have other work
    WORKER = "worker"  # none that was heard of lately may take it
    IMPORTER = "importer"  # none that may has its importer installed
    VERSION = "version"  # none that may has a version of it that fits the batch
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
    known = [each for each in installed if each is not None]
    if len(known) < len(installed):
        return Wait.TURN, None
    here = [each[importer] for each in known if importer in each]
    if not here:
        return Wait.IMPORTER, (
            f"No worker that was heard of in the last minute has the importer "
            f"'{importer}'; BATCHFX_IMPORTERS of the worker says where it looks."
        )
    return _wait_of_versions(batch, [Version.load(each) for each in here])


def _wait_of_versions(
    batch: Batch, versions: Collection[Version | None]
) -> tuple[Wait, str | None]:
    whys = [None if each is None else misfit(batch, each) for each in versions]
    return (Wait.VERSION, whys[0]) if all(whys) else (Wait.TURN, None)


def _told(off: Switch) -> str:
    name = f"The {off.scope} '{off.name}'"
    what = "Everything" if off.scope is SwitchScope.ALL else name
    why = f": {off.reason}" if off.reason else ""
    return (
        f"{what} was turned off by {off.changed_by}{why}. "
        "('batchfx switch list' shows what is off.)"
    )
