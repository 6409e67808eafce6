"""What became of a batch, on a page: the tally, the causes and what to do next."""

from __future__ import annotations

from batchfx.cli.invocation import command
from batchfx.cli.languages import message, words
from batchfx.cli.options import Settings
from batchfx.cli.screen import Screen, causes
from batchfx.cli.text import counted, duration
from batchfx.cli.words import headers, headline, is_active, tally_table
from batchfx.execution.reports import Report
from batchfx.execution.views import issue_groups
from batchfx.model.issues import Issue
from batchfx.model.progress import Progress
from batchfx.model.states import BatchState
from batchfx.store.engine import Store

TOP = 10  # causes shown
CORRECT = "Correct these rows in a copy of the file, then:"
LOOK = "To see and settle first what may or may not have happened outside:"
TAKE_VALID = "To import the valid rows now, without a corrected file:"


def show_summary(
    screen: Screen,
    settings: Settings,
    store: Store,
    report: Report,
    progress: Progress | None,
) -> None:
    """Show how a run ended."""
    if progress is not None:
        screen.say()
    show_headline(screen, report)
    screen.say()
    screen.show(tally_table(report, _speed(report, progress)))
    show_file_issues(screen, report)
    _show_causes(screen, settings, store, report)


def show_headline(screen: Screen, report: Report) -> None:
    """Say where the batch is, and why if that has a reason or it waits."""
    screen.say(headline(report), "bold")
    if report.batch.reason:
        screen.say(_reason(report, report.batch.reason))
    if report.is_waiting and report.why:
        screen.say(report.why)


def show_file_issues(screen: Screen, report: Report) -> None:
    """Say what was noticed about the file as a whole."""
    told = [issue for issue in report.file_issues if not _is_reason(issue, report)]
    blank = report.batch.blank
    if told or blank:
        screen.say()
    if blank:
        screen.say(
            f"{counted(blank, 'blank row')} of the file "
            f"{'was' if blank == 1 else 'were'} passed over."
        )
    for issue in told:
        screen.say(f"{words(issue.level.capitalize())}: {message(issue)}")


def show_next(
    screen: Screen, settings: Settings, report: Report, corrected: str
) -> None:
    """Say which command to run next, if there is something left to do."""
    sentence = next_step(report)
    if sentence is None:
        return
    if report.tally.unknown:
        _suggest(screen, LOOK, command(settings, "effect", "list"))
    again = ["rerun", str(report.key.number)]
    is_checked = report.batch.state is BatchState.CHECKED
    if is_checked and report.tally.faulty and report.tally.pending:
        _suggest(screen, TAKE_VALID, command(settings, *again))
    if sentence == CORRECT:
        again.append(corrected)
    _suggest(screen, sentence, command(settings, *again))


def _suggest(screen: Screen, purpose: str, line: str) -> None:
    screen.say()
    screen.say(purpose)
    screen.say(f"  {line}", "bold")


def next_step(report: Report) -> str | None:
    """Return what a rerun is for, None when there is nothing left to do."""
    tally, state = report.tally, report.batch.state
    if is_active(report) or report.is_waiting:
        return None
    if report.is_orphaned or state in {BatchState.STOPPED, BatchState.FAILED}:
        return "To go on where it ended:"
    if tally.invalid:
        return CORRECT
    if tally.faulty:
        return "To try these rows again:"
    return "To import them now:" if state is BatchState.CHECKED else None


def _show_causes(
    screen: Screen, settings: Settings, store: Store, report: Report
) -> None:
    groups = [g for g in issue_groups(store, report.key) if g.row is not None]
    if not groups:
        return
    screen.say()
    screen.show(causes(groups[:TOP], headers(report.batch)))
    more = len(groups) - TOP
    if more > 0:
        shown = command(settings, "issues", str(report.key.number))
        screen.say()
        screen.say(f"and {counted(more, 'other cause')}: {shown}")


def _speed(report: Report, progress: Progress | None) -> str:
    """Return how long the attempt took and how many rows it did a second."""
    seconds = report.seconds
    if progress is None or not seconds:
        return ""
    done = progress.examined - progress.before
    if done <= 0:
        return ""
    return words(f" in {duration(seconds)}, {done / seconds:,.0f} rows/s")


def _reason(report: Report, reason: str) -> str:
    """Return why the batch is where it is: as the issue of the file says it, if one."""
    told = (issue for issue in report.file_issues if _is_reason(issue, report))
    issue = next(told, None)
    return reason if issue is None else message(issue)


def _is_reason(issue: Issue, report: Report) -> bool:
    return issue.message == report.batch.reason
