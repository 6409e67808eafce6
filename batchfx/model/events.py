"""Events: what has happened to a batch, numbered in the order of the commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally, Verdict


class EventKind(StrEnum):
    """What has happened."""

    CREATED = "created"  # the batch was entered
    STAGED = "staged"  # its whole source is in blocks
    STARTED = "started"  # an attempt began
    PROGRESSED = "progressed"  # rows were decided; at most four a second
    CHUNK_RETRIED = "chunk_retried"  # the system broke under a chunk
    CHUNK_DIED = "chunk_died"  # a chunk broke too often
    LEASE_LOST = "lease_lost"  # a worker vanished, or lost its right to a chunk
    EDITED = "edited"  # a person changed, excluded or approved rows
    PAUSED = "paused"
    RESUMED = "resumed"
    REVIVED = "revived"  # a person let what was dead be tried again
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    FAILED = "failed"
    COMPLETED = "completed"
    CHECKED = "checked"


ENDINGS = {
    BatchState.CANCELLED: EventKind.CANCELLED,
    BatchState.STOPPED: EventKind.STOPPED,
    BatchState.FAILED: EventKind.FAILED,
    BatchState.COMPLETED: EventKind.COMPLETED,
    BatchState.CHECKED: EventKind.CHECKED,
}
"""The event that each state begins with in which nothing more happens by itself."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event number *seq* of its batch; *at* is in seconds since 1970-01-01 UTC."""

    seq: int
    at: float
    kind: EventKind
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch is, as its events tell it."""

    state: BatchState
    tally: Tally
    examined: int

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Standing | None:
        """Read it from an event's content; None where the event does not tell."""
        if "total" not in content:
            return None
        counts = {str(verdict): content[verdict] for verdict in Verdict}
        return cls(
            BatchState(content["state"]),
            Tally.of(content["total"], counts),
            content["examined"],
        )

    def content(self) -> dict[str, Any]:
        """Return it as the content of an event, plain JSON data."""
        return {
            "state": str(self.state),
            "total": self.tally.total,
            "examined": self.examined,
            **self.tally.counts(),
        }
