"""The commands that act on batches under way: pause, resume, cancel, revive, sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click
from rich.table import Table

from batchfx.cli import database, records
from batchfx.cli.hinting import hint
from batchfx.cli.invocation import command
from batchfx.cli.options import (
    SECONDS,
    Age,
    Settings,
    batch_argument,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, person_screen
from batchfx.cli.summary import show_headline
from batchfx.cli.text import counted
from batchfx.cli.words import tally_table
from batchfx.execution import operate
from batchfx.execution.reports import Report
from batchfx.store.engine import Store
from batchfx.store.schema import PREPARATION, BatchKey
from batchfx.store.units import DeadUnit

EXIT_ALARM = 3

Act = Callable[[Store, BatchKey], Report]


@click.command("pause", epilog=examples("batchfx pause 3"))
@batch_argument
@tenant_option
@json_option
@global_options
@click.pass_obj
def pause_command(
    settings: Settings, *, number: int, tenant: str | None, as_json: bool
) -> None:
    """Begin nothing more of BATCH; chunks that are at work are finished."""
    _act(settings, number, tenant, operate.pause, as_json=as_json)


@click.command("resume", epilog=examples("batchfx resume 3"))
@batch_argument
@tenant_option
@json_option
@global_options
@click.pass_obj
def resume_command(
    settings: Settings, *, number: int, tenant: str | None, as_json: bool
) -> None:
    """Let workers go on with BATCH, which was paused."""
    _act(settings, number, tenant, operate.resume, as_json=as_json)


@click.command("cancel", epilog=examples("batchfx cancel 3"))
@batch_argument
@tenant_option
@json_option
@global_options
@click.pass_obj
def cancel_command(
    settings: Settings, *, number: int, tenant: str | None, as_json: bool
) -> None:
    """End BATCH for good, and say what had been applied.

    What is at work on it can't be committed any more. Rows that are finished stay.
    """
    _act(settings, number, tenant, operate.cancel, as_json=as_json)


@click.command(
    "dead", epilog=examples("batchfx dead", "batchfx dead --older-than 1d --json")
)
@tenant_option
@click.option(
    "--older-than",
    type=Age(),
    metavar="AGE",
    help="Only what is dead for longer; then exit with 3 if anything is.",
)
@json_option
@global_options
@click.pass_obj
def dead_command(
    settings: Settings, *, tenant: str | None, older_than: float | None, as_json: bool
) -> int:
    """Show the chunks that broke too often, why and where; 'revive' tries them again.

    Of every tenant, unless one is named.
    """
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        found = [
            unit
            for unit in operate.dead(store, tenant)
            if older_than is None or unit.age >= older_than
        ]
        if not as_json:
            _show_dead(screen, found)
            if found:
                number = str(found[0].key.number)
                screen.say("To try the first of them again:")
                screen.say(f"  {command(settings, 'revive', number)}", "bold")
    if as_json:
        records.print_json([dataclasses.asdict(unit) for unit in found])
    return EXIT_ALARM if found and older_than is not None else 0


@click.command(
    "revive", epilog=examples("batchfx revive 3", "batchfx revive 3 --chunk 7")
)
@batch_argument
@click.option(
    "--chunk",
    "ordinal",
    type=click.IntRange(min=PREPARATION),
    help="Only this chunk.",
)
@tenant_option
@global_options
@click.pass_obj
def revive_command(
    settings: Settings, *, number: int, ordinal: int | None, tenant: str | None
) -> None:
    """Let workers try the dead chunks of BATCH again, from their first try on."""
    with person_screen(as_json=False) as screen, database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        revived = operate.revive(store, key, ordinal)
        screen.say(
            f"{counted(revived, 'chunk')} of batch {number} will be tried again."
        )


def _act(
    settings: Settings, number: int, tenant: str | None, act: Act, *, as_json: bool
) -> None:
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        report = act(store, database.key_of(store, number, tenant))
        if report.is_waiting:
            hint(screen)
        if not as_json:
            show_headline(screen, report)
            screen.say()
            screen.show(tally_table(report))
    if as_json:
        records.print_json(records.of_report(report))


def _show_dead(screen: Screen, found: list[DeadUnit]) -> None:
    if not found:
        screen.say("Nothing is dead.")
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row("Batch", "Chunk", "Rows", "Tenant", "Dead for", "Why", style="dim")
    for unit in found:
        is_preparation = unit.ordinal == PREPARATION
        table.add_row(
            str(unit.key.number),
            "preparation" if is_preparation else str(unit.ordinal),
            "" if is_preparation else f"{unit.rows:,}",
            unit.key.tenant,
            _age(unit.age),
            f"{unit.reason} ({unit.place}): {unit.error}",
        )
    screen.show(table)


def _age(seconds: float) -> str:
    unit = next((u for u in "dhm" if seconds >= SECONDS[u]), "s")
    return f"{int(seconds // SECONDS[unit])}{unit}"
