"""What was found in a file, and its rows, as JSON: the same names in both commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, TextIO

from batchfx.cli.records import on_one_line
from batchfx.execution.checking import Account, Survey
from batchfx.model.issues import Issue
from batchfx.model.notations import Notation
from batchfx.model.sources import Layout
from batchfx.pipeline.validate import Validated

# What a person may set, and would want to see; other settings are the reader's own.
SHOWN = (
    "packing",
    "member",
    "encoding",
    "bom",
    "delimiter",
    "quote",
    "escape",
    "skip_initial_space",
    "sheet",
    "table",
    "records",
)
CONVENTIONS = ("decimal", "thousands", "date_order")
NULL = "null"

Encode = Callable[[Any], str]


def of_layout(
    layout: Layout, titles: Iterable[str], notations: Mapping[str, Notation]
) -> dict[str, Any]:
    """Return what the file was found to be; *notations* in the order of *titles*."""
    settings = {n: layout.settings[n] for n in SHOWN if n in layout.settings}
    pairs = zip(titles, notations.values(), strict=True)
    written = {title: each.dump() for title, each in pairs if each != Notation()}
    return {
        "format": layout.format,
        **settings,
        "header_row": layout.header_row,
        **{name: _agreed(written.values(), name) for name in CONVENTIONS},
        "columns": written,
        "reasons": dict(layout.reasons),
    }


def of_issue(issue: Issue, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return an issue of a row, or of the file; *titles* are its columns by field."""
    entry = {
        "column": titles.get(issue.field, issue.field) if issue.field else None,
        "code": issue.code,
        "message": issue.message,
        "suggestion": issue.suggestion,
        "level": str(issue.level),
        "value": issue.value,
        "parameters": dict(issue.parameters),
    }
    return entry if issue.row is None else {"row": issue.row, **entry}


def of_survey(survey: Survey) -> dict[str, Any]:
    """Return everything that is known before the rows."""
    layout = survey.layout
    notations = survey.notations or dict.fromkeys(survey.titles, Notation())
    detected = of_layout(layout, survey.titles, notations) if layout else {}
    return {
        "detected": detected,
        "header": list(layout.header) if layout else [],
        "issues": [of_issue(each, survey.titles_by_field) for each in survey.issues],
    }


def of_account(account: Account) -> dict[str, int]:
    """Return how many rows there were of each kind."""
    return {
        "read": account.read,
        "good": account.good,
        "faulty": account.faulty,
        "blank": account.blank,
    }


class RowLines:
    """The rows of a survey as lines of JSON, for the stream *output*."""

    def __init__(self, survey: Survey, output: TextIO) -> None:
        is_unicode = output.encoding.lower().startswith(("utf-8", "utf8"))
        text: Encode = encode_basestring if is_unicode else encode_basestring_ascii
        self._json = json.JSONEncoder(ensure_ascii=not is_unicode, default=str).encode
        self._titles = survey.titles_by_field
        kinds = (survey.types.get(place, "text") for place in range(len(survey.titles)))
        self._encoders = [ENCODERS.get(kind, text) for kind in kinds]

    def line(self, value: object) -> str:
        """Return *value* on a line."""
        return on_one_line(self._json(value)) + "\n"

    def of_rows(self, validated: Validated) -> Iterator[str]:
        """Yield a line for each row, in the order of the file."""
        issues: dict[int | None, list[dict[str, Any]]] = {}
        for issue in validated.issues:
            issues.setdefault(issue.row, []).append(of_issue(issue, self._titles))
        columns = [
            _encoded(validated.values(name), encode)
            for name, encode in zip(validated.cells, self._encoders, strict=True)
        ]
        cells = zip(*columns, strict=True) if columns else iter(())
        for number, row in zip(validated.numbers.to_list(), cells, strict=True):
            told = self._json(issues[number]) if number in issues else "[]"
            values = ", ".join(row)
            line = f'{{"row": {number}, "values": [{values}], "issues": {told}}}'
            yield on_one_line(line) + "\n"


def _encoded(values: list[Any], encode: Encode) -> list[str]:
    return [NULL if value is None else encode(value) for value in values]


def _agreed(written: Iterable[Mapping[str, Any]], name: str) -> Any:
    """Return what all columns that say anything say; None where they differ."""
    said = {each[name] for each in written if name in each}
    return said.pop() if len(said) == 1 else None


def _moment(value: datetime) -> str:
    text = value.isoformat()
    return (
        f'"{text.removesuffix("+00:00")}Z"' if text.endswith("+00:00") else f'"{text}"'
    )


def _plain(value: Decimal) -> str:
    return f'"{value:f}"'


def _iso(value: date | time) -> str:
    return f'"{value.isoformat()}"'


def _duration(value: timedelta) -> str:
    """Return the duration as ISO 8601 has it, in hours, minutes and seconds."""
    sign, size = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(size // timedelta(seconds=1), 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{size.microseconds:06}".rstrip("0") if size.microseconds else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    if seconds or fraction or not any(parts):
        parts.append(f"{seconds}{fraction}S")
    return f'"{sign}PT{"".join(parts)}"'


def _boolean(value: bool) -> str:  # noqa: FBT001 - a value
    return "true" if value else "false"


ENCODERS: Mapping[str, Encode] = {
    "integer": str,
    "decimal": _plain,
    "boolean": _boolean,
    "date": _iso,
    "time": _iso,
    "datetime": _moment,
    "duration": _duration,
}
