"""The commands that turn work off and on again while everything runs."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.text import Text

from batchfx.cli import database, records
from batchfx.cli.options import Settings, examples, global_options, json_option
from batchfx.cli.screen import Screen, columns, person_screen
from batchfx.cli.text import minute, one_line, timestamp
from batchfx.errors import UsageError
from batchfx.model.switches import SwitchScope
from batchfx.store import switches
from batchfx.store.engine import Store
from batchfx.store.switches import EVERYTHING, Switch

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Place = tuple[SwitchScope, str]


@click.group(
    "switch",
    epilog=examples(
        "batchfx switch off --tenant acme --reason 'their file is wrong'",
        "batchfx switch on --tenant acme",
        "batchfx switch list",
    ),
)
@global_options
def switch_command() -> None:
    """Turn work off and on: of a tenant, of an importer, of an effect, or all.

    What is off is neither begun nor renewed: what is at work ends within one renewal
    of its lease and waits.
    """


def _place_options(command: Decorated) -> Decorated:
    for option in (
        click.option("--all", "everything", is_flag=True, help="Everything."),
        click.option("--effect", metavar="NAME", help="One kind of outside effect."),
        click.option("--importer", metavar="NAME", help="One type of import."),
        click.option("--tenant", metavar="NAME", help="One tenant's work."),
    ):
        command = option(command)
    return command


_by_option = click.option("--by", metavar="NAME", help="Who turns it; default: you.")


@switch_command.command("off")
@_place_options
@click.option("--reason", required=True, metavar="TEXT", help="Why, for the others.")
@_by_option
@global_options
@click.pass_obj
def off_command(
    settings: Settings, /, *, reason: str, by: str | None, **place: Any
) -> None:
    """Turn work off, within one renewal of a lease."""
    scope, name = _place(**place)
    with database.opened(settings) as store:
        is_known = _turn(store, (scope, name), by, reason, is_off=True)
    with person_screen(as_json=False) as screen:
        screen.say(f"{_words((scope, name))} is off.")
        if not is_known:
            screen.say(
                f"Note: no batch in this database is of {scope} '{name}' so far; "
                "is it spelt so?"
            )


@switch_command.command("on")
@_place_options
@click.option("--reason", default="", metavar="TEXT", help="Why, for the others.")
@_by_option
@global_options
@click.pass_obj
def on_command(
    settings: Settings, /, *, reason: str, by: str | None, **place: Any
) -> None:
    """Turn work on again; only what was turned off by itself can be."""
    found = _place(**place)
    with database.found(settings) as store:
        _turn(store, found, by, reason, is_off=False)
    with person_screen(as_json=False) as screen:
        screen.say(f"{_words(found)} is on again.")


@switch_command.command("list")
@json_option
@global_options
@click.pass_obj
def list_command(settings: Settings, *, as_json: bool) -> None:
    """List the switches that were ever turned, those that are off first."""
    found: list[Switch] = []
    if database.exists(settings):
        with database.opened(settings) as store, store.read() as connection:
            found = list(switches.listing(connection))
    if as_json:
        records.print_json([_record(each) for each in found])
        return
    with person_screen(as_json=False) as screen:
        _list(screen, found)


def _place(
    *, everything: bool, tenant: str | None, importer: str | None, effect: str | None
) -> Place:
    given = [
        (scope, name)
        for scope, name in (
            (SwitchScope.ALL, EVERYTHING if everything else None),
            (SwitchScope.TENANT, tenant),
            (SwitchScope.IMPORTER, importer),
            (SwitchScope.EFFECT, effect),
        )
        if name is not None
    ]
    if len(given) != 1 or (given[0][1] == EVERYTHING and not everything):
        message = (
            "Say what to turn, and one thing at a time: --tenant, --importer, --effect "
            "or --all."
        )
        raise UsageError(message)
    return given[0]


def _turn(
    store: Store, place: Place, by: str | None, reason: str, *, is_off: bool
) -> bool:
    """Turn the switch; return whether there is work that it could be about."""
    with store.write() as connection:
        off = [(s.scope, s.name) for s in switches.listing(connection) if s.is_off]
        if not is_off and place not in off:
            message = (
                f"{_words(place)} is not off by a switch of its own. "
                "'batchfx switch list' shows what is."
            )
            raise UsageError(message)
        switches.turn(
            connection, *place, is_off=is_off, reason=reason, who=by or person()
        )
        return switches.is_known(connection, *place)


def person() -> str:
    """Return the name of whoever runs the command."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return "unknown"


def _words(place: Place) -> str:
    scope, name = place
    return (
        "Everything" if scope is SwitchScope.ALL else f"{scope.capitalize()} '{name}'"
    )


def _list(screen: Screen, found: list[Switch]) -> None:
    if not found:
        screen.say("No switch was ever turned: everything is on.")
        return
    table = columns("What", "State", "Since", "By", "Reason")
    for each in found:
        table.add_row(
            Text(one_line(_words((each.scope, each.name)))),
            Text("off", "red") if each.is_off else Text("on", "green"),
            Text(minute(each.changed_at)),
            Text(one_line(each.changed_by)),
            Text(one_line(each.reason)),
        )
    screen.show(table)


def _record(switch: Switch) -> dict[str, Any]:
    return {
        "scope": str(switch.scope),
        "name": switch.name,
        "is_off": switch.is_off,
        "reason": switch.reason,
        "changed_by": switch.changed_by,
        "changed_at": timestamp(switch.changed_at),
    }
