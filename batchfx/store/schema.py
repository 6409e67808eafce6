"""The tables. Each row of a batch has one outcome: its primary key says so.

A batch's number is unique in the database and belongs to one tenant; everything that is
kept for a batch hangs on that number and is only reached through `scope`, which names
the tenant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from batchfx.model.effects import EffectState
from batchfx.model.states import BatchState, ChunkState
from batchfx.model.switches import SwitchScope
from batchfx.model.verdicts import Verdict

METADATA = sa.MetaData()
PREPARATION = -1  # the ordinal of the unit of work that makes a batch's chunks ready


@dataclass(frozen=True, slots=True)
class BatchKey:
    """A batch in its tenant's scope."""

    tenant: str
    number: int


def _one_of(column: str, names: type[Any]) -> sa.CheckConstraint:
    # A chain ends at the first name that fits. SQLite searches a list for 1.6 µs a row,
    # more than the rest of an outcome's insert takes.
    return sa.CheckConstraint(" OR ".join(f"{column} = '{name}'" for name in names))


def _batch() -> sa.Column[int]:
    return sa.Column("batch", sa.Integer, sa.ForeignKey("batchfx_batch.id"))


BATCH = sa.Table(
    "batchfx_batch",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.String, nullable=False),
    sa.Column("importer", sa.String, nullable=False),
    sa.Column("source_name", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),  # SHA-256 of the source, hex
    sa.Column("layout", sa.JSON, nullable=False),
    sa.Column("mapping", sa.JSON, nullable=False),
    sa.Column("saved_mapping", sa.JSON(none_as_null=True)),  # {"name", "version"}
    # What a person said of the notation: {"notation": of all, "columns": {field: …}}
    sa.Column("given", sa.JSON, nullable=False, default=dict),
    # How columns are written, as far as their values decided it, by field.
    sa.Column("notations", sa.JSON, nullable=False, default=dict),
    # What it needs of its importer, as that was when it was begun: `model.versions`.
    sa.Column("version", sa.JSON(none_as_null=True)),
    sa.Column("chunk_size", sa.Integer, nullable=False),
    sa.Column("dry_run", sa.Boolean, nullable=False),
    sa.Column("max_error_rate", sa.Float),  # 0 to 1
    sa.Column("state", sa.String, nullable=False),
    sa.Column("reason", sa.String),
    sa.Column("attempt", sa.Integer, nullable=False, default=1),
    sa.Column("staged", sa.Boolean, nullable=False, default=False),
    sa.Column("position", sa.JSON),  # where the reader stands while staging
    sa.Column("blank", sa.Integer, nullable=False, default=0),
    sa.Column("priority", sa.Integer, nullable=False, default=0),  # low ones first
    sa.Column("created_by", sa.String),  # the user, where there is one
    sa.Column("idempotency_key", sa.String),  # of the request that created it
    sa.Column("first_seq", sa.Integer, nullable=False, default=1),  # oldest event kept
    sa.Column("event_seq", sa.Integer, nullable=False, default=0),  # newest event
    sa.Column("progress_at", sa.Float, nullable=False, default=0.0),  # last published
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),  # of the present attempt
    sa.Column("ended_at", sa.Float),
    _one_of("state", BatchState),
    sa.Index("batchfx_batch_digest", "tenant", "importer", "digest"),
    sa.Index("batchfx_batch_state", "state", "ended_at"),
    sa.Index("batchfx_batch_request", "tenant", "idempotency_key", unique=True),
    sqlite_autoincrement=True,
)

SOURCE = sa.Table(
    "batchfx_source",
    METADATA,
    _batch(),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("batch", "ordinal"),
)

