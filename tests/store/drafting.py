"""Write the migration that brings the newest tables to what the schema says.

``python -m tests.store.drafting 0002`` writes it, to be read and mended. It writes the
newest one anew, too, which is right as long as no database was made by it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import produce_migrations, render_python_code
from alembic.config import Config
from alembic.operations.ops import CreateTableOp, OpContainer, UpgradeOps
from alembic.runtime.migration import MigrationContext

from batchfx.store import triggers
from batchfx.store.migrations import FOLDER, VERSION_TABLE
from batchfx.store.schema import METADATA

HEADER = '''"""{title}"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = {before}
triggers = "{fingerprint}"  # of the triggers that go with it


def upgrade() -> None:
    """{title}"""
'''
TITLES = {1: "Make the tables."}


def draft(revision: str) -> Path:
    """Write the file of *revision*; return where it is."""
    number = int(revision)
    before = f"{number - 1:04}"
    with tempfile.TemporaryDirectory() as folder:
        engine = sa.create_engine(f"sqlite:///{folder}/draft.db")
        with engine.begin() as connection:
            if number > 1:
                command.upgrade(_config(connection), before)
            code = _code(connection, revision, before if number > 1 else None)
        engine.dispose()
    path = FOLDER / "versions" / f"r{revision}.py"
    path.write_text(code, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--quiet", path], check=True
    )
    return path


def _config(connection: sa.Connection) -> Config:
    config = Config(attributes={"connection": connection, "table": VERSION_TABLE})
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "newline")
    return config


def _code(connection: sa.Connection, revision: str, before: str | None) -> str:
    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE}
    )
    found = produce_migrations(context, METADATA).upgrade_ops
    if found is None:
        sys.exit("There is nothing to do.")
    names: list[str] = []
    functions: list[str] = []
    for name, operations in _of_each_table(found):
        body = render_python_code(operations, migration_context=context)
        lines = (line.strip() for line in body.splitlines())
        kept = "\n".join(f"    {line}" for line in lines if not line.startswith("#"))
        for default in (", nullable=True", ", unique=False"):
            kept = kept.replace(default, "")
        names.append(name)
        functions.append(f"\n\ndef {names[-1]}() -> None:\n{kept}\n")
    title = TITLES.get(int(revision), "Say here what it is for.")
    head = HEADER.format(
        title=title,
        revision=revision,
        before=f'"{before}"' if before else None,
        fingerprint=triggers.fingerprint(),
    )
    calls = "".join(f"    {name}()\n" for name in names)
    return head + calls + "".join(functions)


def _of_each_table(found: OpContainer) -> Iterable[tuple[str, UpgradeOps]]:
    """Group the operations into functions: what makes a table, what else is done."""
    groups: dict[str, list[object]] = {}
    for each in found.ops:
        verb = "make" if isinstance(each, CreateTableOp) else "change"
        table = each.table_name.removeprefix("batchfx_")  # type: ignore[attr-defined] # all of them are of a table
        groups.setdefault(f"_{verb}_{table}", []).append(each)
    return [(name, UpgradeOps(ops)) for name, ops in groups.items()]  # type: ignore[arg-type]


if __name__ == "__main__":
    print(draft(sys.argv[1]))  # noqa: T201 - says what it did
