"""The command that follows a batch wherever it is run."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

import click

from batchfx.cli import database
from batchfx.cli.follow import exit_code
from batchfx.cli.invocation import command
from batchfx.cli.languages import phrase
from batchfx.cli.options import (
    Settings,
    batch_argument,
    examples,
    global_options,
    json_option,
    tenant_option,
)
from batchfx.cli.progress import Bar, line_of
from batchfx.cli.records import json_line
from batchfx.cli.screen import Screen, person_screen
from batchfx.cli.summary import show_headline
from batchfx.cli.text import cut, moment, timestamp
from batchfx.cli.words import WAITING, tally_table
from batchfx.errors import StoreError
from batchfx.execution.follow import cursor_after, follow
from batchfx.execution.reports import Report, report
from batchfx.model.events import Event, EventKind, Standing
from batchfx.model.progress import Progress
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

POLL = 0.5  # seconds; one person watches, and wants to see it move
PATIENCE = 60.0  # seconds for a database that was there to come back
EXIT_INTERRUPTED = 130


@click.command(
    "watch",
    epilog=examples("batchfx watch 3", "batchfx watch 3 --json > events.jsonl"),
)
@batch_argument
@click.option(
    "--from",
    "cursor",
    metavar="CURSOR",
    help="Begin after the event with this cursor, as --json gave it.",
)
@tenant_option
@json_option
@global_options
@click.pass_obj
def watch_command(
    settings: Settings,
    *,
    number: int,
    cursor: str | None,
    tenant: str | None,
    as_json: bool,
) -> int:
    """Follow BATCH until it ends, whoever runs it: what has happened, then what comes.

    In a pipe each event is a line, with --json one of JSON. Ends with the exit code
    that the import has; Ctrl-C ends the watching, not the batch.
    """
    output = sys.stdout
    with person_screen(as_json=as_json) as screen, database.found(settings) as store:
        key = database.key_of(store, number, tenant)
        shown = _shown(screen, key, output if as_json else None)
        watching = Watching(settings, screen, store, key, cursor)
        try:
            with _ctrl_c_raises():
                for event in watching.events():
                    shown.tell(event)
        except KeyboardInterrupt:
            shown.end()
            watching.say_it_goes_on()
            return EXIT_INTERRUPTED
        finally:
            shown.end()
        ended = report(store, key)
        shown.summarise(ended)
        return exit_code(ended)


@contextlib.contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Let Ctrl-C come as an exception, where it would end the process unheard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class Watching:
    """A batch that is followed; *cursor* is where its follower has come to."""

    settings: Settings
    screen: Screen
    store: Store
    key: BatchKey
    cursor: str | None
    _is_told: bool = False

    def events(self) -> Iterator[Event]:
        """Yield what happens; wait for a database that is away for a while."""
        last_heard = time.monotonic()
        while True:
            try:
                for event in follow(
                    self.store, self.key, self.cursor, wait=self._wait, poll=POLL
                ):
                    self.cursor = cursor_after(self.key, event)
                    last_heard = time.monotonic()
                    yield event
            except StoreError as error:
                if time.monotonic() - last_heard > PATIENCE:
                    raise
                self._say_once(f"{error} Still trying.")
                time.sleep(POLL)
            else:
                return

    def say_it_goes_on(self) -> None:
        """Say that only the watching has ended, and how to take it up again."""
        number = self.key.number
        place = () if self.cursor is None else ("--from", self.cursor)
        again = command(self.settings, "watch", str(number), *place)
        click.echo(
            f"\nNo longer watching; batch {number} goes on. To watch it again:\n"
            f"  {again}",
            err=True,
        )

    def _wait(self, seconds: float) -> None:
        number = self.key.number
        found = report(self.store, self.key)
        if found.is_waiting:
            if found.why:
                self._say_once(f"Batch {number} {WAITING[found.wait]}. {found.why}")
        elif found.is_orphaned:
            again = command(self.settings, "rerun", str(number))
            self._say_once(f"Nobody is at work on batch {number}. To go on:\n  {again}")
        time.sleep(seconds)

    def _say_once(self, text: str) -> None:
        if not self._is_told:
            click.echo(text, err=True)
        self._is_told = True


class Shown(Protocol):
    """How events are shown."""

    def tell(self, event: Event) -> None:
        """Show an event."""

    def end(self) -> None:
        """Leave what was told last."""

    def summarise(self, ended: Report) -> None:
        """Show how the batch ended."""


def _shown(screen: Screen, key: BatchKey, output: TextIO | None) -> Shown:
    if output is not None:
        return Records(output, key)
    if screen.is_terminal and not screen.is_dumb_terminal:
        return LiveBar(screen)
    return EventLines(screen)


class Records:
    """Each event as a line of JSON, with the cursor to go on from after it."""

    def __init__(self, output: TextIO, key: BatchKey) -> None:
        self._output, self._key = output, key

    def tell(self, event: Event) -> None:
        """Write the event, at once."""
        record = {
            "batch": self._key.number,
            "seq": event.seq,
            "at": timestamp(event.at),
            "kind": str(event.kind),
            "cursor": cursor_after(self._key, event),
            "content": event.content,
        }
        self._output.write(json_line(record, self._output))
        self._output.flush()

    def end(self) -> None:
        """Do nothing: every line is out."""

    def summarise(self, ended: Report) -> None:
        """Do nothing: the last event said it."""


class EventLines:
    """Each event as a line that people and programs can read."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self._course = screen, Course()

    def tell(self, event: Event) -> None:
        """Write the event."""
        self._screen.say(event_line(event, self._course.progress(event)))

    def end(self) -> None:
        """Do nothing: every line is out."""

    def summarise(self, ended: Report) -> None:
        """Do nothing: the last event said it."""