# A unit of work: consecutive rows, or (ordinal PREPARATION) what comes before them.
# Tenant, importer and priority are its batch's, kept here for the index of the queue.
CHUNK = sa.Table(
    "batchfx_chunk",
    METADATA,
    _batch(),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("tenant", sa.String, nullable=False),
    sa.Column("importer", sa.String, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False, default=0),
    sa.Column("first_row", sa.Integer, nullable=False),
    sa.Column("last_row", sa.Integer, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("round", sa.Integer, nullable=False, default=0),
    # Rows decided in the batch when it was deferred.
    sa.Column("waited_at", sa.Integer),
    sa.Column("fence", sa.Integer, nullable=False, default=0),
    sa.Column("worker", sa.String),
    sa.Column("lease_until", sa.Float),
    sa.Column("failures", sa.Integer, nullable=False, default=0),  # the system's, of it
    sa.Column("losses", sa.Integer, nullable=False, default=0),  # workers that vanished
    sa.Column("due_at", sa.Float),  # of its next try
    sa.Column("reason", sa.String),  # why it broke last: a stable code
    sa.Column("place", sa.String),  # where it broke last
    sa.Column("error", sa.String),  # the sentence for a person
    sa.Column("ended_at", sa.Float),  # when it died
    *(sa.Column(v.value, sa.Integer, nullable=False, default=0) for v in Verdict),
    sa.PrimaryKeyConstraint("batch", "ordinal"),
    _one_of("state", ChunkState),
    sqlite_with_rowid=False,
)


def _in_state(name: str, state: ChunkState, *columns: str) -> sa.Index:
    where = sa.text(f"state = '{state}'")
    return sa.Index(
        name,
        *(CHUNK.c[column] for column in columns),
        sqlite_where=where,
        postgresql_where=where,
    )


_in_state(
    "batchfx_chunk_queued",
    ChunkState.QUEUED,
    *("tenant", "importer", "priority", "batch", "round", "ordinal"),
)
_in_state("batchfx_chunk_next", ChunkState.QUEUED, "batch", "round", "ordinal")
_in_state("batchfx_chunk_leased", ChunkState.LEASED, "lease_until")
_in_state("batchfx_chunk_retrying", ChunkState.RETRYING, "due_at")
_in_state("batchfx_chunk_dead", ChunkState.DEAD, "tenant", "ended_at")

BLOCK = sa.Table(
    "batchfx_block",
    METADATA,
    _batch(),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # Parquet, see model.blocks
    sa.PrimaryKeyConstraint("batch", "ordinal"),
)

OUTCOME = sa.Table(
    "batchfx_outcome",
    METADATA,
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("verdict", sa.String, nullable=False),
    sa.Column("record_id", sa.String),
    sa.Column("reason", sa.String),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("batch", "row"),
    _one_of("verdict", Verdict),
    sqlite_with_rowid=False,
)

ISSUE = sa.Table(
    "batchfx_issue",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer),  # null: about the file
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("level", sa.String, nullable=False),
    sa.Column("phase", sa.String, nullable=False),
    sa.Column("field", sa.String),
    sa.Column("code", sa.String, nullable=False),
    sa.Column("message", sa.String, nullable=False),
    sa.Column("value", sa.String),
    sa.Column("suggestion", sa.String),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("detail", sa.String),
    sa.Column("cause", sa.String),  # of failures: what tells them apart beside the code
    sa.Index("batchfx_issue_row", "batch", "row"),
    sa.Index("batchfx_issue_code", "batch", "code", "row"),
    sa.Index("batchfx_issue_field", "batch", "field", "row"),
)

