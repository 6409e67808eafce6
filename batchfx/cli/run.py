"""The commands that run a batch: import and rerun."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import click

from batchfx.cli import database, discovery, invocation, records
from batchfx.cli.follow import Followed, Work, follow
from batchfx.cli.given import columns_of, mapping_options, set_option, values_of
from batchfx.cli.hinting import hint
from batchfx.cli.options import (
    ChunkSize,
    Rate,
    Settings,
    batch_argument,
    detach_option,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.screen import Screen, person_screen
from batchfx.cli.summary import (
    show_file_issues,
    show_headline,
    show_next,
    show_summary,
)
from batchfx.execution.control import Options, import_source, rerun
from batchfx.execution.mappings import with_values
from batchfx.execution.reports import Report
from batchfx.execution.settings import given_of
from batchfx.files.paths import open_path
from batchfx.store.engine import Store


@click.command(
    "import",
    epilog=examples(
        "batchfx import customers customers.csv",
        "batchfx import customers customers.csv --dry-run",
        "batchfx import orders orders.xlsx --max-error-rate 5%",
        'batchfx import customers crm.csv --map "Mail=email" --save-mapping crm',
        "batchfx import customers crm.csv --mapping crm --set date_order=dmy",
    ),
)
@click.argument("type_name", metavar="TYPE")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, readable=False))
@tenant_option
@click.option("--dry-run", is_flag=True, help="Validate every row; write no record.")
@click.option(
    "--again", is_flag=True, help="Import content that was imported before once more."
)
@click.option(
    "--chunk-size",
    type=ChunkSize(),
    metavar="N",
    help="Rows that are committed together.  [default: the importer's, 5000]",
)
@click.option(
    "--max-error-rate",
    type=Rate(),
    metavar="P",
    help="Stop when more than this part of the rows is faulty: 5% or 0.05.",
)
@click.option(
    "--priority",
    type=int,
    default=0,
    metavar="N",
    help="Among batches that wait for workers, low numbers come first.  [default: 0]",
)
@detach_option
@mapping_options
@set_option
@json_option
@global_options
@click.pass_obj
def import_command(
    settings: Settings,
    /,
    *,
    type_name: str,
    file: Path,
    mapped: tuple[str, ...],
    values: tuple[str, ...],
    pairs: tuple[str, ...],
    as_json: bool,
    detached: bool,
    **chosen: Any,
) -> int:
    """Import FILE with the importer called TYPE."""
    options = Options(
        tenant=database.tenant_or_default(chosen.pop("tenant")),
        mapping=columns_of(mapped),
        settings=with_values(given_of(pairs), values_of(values)),
        **chosen,
    )
    with person_screen(as_json=as_json) as screen:
        importer = discovery.find(settings, type_name)
        with open_path(file) as source, database.opened(settings) as store:
            report, code = run(
                settings,
                screen,
                store,
                lambda watch: import_source(
                    store,
                    importer,
                    source,
                    name=file.name,
                    options=options,
                    watch=watch,
                    detached=detached,
                ),
                as_json=as_json,
            )
        if options.save_mapping is not None:
            _tell_mapping(screen, report)
    return finish(report, code, as_json=as_json)


@click.command(
    "rerun",
    epilog=examples(
        "batchfx rerun 3",
        "batchfx rerun 3 corrected.csv",
        "batchfx rerun 3 --set date_order=dmy",
    ),
)
@batch_argument
@click.argument(
    "file",
    metavar="[FILE]",
    required=False,
    type=click.Path(path_type=Path, readable=False),
)
@tenant_option
@detach_option
@set_option
@json_option
@global_options
@click.pass_obj
def rerun_command(
    settings: Settings,
    *,
    number: int,
    file: Path | None,
    tenant: str | None,
    detached: bool,
    pairs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run the rows of BATCH that are not finished again.

    Rows that are finished are never touched. With a corrected FILE, the values of its
    rows take the place of those that were read. Its rows are matched by a column 'row'
    with the row's number, or by the importer's key; a column that it has not keeps its
    values.

    What was only checked is checked again with a FILE or an answer, and imported
    without.
    """
    given = given_of(pairs)
    with person_screen(as_json=as_json) as screen:
        discovery.load(settings)
        with database.found(settings) as store:
            key = database.key_of(store, number, tenant)
            report, code = run(
                settings,
                screen,
                store,
                lambda watch: rerun(
                    store, key, file, settings=given, watch=watch, detached=detached
                ),
                as_json=as_json,
            )
    return finish(report, code, as_json=as_json)


def _tell_mapping(screen: Screen, report: Report) -> None:
    saved = report.batch.saved_mapping
    if saved is not None:
        screen.say()
        screen.say(f"The mapping is saved as {saved['name']}@{saved['version']}.")


def run(
    settings: Settings,
    screen: Screen,
    store: Store,
    work: Work,
    *,
    as_json: bool,
    corrected: str = "CORRECTED-FILE",
) -> tuple[Report, int]:
    """Do *work* and tell a person how it ended; return the report and the exit code.

    *corrected* is the file to name in the command that reruns faulty rows.
    """
    tell_end = functools.partial(_tell_end, as_json=as_json)
    followed, report, code = follow(settings, screen, work, tell_end)
    if as_json:
        show_headline(screen, report)
        if report.is_waiting:
            hint(screen)
    elif report.is_waiting:
        hint(screen)
        show_headline(screen, report)
        screen.say("To follow it:")
        number = str(report.key.number)
        screen.say(f"  {invocation.command(settings, 'watch', number)}", "bold")
    elif followed.batch is None:
        show_headline(screen, report)
        screen.say("Nothing was left to do.")
        show_file_issues(screen, report)
    else:
        show_summary(screen, settings, store, report, followed.progress)
        show_next(screen, settings, report, corrected)
    return report, code


def finish(report: Report, code: int, *, as_json: bool) -> int:
    """Print the report as JSON if that is asked for; return the exit code."""
    if as_json:
        records.print_json(records.of_report(report))
    return code


def _tell_end(followed: Followed, *, as_json: bool) -> None:
    """Say that the run was ended at once, and how it goes on."""
    screen, message = followed.screen, "Ended before any row was read."
    followed.display.end()
    if followed.batch is not None:
        message = "Ended at once; what was committed is kept."
    if as_json and sys.__stdout__ is not None:
        error = {"code": "interrupted", "message": message}
        print(json.dumps({"error": error}), file=sys.__stdout__, flush=True)
    screen.say()
    screen.say(message)
    if followed.batch is not None:
        screen.say("To go on:")
        screen.say(f"  {followed.resume}", "bold")