class LiveBar:
    """The bar of an import, and above it what else has happened."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self._course = screen, Course()
        self._bar = Bar(screen, lambda: False)
        self._bar.begin()
        self._is_live = True

    def tell(self, event: Event) -> None:
        """Move the bar, or write what has happened above it."""
        progress = self._course.progress(event)
        if progress is not None:
            self._bar.tell(progress)
        if event.kind is not EventKind.PROGRESSED:
            self._screen.say(event_line(event, progress), "dim")

    def end(self) -> None:
        """Draw the bar a last time."""
        if self._is_live:
            self._bar.end()
        self._is_live = False

    def summarise(self, ended: Report) -> None:
        """Show how the batch ended and how its rows did."""
        self._screen.say()
        show_headline(self._screen, ended)
        self._screen.say()
        self._screen.show(tally_table(ended))


class Course:
    """How far a batch has come since the first event of an attempt that was seen."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None

    def progress(self, event: Event) -> Progress | None:
        """Return how far it was at *event*, if that tells."""
        standing = Standing.of(event.content)
        if standing is None:
            return None
        if self._begun is None or event.kind in {EventKind.STARTED, EventKind.STAGED}:
            self._begun = event.at, standing.examined
        at, before = self._begun
        return Progress(
            standing.state, standing.tally, standing.examined, before, event.at - at
        )


def event_line(event: Event, progress: Progress | None) -> str:
    """Return when, what and how far, on one line."""
    parts = [] if progress is None else [line_of(progress)]
    parts += [f"{name} {_written(value)}" for name, value in _others(event.content)]
    what = phrase("event", str(event.kind).replace("_", " "))
    return f"{moment(event.at)}  {what}{': ' if parts else ''}{', '.join(parts)}"


def _others(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    standing = Standing.of(content)
    told = set() if standing is None else set(standing.content())
    return [pair for pair in content.items() if pair[0] not in told]


def _written(value: Any) -> str:
    return cut(value if isinstance(value, str) else json.dumps(value), 200)
