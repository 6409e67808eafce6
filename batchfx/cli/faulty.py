"""The commands for faulty rows: taken away to be corrected, or left out for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from batchfx.cli import database, discovery, records
from batchfx.cli.options import (
    Settings,
    batch_argument,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import person_screen
from batchfx.cli.switches import person
from batchfx.cli.text import counted, plain
from batchfx.errors import UsageError
from batchfx.execution.downloads import FORMATS, faulty_rows
from batchfx.execution.edits import exclude
from batchfx.execution.reports import report


@click.command(
    "download",
    epilog=examples(
        "batchfx download 3 -o faulty.xlsx --format xlsx",
        "batchfx download 3 > faulty.csv",
        "batchfx rerun 3 faulty.csv",
    ),
)
@batch_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="What to write; as the file to be written is called, or CSV.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; it must not exist yet.",
)
@tenant_option
@global_options
@click.pass_obj
def download_command(
    settings: Settings,
    *,
    number: int,
    form: str | None,
    output: Path | None,
    tenant: str | None,
) -> None:
    """Write the faulty rows of BATCH, each with what is wrong, to be corrected.

    'batchfx rerun BATCH FILE' takes the corrected file. Sensitive columns are left out;
    their values stay as they are.
    """
    with database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        report(store, key)
        discovery.load(settings)
        pieces = faulty_rows(store, key, form or _format_of(output))
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
        else:
            _write(output, pieces)
            click.echo(f"Wrote {plain(str(output))}.")


@click.command(
    "exclude",
    epilog=examples("batchfx exclude 3 17 42 --reason 'a test customer'"),
)
@batch_argument
@click.argument(
    "rows", metavar="ROW...", nargs=-1, required=True, type=click.IntRange(min=1)
)
@click.option("--reason", help="Why; it is kept with the rows.")
@tenant_option
@json_option
@global_options
@click.pass_obj
def exclude_command(
    settings: Settings,
    *,
    number: int,
    rows: tuple[int, ...],
    reason: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """Decide that rows of BATCH, by their numbers, are never imported."""
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        report(store, key)
        discovery.load(settings)
        excluded = exclude(store, key, rows, person(), reason)
        left = report(store, key)
        if not as_json:
            screen.say(f"{counted(excluded, 'row')} of batch {number} excluded.")
    if as_json:
        records.print_json(records.of_report(left))


def _format_of(output: Path | None) -> str:
    """Return the format that a file's name says, CSV where it says none."""
    named = "" if output is None else output.suffix.lower().lstrip(".")
    return named if named in FORMATS else "csv"


def _write(output: Path, pieces: Iterator[bytes]) -> None:
    try:
        with output.open("xb") as file:
            for piece in pieces:
                file.write(piece)
    except FileExistsError:
        message = f"'{output}' exists already. Name another file, or remove it first."
        raise UsageError(message) from None
    except OSError as error:
        message = f"'{output}' can't be written: {error.strerror}."
        raise UsageError(message) from error
