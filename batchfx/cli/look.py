"""The commands that show a batch and change nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import sys

import click

from batchfx.cli import database, discovery, listings, records
from batchfx.cli.options import (
    Settings,
    batch_argument,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, causes, person_screen
from batchfx.cli.text import listed
from batchfx.cli.words import headers
from batchfx.execution.browse import every
from batchfx.execution.reports import Report, listing, recount, report
from batchfx.execution.views import PENDING, issue_groups, rows
from batchfx.importer import find_importer
from batchfx.model.verdicts import Verdict

LATEST = 50  # batches listed
EXIT_DIFFERENT = 1


@click.command("status", epilog=examples("batchfx status", "batchfx status 3"))
@click.argument("number", metavar="[BATCH]", required=False, type=click.IntRange(min=1))
@tenant_option
@json_option
@global_options
@click.pass_obj
def status_command(
    settings: Settings, *, number: int | None, tenant: str | None, as_json: bool
) -> None:
    """Show where BATCH is and how its rows ended; without it, list the batches."""
    if number is None:
        _list_batches(settings, database.tenant_or_default(tenant), as_json=as_json)
        return
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        found = report(store, database.key_of(store, number, tenant))
        _say_place(screen, settings)
        if not as_json:
            listings.show_batch(screen, settings, found)
    if as_json:
        records.print_json(records.of_report(found))


@click.command("issues", epilog=examples("batchfx issues 3"))
@batch_argument
@tenant_option
@json_option
@global_options
@click.pass_obj
def issues_command(
    settings: Settings, *, number: int, tenant: str | None, as_json: bool
) -> None:
    """Show what is wrong with BATCH: each cause, how many rows have it, an example."""
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        groups, batch = issue_groups(store, key), report(store, key).batch
        _say_place(screen, settings)
        if not as_json:
            screen.say()
            if groups:
                screen.show(causes(groups, headers(batch), suggestions=True))
            else:
                screen.say(f"Batch {number} has no issues.")
    if as_json:
        records.print_json([dataclasses.asdict(group) for group in groups])


@click.command(
    "rows",
    epilog=examples(
        "batchfx rows 3 --verdict invalid",
        "batchfx rows 3 --field email --text example.com",
        "batchfx rows 3 --json > rows.json",
    ),
)
@batch_argument
@click.option(
    "--verdict",
    type=click.Choice([*map(str, Verdict), PENDING]),
    help="Only the rows of this verdict.",
)
@click.option("--code", help="Only rows with an issue of this code.")
@click.option("--field", help="Only rows with an issue in this field.")
@click.option("--text", help="Only rows with this text in a cell.")
@tenant_option
@json_option
@global_options
@click.pass_obj
def rows_command(
    settings: Settings,
    /,
    *,
    number: int,
    tenant: str | None,
    as_json: bool,
    **wanted: str | None,
) -> None:
    """Show the rows of BATCH, each with its verdict and its record or first issue.

    With --json, each row has its values and all its issues.
    """
    output = sys.stdout
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        batch = report(store, key).batch
        views = rows(store, key, wanted["verdict"])
        if wanted["code"] or wanted["field"] or wanted["text"]:
            discovery.load(settings)
            views = every(store, key, **wanted)
        _say_place(screen, settings)
        if as_json:
            # Only the importer says which of the values are sensitive.
            discovery.load(settings)
            find_importer(batch.importer)
            records.stream_json(output, map(records.of_row, views))
        else:
            listings.show_rows(screen, views, headers(batch), wanted)


@click.command("recount", epilog=examples("batchfx recount 3"))
@batch_argument
@tenant_option
@json_option
@global_options
@click.pass_obj
def recount_command(
    settings: Settings, *, number: int, tenant: str | None, as_json: bool
) -> int:
    """Count BATCH from its rows and compare that with the tally that is kept.

    Ends with 1 when they differ, and says where.
    """
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        tally, differences = recount(store, database.key_of(store, number, tenant))
        _say_place(screen, settings)
        if not as_json:
            listings.show_recount(screen, number, tally, differences)
    if as_json:
        records.print_json(records.of_recount(number, tally, differences))
    return EXIT_DIFFERENT if differences else 0


def _list_batches(settings: Settings, tenant: str, *, as_json: bool) -> None:
    with person_screen(as_json=as_json) as screen, contextlib.ExitStack() as stack:
        found: list[Report] = []
        others: list[str] = []
        if database.exists(settings):
            store = stack.enter_context(database.opened(settings))
            found = listing(store, tenant, LATEST + 1)
            others = database.other_tenants(store, tenant)
        _say_place(screen, settings)
        if not as_json:
            listings.show_batches(screen, found[:LATEST])
        if len(found) > LATEST:
            screen.say(f"Only the latest {LATEST} are listed.")
        if others:
            screen.say()
            screen.say(f"Other tenants have batches too (--tenant): {listed(others)}.")
    if as_json:
        records.print_json([records.of_report(each) for each in found[:LATEST]])


def _say_place(screen: Screen, settings: Settings) -> None:
    screen.say(f"Database: {database.place(settings.url)}", "dim")
