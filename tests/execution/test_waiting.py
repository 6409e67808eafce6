"""Why a batch that is left to workers waits, on both databases."""

from __future__ import annotations

import io

import pytest

from batchfx import BatchKey, Options, Store, import_source, report
from batchfx.execution.waiting import Wait
from batchfx.model.access import FOREVER, Identity
from batchfx.model.switches import SwitchScope
from batchfx.store import access, switches
from tests.people import PersonImporter

TENANT, NAME = "acme", PersonImporter.name
NOBODY = (
    f"No worker that was heard of in the last minute may run the importer '{NAME}' for "
    f"the tenant '{TENANT}'."
)
LACKING = (
    f"No worker that was heard of in the last minute has the importer '{NAME}'; "
    "BATCHFX_IMPORTERS of the worker says where it looks."
)


@pytest.fixture
def waiting(store: Store) -> BatchKey:
    """A batch that workers may take."""
    source = io.BytesIO(b"Code,Name,Age\nA,Ann,1\n")
    options = Options(tenant=TENANT)
    return import_source(
        store, PersonImporter, source, name="p.csv", options=options, detached=True
    ).key


def enter(store: Store, worker: str, tenant: str, *installed: str) -> None:
    identity = Identity("w", frozenset({tenant}), frozenset({"*"}), FOREVER, None)
    with store.write() as connection:
        access.enter(connection, worker, identity, "1")
        if installed:
            access.seen(connection, worker, dict.fromkeys(installed))


def turn(store: Store, scope: SwitchScope, name: str, *, is_off: bool) -> None:
    with store.write() as connection:
        switches.turn(
            connection, scope, name, is_off=is_off, reason="wrong prices", who="ann"
        )


def test_it_says_what_it_waits_for(store: Store, waiting: BatchKey) -> None:
    def told() -> tuple[Wait | None, str | None, bool]:
        found = report(store, waiting)
        return found.waits_for, found.why, found.has_workers

    assert told() == (Wait.WORKER, NOBODY, False)
    enter(store, "w1", "other", NAME)
    assert told() == (Wait.WORKER, NOBODY, False)
    enter(store, "w2", TENANT, "orders", "products")
    assert told() == (Wait.IMPORTER, LACKING, False)
    enter(store, "w3", TENANT)  # may have it
    assert told() == (Wait.TURN, None, True)
    with store.write() as connection:
        access.leave(connection, "w3")
    assert told() == (Wait.IMPORTER, LACKING, False)
    enter(store, "w4", TENANT, "orders", NAME)
    assert told() == (Wait.TURN, None, True)


@pytest.mark.parametrize(
    ("scope", "name", "what"),
    [
        (SwitchScope.ALL, "", "Everything"),
        (SwitchScope.TENANT, TENANT, f"The tenant '{TENANT}'"),
        (SwitchScope.IMPORTER, NAME, f"The importer '{NAME}'"),
    ],
)
def test_a_switch_that_is_off_is_named(
    store: Store, waiting: BatchKey, scope: SwitchScope, name: str, what: str
) -> None:
    enter(store, "w1", TENANT, NAME)
    turn(store, SwitchScope.TENANT, "other", is_off=True)
    turn(store, SwitchScope.EFFECT, NAME, is_off=True)
    assert report(store, waiting).waits_for == Wait.TURN
    turn(store, scope, name, is_off=True)
    found = report(store, waiting)
    assert found.waits_for == Wait.SWITCH
    assert found.why == (
        f"{what} was turned off by ann: wrong prices. "
        "('batchfx switch list' shows what is off.)"
    )
    turn(store, scope, name, is_off=False)
    assert report(store, waiting).waits_for == Wait.TURN
