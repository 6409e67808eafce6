"""The commands about the tables that batchfx keeps in a database."""

from __future__ import annotations

import click

from batchfx.cli import database, records
from batchfx.cli.options import Settings, database_option, examples, json_option
from batchfx.cli.screen import person_screen
from batchfx.errors import NotFoundError
from batchfx.store import engine, migrations


@click.group(
    "db",
    epilog=examples(
        "batchfx db version",
        "batchfx db upgrade --database postgresql://batchfx@db.example/shop",
    ),
)
@database_option
def db_command() -> None:
    """Show and upgrade the tables that batchfx keeps in a database."""


@db_command.command("upgrade")
@json_option
@database_option
@click.pass_obj
def upgrade_command(settings: Settings, *, as_json: bool) -> None:
    """Bring the tables to the version of this batchfx.

    Stop the workers and keep a copy before. It happens as a whole or not at all, and
    only once however many run it at the same time. What guards the tables is made anew.
    """
    before = engine.upgrade(settings.url)
    if as_json:
        records.print_json({"before": before, "after": migrations.HEAD})
        return
    with person_screen(as_json=False) as screen:
        screen.say(f"{_place(settings)}: {_change(before)}")


@db_command.command("version")
@json_option
@database_option
@click.pass_obj
def version_command(settings: Settings, *, as_json: bool) -> None:
    """Show which version the tables are, and which one this batchfx needs."""
    if not database.exists(settings):
        message = f"There is no database '{_place(settings)}' yet."
        raise NotFoundError(message)
    found = engine.version(settings.url)
    if as_json:
        needed = {"version": found.version, "needed": migrations.HEAD}
        records.print_json(needed)
        return
    with person_screen(as_json=False) as screen:
        screen.say(f"{_place(settings)}: {_state(found)}")


def _change(before: str | None) -> str:
    if before is None:
        return f"made the tables, version {migrations.HEAD}."
    if before == migrations.HEAD:
        return f"the tables are version {before} already."
    return f"upgraded the tables from version {before} to {migrations.HEAD}."


def _state(found: migrations.Found) -> str:
    if found.is_prerelease:
        return "the tables were made before batchfx's first release."
    if found.version is None:
        return "there are no tables of batchfx yet; the first import makes them."
    if found.version == migrations.HEAD:
        return f"the tables are version {found.version}, which this batchfx needs."
    verdict = "older" if found.version < migrations.HEAD else "newer"
    return (
        f"the tables are version {found.version}, {verdict} than the version "
        f"{migrations.HEAD} that this batchfx needs."
    )


def _place(settings: Settings) -> str:
    return database.place(settings.url)
