"""Claims on both databases: who gets what, and how each of them ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from batchfx.errors import LeaseLostError
from batchfx.model.access import FOREVER, Identity
from batchfx.model.states import BatchState, ChunkState
from batchfx.model.switches import SwitchScope
from batchfx.store import access, chunks, claims, lanes, switches
from batchfx.store.claims import BACKOFF, LONGEST_BACKOFF, LOSSES, TRIES, Claim, Failure
from batchfx.store.engine import Store, now_epoch, open_store
from batchfx.store.schema import CHUNK, CREDENTIAL, PREPARATION, BatchKey
from tests.store.entered import a_batch, a_chunk

TTL = 30.0
ALL = frozenset({"*"})
BROKE = Failure("disk_full", "commit", "The disk is full.")

Prevention = Callable[[Store], None]


@pytest.fixture
def on_postgresql(postgresql: str) -> Iterator[Store]:
    opened = open_store(postgresql)
    yield opened
    opened.close()


def let_in(
    store: Store,
    worker: str = "w1",
    tenants: frozenset[str] = ALL,
    importers: frozenset[str] = ALL,
    **rest: Any,
) -> None:
    values = {"expires_at": FOREVER, "credential": None, **rest}
    identity = Identity("fleet", tenants, importers, **values)
    with store.write() as connection:
        access.enter(connection, worker, identity, "1.0")


def queued(
    store: Store, tenant: str = "acme", chunks: int = 1, **values: Any
) -> BatchKey:
    """Enter a batch of so many chunks that wait, and note it in the lane."""
    key = a_batch(store, tenant)
    for ordinal in range(chunks):
        a_chunk(store, key, ordinal, **values)
    wake(store, tenant)
    return key


def wake(store: Store, tenant: str) -> None:
    with store.write() as connection:
        lanes.wake(connection, tenant)


def take(store: Store, key: BatchKey, worker: str = "w1", **more: Any) -> Claim | None:
    with store.write() as connection:
        return claims.of_batch(connection, key, worker, TTL, **more)


def taken(store: Store, key: BatchKey, worker: str = "w1") -> Claim:
    claim = take(store, key, worker)
    assert claim is not None
    return claim


def fair(
    store: Store,
    worker: str = "w1",
    importers: tuple[str, ...] = ("people",),
    limit: int = 1,
) -> list[tuple[str, int, int]]:
    """Let *worker* claim; return (tenant, batch, ordinal) of each."""
    with store.write() as connection:
        found = claims.fair(connection, worker, importers, TTL, limit)
    return [(each.key.tenant, each.key.number, each.ordinal) for each in found]


def row(store: Store, key: BatchKey, ordinal: int = 0) -> Any:
    """Return a chunk's row, with the seconds left of its lease, and to wait."""
    left = (CHUNK.c.lease_until - now_epoch()).label("left")
    wait = (CHUNK.c.due_at - now_epoch()).label("wait")
    statement = sa.select(CHUNK, left, wait).where(
        CHUNK.c.batch == key.number, CHUNK.c.ordinal == ordinal
    )
    with store.read() as connection:
        return connection.execute(statement).one()


def alter(store: Store, key: BatchKey, ordinal: int = 0, **values: Any) -> None:
    of_chunk = (CHUNK.c.batch == key.number) & (CHUNK.c.ordinal == ordinal)
    with store.write() as connection:
        connection.execute(sa.update(CHUNK).where(of_chunk).values(**values))


def turn(
    store: Store, scope: SwitchScope, name: str = "", *, is_off: bool = True
) -> None:
    with store.write() as connection:
        switches.turn(connection, scope, name, is_off=is_off, reason="r", who="me")


def renewed(store: Store, worker: str = "w1", **more: Any) -> set[tuple[int, int, int]]:
    with store.write() as connection:
        return claims.renew(connection, worker, TTL, **more)


# --- Of one batch ---------------------------------------------------------------------


def test_a_claim_says_everything_about_its_chunk(store: Store) -> None:
    key = a_batch(store)
    a_chunk(store, key, 3, fence=6, round=2, waited_at=40, failures=1, losses=2)

    assert take(store, key) == Claim(
        key=key,
        ordinal=3,
        worker="w1",
        fence=7,
        first_row=32,
        last_row=41,
        rows=10,
        round=2,
        waited_at=40,
        importer="people",
        failures=1,
        losses=2,
        is_granted=False,
    )
    found = row(store, key, 3)
    assert (found.state, found.worker, found.fence) == ("leased", "w1", 7)
    assert found.left == pytest.approx(TTL, abs=5)