DUPLICATE = sa.Table(
    "batchfx_duplicate",
    METADATA,
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("field", sa.String, nullable=False),
    sa.Column("first_row", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("batch", "row", "field"),
    sqlite_with_rowid=False,
)

REVISION = sa.Table(
    "batchfx_revision",
    METADATA,
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("cells", sa.JSON, nullable=False),  # by position, as in a block
    sa.Column("action", sa.String, nullable=False),  # corrected, edited, excluded …
    sa.Column("origin", sa.String, nullable=False),  # a file's name, or a user's
    sa.Column("made_at", sa.Float, nullable=False),
    sa.PrimaryKeyConstraint("batch", "row", "version"),
    sqlite_with_rowid=False,
)


MAPPING = sa.Table(
    "batchfx_mapping",
    METADATA,
    sa.Column("tenant", sa.String, nullable=False),
    sa.Column("importer", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Column("saved_at", sa.Float, nullable=False),
    sa.PrimaryKeyConstraint("tenant", "importer", "name", "version"),
    sqlite_with_rowid=False,
)


# A tenant's place in the queue: the lowest virtual time is served next.
LANE = sa.Table(
    "batchfx_lane",
    METADATA,
    sa.Column("tenant", sa.String, primary_key=True),
    sa.Column("vtime", sa.Float, nullable=False, default=0.0),  # rows by weight
    sa.Column("weight", sa.Float, nullable=False, default=1.0),
    # Chunks at work beyond which others come first.
    sa.Column("cap", sa.Integer),
    sa.Column("has_work", sa.Boolean, nullable=False, default=False),
    sa.CheckConstraint("weight > 0"),
    sqlite_with_rowid=False,
)

SWITCH = sa.Table(
    "batchfx_switch",
    METADATA,
    sa.Column("scope", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),  # "" where the scope is everything
    sa.Column("is_off", sa.Boolean, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("changed_by", sa.String, nullable=False),
    sa.Column("changed_at", sa.Float, nullable=False),
    sa.PrimaryKeyConstraint("scope", "name"),
    _one_of("scope", SwitchScope),
    sqlite_with_rowid=False,
)

CREDENTIAL = sa.Table(
    "batchfx_credential",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("digest", sa.String, nullable=False),  # SHA-256 of the secret, hex
    sa.Column("scope", sa.JSON, nullable=False),  # {"tenants": […], "importers": […]}
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
    sa.Column("revoked_at", sa.Float),
    sqlite_autoincrement=True,
)

# A process that was let in to work, under an identity of its own at each start.
WORKER = sa.Table(
    "batchfx_worker",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("credential", sa.Integer, sa.ForeignKey("batchfx_credential.id")),
    sa.Column("identity", sa.String, nullable=False),  # whose credential it was
    sa.Column("version", sa.String, nullable=False),  # of batchfx
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("seen_at", sa.Float, nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),  # of its right to work
    sa.Column("ended_at", sa.Float),
    # The version of each importer by its name, null where that can't work; null until
    # its first handler has said which there are.
    sa.Column("installed", sa.JSON(none_as_null=True)),
    sqlite_with_rowid=False,
)

GRANT = sa.Table(
    "batchfx_grant",
    METADATA,
    sa.Column("worker", sa.String, sa.ForeignKey("batchfx_worker.id"), nullable=False),
    sa.Column("kind", sa.String, nullable=False),  # "tenant" or "importer"
    sa.Column("name", sa.String, nullable=False),  # "*": all of them
    sa.PrimaryKeyConstraint("worker", "kind", "name"),
    sqlite_with_rowid=False,
)

EVENT = sa.Table(
    "batchfx_event",
    METADATA,
    sa.Column("batch", sa.Integer, sa.ForeignKey("batchfx_batch.id"), nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),  # 1, 2, 3 … in the order of commits
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.PrimaryKeyConstraint("batch", "seq"),
    sqlite_with_rowid=False,
)

# Something outside the transaction, claimed before it is done.
EFFECT = sa.Table(
    "batchfx_effect",
    METADATA,
    sa.Column("tenant", sa.String, nullable=False),
    sa.Column("key", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),  # SHA-256 of the payload, hex
    sa.Column("state", sa.String, nullable=False),
    sa.Column("batch", sa.Integer, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("worker", sa.String, nullable=False),
    sa.Column("result", sa.JSON),
    sa.Column("claimed_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.PrimaryKeyConstraint("tenant", "key"),
    _one_of("state", EffectState),
    sqlite_with_rowid=False,
)


def _parameters(**types: type[Any]) -> dict[str, Any]:
    return {name: sa.bindparam(f"its_{name}", type_=of) for name, of in types.items()}


# Parameters in place of a key, for statements that are built once: to build one takes
# longer than to run it.
BOUND_KEY = BatchKey(*_parameters(tenant=sa.String, batch=sa.Integer).values())


def named(key: BatchKey) -> dict[str, Any]:
    """Return the values of the parameters in `BOUND_KEY`."""
    return {"its_tenant": key.tenant, "its_batch": key.number}


@lru_cache(maxsize=256)  # a dozen statements a chunk name it
def scope(key: BatchKey) -> sa.ScalarSelect[int]:
    """Return the batch's number as SQL; null for a batch of another tenant."""
    return (
        sa.select(BATCH.c.id)
        .where(BATCH.c.tenant == key.tenant, BATCH.c.id == key.number)
        .scalar_subquery()
    )
