"""Kill switches in both databases."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from batchfx.model.switches import SwitchScope
from batchfx.store import switches
from batchfx.store.engine import Store
from batchfx.store.schema import CHUNK
from tests.store.entered import a_batch, a_chunk

ALL, TENANT, IMPORTER, EFFECT = SwitchScope

WORK = [("acme", "orders"), ("acme", "people"), ("zeta", "orders"), ("zeta", "people")]


@pytest.fixture
def waiting(store: Store) -> Store:
    """A store in which each of two tenants has a chunk of each of two importers."""
    for tenant, importer in WORK:
        a_chunk(store, a_batch(store, tenant, importer), importer=importer)
    return store


def turn(store: Store, scope: SwitchScope, name: str, *, is_off: bool = True) -> None:
    with store.write() as connection:
        switches.turn(
            connection, scope, name, is_off=is_off, reason="a test", who="ann"
        )


def on(store: Store) -> list[tuple[str, str]]:
    """Return the work that no switch holds back, found chunk by chunk in one query."""
    work = (
        sa.select(CHUNK.c.tenant, CHUNK.c.importer)
        .where(switches.is_on(CHUNK.c.tenant, CHUNK.c.importer))
        .order_by(CHUNK.c.tenant, CHUNK.c.importer)
    )
    with store.read() as connection:
        return [(row.tenant, row.importer) for row in connection.execute(work)]


def effect_is_on(store: Store, name: str) -> bool:
    with store.read() as connection:
        return bool(
            connection.execute(sa.select(switches.effect_is_on(name))).scalar_one()
        )


def test_without_a_switch_everything_is_on(waiting: Store) -> None:
    assert on(waiting) == WORK
    assert effect_is_on(waiting, "mail")


@pytest.mark.parametrize(
    ("scope", "name", "left"),
    [
        (ALL, switches.EVERYTHING, []),
        (TENANT, "acme", WORK[2:]),
        (IMPORTER, "people", [("acme", "orders"), ("zeta", "orders")]),
        (EFFECT, "people", WORK),
        (TENANT, "people", WORK),
        (TENANT, "", WORK),
    ],
)
def test_a_switch_holds_back_the_work_of_its_scope_and_no_other(
    waiting: Store, scope: SwitchScope, name: str, left: list[tuple[str, str]]
) -> None:
    turn(waiting, scope, name)
    assert on(waiting) == left

    turn(waiting, scope, name, is_off=False)
    assert on(waiting) == WORK


def test_an_effect_is_off_by_its_own_switch_or_that_of_everything(
    store: Store,
) -> None:
    turn(store, EFFECT, "mail")
    assert (effect_is_on(store, "mail"), effect_is_on(store, "charge")) == (False, True)

    turn(store, EFFECT, "mail", is_off=False)
    turn(store, ALL, switches.EVERYTHING)
    assert not effect_is_on(store, "mail")


def test_a_switch_says_who_turned_it_last_and_why(store: Store) -> None:
    turn(store, TENANT, "acme")
    turn(store, IMPORTER, "people")
    with store.write() as connection:
        switches.turn(
            connection, TENANT, "acme", is_off=False, reason="mended", who="bob"
        )
    with store.read() as connection:
        listed = switches.listing(connection)

    assert [
        (each.scope, each.name, each.is_off, each.reason, each.changed_by)
        for each in listed
    ] == [
        (IMPORTER, "people", True, "a test", "ann"),
        (TENANT, "acme", False, "mended", "bob"),
    ]
    assert listed[0].changed_at <= listed[1].changed_at


def test_a_change_is_stopped_by_a_switch_in_its_own_condition(waiting: Store) -> None:
    turn(waiting, TENANT, "acme")
    claimed = (
        sa.update(CHUNK)
        .where(switches.is_on(CHUNK.c.tenant, CHUNK.c.importer))
        .values(fence=7)
        .returning(CHUNK.c.tenant)
    )
    with waiting.write() as connection:
        assert set(connection.execute(claimed).scalars()) == {"zeta"}