def test_chunks_of_a_batch_come_in_order_those_that_were_deferred_last(
    store: Store,
) -> None:
    key = a_batch(store)
    a_chunk(store, key, 0, round=1)
    a_chunk(store, key, 2)
    a_chunk(store, key, 1)
    a_chunk(store, key, 3, state=ChunkState.HELD)

    assert [taken(store, key).ordinal for _ in range(3)] == [1, 2, 0]
    assert take(store, key) is None


def test_a_preparation_is_claimed_when_asked_for_and_only_then(store: Store) -> None:
    key = a_batch(store, state=BatchState.STAGING)
    a_chunk(store, key, PREPARATION, rows=0)

    assert take(store, key) is None
    claim = take(store, key, preparation=True)
    assert claim is not None
    assert (claim.ordinal, claim.is_preparation) == (PREPARATION, True)
    assert take(store, key, preparation=True) is None


@pytest.mark.parametrize("state", sorted(set(BatchState) - {"staging", "running"}))
def test_nothing_is_claimed_of_a_batch_that_does_not_go_on(
    store: Store, state: BatchState
) -> None:
    let_in(store)
    key = a_batch(store, state=state)
    a_chunk(store, key)
    wake(store, "acme")

    assert take(store, key) is None
    assert fair(store) == []


def test_a_batch_is_claimed_in_its_tenants_scope_only(store: Store) -> None:
    key = queued(store)
    assert take(store, BatchKey("other", key.number)) is None
    assert taken(store, key).key == key


@pytest.mark.parametrize(
    ("scope", "name"), [("all", ""), ("tenant", "acme"), ("importer", "people")]
)
def test_what_is_switched_off_is_neither_claimed_nor_renewed_until_it_is_on(
    store: Store, scope: str, name: str
) -> None:
    let_in(store)
    key = queued(store, chunks=3)
    claim = taken(store, key)
    assert renewed(store) == {(key.number, 0, 1)}

    turn(store, SwitchScope(scope), name)
    assert take(store, key) is None
    assert fair(store) == []
    assert renewed(store) == set()

    turn(store, SwitchScope(scope), name, is_off=False)
    assert taken(store, key).ordinal == 1
    assert fair(store) == [("acme", key.number, 2)]
    assert renewed(store) == {(key.number, n, claim.fence) for n in range(3)}


def test_a_switch_holds_back_what_it_names_and_nothing_else(store: Store) -> None:
    let_in(store)
    ours, theirs = queued(store, "acme", 2), queued(store, "zeta")
    turn(store, SwitchScope.TENANT, "zeta")
    turn(store, SwitchScope.IMPORTER, "orders")
    turn(store, SwitchScope.EFFECT, "people")

    assert take(store, theirs) is None
    assert taken(store, ours).ordinal == 0
    assert fair(store) == [("acme", ours.number, 1)]
    assert fair(store) == []


# --- Among tenants --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tenants", "importers", "known", "expected"),
    [
        (ALL, ALL, ("orders", "people"), {"acme": 2, "zeta": 2}),
        ({"acme"}, ALL, ("orders", "people"), {"acme": 2}),
        (ALL, {"people"}, ("orders", "people"), {"acme": 1, "zeta": 1}),
        (ALL, ALL, ("people",), {"acme": 1, "zeta": 1}),
        (ALL, ALL, (), {}),
        (set(), ALL, ("people",), {}),
        (ALL, set(), ("people",), {}),
        ({"ac*"}, ALL, ("people",), {}),
    ],
)
def test_a_worker_gets_what_it_was_granted_and_has_the_importer_of(
    store: Store,
    tenants: set[str],
    importers: set[str],
    known: tuple[str, ...],
    expected: dict[str, int],
) -> None:
    for tenant in ("acme", "zeta"):
        for importer in ("orders", "people"):
            a_chunk(store, a_batch(store, tenant, importer), importer=importer)
        wake(store, tenant)
    let_in(store, "w1", frozenset(tenants), frozenset(importers))

    found = [fair(store, importers=known) for _ in range(5)]
    counts: dict[str, int] = {}
    for (tenant, _, _), *others in filter(None, found):
        counts[tenant] = counts.get(tenant, 0) + 1
        assert others == []
    assert counts == expected


