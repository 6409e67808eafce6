"""The table of moves."""

from __future__ import annotations

from typing import Any

import pytest

from batchfx.model.states import (
    ACTIVE,
    BATCH_MOVES,
    CHUNK_MOVES,
    BatchState,
    ChunkState,
    Move,
)


@pytest.mark.parametrize(
    ("moves", "states", "start"),
    [
        (BATCH_MOVES, list(BatchState), BatchState.STAGING),
        (CHUNK_MOVES, list(ChunkState), ChunkState.QUEUED),
    ],
)
def test_every_state_can_be_reached(
    moves: dict[str, Move[Any]], states: list[Any], start: Any
) -> None:
    reached = {start}
    for _ in states:
        reached |= {m.target for m in moves.values() if m.sources & reached}
    assert reached == set(states)


def test_a_batch_that_is_not_active_is_left_only_by_a_new_attempt() -> None:
    resting = set(BatchState) - ACTIVE
    leaving = {name for name, move in BATCH_MOVES.items() if move.sources & resting}
    assert leaving == {"restage", "rerun"}


def test_a_chunk_is_done_only_from_a_lease() -> None:
    to_done = [move for move in CHUNK_MOVES.values() if move.target is ChunkState.DONE]
    assert [move.sources for move in to_done] == [{ChunkState.LEASED}]
