"""What a worker, or a tenant, does with a unit of work that is not theirs any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from batchfx import BatchKey, Store, cancel, pause, rerun, resume, revive
from batchfx.errors import LeaseLostError, NotFoundError
from batchfx.execution.run import run_claim
from batchfx.execution.settlements import Breakdown, Loss, Release, Settlement, settle
from batchfx.execution.sweep import sweep
from batchfx.store import access, claims
from batchfx.store.claims import Claim
from tests.faults import worlds
from tests.faults.operations import bring_to_end, commit, held, judge
from tests.faults.worlds import BROKE, OTHER, WORKER, claim, the_batch

ENDS: dict[str, Callable[[Claim], Settlement]] = {
    "release": Release,
    "fail": lambda held: Breakdown(held, BROKE),
    "lose": lambda held: Loss(held, "a test"),
}
ACTS: dict[str, Callable[[Store, BatchKey], object]] = {
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "revive": revive,
    "rerun": rerun,
}


@pytest.fixture
def leased(database: str) -> Store:
    """A worker is at the first chunk, and its lease has run out."""
    worlds.make(database, "leased")
    return worlds.opened(database)


def hand_over(store: Store, worker: str) -> tuple[Claim, Claim]:
    """Let *worker* take the first chunk over; return the old claim and the new one."""
    old = held(store)
    sweep(store)
    new = claim(store, worker, 30.0)
    assert new is not None
    assert new.ordinal == 0
    assert new.fence > old.fence
    return old, new


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("worker", [WORKER, OTHER])
def test_what_was_taken_over_is_not_ended_by_who_had_it(
    leased: Store, name: str, worker: str
) -> None:
    old, new = hand_over(leased, worker)
    with leased.write() as connection:
        told = settle(connection, ENDS[name](old))
    assert told is None or told.startswith("lease lost")
    now = held(leased)
    assert (now.worker, now.fence) == (new.worker, new.fence)
    assert (now.failures, now.losses) == (0, 1)
    commit(leased)
    bring_to_end(leased)
    judge(leased)
    leased.close()


@pytest.mark.parametrize("worker", [WORKER, OTHER])
def test_what_was_taken_over_is_not_committed_by_who_had_it(
    leased: Store, worker: str
) -> None:
    old, new = hand_over(leased, worker)
    with pytest.raises(LeaseLostError, match="Chunk 0 of batch 1 was taken over"):
        run_claim(leased, old)
    now = held(leased)
    assert (now.worker, now.fence) == (new.worker, new.fence)
    commit(leased)
    with pytest.raises(LeaseLostError, match="Chunk 0 of batch 1 was taken over"):
        run_claim(leased, old)
    bring_to_end(leased)
    judge(leased)
    leased.close()


def test_a_lease_is_taken_back_though_its_worker_has_left(leased: Store) -> None:
    with leased.write() as connection:
        access.leave(connection, WORKER)
    swept = sweep(leased)
    assert (swept.lost, swept.died) == (1, 0)
    with leased.write() as connection:
        found = claims.of_batch(connection, the_batch(leased), "not let in", -1.0)
    assert found is not None
    assert sweep(leased).lost == 1
    worlds.drain(leased, OTHER)
    judge(leased)
    leased.close()


@pytest.mark.parametrize("name", ACTS)
def test_another_tenant_has_no_such_batch(leased: Store, name: str) -> None:
    elsewhere = BatchKey("another", the_batch(leased).number)
    with pytest.raises(NotFoundError, match="Tenant 'another' has no batch 1"):
        ACTS[name](leased, elsewhere)
    commit(leased)  # nothing was taken away
    bring_to_end(leased)
    judge(leased)
    leased.close()
