"""A run followed from its first row to its summary, whichever command began it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from batchfx.cli import database
from batchfx.cli.interruption import Interruption
from batchfx.cli.invocation import command
from batchfx.cli.options import Settings
from batchfx.cli.progress import Display, display
from batchfx.cli.screen import Screen
from batchfx.errors import LeaseLostError, StoreError
from batchfx.execution.control import Watch
from batchfx.execution.prepare import INTERRUPTED
from batchfx.execution.reports import Report
from batchfx.model.progress import Progress
from batchfx.model.states import BatchState
from batchfx.store.batches import Batch

EXIT_WELL = 0
EXIT_BROKEN = 1
EXIT_FAULTY = 3
BROKEN = frozenset({BatchState.FAILED, BatchState.CANCELLED})

Work = Callable[[Watch], Report]


@dataclass
class Followed:
    """What was seen of a run, and where it is shown."""

    settings: Settings
    screen: Screen
    display: Display
    batch: Batch | None = None
    progress: Progress | None = None

    @property
    def resume(self) -> str:
        """The command that goes on with the batch."""
        number = "BATCH" if self.batch is None else str(self.batch.key.number)
        return command(self.settings, "rerun", number)

    def announce(self, batch: Batch) -> None:
        """Say which batch is at work."""
        self.batch = batch
        self.screen.say(heading(batch), "bold")
        self.screen.say(f"Database: {database.place(self.settings.url)}", "dim")
        self.display.begin()

    def tell(self, progress: Progress) -> None:
        """Show how far the batch is, if there is anything to do in it."""
        if self.batch is not None:
            self.progress = progress
            self.display.tell(progress)


def follow(
    settings: Settings,
    screen: Screen,
    work: Work,
    at_once: Callable[[Followed], None],
) -> tuple[Followed, Report, int]:
    """Do *work* while showing how far it is.

    Args:
        settings: What was said about the database.
        screen: Where a person reads.
        work: What is to be done.
        at_once: Says that a second Ctrl-C has ended it; the process ends after that.

    Returns:
        What was seen, the report and the exit code.

    """
    interruption = Interruption(lambda: at_once(followed))
    followed = Followed(settings, screen, display(interruption.is_set))
    watch = Watch(followed.tell, interruption.is_set, followed.announce)
    try:
        with interruption:
            report = work(watch)
    except (StoreError, LeaseLostError) as error:
        if followed.batch is not None:
            error.add_note(f"To go on:\n  {followed.resume}")
        raise
    finally:
        followed.display.end()
    if interruption.is_set() and was_interrupted(report):
        return followed, report, interruption.exit_code
    return followed, report, exit_code(report)


def exit_code(report: Report) -> int:
    """Return 0 when every row ended well, 3 when some did not.

    1 is for a batch that failed, was cancelled or was interrupted.
    """
    if report.batch.state in BROKEN or was_interrupted(report):
        return EXIT_BROKEN
    return EXIT_FAULTY if report.tally.faulty else EXIT_WELL


def was_interrupted(report: Report) -> bool:
    """Return True when a person stopped the run, not the number of its faults."""
    batch = report.batch
    return batch.state is BatchState.STOPPED and batch.reason == INTERRUPTED


def heading(batch: Batch) -> str:
    """Return what is about to be done."""
    number, name = batch.key.number, batch.importer
    if batch.staged:
        return f"Running batch {number} again: {batch.source_name} as {name}"
    if batch.state is not BatchState.STAGING or batch.position is not None:
        return f"Going on with batch {number}: {batch.source_name} as {name}"
    if batch.dry_run:
        return f"Checking {batch.source_name} as {name}, batch {number} (dry run)"
    return f"Importing {batch.source_name} as {name}, batch {number}"
