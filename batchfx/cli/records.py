"""Batches, rows and issues as JSON, the same names in every command."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from batchfx.cli.text import timestamp
from batchfx.cli.words import state_of
from batchfx.execution.reports import Difference, Report
from batchfx.execution.views import RowView
from batchfx.model.issues import Issue
from batchfx.model.verdicts import Tally

LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def print_json(value: object) -> None:
    """Write *value* on standard output, on one line."""
    sys.stdout.write(_text(value, sys.stdout) + "\n")


def json_line(value: object, output: TextIO) -> str:
    """Return *value* as a line of JSON that the encoding of *output* can hold."""
    return _text(value, output) + "\n"


def stream_json(output: TextIO, values: Iterable[object]) -> None:
    """Write *values* as an array, one on each line, as they come."""
    separator = "[\n"
    for value in values:
        output.write(separator + _text(value, output))
        separator = ",\n"
    output.write("[]\n" if separator == "[\n" else "\n]\n")


def _text(value: object, output: TextIO) -> str:
    """Return *value* as JSON that the encoding of *output* can hold."""
    is_unicode = output.encoding.lower().startswith(("utf-8", "utf8"))
    text = json.dumps(value, ensure_ascii=not is_unicode, default=str)
    return on_one_line(text)


def on_one_line(text: str) -> str:
    """Return JSON text without what many programs take for the end of a line.

    JSON allows these characters in strings as they are: next line, and the separators
    of lines and of paragraphs. All other controls are escaped already.
    """
    if text.isascii():
        return text
    return LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def of_report(report: Report) -> dict[str, Any]:
    """Return what is known of the batch."""
    batch = report.batch
    return {
        "batch": batch.key.number,
        "state": state_of(report),
        "total": report.tally.total,
        "tally": report.tally.counts(),
        "attempt": batch.attempt,
        "seconds": round(report.seconds, 3),
        "importer": batch.importer,
        "tenant": batch.key.tenant,
        "source": batch.source_name,
        "mapping": batch.saved_mapping,
        "reason": batch.reason,
        "dry_run": batch.dry_run,
        "blank": batch.blank,
        "created_at": timestamp(batch.created_at),
        "started_at": timestamp(batch.started_at),
        "ended_at": timestamp(batch.ended_at),
        "file_issues": [of_issue(issue) for issue in report.file_issues],
    }


def of_row(view: RowView) -> dict[str, Any]:
    """Return the row with its values and its issues."""
    return {
        "row": view.row,
        "verdict": view.verdict,
        "record_id": view.record_id,
        "reason": view.reason,
        "attempt": view.attempt,
        "values": dict(view.values),
        "issues": [of_issue(issue) for issue in view.issues],
    }


def of_issue(issue: Issue) -> dict[str, Any]:
    """Return every part of the issue."""
    return {
        each.name: getattr(issue, each.name) for each in dataclasses.fields(issue)
    } | {"parameters": dict(issue.parameters)}


def of_recount(
    number: int, tally: Tally, differences: list[Difference]
) -> dict[str, Any]:
    """Return what was counted, and what is kept otherwise."""
    return {
        "batch": number,
        "total": tally.total,
        "tally": tally.counts(),
        "differences": [
            {
                "chunk": each.stored.ordinal,
                "first_row": each.stored.first_row,
                "last_row": each.stored.last_row,
                "stored": each.stored.tally.counts(),
                "counted": each.counted.counts(),
            }
            for each in differences
        ],
    }
