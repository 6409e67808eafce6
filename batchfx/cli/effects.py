"""The commands about what was done outside and has no recorded end."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.text import Text

from batchfx.cli import database, records
from batchfx.cli.invocation import command
from batchfx.cli.options import (
    Settings,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, columns, person_screen
from batchfx.cli.text import minute, one_line, timestamp
from batchfx.errors import NotFoundError
from batchfx.store import effects
from batchfx.store.effects import Doubt

LATEST = 500  # listed


class Json(click.ParamType[Any]):
    """A value written as JSON, or a text as it stands."""

    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the value."""
        del param, ctx
        try:
            return json.loads(value)
        except ValueError:
            return value


@click.group(
    "effect",
    epilog=examples(
        "batchfx effect list",
        "batchfx effect settle charge:42 --happened --result '\"receipt 7\"'",
        "batchfx effect settle charge:43 --not-happened",
    ),
)
@global_options
def effect_command() -> None:
    """Show and settle effects of which nobody knows whether they have happened."""


@effect_command.command("list")
@tenant_option
@json_option
@global_options
@click.pass_obj
def list_command(settings: Settings, *, tenant: str | None, as_json: bool) -> None:
    """List the effects that a person has to look after, of all tenants or of one."""
    found: list[Doubt] = []
    if database.exists(settings):
        with database.opened(settings) as store, store.read() as connection:
            found = effects.listing(connection, tenant, LATEST)
    if as_json:
        records.print_json([_record(each) for each in found])
        return
    with person_screen(as_json=False) as screen:
        _list(screen, found)


@effect_command.command("settle")
@click.argument("key", metavar="KEY")
@click.option(
    "--happened/--not-happened",
    default=None,
    help="What you found out where it should have happened.",
)
@click.option(
    "--result",
    type=Json(),
    metavar="JSON",
    help="What its row goes on with, as the effect would have returned it.",
)
@tenant_option
@global_options
@click.pass_obj
def settle_command(
    settings: Settings,
    *,
    key: str,
    happened: bool | None,
    result: Any,
    tenant: str | None,
) -> None:
    """Say whether the effect KEY has happened; a rerun of its batch goes on from that.

    One that has not happened is run by the rerun.
    """
    owner = database.tenant_or_default(tenant)
    if happened is None:
        message = "Say what you found out: --happened or --not-happened."
        raise click.UsageError(message)
    if result is not None and not happened:
        message = "--result is of what has happened: leave it out, or say --happened."
        raise click.UsageError(message)
    with database.found(settings) as store, store.write() as connection:
        found = effects.find(connection, owner, key)
        is_settled = effects.settle(
            connection, owner, key, happened=happened, result=result
        )
    if found is None or not is_settled:
        message = (
            f"Tenant '{owner}' has no effect '{key}' that is in doubt. "
            "'batchfx effect list' shows those there are."
        )
        raise NotFoundError(message)
    with person_screen(as_json=False) as screen:
        screen.say(f"The effect '{key}' is settled. To go on:")
        screen.say(f"  {command(settings, 'rerun', str(found.batch))}", "bold")


def _list(screen: Screen, found: list[Doubt]) -> None:
    if not found:
        screen.say("No effect is in doubt.")
        return
    table = columns("Effect", "Tenant", "Batch", "Row", "Since", right=("Batch", "Row"))
    for each in found:
        table.add_row(
            Text(one_line(each.key)),
            Text(one_line(each.tenant)),
            Text(str(each.batch)),
            Text(f"{each.row:,}"),
            Text(minute(each.claimed_at)),
        )
    screen.show(table)


def _record(doubt: Doubt) -> dict[str, Any]:
    return {
        "key": doubt.key,
        "tenant": doubt.tenant,
        "batch": doubt.batch,
        "row": doubt.row,
        "state": doubt.state,
        "claimed_at": timestamp(doubt.claimed_at),
    }
