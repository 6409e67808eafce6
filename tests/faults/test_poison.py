"""A chunk that takes its workers with it, and importers that are not what they were."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from batchfx import Column, Context, Importer, Store, report, revive
from batchfx.errors import MisfitError, NotFoundError
from batchfx.execution.operate import dead
from batchfx.execution.run import run_claim
from batchfx.execution.sweep import sweep
from batchfx.model.states import ChunkState
from batchfx.store import claims
from tests.faults import worlds
from tests.faults.operations import bring_to_end, judge
from tests.faults.worlds import OTHER, WORKER, claim, drain, the_batch
from tests.oracle import states_of
from tests.people import PersonImporter, PersonRow


class NewerRow(PersonRow):
    """A person as a later version of the importer has it: with a column more."""

    email: Annotated[str, Column("Email")]


class NewerImporter(Importer[NewerRow]):
    """That version; a worker has it under the name of the other one."""

    name = "newer"

    def process(self, row: NewerRow, context: Context) -> Any:
        """Never come here: no row has such a column."""
        raise NotImplementedError


@pytest.fixture
def prepared(database: str) -> Store:
    """Chunks that wait."""
    worlds.make(database, "prepared")
    return worlds.opened(database)


def lose_first(store: Store) -> ChunkState:
    """Have a worker vanish with the first chunk; return what becomes of that."""
    with store.write() as connection:
        found = claims.of_batch(connection, the_batch(store), WORKER, -1.0)
    assert found is not None
    assert found.ordinal == 0
    with store.write() as connection:
        ((_, ordinal, state),) = claims.reclaim(connection, 10)
    assert ordinal == 0
    sweep(store)
    return state


def test_a_chunk_that_three_workers_vanished_with_is_poison(prepared: Store) -> None:
    states = [lose_first(prepared) for _ in range(3)]
    assert states == [ChunkState.RETRYING, ChunkState.RETRYING, ChunkState.DEAD]
    drain(prepared)
    (unit,) = dead(prepared, worlds.TENANT)
    assert (unit.ordinal, unit.reason, unit.losses, unit.failures) == (
        0,
        "poison",
        3,
        0,
    )
    assert unit.place == "its worker was not heard of any more"
    assert dead(prepared, "another") == []
    found = report(prepared, the_batch(prepared))
    assert found.batch.state == "failed"
    assert found.batch.reason is not None
    assert "poison" in found.batch.reason
    assert revive(prepared, the_batch(prepared)) == 1
    bring_to_end(prepared)
    judge(prepared)
    prepared.close()


def test_what_a_worker_has_no_importer_for_waits_for_one_that_has(
    prepared: Store,
) -> None:
    with prepared.write() as connection:
        assert claims.fair(connection, WORKER, ["another"], 30.0) == []
        assert claims.fair(connection, WORKER, [], 30.0) == []
    with prepared.read() as connection:
        key = the_batch(prepared)
        assert states_of(connection, key) == {"done": 1, "queued": 3}
    drain(prepared, OTHER)
    judge(prepared)
    prepared.close()


def test_an_importer_that_is_gone_is_told_and_nothing_is_charged(
    prepared: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = claim(prepared, OTHER, 30.0)
    assert found is not None
    with monkeypatch.context() as patch:
        patch.setattr(
            "batchfx.importer._REGISTER", {PersonImporter.name: PersonImporter}
        )
        with pytest.raises(NotFoundError, match="no importer called 'ledger'"):
            run_claim(prepared, found)
    with prepared.write() as connection:
        assert claims.release(connection, found)
    drain(prepared)
    judge(prepared)
    prepared.close()


def test_what_another_version_can_not_run_is_left_to_the_one_that_fits(
    prepared: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = claim(prepared, OTHER, 30.0)
    assert found is not None
    with monkeypatch.context() as patch:
        patch.setattr("batchfx.importer._REGISTER", {"ledger": NewerImporter})
        with pytest.raises(MisfitError, match="it requires 'email', for which no col"):
            run_claim(prepared, found)
    with prepared.write() as connection:
        assert claims.release(connection, found)
    drain(prepared)
    judge(prepared)
    prepared.close()
