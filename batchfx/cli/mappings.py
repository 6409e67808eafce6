"""The command that shows saved mappings."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import click
from rich.text import Text

from batchfx.cli import database, records
from batchfx.cli.options import (
    Settings,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, columns, person_screen
from batchfx.cli.text import minute, one_line, timestamp
from batchfx.execution.mappings import listing, show
from batchfx.store.mappings import SavedMapping


@click.command(
    "mappings",
    epilog=examples(
        "batchfx mappings",
        "batchfx mappings customers",
        "batchfx mappings customers crm",
    ),
)
@click.argument("type_name", metavar="[TYPE]", required=False)
@click.argument("name", metavar="[NAME[@VERSION]]", required=False)
@tenant_option
@json_option
@global_options
@click.pass_obj
def mappings_command(
    settings: Settings,
    *,
    type_name: str | None,
    name: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """List the mappings that were saved, of all importers or of TYPE; show NAME."""
    owner = database.tenant_or_default(tenant)
    with person_screen(as_json=as_json) as screen:
        if type_name is not None and name is not None:
            with database.found(settings) as store:
                one = show(store, owner, type_name, name)
            record: Any = _record(one)
            if not as_json:
                _show(screen, one)
        else:
            found = _listed(settings, owner, type_name)
            record = [_record(each) for each in found]
            if not as_json:
                _list(screen, found, type_name)
    if as_json:
        records.print_json(record)


def _listed(
    settings: Settings, tenant: str, type_name: str | None
) -> list[SavedMapping]:
    with contextlib.ExitStack() as stack:
        if not database.exists(settings):
            return []
        store = stack.enter_context(database.opened(settings))
        return list(listing(store, tenant, type_name))


def _record(mapping: SavedMapping) -> dict[str, Any]:
    return {
        "importer": mapping.importer,
        "name": mapping.name,
        "version": mapping.version,
        "tenant": mapping.tenant,
        "saved_at": timestamp(mapping.saved_at),
        **mapping.content,
    }


def _list(screen: Screen, found: list[SavedMapping], type_name: str | None) -> None:
    if not found:
        owner = f" of '{type_name}'" if type_name else ""
        screen.say(
            f"There are no mappings{owner} yet; 'import --save-mapping NAME' saves one."
        )
        return
    table = columns("Importer", "Mapping", "Columns", "Saved", right=("Columns",))
    for each in found:
        mapped = [name for name in each.content["columns"].values() if name]
        table.add_row(
            Text(each.importer),
            Text(f"{each.name}@{each.version}"),
            Text(f"{len(mapped):,}"),
            Text(minute(each.saved_at)),
        )
    screen.show(table)


def _show(screen: Screen, mapping: SavedMapping) -> None:
    title = f"{mapping.name}@{mapping.version} of {mapping.importer}"
    screen.say(f"{title}, saved {minute(mapping.saved_at)}", "bold")
    screen.say()
    table = columns("Column", "Field")
    for header, name in mapping.content["columns"].items():
        table.add_row(Text(one_line(header)), Text(name or "left out"))
    for header in mapping.content["others"]:
        table.add_row(Text(one_line(header)), Text("unknown"))
    screen.show(table)
    for name, value in mapping.content["options"].items():
        shown = json.dumps(value, ensure_ascii=False)
        screen.say(one_line(f"--set {name}={shown}"))
