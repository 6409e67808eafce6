"""Batches, rows and counts as a person reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from batchfx.cli.languages import fate, message, number, phrase, words
from batchfx.cli.options import Settings
from batchfx.cli.screen import NUMBER_WIDTH, STYLES, Screen, columns
from batchfx.cli.summary import show_file_issues, show_headline, show_next
from batchfx.cli.text import MESSAGE, counted, cut, duration, minute, moment, one_line
from batchfx.cli.words import is_active, state_of, tally_table
from batchfx.execution.reports import Difference, Report
from batchfx.execution.views import PENDING, RowView
from batchfx.model.verdicts import Tally, Verdict
from batchfx.store.batches import Batch


def show_batches(screen: Screen, reports: list[Report]) -> None:
    """Show one batch on each line, the newest first."""
    screen.say()
    if not reports:
        screen.say("There are no batches yet.")
        return
    right = ("Batch", "Rows", "Faulty")
    table = columns(
        "Batch", "State", *right[1:], "Started", "Importer", "Source", right=right
    )
    for each in reports:
        table.add_row(*map(Text, _batch_cells(each)))
    for column in table.columns[:-1]:
        column.no_wrap = True
    screen.show(table)


def _batch_cells(report: Report) -> list[str]:
    batch = report.batch
    return [
        str(batch.key.number),
        phrase("batch_state", state_of(report)),
        number(report.tally.total),
        number(report.tally.faulty),
        minute(batch.started_at),
        batch.importer,
        one_line(batch.source_name),
    ]


def show_batch(screen: Screen, settings: Settings, report: Report) -> None:
    """Show everything about one batch."""
    screen.say()
    show_headline(screen, report)
    screen.say()
    table = Table.grid(padding=(0, 3, 0, 0))
    for name, value in _facts(report):
        table.add_row(Text(f"  {words(name)}", "dim"), Text(one_line(value)))
    screen.show(table)
    screen.say()
    screen.show(tally_table(report))
    show_file_issues(screen, report)
    show_next(screen, settings, report, "CORRECTED-FILE")


def _facts(report: Report) -> list[tuple[str, str]]:
    batch = report.batch
    facts = [
        ("Importer", batch.importer),
        ("Source", batch.source_name),
        ("Tenant", batch.key.tenant),
        *_mapping(batch),
        ("Attempt", str(batch.attempt)),
        ("Started", moment(batch.started_at)),
    ]
    if batch.ended_at is not None:
        facts.append(
            (
                "Ended",
                words(f"{moment(batch.ended_at)}, after {duration(report.seconds)}"),
            )
        )
    if is_active(report) and report.at_work:
        host, number, *_ = report.at_work[0].worker.split("/")
        process = number.partition(".")[0]  # the rest is when it began
        facts.append(("Run by", words(f"process {process} on {host}")))
    return facts


def _mapping(batch: Batch) -> list[tuple[str, str]]:
    saved = batch.saved_mapping
    return [("Mapping", f"{saved['name']}@{saved['version']}")] if saved else []


def show_rows(
    screen: Screen,
    views: Iterable[RowView],
    headers: Mapping[str, str],
    wanted: Mapping[str, str | None],
) -> None:
    """Show one row on each line, as they come; *headers* name the fields.

    *wanted* is what the rows were asked for by.
    """
    screen.say()
    views = iter(views)
    first = next(views, None)
    if first is None:
        screen.say(_no_rows(wanted))
        return
    width, end = _width(), words("Record or issue")
    heading = f"{words('Row'):>{NUMBER_WIDTH}}  {words('Verdict'):<{width}}  {end}"
    screen.say(heading, "dim")
    show = _show_on_terminal if screen.is_terminal else _write
    for view in itertools.chain([first], views):
        show(screen, view, headers, width)


def _no_rows(wanted: Mapping[str, str | None]) -> str:
    given = [name for name, value in wanted.items() if value]
    if given == ["verdict"]:
        return words(f"No row is {wanted['verdict']}.")
    return words("No row is as you asked." if given else "There are no rows.")


def _write(
    screen: Screen, view: RowView, headers: Mapping[str, str], width: int
) -> None:
    """Write the row without rich, which takes far longer than to find it."""
    verdict = f"{fate(view.verdict):<{width}}"
    line = f"{number(view.row):>{NUMBER_WIDTH}}  {verdict}  {_end(view, headers)}"
    screen.file.write(f"{line.rstrip()}\n")


def _show_on_terminal(
    screen: Screen, view: RowView, headers: Mapping[str, str], width: int
) -> None:
    line = Text(f"{number(view.row):>{NUMBER_WIDTH}}  ")
    line.append(f"{fate(view.verdict):<{width}}", _style(view.verdict))
    line.append(f"  {_end(view, headers)}")
    line.truncate(screen.width, overflow="ellipsis")
    screen.say(line)


def _width() -> int:
    """Return how wide the longest verdict is, in the language that is spoken."""
    return max(len(fate(name)) for name in (*Verdict, PENDING))


def _style(verdict: str) -> str:
    return "dim" if verdict == PENDING else STYLES[Verdict(verdict)]


def _end(view: RowView, headers: Mapping[str, str]) -> str:
    if not view.issues:
        return cut(view.record_id or view.reason or "", MESSAGE)
    first, more = view.issues[0], len(view.issues) - 1
    value = f"'{cut(first.value)}'" if first.value else ""
    field = cut(headers.get(first.field, first.field)) if first.field else ""
    where = " ".join(part for part in (field, value) if part)
    others = words(f" (and {more} more)" if more else "")
    meant = f" Did you mean '{cut(first.suggestion)}'?" if first.suggestion else ""
    meant = words(meant)
    told = ": ".join(part for part in (where, cut(message(first), MESSAGE)) if part)
    return f"{told}{meant}{others}"


def show_recount(
    screen: Screen, number: int, tally: Tally, differences: list[Difference]
) -> None:
    """Say whether what is kept is what was counted, and where it is not."""
    screen.say()
    if not differences:
        counts = [words(f"{n:,} {name}") for name, n in tally.counts().items() if n]
        rows = counted(tally.total, "row")
        were = "was" if tally.total == 1 else "were"
        screen.say(f"Batch {number}: {rows} {were} counted; all agrees.")
        screen.say(f"  {', '.join(counts)}")
        return
    screen.say(f"Batch {number}: what is kept is not what the rows say.", "bold")
    for each in differences:
        screen.say(
            f"  chunk {each.stored.ordinal}, rows {each.stored.first_row:,} to "
            f"{each.stored.last_row:,}: {_differing(each)}"
        )


def _differing(difference: Difference) -> str:
    stored, found = difference.stored.tally.counts(), difference.counted.counts()
    return ", ".join(
        f"{name} is kept as {stored[name]:,}, the rows say {found[name]:,}"
        for name in stored
        if stored[name] != found[name]
    )
