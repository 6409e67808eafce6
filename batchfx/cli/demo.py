"""The command that shows a newcomer a whole import within seconds."""

from __future__ import annotations

import contextlib
import os.path
from importlib.util import find_spec
from pathlib import Path

import click

from batchfx.cli import database, discovery
from batchfx.cli.follow import EXIT_FAULTY, EXIT_WELL
from batchfx.cli.invocation import command
from batchfx.cli.options import Settings
from batchfx.cli.run import run
from batchfx.cli.screen import person_screen
from batchfx.errors import SourceError
from batchfx.execution.control import import_path
from batchfx.importer import find_importer

MODULE, TYPE = "importers", "customers"
SAMPLE = Path("samples", "customers.csv")
CORRECTED = Path("samples", "customers-corrected.csv")
DATABASE = Path("batchfx-demo.db")


@click.command("demo")
@click.pass_obj
def demo_command(settings: Settings) -> int:
    """Import samples/customers.csv from a checkout of batchfx, some of it faulty.

    Batches and records go into batchfx-demo.db in this folder, made anew each time.
    """
    if settings != Settings():
        message = "The demo brings its own importers and its own database."
        raise click.UsageError(message)
    folder = find_checkout(Path.cwd())
    settings = Settings(database=f"sqlite:///{DATABASE.as_posix()}")
    with contextlib.chdir(folder):
        discovery.load(Settings(importers=(MODULE,)))
    importer = find_importer(TYPE)
    _remove_earlier()
    with person_screen(as_json=False) as screen, database.opened(settings) as store:
        _, code = run(
            settings,
            screen,
            store,
            lambda watch: import_path(store, importer, folder / SAMPLE, watch=watch),
            as_json=False,
            corrected=os.path.relpath(folder / CORRECTED),
        )
        screen.say(f"\nTo see it on a page:\n  {_page(settings)}")
    return EXIT_WELL if code == EXIT_FAULTY else code


def find_checkout(start: Path) -> Path:
    """Return the folder that holds the samples and their importers: here or above.

    Raises:
        SourceError: There is none.

    """
    for folder in (start, *start.parents):
        if (folder / SAMPLE).is_file() and (folder / MODULE).is_dir():
            return folder
    message = (
        f"There is no {SAMPLE.as_posix()} here: the demo needs a checkout of batchfx. "
        "Clone the project and run 'batchfx demo' in its folder."
    )
    raise SourceError("no_checkout", message)


def _page(settings: Settings) -> str:
    is_there = find_spec("fastapi") is not None
    return command(settings, "serve") if is_there else "make serve"


def _remove_earlier() -> None:
    for suffix in ("", "-wal", "-shm"):
        DATABASE.with_name(DATABASE.name + suffix).unlink(missing_ok=True)
