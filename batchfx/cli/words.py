"""A batch and its tally in words."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from batchfx.cli.languages import fate, number, words
from batchfx.cli.screen import NUMBER_WIDTH, STYLES
from batchfx.cli.text import counted
from batchfx.execution.reports import Report
from batchfx.execution.waiting import Wait
from batchfx.importer import registered
from batchfx.model.states import ACTIVE, BatchState
from batchfx.model.verdicts import Tally, Verdict
from batchfx.store.batches import Batch

INTERRUPTED = "interrupted"
WAITING = {
    Wait.TURN: "waits for its turn",
    Wait.WORKER: "waits for a worker ('batchfx worker' starts one)",
    Wait.IMPORTER: "waits for a worker that has its importer",
    Wait.VERSION: "waits for a worker with the version that it was begun with",
    Wait.SWITCH: "waits until a switch is on again",
    Wait.RESTART: "was interrupted: the process that ran it has ended",
}
STATES = {
    BatchState.DRAFT: "was not started yet",
    BatchState.STAGING: "is being read",
    BatchState.RUNNING: "is running",
    BatchState.CHECKED: "was checked; nothing was written",
    BatchState.COMPLETED: "is complete",
    BatchState.STOPPED: "was stopped",
    BatchState.FAILED: "failed",
    BatchState.PAUSED: "is paused",
    BatchState.CANCELLED: "was cancelled",
}


def state_of(report: Report) -> str:
    """Return the state for machines: interrupted when its process has died.

    And waiting while it is left to workers.
    """
    if report.is_waiting:
        return "waiting"
    return INTERRUPTED if report.is_orphaned else str(report.batch.state)


def headline(report: Report) -> str:
    """Return where the batch is and how many rows need a person, as a sentence."""
    return f"Batch {report.key.number} {_state(report)}. {_account(report)}".rstrip()


def _state(report: Report) -> str:
    if report.waits_for is not None:
        return WAITING[report.waits_for]
    tally = report.tally
    was_written = tally.created or tally.updated or tally.unchanged
    if report.batch.state is BatchState.CHECKED and was_written:
        return "has edited rows that wait for a rerun"
    return STATES[report.batch.state]


def _account(report: Report) -> str:
    tally, faulty = report.tally, report.tally.faulty
    rows = counted(tally.total, "row")
    if not report.batch.staged:
        was = "was" if tally.total == 1 else "were"
        return f"{rows} {was} read so far." if tally.total else ""
    attention = f"{'needs' if faulty == 1 else 'need'} attention"
    is_checked = report.batch.state is BatchState.CHECKED
    if tally.pending and not is_checked:
        so_far = f"{tally.decided:,} of {rows} are done"
        return f"{so_far}, {faulty:,} {attention}." if faulty else f"{so_far}."
    if faulty:
        return f"{faulty:,} of {rows} {attention}."
    if tally.total == 1:
        return "The row is valid." if is_checked else "The row ended well."
    return f"All {rows} are valid." if is_checked else f"All {rows} ended well."


def tally_table(report: Report, total: str = "") -> Table:
    """Return the counts that are not zero, above their total and a note on it."""
    tally = report.tally
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", min_width=NUMBER_WIDTH)
    table.add_column()
    for verdict in Verdict:
        if tally.count(verdict):
            style, fated = STYLES[verdict], fate(verdict, tally.count(verdict))
            table.add_row(Text(number(tally.count(verdict)), style), Text(fated, style))
    if tally.pending:
        table.add_row(number(tally.pending), fate(_pending(report), tally.pending))
    noun = "row" if tally.total == 1 else "rows"
    name = Text(words(noun), "bold").append(total, "not bold")
    table.add_row(Text(number(tally.total), "bold"), name)
    return table


def _pending(report: Report) -> str:
    is_checked = report.batch.state is BatchState.CHECKED
    return "valid, not imported yet" if is_checked else "pending"


def counts_line(tally: Tally) -> Text:
    """Return the counts that are not zero on one line."""
    parts = [
        Text(words(f"{tally.count(verdict):,} {verdict}"), STYLES[verdict])
        for verdict in Verdict
        if tally.count(verdict)
    ]
    return Text("   ").join(parts)


def headers(batch: Batch) -> Mapping[str, str]:
    """Return what each field is called in the batch's file.

    A field without a column there has the name that the importer expects, if it is
    known.
    """
    importer = registered().get(batch.importer)
    columns = importer.columns if importer else {}
    names = {field: column.header(field) for field, column in columns.items()}
    read = {
        field: batch.layout.header[position]
        for field, position in batch.mapping.items()
        if position < len(batch.layout.header)
    }
    return names | {field: header for field, header in read.items() if header}


def is_active(report: Report) -> bool:
    """Return True while a living process works on the batch."""
    return report.batch.state in ACTIVE and not report.is_orphaned
