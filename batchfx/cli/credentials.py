"""The commands that issue, list and revoke the credentials of workers."""

from __future__ import annotations

import re
import sys
from typing import Any

import click
from rich.text import Text

from batchfx.cli import database, records
from batchfx.cli.options import Settings, database_option, examples, json_option
from batchfx.cli.screen import Screen, columns, person_screen, screen_on
from batchfx.cli.text import listed, minute, one_line, timestamp
from batchfx.execution.access import issue, names_in
from batchfx.store import access
from batchfx.store.access import Credential

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST = 3650  # days


class Lifetime(click.ParamType[float]):
    """A time span as people write it: 90d, 12h, 30m or 45s."""

    name = "lifetime"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        written = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", str(value).strip())
        seconds = float(written[1]) * UNITS[written[2]] if written else 0.0
        if not 0 < seconds <= LONGEST * UNITS["d"]:
            self.fail(
                f"{value!r} is no lifetime: write a number of days, hours, minutes or "
                f"seconds such as 90d or 12h, at most {LONGEST}d.",
                param,
                ctx,
            )
        return seconds


@click.group(
    "credential",
    epilog=examples(
        "batchfx credential issue fleet --tenants acme,zeta --importers '*' "
        "--lifetime 90d",
        "batchfx credential list",
        "batchfx credential revoke fleet",
    ),
)
@database_option
def credential_command() -> None:
    """Say who may work, for which tenants and at which importers."""


@credential_command.command("issue")
@click.argument("name", metavar="NAME")
@click.option(
    "--tenants", required=True, metavar="A,B", help="For whom; '*' for everybody."
)
@click.option(
    "--importers", required=True, metavar="A,B", help="At what; '*' for everything."
)
@click.option(
    "--lifetime", required=True, type=Lifetime(), metavar="TIME", help="Such as 90d."
)
@json_option
@database_option
@click.pass_obj
def issue_command(
    settings: Settings,
    *,
    name: str,
    tenants: str,
    importers: str,
    lifetime: float,
    as_json: bool,
) -> None:
    """Make the credential NAME and print its secret, which is not kept.

    A worker is let in by it through the variable BATCHFX_WORKER_CREDENTIAL.
    """
    scope = names_in(tenants, "--tenants"), names_in(importers, "--importers")
    with database.opened(settings) as store:
        secret = issue(store, name, *scope, lifetime=lifetime)
    screen_on(sys.stderr).say(
        f"Credential '{name}' is issued. This is the only time that its secret is "
        "shown:"
    )
    if as_json:
        records.print_json({"name": name, "secret": secret})
    else:
        sys.stdout.write(f"{secret}\n")


@credential_command.command("list")
@json_option
@database_option
@click.pass_obj
def list_command(settings: Settings, *, as_json: bool) -> None:
    """List the credentials, without their secrets."""
    found: list[Credential] = []
    if database.exists(settings):
        with database.opened(settings) as store, store.read() as connection:
            found = list(access.listing(connection))
    if as_json:
        records.print_json([_record(each) for each in found])
        return
    with person_screen(as_json=False) as screen:
        _list(screen, found)


@credential_command.command("revoke")
@click.argument("name", metavar="NAME")
@database_option
@click.pass_obj
def revoke_command(settings: Settings, *, name: str) -> None:
    """End the credential NAME: its workers get no work and commit none from now on."""
    with database.found(settings) as store, store.write() as connection:
        access.revoke(connection, name)
    with person_screen(as_json=False) as screen:
        screen.say(f"Credential '{name}' is revoked.")


def _list(screen: Screen, found: list[Credential]) -> None:
    if not found:
        screen.say(
            "There are no credentials yet; 'batchfx credential issue' makes one."
        )
        return
    table = columns("Name", "Tenants", "Importers", "Until", "State")
    for each in found:
        table.add_row(
            Text(one_line(each.name)),
            Text(one_line(listed(sorted(each.tenants)))),
            Text(one_line(listed(sorted(each.importers)))),
            Text(minute(each.expires_at)),
            _state(each),
        )
    screen.show(table)


def _record(credential: Credential) -> dict[str, Any]:
    return {
        "name": credential.name,
        "tenants": sorted(credential.tenants),
        "importers": sorted(credential.importers),
        "created_at": timestamp(credential.created_at),
        "expires_at": timestamp(credential.expires_at),
        "revoked_at": timestamp(credential.revoked_at),
        "state": _state(credential),
    }


def _state(credential: Credential) -> str:
    if credential.revoked_at is not None:
        return "revoked"
    return "expired" if credential.is_expired else "valid"
