"""The command that mends what dead workers left, once or for as long as it runs."""

from __future__ import annotations

import dataclasses
import signal
import threading
from collections.abc import Callable

import click

from batchfx.cli import database, records
from batchfx.cli.options import Age, Settings, examples, global_options, json_option
from batchfx.cli.screen import Screen, person_screen
from batchfx.errors import StoreError
from batchfx.execution.sweep import Swept, sweep

TOLD = {
    "lost": "leases had run out",
    "died": "of these are dead now",
    "due": "retries were due",
    "astray": "chunks were brought after their batch",
    "ended": "batches got their end",
    "woken": "tenants' work was noted",
    "expired": "old events were removed",
    "abandoned": "effects are unknown now: 'batchfx effect list' shows them",
    "forgotten": "workers of long ago were forgotten",
}


@click.command(
    "sweep",
    epilog=examples(
        "batchfx sweep", "batchfx sweep --every 5s", "batchfx sweep --json"
    ),
)
@click.option(
    "--every",
    type=Age(),
    metavar="AGE",
    help="Go on, with pauses of this length, until it is told to stop.",
)
@json_option
@global_options
@click.pass_obj
def sweep_command(settings: Settings, *, every: float | None, as_json: bool) -> None:
    """Mend what dead workers left, as every worker does all the time.

    Expired leases are taken back, retries that are due are queued, batches that are
    through get their end, old events are removed. No worker is needed for that.
    """
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        if every is not None:
            _go_on(screen, lambda: sweep(store), every)
            return
        swept = sweep(store)
        if not as_json:
            _show(screen, swept)
    if as_json:
        records.print_json(dataclasses.asdict(swept))


def _go_on(screen: Screen, mend: Callable[[], Swept], every: float) -> None:
    """Sweep again and again; a database that gives out is waited for."""
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    trouble = ""
    while True:
        try:
            swept = mend()
            if any(dataclasses.astuple(swept)):
                _show(screen, swept)
            trouble = ""
        except StoreError as error:
            if str(error) != trouble:
                screen.say(str(error))
            trouble = str(error)
        if told.wait(every):
            return


def _show(screen: Screen, swept: Swept) -> None:
    done = {name: n for name, n in dataclasses.asdict(swept).items() if n}
    for name, count in done.items():
        screen.say(f"{count:,} {TOLD[name]}.")
    if not done:
        screen.say("There was nothing to mend.")