def test_a_worker_that_nobody_let_in_gets_nothing(store: Store) -> None:
    queued(store)
    assert fair(store, "stranger") == []


def expire(store: Store) -> None:
    with store.write() as connection:
        connection.execute(sa.update(CREDENTIAL).values(expires_at=now_epoch() - 1))


def revoke(store: Store) -> None:
    with store.write() as connection:
        access.revoke(connection, "fleet")


def leave(store: Store) -> None:
    with store.write() as connection:
        access.leave(connection, "w1")


def switch_off(store: Store) -> None:
    turn(store, SwitchScope.TENANT, "acme")


@pytest.mark.parametrize("end", [expire, revoke, leave])
def test_who_lost_its_right_claims_renews_and_commits_nothing(
    store: Store, end: Prevention
) -> None:
    with store.write() as connection:
        number = access.issue(connection, "fleet", "ab", ["acme"], ["*"], lifetime=60)
    let_in(store, credential=number)
    key = queued(store, chunks=2)
    with store.write() as connection:
        (claim,) = claims.fair(connection, "w1", ["people"], TTL)
    assert renewed(store, is_granted=True) == {(key.number, 0, 1)}

    end(store)
    assert fair(store) == []
    assert renewed(store, is_granted=True) == set()
    with pytest.raises(LeaseLostError), store.write() as connection:
        claims.require(connection, claim)
    with pytest.raises(LeaseLostError), store.write() as connection:
        chunks.commit(connection, claim, None)
    assert row(store, key).state == "leased"
    with store.write() as connection:
        assert claims.release(connection, claim)  # to give back takes no right
    assert row(store, key).state == "queued"


@pytest.mark.parametrize("end", [switch_off, leave])
def test_the_claims_own_statement_refuses_what_was_forbidden_a_moment_ago(
    on_postgresql: Store, end: Prevention
) -> None:
    store = on_postgresql
    let_in(store)
    queued(store)
    looked: list[str] = []

    def forbid(connection: sa.Connection, *arguments: Any) -> None:
        statement = arguments[1]
        if "SKIP LOCKED" in statement and not looked:
            looked.append(statement)
            end(store)

    sa.event.listen(store.engine, "before_cursor_execute", forbid)
    assert fair(store) == []
    assert len(looked) == 1


def test_inside_a_lane_the_lowest_priority_number_comes_first(store: Store) -> None:
    let_in(store)
    late = queued(store, chunks=2, priority=5)
    urgent = queued(store, chunks=2, priority=-1)
    other = a_batch(store, "acme", "orders")
    a_chunk(store, other, importer="orders", priority=0)

    both = ("people", "orders")
    assert [fair(store, importers=both)[0][1:] for _ in range(5)] == [
        (urgent.number, 0),
        (urgent.number, 1),
        (other.number, 0),
        (late.number, 0),
        (late.number, 1),
    ]


def test_several_units_are_claimed_at_once_from_one_lane(store: Store) -> None:
    let_in(store)
    key = queued(store, chunks=3)
    other = queued(store, "zeta", chunks=3)

    assert sorted(fair(store, limit=2)) == [("acme", key.number, n) for n in (0, 1)]
    assert sorted(fair(store, limit=5)) == [("zeta", other.number, n) for n in range(3)]
    assert fair(store, limit=5) == [("acme", key.number, 2)]


def test_what_is_held_by_another_transaction_is_passed_over(
    on_postgresql: Store,
) -> None:
    store = on_postgresql
    let_in(store)
    first, second = queued(store, chunks=2), queued(store, "zeta")
    with store.write() as holding:
        claims.of_batch(holding, first, "w2", TTL)
        assert fair(store) == [("acme", first.number, 1)]
        assert fair(store) == [("zeta", second.number, 0)]
        assert fair(store) == []


# --- Renewed, required ----------------------------------------------------------------


def test_a_renewal_prolongs_what_a_worker_has_and_only_that(store: Store) -> None:
    key = queued(store, chunks=3)
    taken(store, key)
    taken(store, key)
    taken(store, key, "w2")
    for ordinal in range(3):
        alter(store, key, ordinal, lease_until=now_epoch() + 1)

    assert renewed(store) == {(key.number, 0, 1), (key.number, 1, 1)}
    left = [row(store, key, ordinal).left for ordinal in range(3)]
    assert left == pytest.approx([TTL, TTL, 1], abs=5)
    assert renewed(store, "w3") == set()


