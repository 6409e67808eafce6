"""Where a batch or a chunk is, and every move that may happen to it.

This file alone says which moves exist. Guards, the conditions in SQL, the triggers of
the database and the diagram in the documentation are made from the tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar


class BatchState(StrEnum):
    """Where a batch is."""

    DRAFT = "draft"  # its source is kept; a person decides how it is read
    STAGING = "staging"  # its source is being read into blocks
    RUNNING = "running"  # its chunks are being validated and processed
    PAUSED = "paused"  # nothing more of it is begun until it is resumed
    CHECKED = "checked"  # every row was validated; some wait to be processed
    COMPLETED = "completed"  # every row has a verdict
    STOPPED = "stopped"  # ended early on purpose; what is done is kept
    FAILED = "failed"  # the source or the system gave out; what is done is kept
    CANCELLED = "cancelled"  # ended by a person, for good; what is done is kept


class ChunkState(StrEnum):
    """Where a chunk is."""

    HELD = "held"  # its batch is not ready for it, or is paused or stopped
    QUEUED = "queued"  # rows of it wait for a worker
    LEASED = "leased"  # a worker holds it for a while
    RETRYING = "retrying"  # it broke and waits for the time of its next try
    DONE = "done"  # every row that this attempt could decide is decided
    DEAD = "dead"  # it broke too often; a person decides
    CANCELLED = "cancelled"  # its batch was cancelled before it was done


State = TypeVar("State", BatchState, ChunkState)


@dataclass(frozen=True, slots=True)
class Move(Generic[State]):
    """A change of state: from any of *sources* to *target*, and *when* it happens."""

    sources: frozenset[State]
    target: State
    when: str


_BATCH, _CHUNK = BatchState, ChunkState

ACTIVE = frozenset({BatchState.STAGING, BatchState.RUNNING})
"""States in which some process should be at work."""

UNDECIDED = frozenset(
    {_CHUNK.HELD, _CHUNK.QUEUED, _CHUNK.LEASED, _CHUNK.RETRYING, _CHUNK.DEAD}
)
"""States of a chunk that may have rows without a verdict."""

BATCH_MOVES: dict[str, Move[BatchState]] = {
    "start": Move(
        frozenset({_BATCH.DRAFT}),
        _BATCH.STAGING,
        "a person has said how it is read",
    ),
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
    "edit": Move(
        frozenset({_BATCH.COMPLETED}),
        _BATCH.CHECKED,
        "a person's edit makes a row valid, which waits for a rerun",
    ),
    "decide": Move(
        frozenset({_BATCH.CHECKED}),
        _BATCH.COMPLETED,
        "a person has decided the last row that was pending",
    ),
    "stop": Move(
        frozenset({_BATCH.STAGING, _BATCH.RUNNING}),
        _BATCH.STOPPED,
        "too many rows were faulty, or a person interrupted the run",
    ),
    "fail": Move(
        frozenset({_BATCH.STAGING, _BATCH.RUNNING}),
        _BATCH.FAILED,
        "the source can't be read on, or what is left of it is dead",
    ),
    "pause": Move(
        frozenset({_BATCH.STAGING, _BATCH.RUNNING}),
        _BATCH.PAUSED,
        "a person wants it to wait; chunks at work are finished",
    ),
    "resume": Move(
        frozenset({_BATCH.PAUSED}),
        _BATCH.RUNNING,
        "a person wants it to go on",
    ),
    "resume_staging": Move(
        frozenset({_BATCH.PAUSED}),
        _BATCH.STAGING,
        "a person wants it to go on, and its source was not read to its end",
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
    "revive": Move(
        frozenset({_BATCH.RUNNING, _BATCH.FAILED}),
        _BATCH.RUNNING,
        "a person lets what was dead be tried again",
    ),
    "revive_staging": Move(
        frozenset({_BATCH.FAILED}),
        _BATCH.STAGING,
        "the same, where the source was not read to its end",
    ),
    "cancel": Move(
        frozenset(
            {
                _BATCH.DRAFT,
                _BATCH.STAGING,
                _BATCH.RUNNING,
                _BATCH.PAUSED,
                _BATCH.CHECKED,
                _BATCH.STOPPED,
                _BATCH.FAILED,
            }
        ),
        _BATCH.CANCELLED,
        "a person wants no more of it, ever",
    ),
}

CHUNK_MOVES: dict[str, Move[ChunkState]] = {
    "queue": Move(
        frozenset({_CHUNK.HELD}),
        _CHUNK.QUEUED,
        "its batch is ready for it, or goes on",
    ),
    "hold": Move(
        frozenset({_CHUNK.QUEUED, _CHUNK.RETRYING}),
        _CHUNK.HELD,
        "its batch is paused or stopped",
    ),
    "claim": Move(
        frozenset({_CHUNK.QUEUED}),
        _CHUNK.LEASED,
        "a worker takes it",
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
        "its worker gives it back, or is known to be dead",
    ),
    "recall": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.HELD,
        "its batch ended while it was at work; the fence is raised",
    ),
    "retry": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.RETRYING,
        "the system broke under it, or its worker was lost",
    ),
    "due": Move(
        frozenset({_CHUNK.RETRYING}),
        _CHUNK.QUEUED,
        "the time of its next try has come",
    ),
    "bury": Move(
        frozenset({_CHUNK.LEASED}),
        _CHUNK.DEAD,
        "it broke, or lost its worker, too often",
    ),
    "revive": Move(
        frozenset({_CHUNK.DEAD}),
        _CHUNK.QUEUED,
        "a person lets it be tried again",
    ),
    "requeue": Move(
        frozenset(
            {_CHUNK.HELD, _CHUNK.QUEUED, _CHUNK.RETRYING, _CHUNK.DONE, _CHUNK.DEAD}
        ),
        _CHUNK.HELD,
        "a new attempt finds rows in it that are not terminal",
    ),
    "edit": Move(
        frozenset({_CHUNK.DONE}),
        _CHUNK.QUEUED,
        "a person's edit makes a row of it valid while its batch runs",
    ),
    "prepare": Move(
        frozenset(
            {_CHUNK.HELD, _CHUNK.QUEUED, _CHUNK.RETRYING, _CHUNK.DONE, _CHUNK.DEAD}
        ),
        _CHUNK.QUEUED,
        "the batch's preparation is to be done, or to be done again",
    ),
    "cancel": Move(
        UNDECIDED,
        _CHUNK.CANCELLED,
        "its batch is cancelled; the fence is raised",
    ),
}


def diagram(moves: dict[str, Move[State]]) -> str:
    """Return *moves* as a Mermaid state diagram."""
    edges: list[str] = [
        f"    {source} --> {move.target}: {name}"
        for name, move in moves.items()
        for source in sorted(move.sources)
    ]
    return "\n".join(["stateDiagram-v2", *edges])
