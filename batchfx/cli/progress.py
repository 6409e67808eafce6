"""How far a run is: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from batchfx.cli.interruption import STOPPING
from batchfx.cli.languages import words
from batchfx.cli.screen import Screen, screen_on
from batchfx.cli.text import clock, counted, duration, percent
from batchfx.cli.words import counts_line
from batchfx.model.progress import Progress
from batchfx.model.states import ACTIVE

FRAMES = 5  # a second
LINE_EVERY = 2.0  # seconds
BAR_WIDTHS = 8, 32  # columns, at least and at most
BESIDE = 66  # columns that the longest text beside the bar needs


class Display(Protocol):
    """What shows how far a run is."""

    def begin(self) -> None:
        """Show that the run has begun."""

    def tell(self, progress: Progress) -> None:
        """Show how far it is."""

    def end(self) -> None:
        """Leave what was told last on the screen."""


def display(is_stopping: Callable[[], bool]) -> Display:
    """Return the display that suits standard error."""
    screen = screen_on(sys.stderr)
    if not sys.stderr.isatty() or screen.is_dumb_terminal:
        return Lines(screen)
    return Bar(screen, is_stopping)


class Bar:
    """The live display: a bar with rate and time left, the counts below it."""

    def __init__(self, screen: Screen, is_stopping: Callable[[], bool]) -> None:
        self._screen, self._is_stopping = screen, is_stopping
        self._told: tuple[Progress, float] | None = None
        self._live = Live(
            self,
            console=screen,
            refresh_per_second=FRAMES,
            redirect_stdout=sys.stdout.isatty(),
        )

    def begin(self) -> None:
        """Draw the bar, and again a few times a second from now on."""
        self._screen.say()
        self._live.start(refresh=True)

    def tell(self, progress: Progress) -> None:
        """Take in how far the run is; it is drawn with the next frame."""
        self._told = progress, time.monotonic()

    def end(self) -> None:
        """Draw the bar a last time, and give the terminal back."""
        self._live.stop()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        """Draw what is to be seen now."""
        del console
        least, most = BAR_WIDTHS
        width = max(least, min(most, options.max_width - BESIDE))
        if self._told is None:
            yield _line(width, 0.0, "reading")
            return
        progress, at = self._told
        yield _line(width, share_of(progress), *_parts(progress, at))
        if progress.state not in ACTIVE:
            return
        if progress.tally.decided:
            yield Text("  ").append_text(counts_line(progress.tally))
        if self._is_stopping():
            yield Text(f"  {words(STOPPING)}", "yellow")


def _parts(progress: Progress, at: float) -> list[str]:
    """Return what stands beside the bar, in columns that don't jump."""
    total = f"{progress.tally.total:,}"
    rate = f"{progress.rate:>7,.0f} rows/s" if progress.rate else ""
    if not progress.is_counted:
        return [f"reading {total} rows", rate]
    share = share_of(progress)
    if share >= 1:
        return [f"{percent(share)}%", counted(progress.tally.total, "row")]
    rows = f"{progress.reached:>{len(total)},} of {total}"
    if progress.state not in ACTIVE:
        return [f"{percent(share):>3}%", rows]
    left = progress.seconds_left
    since = time.monotonic() - at
    told = f"{clock(max(0.0, left - since))} left" if left is not None else ""
    return [f"{percent(share):>3}%", rows, rate, told]


def _line(width: int, share: float, *parts: str) -> Table:
    bar = ProgressBar(
        total=1.0,
        completed=share,
        width=width,
        complete_style="green",
        finished_style="green",
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2 + len(parts)):
        grid.add_column(no_wrap=True)
    grid.add_row("", bar, *(Text(_padded(part)) for part in parts))
    return grid


def _padded(part: str) -> str:
    """Return what stands beside the bar in words, as wide as it was at least."""
    text = part.lstrip()
    return f"{words(text):>{len(part)}}" if text != part else words(part)


def share_of(progress: Progress) -> float:
    """Return what part is done; nothing while the rows are still read."""
    return progress.share if progress.is_counted else 0.0


class Lines:
    """Progress where nobody watches: a line every other second, and the last one."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said = time.monotonic()

    def begin(self) -> None:
        """Count the seconds to the first line from now."""
        self._said = time.monotonic()

    def tell(self, progress: Progress) -> None:
        """Write a line if it is time for one, or the run has ended."""
        now = time.monotonic()
        if progress.state in ACTIVE and now - self._said < LINE_EVERY:
            return
        self._said = now
        self._screen.say(line_of(progress))

    def end(self) -> None:
        """Do nothing: the last line was written when the run had ended."""


def line_of(progress: Progress) -> str:
    """Return how far the run is, on one line."""
    tally = progress.tally
    rate = f"{progress.rate:,.0f} rows/s" if progress.rate else ""
    if not progress.is_counted:
        return _joined(f"reading, {counted(tally.total, 'row')}", rate)
    share = share_of(progress)
    rows = f"{percent(share)}%, {progress.reached:,} of {counted(tally.total, 'row')}"
    left = progress.seconds_left if progress.state in ACTIVE else None
    told = f"{duration(left)} left" if left is not None else ""
    counts = [f"{tally.counts()[name]:,} {name}" for name in _named(progress)]
    return _joined(rows, rate, told, *counts)


def _named(progress: Progress) -> list[str]:
    counts = progress.tally.counts()
    return [name for name, count in counts.items() if count and name != "pending"]


def _joined(*parts: str) -> str:
    return ", ".join(words(part) for part in parts if part)
