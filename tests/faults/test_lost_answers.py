"""The answer to a COMMIT is lost: what took effect is neither failed nor done again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import sqlalchemy as sa

from batchfx import Store
from batchfx.errors import AlreadyImportedError, StoreError
from batchfx.execution.run import Ending, run_claim
from batchfx.execution.settlements import Breakdown, settle
from batchfx.store.engine import open_store
from batchfx.store.schema import CHUNK
from samples.servers import Server
from tests.faults import worlds
from tests.faults.operations import bring_to_end, held, judge
from tests.faults.points import BEFORE, COMMIT, Point, watched
from tests.faults.proxies import LosingProxy
from tests.faults.worlds import BROKE, Place, opened, submit


@pytest.fixture(scope="module")
def place(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("answers"), postgres.url)


@pytest.fixture(scope="module")
def leased(place: Place) -> str:
    """A database in which a worker is at the first chunk."""
    url = place.empty()
    worlds.make(url, "leased")
    return url


@pytest.fixture
def store(place: Place, leased: str) -> Iterator[Store]:
    """A copy of it."""
    url = place.copy(leased)
    opened_store = opened(url)
    yield opened_store
    opened_store.close()
    place.drop(url)


def address(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


def first_chunk(store: Store) -> tuple[str, int, int]:
    with store.read() as connection:
        columns = (CHUNK.c.state, CHUNK.c.failures, CHUNK.c.losses)
        found = sa.select(*columns).where(CHUNK.c.ordinal == 0)
        state, failures, losses = connection.execute(found).one()
    return state, failures, losses


@pytest.mark.parametrize("number", range(1, 4))
def test_a_chunk_whose_answer_was_lost_is_done_if_it_was_written(
    store: Store, number: int
) -> None:
    """Every answer of the run is lost once; that to the chunk's commit is one."""
    claim = held(store)
    with LosingProxy(address(store)) as proxy:
        behind = open_store(proxy.url)
        proxy.lose_at(number)
        try:
            ending = run_claim(behind, claim)
        except StoreError:
            assert first_chunk(store) == ("leased", 0, 0)
        else:
            assert ending is Ending.DONE
            assert first_chunk(store) == ("done", 0, 0)
        behind.close()
        assert proxy.lost == 1
    bring_to_end(store)
    judge(store)


def test_the_answer_to_the_chunks_own_commit_is_looked_for(store: Store) -> None:
    names: list[str] = []
    claim = held(store)
    with LosingProxy(address(store)) as proxy:
        behind = open_store(proxy.url)

        def lose(point: Point) -> None:
            names.append(point.what)
            is_chunk = point.name == f"{BEFORE} {COMMIT}" and (
                "UPDATE batchfx_chunk" in names
            )
            if is_chunk and not proxy.lost:
                proxy.lose_at(1)

        with watched(lose):
            assert run_claim(behind, claim) is Ending.DONE
        behind.close()
        assert proxy.lost == 1
    assert first_chunk(store) == ("done", 0, 0)


def test_a_failure_whose_answer_was_lost_is_charged_once(store: Store) -> None:
    claim = held(store)
    with LosingProxy(address(store)) as proxy:
        behind = open_store(proxy.url)
        proxy.lose_at(1)
        with pytest.raises(StoreError), behind.write() as connection:
            settle(connection, Breakdown(claim, BROKE))
        with behind.write() as connection:
            told = settle(connection, Breakdown(claim, BROKE))
        behind.close()
    assert told is not None
    assert told.startswith("lease lost")
    assert first_chunk(store) == ("retrying", 1, 0)
    bring_to_end(store)
    judge(store)


def import_losing(url: str, number: int) -> bool:
    """Import, losing the answer to a COMMIT, and once more; tell if it was lost."""
    with LosingProxy(url) as proxy:
        behind = opened(proxy.url)
        proxy.lose_at(number)
        with suppress(StoreError):
            submit(behind, detached=False)
        was_lost = bool(proxy.lost)
        proxy.lose_at(0)
        with suppress(AlreadyImportedError):
            submit(behind, detached=False)
        behind.close()
        return was_lost


def test_an_import_loses_any_answer_and_comes_to_the_same_end(place: Place) -> None:
    tables = place.empty()
    worlds.make(tables, "tables")
    number = 1
    while True:
        url = place.copy(tables)
        was_lost = import_losing(url, number)
        direct = opened(url)
        judge(direct)
        direct.close()
        place.drop(url)
        if not was_lost:
            break
        number += 5
    assert number > 10