def test_an_expired_lease_is_renewed_while_nobody_took_it(store: Store) -> None:
    key = queued(store)
    taken(store, key)
    alter(store, key, lease_until=now_epoch() - 100)
    assert renewed(store) == {(key.number, 0, 1)}
    with store.write() as connection:
        assert claims.reclaim(connection, 10) == []


def test_what_was_taken_over_is_missing_from_a_renewal(store: Store) -> None:
    key = queued(store, chunks=2)
    claim = taken(store, key)
    taken(store, key)
    with store.write() as connection:
        claims.lose(connection, claim, "here")

    assert renewed(store) == {(key.number, 1, 1)}


def test_a_granted_worker_renews_only_what_it_may_still_do(store: Store) -> None:
    let_in(store, tenants=frozenset({"acme"}))
    ours, theirs = queued(store), queued(store, "zeta")
    taken(store, ours)
    taken(store, theirs)

    assert renewed(store, is_granted=True) == {(ours.number, 0, 1)}
    assert renewed(store) == {(ours.number, 0, 1), (theirs.number, 0, 1)}


def test_a_claim_is_required_in_every_respect(store: Store) -> None:
    key = queued(store, chunks=2)
    claim = taken(store, key)
    with store.write() as connection:
        claims.require(connection, claim)

    changes: list[dict[str, Any]] = [
        {"fence": 2},
        {"worker": "w2"},
        {"fence": 1, "state": "retrying"},
    ]
    for values in changes:
        alter(store, key, **values)
        with pytest.raises(LeaseLostError) as caught, store.write() as connection:
            claims.require(connection, claim)
        alter(store, key, fence=1, worker="w1")
        assert str(caught.value) == (
            f"Chunk 0 of batch {key.number} was taken over by another process, or "
            "taken back; nothing of it was written here."
        )


# --- Ended ----------------------------------------------------------------------------


def test_a_released_chunk_waits_again_and_nothing_is_charged(store: Store) -> None:
    key = queued(store)
    claim = taken(store, key)
    with store.write() as connection:
        assert claims.release(connection, claim)

    found = row(store, key)
    assert (found.state, found.fence, found.worker) == ("queued", 2, None)
    assert (found.failures, found.losses, found.lease_until) == (0, 0, None)
    with store.write() as connection:
        assert not claims.release(connection, claim)
    assert row(store, key).fence == 2


def test_a_released_chunk_is_taken_again_once_the_lane_is_woken(store: Store) -> None:
    let_in(store)
    key = queued(store)
    with store.write() as connection:
        (claim,) = claims.fair(connection, "w1", ["people"], TTL)
    assert fair(store) == []
    with store.write() as connection:
        claims.release(connection, claim)
        lanes.wake(connection, "acme")
    assert fair(store) == [("acme", key.number, 0)]


def test_failures_are_charged_with_a_growing_wait_until_the_chunk_is_dead(
    store: Store,
) -> None:
    key = queued(store)
    for count in range(1, TRIES):
        claim = taken(store, key)
        assert claim.failures == count - 1
        with store.write() as connection:
            assert claims.fail(connection, claim, BROKE) is ChunkState.RETRYING
        found = row(store, key)
        assert (found.state, found.failures, found.losses) == ("retrying", count, 0)
        assert (found.fence, found.worker) == (2 * count, None)
        least = BACKOFF * 2 ** (count - 1)
        assert least - 1 < found.wait <= least * 1.25
        assert found.ended_at is None
        alter(store, key, state=ChunkState.QUEUED)

    with store.write() as connection:
        last = claims.of_batch(connection, key, "w1", TTL)
        assert last is not None
        assert claims.fail(connection, last, BROKE) is ChunkState.DEAD
    found = row(store, key)
    assert (found.state, found.failures) == ("dead", TRIES)
    assert (found.reason, found.place, found.error) == (
        "disk_full",
        "commit",
        "The disk is full.",
    )
    assert found.due_at is None
    assert found.ended_at is not None


