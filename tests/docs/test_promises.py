"""The documentation says what the code's own tables say."""

from __future__ import annotations

from pathlib import Path

from batchfx.model.states import BATCH_MOVES, CHUNK_MOVES, diagram

PROMISES = (Path(__file__).parents[2] / "docs" / "promises.md").read_text("utf-8")


def test_the_diagrams_in_the_docs_are_made_from_the_moves() -> None:
    assert diagram(BATCH_MOVES) in PROMISES
    assert diagram(CHUNK_MOVES) in PROMISES


def test_every_move_is_explained_in_the_docs() -> None:
    for name, batch_move in BATCH_MOVES.items():
        assert f"| {name} | {batch_move.when} |" in PROMISES
    for name, chunk_move in CHUNK_MOVES.items():
        assert f"| {name} | {chunk_move.when} |" in PROMISES
