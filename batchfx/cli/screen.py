"""What a person is shown: on a terminal or, without colour and cuts, in a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from batchfx.cli.languages import message, number, words
from batchfx.cli.text import MESSAGE, cut, plain
from batchfx.model.issues import Level
from batchfx.model.verdicts import Verdict
from batchfx.store.outcomes import IssueGroup

PIPE_WIDTH = 10_000  # columns: nothing is wrapped where no terminal wraps it
NUMBER_WIDTH = 9  # columns: up to 9,999,999 rows stand below each other
STYLES = {
    Verdict.CREATED: "green",
    Verdict.UPDATED: "green",
    Verdict.UNCHANGED: "",
    Verdict.SKIPPED: "",
    Verdict.INVALID: "yellow",
    Verdict.FAILED: "red",
    Verdict.UNKNOWN: "magenta",
}


class Screen(Console):
    """A console that falls silent, and ends nothing, when nobody reads it any more."""

    def on_broken_pipe(self) -> None:
        """Write no more; the import that is told of goes on."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())

    def say(self, text: str | Text = "", style: str | None = None) -> None:
        """Write *text*, which may come from a file or from the application.

        What the command line itself says is written in the language that it speaks.
        """
        line = Text(plain(words(text))) if isinstance(text, str) else text
        self.print(line, style=style, soft_wrap=not self.is_terminal)

    def show(self, table: RenderableType) -> None:
        """Write *table*, without blanks at the ends of lines where none are seen."""
        if self.is_terminal:
            self.print(table)
            return
        with self.capture() as captured:
            self.print(table)
        lines = (line.rstrip() for line in captured.get().splitlines())
        self.say("\n".join(lines))


def screen_on(stream: TextIO) -> Screen:
    """Return the screen that *stream* leads to."""
    width = None if stream.isatty() else PIPE_WIDTH
    return Screen(file=stream, width=width, highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def person_screen(*, as_json: bool) -> Iterator[Screen]:
    """Give the screen for what a person reads: standard error when JSON is asked for.

    What the application's own code prints goes the same way, so that standard output
    holds nothing but the JSON.
    """
    if not as_json:
        yield screen_on(sys.stdout)
        return
    with contextlib.redirect_stdout(sys.stderr):
        yield screen_on(sys.stderr)


def columns(*headings: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table of the look that all tables have."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(
            Text(words(heading)),
            justify="right" if heading in right else "left",
            overflow="fold",
        )
    return table


def causes(
    groups: list[IssueGroup], headers: Mapping[str, str], *, suggestions: bool = False
) -> Table:
    """Return the table of *groups*: how many rows, what is wrong, and where first.

    *headers* are the fields' names in the file.
    """
    table = columns("Rows", "Field", "Problem", right=("Rows",))
    table.columns[0].min_width = NUMBER_WIDTH
    table.columns[1].no_wrap = True
    for group in groups:
        table.add_row(
            Text(number(group.count)),
            Text(cut(headers.get(group.field or "", group.field or ""))),
            _problem(group, suggestions=suggestions),
        )
    return table


def _problem(group: IssueGroup, *, suggestions: bool) -> Text:
    is_warning = group.level is Level.WARNING
    text = Text(f"{words('Warning')}: " if is_warning else "")
    text.append(cut(message(group), MESSAGE))
    where = words("the file" if group.row is None else f"row {group.row:,}")
    value = f": {cut(group.value)}" if group.value else ""
    text.append(f"\n{where}{value} · {plain(group.code)}", style="dim")
    if suggestions and group.suggestion:
        meant = words(f"did you mean '{cut(group.suggestion)}'?")
        text.append(f"\n{meant}", style="dim")
    return text