def test_three_losses_are_poison_and_failures_are_counted_apart(store: Store) -> None:
    key = queued(store)
    with store.write() as connection:
        claim = claims.of_batch(connection, key, "w1", TTL)
        assert claim is not None
        claims.fail(connection, claim, BROKE)
    for count in range(1, LOSSES):
        alter(store, key, state=ChunkState.QUEUED)
        claim = taken(store, key)
        with store.write() as connection:
            assert claims.lose(connection, claim, "handler") is ChunkState.RETRYING
        found = row(store, key)
        assert (found.failures, found.losses, found.reason) == (1, count, "lost")
        assert found.wait > 0

    alter(store, key, state=ChunkState.QUEUED)
    claim = taken(store, key)
    with store.write() as connection:
        assert claims.lose(connection, claim, "handler") is ChunkState.DEAD
    found = row(store, key)
    assert (found.state, found.failures, found.losses) == ("dead", 1, 3)
    assert (found.reason, found.place, found.error) == (
        "poison",
        "handler",
        "The process that worked on it vanished (3 of 3 times).",
    )


def test_a_lost_claim_charges_nothing(store: Store) -> None:
    key = queued(store)
    claim = taken(store, key)
    alter(store, key, fence=claim.fence + 1)
    before = tuple(row(store, key))[: len(CHUNK.c)]
    with pytest.raises(LeaseLostError), store.write() as connection:
        claims.fail(connection, claim, BROKE)
    with pytest.raises(LeaseLostError), store.write() as connection:
        claims.lose(connection, claim, "here")
    assert tuple(row(store, key))[: len(CHUNK.c)] == before


def test_chance_adds_to_a_wait_and_never_shortens_it() -> None:
    for count in range(1, 12):
        least = min(LONGEST_BACKOFF, BACKOFF * 2 ** (count - 1))
        waits = [claims.backoff(count) for _ in range(200)]
        assert least <= min(waits)
        assert max(waits) <= least * 1.25
        assert len(set(waits)) > 100


def test_expired_leases_are_taken_back_and_no_others(store: Store) -> None:
    key, other = queued(store, chunks=3), queued(store, "zeta")
    for _ in range(3):
        taken(store, key)
    taken(store, other)
    alter(store, key, 1, lease_until=now_epoch() - 1)
    alter(store, key, 2, lease_until=now_epoch() - 2, losses=2)
    alter(store, other, lease_until=now_epoch() - 1)

    with store.write() as connection:
        assert claims.reclaim(connection, 2) == [
            (key, 1, ChunkState.RETRYING),
            (key, 2, ChunkState.DEAD),
        ]
    with store.write() as connection:
        assert claims.reclaim(connection, 2) == [(other, 0, ChunkState.RETRYING)]
        assert claims.reclaim(connection, 2) == []
    assert [row(store, key, n).state for n in range(3)] == [
        "leased",
        "retrying",
        "dead",
    ]
    assert [row(store, key, n).losses for n in range(3)] == [0, 1, 3]
    assert [row(store, key, n).fence for n in range(3)] == [1, 2, 2]
    assert row(store, key, 1).place == "its worker was not heard of any more"


def test_a_claim_whose_answer_was_lost_is_found_to_have_landed(store: Store) -> None:
    key = queued(store, chunks=3)
    done, deferred, open_one = (taken(store, key) for _ in range(3))
    with store.write() as connection:
        chunks.commit(connection, done, None)
        chunks.commit(connection, deferred, 7)
    with store.read() as connection:
        landed = [claims.has_landed(connection, c) for c in (done, deferred, open_one)]
    assert landed == [True, True, False]

    again = taken(store, key)
    assert (again.ordinal, again.round, again.waited_at) == (1, 1, 7)
    with store.write() as connection:
        claims.release(connection, open_one)
        assert not claims.has_landed(connection, open_one)
        claims.lose(connection, again, "here")
        assert not claims.has_landed(connection, again)


def test_holders_are_who_is_at_work_on_the_batch(store: Store) -> None:
    key, other = queued(store, chunks=3), queued(store)
    taken(store, key, "w1")
    taken(store, key, "w2")
    taken(store, other, "w3")
    alter(store, key, 1, lease_until=now_epoch() - 50)

    with store.read() as connection:
        found = claims.holders(connection, key)
        assert claims.holders(connection, BatchKey("zeta", key.number)) == []
    assert [(each.ordinal, each.worker) for each in found] == [(0, "w1"), (1, "w2")]
    assert [each.ends_in for each in found] == pytest.approx([TTL, -50], abs=5)
