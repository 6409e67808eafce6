"""Make the tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
triggers = "b6c51ffa66bedac7"  # of the triggers that go with it


def upgrade() -> None:
    """Make the tables."""
    _make_batch()
    _change_batch()
    _make_credential()
    _make_duplicate()
    _make_effect()
    _make_issue()
    _change_issue()
    _make_lane()
    _make_mapping()
    _make_outcome()
    _make_revision()
    _make_switch()
    _make_block()
    _make_chunk()
    _change_chunk()
    _make_event()
    _make_source()
    _make_worker()
    _make_grant()


def _make_batch() -> None:
    op.create_table(
        "batchfx_batch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("importer", sa.String(), nullable=False),
        sa.Column("source_name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("layout", sa.JSON(), nullable=False),
        sa.Column("mapping", sa.JSON(), nullable=False),
        sa.Column("saved_mapping", sa.JSON(none_as_null=True)),
        sa.Column("given", sa.JSON(), nullable=False),
        sa.Column("notations", sa.JSON(), nullable=False),
        sa.Column("version", sa.JSON(none_as_null=True)),
        sa.Column("chunk_size", sa.Integer(), nullable=False),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("max_error_rate", sa.Float()),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("staged", sa.Boolean(), nullable=False),
        sa.Column("position", sa.JSON()),
        sa.Column("blank", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String()),
        sa.Column("idempotency_key", sa.String()),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("event_seq", sa.Integer(), nullable=False),
        sa.Column("progress_at", sa.Float(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.CheckConstraint(
            "state = 'draft' OR state = 'staging' OR state = 'running' OR state = 'paused' OR state = 'checked' OR state = 'completed' OR state = 'stopped' OR state = 'failed' OR state = 'cancelled'"
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )


def _change_batch() -> None:
    op.create_index(
        "batchfx_batch_digest", "batchfx_batch", ["tenant", "importer", "digest"]
    )
    op.create_index(
        "batchfx_batch_request",
        "batchfx_batch",
        ["tenant", "idempotency_key"],
        unique=True,
    )
    op.create_index("batchfx_batch_state", "batchfx_batch", ["state", "ended_at"])


def _make_credential() -> None:
    op.create_table(
        "batchfx_credential",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("scope", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )


def _make_duplicate() -> None:
    op.create_table(
        "batchfx_duplicate",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("first_row", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("batch", "row", "field"),
        sqlite_with_rowid=False,
    )


def _make_effect() -> None:
    op.create_table(
        "batchfx_effect",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("claimed_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.CheckConstraint(
            "state = 'claimed' OR state = 'done' OR state = 'refused' OR state = 'unknown'"
        ),
        sa.PrimaryKeyConstraint("tenant", "key"),
        sqlite_with_rowid=False,
    )


def _make_issue() -> None:
    op.create_table(
        "batchfx_issue",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("field", sa.String()),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("value", sa.String()),
        sa.Column("suggestion", sa.String()),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("detail", sa.String()),
        sa.Column("cause", sa.String()),
        sa.PrimaryKeyConstraint("id"),
    )


def _change_issue() -> None:
    op.create_index("batchfx_issue_code", "batchfx_issue", ["batch", "code", "row"])
    op.create_index("batchfx_issue_field", "batchfx_issue", ["batch", "field", "row"])
    op.create_index("batchfx_issue_row", "batchfx_issue", ["batch", "row"])


def _make_lane() -> None:
    op.create_table(
        "batchfx_lane",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("vtime", sa.Float(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.Column("cap", sa.Integer()),
        sa.Column("has_work", sa.Boolean(), nullable=False),
        sa.CheckConstraint("weight > 0"),
        sa.PrimaryKeyConstraint("tenant"),
        sqlite_with_rowid=False,
    )


def _make_mapping() -> None:
    op.create_table(
        "batchfx_mapping",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("importer", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "importer", "name", "version"),
        sqlite_with_rowid=False,
    )


def _make_outcome() -> None:
    op.create_table(
        "batchfx_outcome",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("record_id", sa.String()),
        sa.Column("reason", sa.String()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "verdict = 'created' OR verdict = 'updated' OR verdict = 'unchanged' OR verdict = 'skipped' OR verdict = 'invalid' OR verdict = 'failed' OR verdict = 'unknown'"
        ),
        sa.PrimaryKeyConstraint("batch", "row"),
        sqlite_with_rowid=False,
    )


def _make_revision() -> None:
    op.create_table(
        "batchfx_revision",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("cells", sa.JSON(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("batch", "row", "version"),
        sqlite_with_rowid=False,
    )


def _make_switch() -> None:
    op.create_table(
        "batchfx_switch",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("is_off", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("changed_by", sa.String(), nullable=False),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "scope = 'all' OR scope = 'tenant' OR scope = 'importer' OR scope = 'effect'"
        ),
        sa.PrimaryKeyConstraint("scope", "name"),
        sqlite_with_rowid=False,
    )


def _make_block() -> None:
    op.create_table(
        "batchfx_block",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch"],
            ["batchfx_batch.id"],
        ),
        sa.PrimaryKeyConstraint("batch", "ordinal"),
    )


def _make_chunk() -> None:
    op.create_table(
        "batchfx_chunk",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("importer", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("first_row", sa.Integer(), nullable=False),
        sa.Column("last_row", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("waited_at", sa.Integer()),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String()),
        sa.Column("lease_until", sa.Float()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Float()),
        sa.Column("reason", sa.String()),
        sa.Column("place", sa.String()),
        sa.Column("error", sa.String()),
        sa.Column("ended_at", sa.Float()),
        sa.Column("created", sa.Integer(), nullable=False),
        sa.Column("updated", sa.Integer(), nullable=False),
        sa.Column("unchanged", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("invalid", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("unknown", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state = 'held' OR state = 'queued' OR state = 'leased' OR state = 'retrying' OR state = 'done' OR state = 'dead' OR state = 'cancelled'"
        ),
        sa.ForeignKeyConstraint(
            ["batch"],
            ["batchfx_batch.id"],
        ),
        sa.PrimaryKeyConstraint("batch", "ordinal"),
        sqlite_with_rowid=False,
    )


def _change_chunk() -> None:
    op.create_index(
        "batchfx_chunk_dead",
        "batchfx_chunk",
        ["tenant", "ended_at"],
        sqlite_where=sa.text("state = 'dead'"),
        postgresql_where=sa.text("state = 'dead'"),
    )
    op.create_index(
        "batchfx_chunk_leased",
        "batchfx_chunk",
        ["lease_until"],
        sqlite_where=sa.text("state = 'leased'"),
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_index(
        "batchfx_chunk_next",
        "batchfx_chunk",
        ["batch", "round", "ordinal"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "batchfx_chunk_queued",
        "batchfx_chunk",
        ["tenant", "importer", "priority", "batch", "round", "ordinal"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "batchfx_chunk_retrying",
        "batchfx_chunk",
        ["due_at"],
        sqlite_where=sa.text("state = 'retrying'"),
        postgresql_where=sa.text("state = 'retrying'"),
    )


def _make_event() -> None:
    op.create_table(
        "batchfx_event",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch"],
            ["batchfx_batch.id"],
        ),
        sa.PrimaryKeyConstraint("batch", "seq"),
        sqlite_with_rowid=False,
    )


def _make_source() -> None:
    op.create_table(
        "batchfx_source",
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch"],
            ["batchfx_batch.id"],
        ),
        sa.PrimaryKeyConstraint("batch", "ordinal"),
    )


def _make_worker() -> None:
    op.create_table(
        "batchfx_worker",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("credential", sa.Integer()),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.Column("installed", sa.JSON(none_as_null=True)),
        sa.ForeignKeyConstraint(
            ["credential"],
            ["batchfx_credential.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )


def _make_grant() -> None:
    op.create_table(
        "batchfx_grant",
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["worker"],
            ["batchfx_worker.id"],
        ),
        sa.PrimaryKeyConstraint("worker", "kind", "name"),
        sqlite_with_rowid=False,
    )
