"""The tables in a database are shown and upgraded from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from batchfx.store.migrations import HEAD
from samples.servers import Server
from tests.acceptance.shell import Shell, shell_in

SECRET = "s3cr3t-w0rd"  # noqa: S105 - of nobody


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def test_a_new_database_is_upgraded_once(shell: Shell, database: str) -> None:
    url = make_url(database)
    is_file = url.get_backend_name() == "sqlite"
    place = url.database if is_file else url.render_as_string(hide_password=True)
    ran = [
        shell.run("db", command, "--database", database, COLUMNS="300")
        for command in ("upgrade", "upgrade", "version")
    ]

    assert [(each.code, each.err) for each in ran] == [(0, "")] * 3
    assert [each.out for each in ran] == [
        f"{place}: made the tables, version {HEAD}.\n",
        f"{place}: the tables are version {HEAD} already.\n",
        f"{place}: the tables are version {HEAD}, which this batchfx needs.\n",
    ]


def test_an_upgrade_is_told_to_machines(shell: Shell, database: str) -> None:
    first, second = (
        shell.run("db", "upgrade", "--json", "--database", database) for _ in range(2)
    )
    version = shell.run("db", "version", "--json", "--database", database)

    assert first.json == {"before": None, "after": HEAD}
    assert second.json == {"before": HEAD, "after": HEAD}
    assert version.json == {"version": HEAD, "needed": HEAD}


def test_other_versions_are_named(shell: Shell) -> None:
    shell.run("db", "upgrade")
    shell.execute("UPDATE batchfx_version SET version_num = '0999'")

    shown = shell.run("db", "version", COLUMNS="300")
    upgraded = shell.run("db", "upgrade")

    assert f"version 0999, newer than the version {HEAD} that" in shown.out
    assert upgraded.code == 1
    assert "made by a newer batchfx" in upgraded.err


def test_a_database_that_is_missing_is_not_made_to_be_looked_at(shell: Shell) -> None:
    ran = shell.run("db", "version")

    assert ran.code == 2
    assert ran.err.startswith("Error: There is no database")
    assert not (shell.folder / "batchfx.db").exists()


def test_a_database_with_nothing_of_batchfx_is_told(
    shell: Shell, postgresql: str
) -> None:
    ran = shell.run("db", "version", "--database", postgresql)

    assert "there are no tables of batchfx yet" in " ".join(ran.out.split())


@pytest.mark.parametrize("command", ["status", "types", "db version", "db upgrade"])
def test_a_password_is_never_shown(
    shell: Shell, postgres: Server, command: str
) -> None:
    url = make_url(postgres.url).set(password=SECRET)
    ran = shell.run(
        *command.split(), "--database", url.render_as_string(hide_password=False)
    )

    assert SECRET not in ran.out + ran.err
    assert "Traceback" not in ran.err
    if command != "types":
        assert ran.code == 1
        assert "check the user and the password" in ran.err


def test_an_address_with_a_word_for_a_port_is_told(shell: Shell) -> None:
    ran = shell.run("status", "--database", f"postgresql://bob:{SECRET}@h:port/d")

    assert ran.code == 2
    assert ran.err.startswith("Error: This is no database address.")
