"""Two operations on one chunk at once: one wins, and nobody says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batchfx.store.claims import Claim
from samples.servers import Server
from tests.faults.duels import PAIRS, Arena, arena
from tests.faults.sessions import orders, paths
from tests.faults.worlds import Place


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    """Where duels are played, on each of the two kinds of database."""
    server = None
    if request.param == "postgresql":
        running: Server = request.getfixturevalue("postgres")
        server = running.url
    with arena(Place(tmp_path_factory.mktemp("duels"), server)) as made:
        yield made


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_of_two_operations_at_once_one_wins(
    ground: Arena, pair: tuple[str, str]
) -> None:
    counts = ground.play_pair(pair, 4, to_end=False)
    assert counts.played == min(4, counts.orders)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_of_two_operations_at_once_one_wins_in_many_orders(
    ground: Arena, pair: tuple[str, str]
) -> None:
    counts = ground.play_pair(pair, 100, to_end=True)
    assert counts.played == min(100, counts.orders)


def test_a_claim_that_has_only_looked_keeps_nobody_waiting(ground: Arena) -> None:
    looked = (0, 0)  # BEGIN, and whose turn it is
    order = (*looked, *(1,) * ground.count("claim", "dueling")[0])
    duel = ground.play(("claim", "claim"), order, "dueling", to_end=False)
    assert [session.waited for session in duel.sessions] == [0, 0]
    assert all(isinstance(session.result, Claim) for session in duel.sessions)


def test_all_orders_of_a_few_steps_are_played() -> None:
    found = orders(2, 3, 100)
    assert len(found) == len(set(found)) == paths(2, 3) == 10
    assert found[0] == (0, 0, 1, 1, 1)
    assert found[-1] == (1, 1, 1, 0, 0)
    assert {order.count(0) for order in found} == {2}


def test_of_many_steps_the_telling_orders_come_first() -> None:
    found = orders(4, 5, 20, looked=(2, 2))
    assert len(found) == len(set(found)) == 20
    assert found[:4] == [
        (0, 0, 1, 1, 1, 1, 1, 0, 0),
        (1, 1, 0, 0, 0, 0, 1, 1, 1),
        (0, 0, 0, 1, 1, 1, 1, 1, 0),
        (1, 1, 1, 1, 0, 0, 0, 0, 1),
    ]
    assert {order.count(0) for order in found} == {4}
