"""The commands that share the workers among the tenants."""

from __future__ import annotations

import dataclasses
import math

import click
from rich.text import Text

from batchfx.cli import database, records
from batchfx.cli.options import Settings, examples, global_options, json_option
from batchfx.cli.screen import columns, person_screen
from batchfx.errors import UsageError
from batchfx.store import lanes
from batchfx.store.lanes import Lane


@click.group(
    "lane",
    epilog=examples(
        "batchfx lane list",
        "batchfx lane set acme --weight 2",
        "batchfx lane set zeta --weight 1 --cap 4",
    ),
)
@global_options
def lane_command() -> None:
    """Share the workers among the tenants, and see what waits.

    Each tenant gets the part of the workers' time that its weight says, however long
    its queue is. Beyond its cap of chunks at work, others come first; it still gets
    what nobody else wants.
    """


@lane_command.command("list")
@json_option
@global_options
@click.pass_obj
def list_command(settings: Settings, *, as_json: bool) -> None:
    """List the tenants: their weight and cap, what waits and what is at work."""
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        with store.read() as connection:
            found = lanes.listing(connection)
        if not as_json:
            table = columns("Tenant", "Weight", "Cap", "Waiting", "At work")
            for lane in found:
                table.add_row(*map(Text, _cells(lane)))
            screen.show(table)
    if as_json:
        records.print_json([dataclasses.asdict(lane) for lane in found])


@lane_command.command("set")
@click.argument("tenant", metavar="TENANT")
@click.option("--weight", type=float, required=True, metavar="W", help="Its share.")
@click.option(
    "--cap",
    type=click.IntRange(min=1),
    metavar="N",
    help="Chunks at work beyond which others come first; without: none.",
)
@global_options
@click.pass_obj
def set_command(
    settings: Settings, *, tenant: str, weight: float, cap: int | None
) -> None:
    """Give TENANT a weight and a cap."""
    if not (math.isfinite(weight) and weight > 0):
        message = f"{weight} is no weight: write a number above 0, 1 being usual."
        raise UsageError(message)
    with database.opened(settings) as store, store.write() as connection:
        lanes.set_share(connection, tenant, weight, cap)
    with person_screen(as_json=False) as screen:
        most = "no cap" if cap is None else f"a cap of {cap}"
        screen.say(f"{tenant} has the weight {weight:g} and {most} now.")


def _cells(lane: Lane) -> list[str]:
    cap = "" if lane.cap is None else str(lane.cap)
    return [
        lane.tenant,
        f"{lane.weight:g}",
        cap,
        f"{lane.waiting:,}",
        f"{lane.at_work:,}",
    ]
