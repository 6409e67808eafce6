"""What the API answers, as JSON.

Moments are ISO 8601 in UTC. Texts that come from a file are values, never markup.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from batchfx.model.events import EventKind
from batchfx.model.issues import Level, Phase
from batchfx.model.revisions import Action
from batchfx.model.states import BatchState

Move = Literal["start", "pause", "resume", "cancel", "rerun", "approve", "edit"]
WaitsFor = Literal["worker", "turn", "version", "switch", "restart"]
RowVerdict = Literal[
    "created",
    "updated",
    "unchanged",
    "skipped",
    "invalid",
    "failed",
    "unknown",
    "pending",
]
Match = Literal["said", "saved", "name", "likeness"]


class Shape(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True)


class IssueShape(Shape):
    """One thing that is wrong with a row, or with the file when *row* is null."""

    code: str
    message: str
    phase: Phase
    level: Level
    row: int | None
    field: str | None
    value: str | None
    suggestion: str | None
    parameters: dict[str, Any]
    is_failure: bool = Field(description="The importer's code broke at this row.")


class ProgressShape(Shape):
    """How far a batch is."""

    examined: int = Field(description="Rows that this attempt is through with.")
    share: float = Field(description="0 to 1; 1 only when the batch is finished.")
    rate: float | None = Field(description="Rows a second lately; null when idle.")
    seconds_left: float | None


class BatchShape(Shape):
    """A batch: where it is, and what became of its rows."""

    number: int
    importer: str
    source_name: str = Field(description="A label; it may be anything.")
    created_by: str | None
    state: BatchState
    reason: str | None = Field(description="Why it ended early.")
    waits_for: WaitsFor | None = Field(
        description="worker: no worker that may run it now was seen lately. turn: all "
        "of them have other work. version: their importer has changed too much since "
        "it was begun. switch: operators have turned it off for now. restart: the "
        "process that ran it has died; a rerun goes on."
    )
    at_work: int = Field(description="Parts of it that workers are at, also if paused.")
    moves: list[Move] = Field(description="What is possible now, and allowed to you.")
    dry_run: bool
    attempt: int
    total: int = Field(description="Rows so far, while the state is staging.")
    tally: dict[str, int] = Field(description="Rows by verdict, and those pending.")
    faulty: int
    blank: int
    progress: ProgressShape
    seconds: float
    created_at: dt.datetime
    started_at: dt.datetime
    ended_at: dt.datetime | None
    file_issues: list[IssueShape]
    seq: int = Field(description="Its latest event; a later answer has no lower one.")
    cursor: str = Field(description="Follow its events from here.")


class BatchPageShape(Shape):
    """Some batches, the newest first; *next* goes on, as `before`."""

    batches: list[BatchShape]
    next: int | None


class FieldInFileShape(Shape):
    """A field of an importer, as a file must have it."""

    name: str
    header: str
    aliases: list[str]
    is_required: bool
    is_unique: bool
    example: str | None


class ImporterShape(Shape):
    """A kind of import."""

    name: str
    summary: str | None
    fields: list[FieldInFileShape]


class ImportersShape(Shape):
    """The kinds of import that there are."""

    importers: list[ImporterShape]


class SessionShape(Shape):
    """Who you are to the application."""

    tenant: str
    user: str
    permissions: list[str]
    can_sign_out: bool


class FieldShape(Shape):
    """A field and the column of the file that it is read from."""

    name: str
    header: str
    is_required: bool
    column: str | None
    position: int | None
    match: Match | None
    suggestion: str | None
    candidates: list[str]


class LayoutShape(Shape):
    """How the file is read, and why."""

    format: str
    header: list[str]
    header_row: int
    settings: dict[str, Any]
    reasons: dict[str, str]


class DraftRowShape(Shape):
    """One of the first rows, with its cells by position."""

    row: int
    cells: list[str | None]
    issues: list[IssueShape]


class DraftShape(Shape):
    """A draft as a person decides on it."""

    batch: BatchShape
    layout: LayoutShape
    warnings: list[IssueShape]
    settings: dict[str, Any]
    mapping: dict[str, str | None]
    fields: list[FieldShape]
    unused: list[str]
    left_out: list[str]
    missing: list[str] = Field(description="Fields without which it can't start.")
    questions: list[IssueShape]
    rows: list[DraftRowShape]
    imported_before: int | None


class ColumnShape(Shape):
    """A column of the batch's file."""

    header: str = Field(description="Its key in a row's values.")
    field: str | None = Field(description="Its name for an edit; null: none.")
    is_hidden: bool


class RowShape(Shape):
    """A row: its values now and what became of it."""

    row: int
    verdict: RowVerdict
    record_id: str | None
    reason: str | None
    attempt: int | None
    values: dict[str, str | None]
    issues: list[IssueShape]
    version: int = Field(description="Give it back with an edit.")


class RowPageShape(Shape):
    """Some rows in the file's order. It may be empty and still have a *next*."""

    rows: list[RowShape]
    next: int | None = Field(description="Give it as `after`; null: the end.")
    columns: list[ColumnShape]


class ChangeShape(Shape):
    """A value before and after."""

    before: str | None
    after: str | None


class RevisionShape(Shape):
    """What somebody did to a row."""

    version: int
    action: Action
    who: str
    at: dt.datetime
    changes: dict[str, ChangeShape]


class RowHistoryShape(Shape):
    """A row with everything that was done to it, the oldest first."""

    row: RowShape
    as_read: dict[str, str | None]
    revisions: list[RevisionShape]
    columns: list[ColumnShape]


class IssueGroupShape(Shape):
    """Issues of one cause, with one of them as the example."""

    level: Level
    phase: Phase
    field: str | None
    code: str
    count: int
    message: str
    row: int | None
    value: str | None
    suggestion: str | None


class IssueGroupsShape(Shape):
    """The batch's issues by cause, the most frequent first."""

    groups: list[IssueGroupShape]


class ChangedShape(Shape):
    """How many rows were changed."""

    changed: int


class EventShape(Shape):
    """Something that has happened to a batch, and how far it was then.

    Events that tell nothing of that have null in *state*, *tally* and *progress*.
    """

    cursor: str
    seq: int
    at: dt.datetime
    kind: EventKind
    state: BatchState | None
    total: int | None
    tally: dict[str, int] | None
    progress: ProgressShape | None
    more: dict[str, Any] = Field(description="What else the event says.")


class SnapshotShape(Shape):
    """Where the batch is; events go on from its cursor."""

    batch: BatchShape


class ProblemShape(BaseModel):
    """What went wrong (RFC 9457). Further members depend on the type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Stable, such as urn:batchfx:problem:conflict.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what to do.")
    option: str = Field(
        default="", description="Of a file: what `set=option=value` would answer."
    )
    choices: list[str] = Field(
        default=[], description="What that may be; anything, where there are none."
    )
