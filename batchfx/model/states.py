"""Where a batch or a chunk is, and every move that may happen to it.

This file alone says which moves exist. Guards, the conditions in SQL and the diagram in
the documentation are made from the two tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar


class BatchState(StrEnum):
    """Where a batch is."""

    STAGING = "staging"  # its source is being read into blocks
    RUNNING = "running"  # its chunks are being validated and processed
    CHECKED = "checked"  # a dry run has ended: validated, nothing processed
    COMPLETED = "completed"  # every row has a verdict
    STOPPED = "stopped"  # ended early on purpose; what is done is kept
    FAILED = "failed"  # the source or the system gave out; what is done is kept


class ChunkState(StrEnum):
    """Where a chunk is."""

    QUEUED = "queued"  # rows of it wait for a worker
    LEASED = "leased"  # a worker holds it for a while
    DONE = "done"  # every row that this attempt could decide is decided


State = TypeVar("State", BatchState, ChunkState)


@dataclass(frozen=True, slots=True)
class Move(Generic[State]):
    """A change of state: from any of *sources* to *target*, and *when* it happens."""

    sources: frozenset[State]
    target: State
    when: str


_BATCH, _CHUNK = BatchState, ChunkState

BATCH_MOVES: dict[str, Move[BatchState]] = {
    "begin": Move(
        frozenset({_BATCH.STAGING}),
        _BATCH.RUNNING,
        "the whole source is in blocks",
    ),
    "complete": Move(
        frozenset({_BATCH.RUNNING}),
        _BATCH.COMPLETED,
        "no row is pending",
    ),
    "check": Move(
        frozenset({_BATCH.RUNNING}),
        _BATCH.CHECKED,
        "a dry run has validated every row",
    ),
    "stop": Move(
        frozenset({_BATCH.STAGING, _BATCH.RUNNING}),
        _BATCH.STOPPED,
        "too many rows were faulty, or a person interrupted the run",
    ),
    "fail": Move(
        frozenset({_BATCH.STAGING, _BATCH.RUNNING}),
        _BATCH.FAILED,
        "the source can't be read on, or the system gave out",
    ),
    "restage": Move(
        frozenset({_BATCH.STAGING, _BATCH.STOPPED, _BATCH.FAILED}),
        _BATCH.STAGING,
        "a rerun finds that the source was not read to its end",
    ),
    "rerun": Move(
        frozenset(
            {
                _BATCH.RUNNING,
                _BATCH.CHECKED,
                _BATCH.COMPLETED,
                _BATCH.STOPPED,
                _BATCH.FAILED,
            }
        ),
        _BATCH.RUNNING,
        "a new attempt; from running when the process that ran it has died",
    ),
}

CHUNK_MOVES: dict[str, Move[ChunkState]] = {
    "claim": Move(
        frozenset({_CHUNK.QUEUED, _CHUNK.LEASED}),
        _CHUNK.LEASED,
        "a worker takes it; from leased only when that lease has run out",
    ),
    "commit": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.DONE,
        "outcomes and tally were written in the same transaction",
    ),
    "defer": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.QUEUED,
        "rows wait for a record that a later row of the file makes",
    ),
    "release": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.QUEUED,
        "its worker gives it back or is known to be dead",
    ),
    "requeue": Move(
        frozenset({_CHUNK.DONE, _CHUNK.QUEUED}),
        _CHUNK.QUEUED,
        "a new attempt finds rows in it that are not terminal",
    ),
}

ACTIVE = frozenset({BatchState.STAGING, BatchState.RUNNING})
"""States in which some process should be at work."""


def diagram(moves: dict[str, Move[State]]) -> str:
    """Return *moves* as a Mermaid state diagram."""
    edges: list[str] = [
        f"    {source} --> {move.target}: {name}"
        for name, move in moves.items()
        for source in sorted(move.sources)
    ]
    return "\n".join(["stateDiagram-v2", *edges])
