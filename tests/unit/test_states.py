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
        (BATCH_MOVES, list(BatchState), BatchState.DRAFT),
        (CHUNK_MOVES, list(ChunkState), ChunkState.HELD),
    ],
)
def test_every_state_can_be_reached(
    moves: dict[str, Move[Any]], states: list[Any], start: Any
) -> None:
    reached = {start}
    for _ in states:
        reached |= {m.target for m in moves.values() if m.sources & reached}
    assert reached == set(states)


def leaving(*states: BatchState) -> set[str]:
    return {name for name, move in BATCH_MOVES.items() if move.sources & set(states)}


def test_an_ended_batch_is_left_by_a_person_only() -> None:
    resting = set(BatchState) - ACTIVE - {BatchState.PAUSED, BatchState.DRAFT}
    persons = {"restage", "rerun", "revive", "revive_staging", "cancel"}
    persons |= {"edit", "decide"}
    assert leaving(*resting) == persons


def test_a_cancelled_batch_is_never_left() -> None:
    assert leaving(BatchState.CANCELLED) == set()
    ways = [
        m.sources for m in CHUNK_MOVES.values() if ChunkState.CANCELLED in m.sources
    ]
    assert ways == []


def test_a_paused_batch_goes_on_or_is_cancelled() -> None:
    assert leaving(BatchState.PAUSED) == {"resume", "resume_staging", "cancel"}


def test_a_chunk_is_done_only_from_a_lease() -> None:
    to_done = [move for move in CHUNK_MOVES.values() if move.target is ChunkState.DONE]
    assert [move.sources for move in to_done] == [{ChunkState.LEASED}]
