"""Credentials, workers and what they may work on, in both databases."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from batchfx.errors import NotFoundError, UsageError
from batchfx.model.access import FOREVER, Identity
from batchfx.store import access
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import CHUNK, CREDENTIAL, GRANT, WORKER
from tests.store.entered import a_batch, a_chunk

DIGEST = "ab" * 32
WORK = [("acme", "orders"), ("acme", "people"), ("zeta", "orders"), ("zeta", "people")]
ALL = frozenset({"*"})


@pytest.fixture
def waiting(store: Store) -> Store:
    """A store in which each of two tenants has a chunk of each of two importers."""
    for tenant, importer in WORK:
        a_chunk(store, a_batch(store, tenant, importer), importer=importer)
    return store


def enter(
    store: Store,
    tenants: frozenset[str] = ALL,
    importers: frozenset[str] = ALL,
    expires_at: float = FOREVER,
    credential: int | None = None,
) -> None:
    identity = Identity("fleet", tenants, importers, expires_at, credential)
    with store.write() as connection:
        access.enter(connection, "w1", identity, "0.1.0")


def issue(store: Store, name: str = "fleet", lifetime: float = 3600) -> int:
    with store.write() as connection:
        return access.issue(
            connection, name, DIGEST, ["acme"], ["people"], lifetime=lifetime
        )


def allowed(store: Store, worker: str = "w1") -> list[tuple[str, str]]:
    """Return what *worker* may work on, found chunk by chunk in one query."""
    work = (
        sa.select(CHUNK.c.tenant, CHUNK.c.importer)
        .where(access.is_allowed(worker, CHUNK.c.tenant, CHUNK.c.importer))
        .order_by(CHUNK.c.tenant, CHUNK.c.importer)
    )
    with store.read() as connection:
        return [(row.tenant, row.importer) for row in connection.execute(work)]


@pytest.mark.parametrize(
    ("tenants", "importers", "expected"),
    [
        (ALL, ALL, WORK),
        ({"acme"}, ALL, WORK[:2]),
        (ALL, {"people"}, [("acme", "people"), ("zeta", "people")]),
        ({"acme", "zeta"}, {"orders"}, [("acme", "orders"), ("zeta", "orders")]),
        ({"acme"}, {"acme"}, []),
        ({"ac*"}, ALL, []),
        (set(), ALL, []),
        (ALL, set(), []),
    ],
)
def test_a_worker_may_work_on_what_it_was_granted_and_nothing_else(
    waiting: Store,
    tenants: set[str],
    importers: set[str],
    expected: list[tuple[str, str]],
) -> None:
    enter(waiting, frozenset(tenants), frozenset(importers))

    assert allowed(waiting) == expected
    assert allowed(waiting, "w2") == []


def test_who_left_or_whose_right_ran_out_may_work_on_nothing(waiting: Store) -> None:
    enter(waiting)
    assert allowed(waiting) == WORK

    with waiting.write() as connection:
        connection.execute(sa.update(WORKER).values(expires_at=now_epoch() - 1))
    assert allowed(waiting) == []

    with waiting.write() as connection:
        connection.execute(sa.update(WORKER).values(expires_at=FOREVER))
        access.leave(connection, "w1")
    assert allowed(waiting) == []


def test_a_credential_that_ends_takes_its_workers_right_at_once(
    waiting: Store,
) -> None:
    enter(waiting, credential=issue(waiting))
    assert allowed(waiting) == WORK

    with waiting.write() as connection:
        connection.execute(sa.update(CREDENTIAL).values(expires_at=now_epoch() - 1))
    assert allowed(waiting) == []

    with waiting.write() as connection:
        connection.execute(sa.update(CREDENTIAL).values(expires_at=FOREVER))
    assert allowed(waiting) == WORK

    with waiting.write() as connection:
        access.revoke(connection, "fleet")
    assert allowed(waiting) == []


def test_the_right_is_checked_where_a_chunk_is_changed_too(waiting: Store) -> None:
    enter(waiting, tenants=frozenset({"zeta"}))
    with waiting.write() as connection:
        connection.execute(sa.update(CHUNK).values(worker="w1"))
        renewed = (
            sa.update(CHUNK)
            .where(access.is_allowed(CHUNK.c.worker, CHUNK.c.tenant, CHUNK.c.importer))
            .values(fence=7)
            .returning(CHUNK.c.tenant, CHUNK.c.importer)
        )
        rows = connection.execute(renewed).all()

    assert sorted((row.tenant, row.importer) for row in rows) == WORK[2:]


def test_a_credential_is_found_by_its_digest_and_tells_its_state(
    store: Store,
) -> None:
    number = issue(store)
    with store.read() as connection:
        found = access.find(connection, DIGEST)
        assert access.find(connection, "cd" * 32) is None

    assert found is not None
    assert (found.id, found.name, found.tenants, found.importers) == (
        number,
        "fleet",
        frozenset({"acme"}),
        frozenset({"people"}),
    )
    assert found.expires_at - found.created_at == pytest.approx(3600, abs=0.1)
    assert found.is_valid
    assert DIGEST not in repr(found)


def test_a_credential_is_listed_after_it_ran_out_or_was_revoked(
    store: Store,
) -> None:
    for name in ("late", "gone", "good"):
        issue(store, name)
    with store.write() as connection:
        access.revoke(connection, "gone")
        connection.execute(
            sa.update(CREDENTIAL)
            .where(CREDENTIAL.c.name == "late")
            .values(expires_at=now_epoch() - 1)
        )
    with store.read() as connection:
        first = access.listing(connection)
    with store.write() as connection:
        access.revoke(connection, "gone")
    with store.read() as connection:
        again = access.listing(connection)

    assert [(each.name, each.is_valid) for each in first] == [
        ("gone", False),
        ("good", True),
        ("late", False),
    ]
    assert first[0].revoked_at == again[0].revoked_at is not None


def test_a_name_is_given_once_even_when_it_was_revoked(store: Store) -> None:
    issue(store)
    with store.write() as connection:
        access.revoke(connection, "fleet")

    with pytest.raises(UsageError, match="There is a credential 'fleet' already"):
        issue(store)


@pytest.mark.parametrize(
    ("tenants", "importers", "lifetime"),
    [([], ["people"], 60.0), (["acme"], [], 60.0), (["acme"], ["people"], 0.0)],
)
def test_a_credential_for_nothing_is_refused(
    store: Store, tenants: list[str], importers: list[str], lifetime: float
) -> None:
    with (
        store.write() as connection,
        pytest.raises(UsageError, match="needs tenants, importers and a lifetime"),
    ):
        access.issue(connection, "x", DIGEST, tenants, importers, lifetime=lifetime)


def test_a_credential_that_is_not_there_cant_be_revoked(store: Store) -> None:
    with (
        store.write() as connection,
        pytest.raises(NotFoundError, match="There is no credential 'x'"),
    ):
        access.revoke(connection, "x")


def test_workers_are_listed_until_they_leave(store: Store) -> None:
    number = issue(store)
    enter(store, frozenset({"a", "b"}), frozenset({"people"}), credential=number)
    with store.write() as connection:
        connection.execute(sa.update(WORKER).values(seen_at=now_epoch() - 50))
    with store.read() as connection:
        (silent,) = access.workers(connection)
    with store.write() as connection:
        access.seen(connection, "w1")
        access.revoke(connection, "fleet")
    with store.read() as connection:
        (revoked,) = access.workers(connection)
    with store.write() as connection:
        access.leave(connection, "w1")
        access.seen(connection, "w1")
    with store.read() as connection:
        assert access.workers(connection) == []

    assert (silent.id, silent.identity, silent.version) == ("w1", "fleet", "0.1.0")
    assert sorted(silent.tenants) == ["a", "b"]
    assert sorted(silent.importers) == ["people"]
    assert silent.silent_for == pytest.approx(50, abs=1)
    assert silent.is_allowed
    assert revoked.silent_for == pytest.approx(0, abs=1)
    assert not revoked.is_allowed


def test_a_worker_is_counted_on_where_it_may_work_and_was_seen_lately(
    store: Store,
) -> None:
    def counted_on(tenant: str = "acme", importer: str = "people") -> bool:
        with store.read() as connection:
            return access.has_workers(connection, tenant, importer)

    assert not counted_on()
    enter(store, frozenset({"acme"}), frozenset({"people"}))
    assert counted_on()
    assert not counted_on(tenant="zeta")
    assert not counted_on(importer="orders")

    with store.write() as connection:
        connection.execute(
            sa.update(WORKER).values(seen_at=now_epoch() - access.SILENCE - 1)
        )
    assert not counted_on()
    with store.write() as connection:
        access.seen(connection, "w1")
    assert counted_on()
    with store.write() as connection:
        access.leave(connection, "w1")
    assert not counted_on()


def worker_at(
    store: Store, name: str, *, seen: float, ended: float | None = None
) -> None:
    """Let a worker in that was seen, and has ended, so many seconds ago."""
    identity = Identity("fleet", frozenset({"acme"}), ALL, FOREVER)
    past = None if ended is None else now_epoch() - ended
    with store.write() as connection:
        access.enter(connection, name, identity, "0.1.0")
        connection.execute(
            sa.update(WORKER)
            .where(WORKER.c.id == name)
            .values(seen_at=now_epoch() - seen, ended_at=past)
        )


def test_workers_of_long_ago_are_forgotten_with_their_grants(store: Store) -> None:
    worker_at(store, "at work", seen=1)
    worker_at(store, "ended", seen=200, ended=200)
    worker_at(store, "ended lately", seen=200, ended=50)
    worker_at(store, "holding", seen=200)
    worker_at(store, "vanished", seen=200)
    worker_at(store, "vanished lately", seen=50)
    a_chunk(store, a_batch(store), state="leased", worker="holding", lease_until=1.0)

    with store.write() as connection:
        assert access.forget(connection, 100.0, 1) == 1
        assert access.forget(connection, 100.0, 10) == 1
        assert access.forget(connection, 100.0, 10) == 0
    kept = ["at work", "ended lately", "holding", "vanished lately"]
    names = sa.select(WORKER.c.id).order_by(WORKER.c.id)
    granted = sa.select(GRANT.c.worker).distinct().order_by(GRANT.c.worker)
    with store.read() as connection:
        assert list(connection.scalars(names)) == kept
        assert list(connection.scalars(granted)) == kept


def test_a_worker_that_was_forgotten_has_no_right_any_more(waiting: Store) -> None:
    enter(waiting)
    with waiting.write() as connection:
        connection.execute(sa.update(WORKER).values(seen_at=now_epoch() - 200))
        assert access.forget(connection, 100.0, 10) == 1
    assert allowed(waiting) == []
