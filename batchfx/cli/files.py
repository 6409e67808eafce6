"""The commands that look at a file without an importer: inspect and check."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click
from rich.text import Text

from batchfx.cli import file_json, file_pages, records
from batchfx.cli.follow import EXIT_BROKEN, EXIT_FAULTY, EXIT_WELL
from batchfx.cli.options import Settings, examples, json_option, language_option
from batchfx.cli.screen import Screen, person_screen
from batchfx.cli.text import one_line
from batchfx.errors import SourceError
from batchfx.execution.checking import (
    Account,
    Survey,
    issue_of_source,
    portions,
    survey,
)
from batchfx.execution.inspecting import Sight, look_at
from batchfx.execution.row_models import stated_columns
from batchfx.execution.settings import given_of, settings_of
from batchfx.files.paths import open_path
from batchfx.model.settings import Settings as FileSettings
from batchfx.pipeline.validate import Validated

FIRST_ROWS = 5

file_argument = click.argument(
    "file", metavar="FILE", type=click.Path(path_type=Path, readable=False)
)
set_option = click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="How to read the file: decimal=, or null_tokens.score=N/A for one column; "
    "may be repeated.",
)
options_option = click.option(
    "--options",
    "options_file",
    metavar="FILE.json",
    type=click.Path(path_type=Path, readable=False),
    help="The same in a file, as a JSON object.",
)


@click.command(
    "inspect",
    epilog=examples(
        "batchfx inspect orders.xls", "batchfx inspect orders.csv --set encoding=cp1250"
    ),
)
@file_argument
@options_option
@set_option
@json_option
@language_option
@click.pass_obj
def inspect_command(
    settings: Settings | None,
    /,
    *,
    file: Path,
    options_file: Path | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show what FILE is, how it would be read and why, and its first rows.

    Nothing is written. Whatever was found out wrongly can be said with --set.
    """
    stated = settings_of(given_of(pairs, options_file))
    with person_screen(as_json=as_json) as screen, open_path(file) as source:
        sight = look_at(source, stated, FIRST_ROWS)
        if not as_json:
            _show_sight(screen, settings or Settings(), sight, file, pairs)
    if as_json:
        records.print_json(_of_sight(sight))
    return EXIT_BROKEN if sight.damage else EXIT_WELL


@click.command(
    "check",
    epilog=examples(
        "batchfx check orders.csv",
        'batchfx check orders.csv --columns "sku:text,qty:integer,day:date"',
        "batchfx check orders.csv --set decimal=, --set date_order=dmy --json",
    ),
)
@file_argument
@click.option(
    "--columns",
    "written",
    metavar="NAME:TYPE,…",
    default="",
    help="The types of columns: text, integer, decimal, boolean, date, time, datetime "
    "or duration. Others are read as text.",
)
@options_option
@set_option
@json_option
@language_option
@click.pass_obj
def check_command(
    settings: Settings | None,
    /,
    *,
    file: Path,
    written: str,
    options_file: Path | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Read all of FILE, check every value, and write nothing.

    With --json: a line on the file, a line for each row, a line with the totals.
    """
    output = sys.stdout
    types = stated_columns(written)
    stated = settings_of(given_of(pairs, options_file))
    with (
        person_screen(as_json=as_json) as screen,
        _waiting(screen, file.name, as_json=as_json),
        _begun(file, types, stated) as check,
    ):
        if as_json:
            _print_lines(output, check)
        else:
            _show_check(screen, settings or Settings(), check, file)
    if check.survey.damage is not None:
        return EXIT_BROKEN
    return EXIT_FAULTY if check.account.faulty else EXIT_WELL


@dataclasses.dataclass(frozen=True, slots=True)
class _Check:
    """A file that is checked; no source when it can't even be opened."""

    source: BinaryIO | None
    survey: Survey
    account: Account = dataclasses.field(default_factory=Account)

    def portions(self) -> Iterator[Validated]:
        """Yield the file's rows, which are counted."""
        if self.source is None:
            return
        for validated, blank in portions(self.source, self.survey):
            self.account.add(validated, blank)
            yield validated


@contextlib.contextmanager
def _waiting(screen: Screen, name: str, *, as_json: bool) -> Iterator[None]:
    """Show that work goes on, to somebody who sits before it."""
    if as_json or not screen.is_terminal:
        yield
        return
    with screen.status(Text(f"Reading {one_line(name)}")):
        yield


@contextlib.contextmanager
def _begun(file: Path, types: dict[str, str], stated: FileSettings) -> Iterator[_Check]:
    try:
        source = open_path(file)
    except SourceError as error:
        issue = issue_of_source(error)
        yield _Check(None, Survey(stated, issues=(issue,), damage=issue))
        return
    with source:
        yield _Check(source, survey(source, types, stated))


def _print_lines(output: TextIO, check: _Check) -> None:
    lines = file_json.RowLines(check.survey, output)
    output.write(lines.line(file_json.of_survey(check.survey)))
    for validated in check.portions():
        output.writelines(lines.of_rows(validated))
    output.write(lines.line(file_json.of_account(check.account)))


def _show_check(screen: Screen, settings: Settings, check: _Check, file: Path) -> None:
    known = check.survey
    if known.layout is not None:
        file_pages.show_layout(screen, file.name, known.layout)
        file_pages.show_written(screen, known)
    file_pages.show_issues(screen, known.issues, known.titles_by_field)
    if known.issues:
        screen.say()
    for _ in check.portions():
        pass  # every row is counted
    if known.plan is not None:
        file_pages.show_account(screen, known, check.account)
    file_pages.show_next(screen, settings, known, check.account, str(file))


def _show_sight(
    screen: Screen,
    settings: Settings,
    sight: Sight,
    file: Path,
    pairs: tuple[str, ...],
) -> None:
    file_pages.show_layout(screen, file.name, sight.layout)
    file_pages.show_issues(screen, sight.issues, {})
    if sight.issues:
        screen.say()
    file_pages.show_sight(screen, sight)
    given = [word for pair in pairs for word in ("--set", pair)]
    file_pages.show_next_check(screen, settings, sight, str(file), given)


def _of_sight(sight: Sight) -> dict[str, Any]:
    notations = {each.title: each.notation for each in sight.columns}
    titles = [each.title for each in sight.columns]
    return {
        "detected": file_json.of_layout(sight.layout, titles, notations),
        "header": list(sight.layout.header),
        "columns": [
            {**dataclasses.asdict(each), "notation": each.notation.dump()}
            for each in sight.columns
        ],
        "first_rows": [{"row": n, "cells": list(cells)} for n, cells in sight.rows],
        "rows_looked_at": sight.looked_at,
        "faulty": sight.faulty,
        "confirmed": sight.confirmed,
        "issues": [file_json.of_issue(issue, {}) for issue in sight.issues],
    }
