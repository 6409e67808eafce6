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

from batchfx.model.states import BatchState, ChunkState
from batchfx.model.verdicts import Verdict

VERSION = 2
METADATA = sa.MetaData()


@dataclass(frozen=True, slots=True)
class BatchKey:
    """A batch in its tenant's scope."""

    tenant: str
    number: int


RELEASE = sa.Table(
    "batchfx_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
)


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
    sa.Column("chunk_size", sa.Integer, nullable=False),
    sa.Column("dry_run", sa.Boolean, nullable=False),
    sa.Column("max_error_rate", sa.Float),  # 0 to 1
    sa.Column("state", sa.String, nullable=False),
    sa.Column("reason", sa.String),
    sa.Column("attempt", sa.Integer, nullable=False, default=1),
    sa.Column("staged", sa.Boolean, nullable=False, default=False),
    sa.Column("position", sa.JSON),  # where the reader stands while staging
    sa.Column("blank", sa.Integer, nullable=False, default=0),
    sa.Column("fence", sa.Integer, nullable=False, default=0),
    sa.Column("worker", sa.String),
    sa.Column("lease_until", sa.Float),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),  # of the present attempt
    sa.Column("ended_at", sa.Float),
    _one_of("state", BatchState),
    sa.Index("batchfx_batch_digest", "tenant", "importer", "digest"),
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

CHUNK = sa.Table(
    "batchfx_chunk",
    METADATA,
    _batch(),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("first_row", sa.Integer, nullable=False),
    sa.Column("last_row", sa.Integer, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("round", sa.Integer, nullable=False, default=0),
    sa.Column(
        "waited_at", sa.Integer
    ),  # rows decided in the batch when it was deferred
    sa.Column("fence", sa.Integer, nullable=False, default=0),
    sa.Column("worker", sa.String),
    sa.Column("lease_until", sa.Float),
    *(sa.Column(v.value, sa.Integer, nullable=False, default=0) for v in Verdict),
    sa.PrimaryKeyConstraint("batch", "ordinal"),
    _one_of("state", ChunkState),
    sa.Index("batchfx_chunk_waiting", "batch", "state", "round", "ordinal"),
    sqlite_with_rowid=False,
)

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
    sa.Column("origin", sa.String, nullable=False),
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


@lru_cache(maxsize=256)  # a dozen statements a chunk name it
def scope(key: BatchKey) -> sa.ScalarSelect[int]:
    """Return the batch's number as SQL; null for a batch of another tenant."""
    return (
        sa.select(BATCH.c.id)
        .where(BATCH.c.tenant == key.tenant, BATCH.c.id == key.number)
        .scalar_subquery()
    )
