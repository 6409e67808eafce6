"""The commands that show what can be imported: types and template."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from batchfx.cli import database, discovery, records
from batchfx.cli.fields import Expected, expected, summary_of, template
from batchfx.cli.options import (
    Settings,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, columns, person_screen
from batchfx.cli.text import plain
from batchfx.errors import DeclarationError, UsageError
from batchfx.execution.mappings import show
from batchfx.importer import Importer, registered
from batchfx.pipeline.plan import plan_of


@click.command("types")
@json_option
@global_options
@click.pass_obj
def types_command(settings: Settings, *, as_json: bool) -> None:
    """Show every importer with the columns that it expects in a file."""
    with person_screen(as_json=as_json) as screen:
        discovery.load(settings)
        if not as_json:
            for importer in registered().values():
                _show(screen, importer)
    if as_json:
        records.print_json([_record(each) for each in registered().values()])


@click.command(
    "template",
    epilog=examples(
        "batchfx template customers -o customers.csv",
        "batchfx template customers --mapping crm",
    ),
)
@click.argument("type_name", metavar="TYPE")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, readable=False),
    help="Where to write it; standard output when left out.",
)
@click.option(
    "--mapping",
    metavar="NAME[@VERSION]",
    help="Name the columns as a saved mapping has them.",
)
@tenant_option
@global_options
@click.pass_obj
def template_command(
    settings: Settings,
    *,
    type_name: str,
    output: Path | None,
    mapping: str | None,
    tenant: str | None,
) -> None:
    """Write CSV with the columns that the importer TYPE expects, and an example."""
    with person_screen(as_json=output is None):
        importer = discovery.find(settings, type_name)
        headers = None
        if mapping is not None:
            owner = database.tenant_or_default(tenant)
            with database.found(settings) as store:
                saved = show(store, owner, importer.name, mapping)
            headers = {n: h for h, n in saved.content["columns"].items() if n}
    content = template(importer, headers).encode()
    if output is None:
        sys.stdout.buffer.write(content)
    else:
        _write(output, content)
        click.echo(f"Wrote {plain(str(output))}.")


def _write(path: Path, content: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        message = f"'{path}' exists already. Name another file, or remove it first."
        raise UsageError(message) from None
    except OSError as error:
        message = f"'{path}' can't be written: {error.strerror}."
        raise UsageError(message) from error


def _show(screen: Screen, importer: type[Importer[Any]]) -> None:
    title = Text(importer.name, "bold")
    if summary_of(importer):
        title.append(f"  {plain(summary_of(importer))}", "not bold dim")
    screen.say(title)
    screen.say()
    fault = _fault(importer)
    if fault:
        screen.say(f"  Error: {fault}")
    else:
        screen.show(_table(expected(importer)))
    screen.say()


def _table(fields: list[Expected]) -> Table:
    table = columns("  Column", "Type", "Required", "Unique", "Example")
    for each in fields:
        header = f"  {plain(each.header)}"
        kind = each.type if each.format is None else f"{each.type}, {each.format}"
        table.add_row(
            Text(header),
            Text(plain(kind)),
            "yes" if each.required else "",
            "yes" if each.unique else "",
            Text(plain(each.example or "")),
        )
    return table


def _record(importer: type[Importer[Any]]) -> dict[str, Any]:
    record = {"name": importer.name, "summary": summary_of(importer)}
    fault = _fault(importer)
    if fault:
        return {**record, "fields": [], "error": fault}
    fields = [dataclasses.asdict(each) for each in expected(importer)]
    return {**record, "fields": fields}


def _fault(importer: type[Importer[Any]]) -> str | None:
    """Return why the importer's row model can't work, None when it can."""
    try:
        plan_of(importer.row_model)
    except DeclarationError as error:
        return str(error)
    return None
