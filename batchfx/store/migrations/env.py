"""What Alembic runs a migration in: the transaction that `migrations.upgrade` is given.

There is no ini file: connection and settings come from the program.
"""

from __future__ import annotations

from alembic import context

from batchfx.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=context.config.attributes["table"],
)
context.run_migrations()
