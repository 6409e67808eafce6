"""A case's file through `batchfx check`, and what came of it beside what is right."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from batchfx.cli.application import run_command_line
from batchfx.model.names import folded

FILES = Path(__file__).parent / "files"
EXPECTED = ".expected.json"

# What the labels of the cases are in batchfx: "the names are only labels".
CODES: Mapping[str, frozenset[str]] = {
    "ambiguous_date": frozenset({"ambiguous_date"}),
    "ambiguous_number": frozenset({"ambiguous_number"}),
    "invalid_boolean": frozenset({"bool_parsing"}),
    "invalid_date": frozenset(
        {"date_parsing", "date_from_datetime_inexact", "number_for_date"}
    ),
    "invalid_duration": frozenset({"time_delta_parsing"}),
    "invalid_email": frozenset({"value_error"}),
    "invalid_number": frozenset({"decimal_parsing", "int_parsing"}),
    "invalid_time": frozenset({"time_parsing"}),
    "required": frozenset({"missing"}),
    "unique_violation": frozenset({"unique_violation", "already_taken"}),
}

# What a case is given that is an option of `check` by the same name.
OPTIONS = frozenset(
    {
        "currency_allowed",
        "date_order",
        "decimal",
        "expected_columns",
        "header_rows",
        "languages",
        "merged",
        "null_tokens",
        "quote",
        "required",
        "thousands",
        "two_digit_year",
        "zone_for_naive",
    }
)
# What is given beside that, and why no option says it.
TOLD_OTHERWISE = {
    "batch_size": "of an import: test_behaviour",
    "blank": "an empty cell is null anyhow",
    "chunk_size": "of an import: test_behaviour",
    "content_type": "never asked: the content decides",
    "database": "of an import: test_behaviour",
    "extra_column": "read as text beside the columns of the case",
    "key": "the option unique",
    "key_rule": "the option unique_fold",
    "mode": "of an import: test_behaviour",
    "optional": "a column is, unless it is required",
    "source": "seen by the column Error of the file",
    "today": "the day of the test",
    "unique_index": "of an import: test_behaviour",
    "validator_knows_the_index": "of an import: test_behaviour",
}
NO_TYPES = {"list": "text", "reference": "text", "text or integer": "integer"}


@dataclass(frozen=True)
class Checked:
    """What `check --json` printed, and how it ended."""

    code: int
    first: dict[str, Any]
    rows: list[dict[str, Any]]
    totals: dict[str, int]

    @property
    def file_codes(self) -> list[str]:
        """The codes of what was said of the file."""
        return [issue["code"] for issue in self.first["issues"]]


def case_of(name: str) -> dict[str, Any]:
    """Return what is right for the case."""
    content = (FILES / f"{name}{EXPECTED}").read_text("utf-8")
    case: dict[str, Any] = json.loads(content)
    return case


def every_case() -> list[str]:
    """Return the names of all cases."""
    return sorted(
        path.name.removesuffix(EXPECTED) for path in FILES.glob(f"*{EXPECTED}")
    )


def arguments_of(case: Mapping[str, Any]) -> list[str]:
    """Return what the case states, as arguments of `check`."""
    given = case.get("given", {})
    unknown = given.keys() - OPTIONS - TOLD_OTHERWISE.keys()
    assert not unknown, f"the case is given {unknown}, which no option says"
    options = {name: given[name] for name in OPTIONS & given.keys()}
    if given.get("key_rule") == "trim + casefold":
        options |= {"unique_fold": True, "trim": {given["key"]: True}}
    if given.get("key"):
        options["unique"] = [given["key"]]
    arguments = [
        word
        for name, value in options.items()
        for word in ("--set", f"{name}={json.dumps(value)}")
    ]
    header, types = case.get("header", []), case.get("types", [])
    if types and len(set(header)) == len(header):
        typed = {
            name: NO_TYPES.get(kind, kind)
            for name, kind in zip(header, types, strict=True)
        }
        arguments += ["--columns", json.dumps(typed)]
    return arguments


def checked(
    path: Path, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> Checked:
    """Run `batchfx check --json` in this process."""
    capsys.readouterr()
    code = run_command_line(["check", str(path), *arguments, "--json"])
    return parsed(code, capsys.readouterr().out)


def parsed(code: int, out: str) -> Checked:
    """Return what the lines of *out* say."""
    assert out.count("\n") > 1, out
    first, *rows, totals = (json.loads(line) for line in out.splitlines())
    return Checked(code, first, rows, totals)


def named_values(case: Mapping[str, Any], found: Checked) -> list[list[Any]]:
    """Return the values of the case's columns, in the order of the case."""
    header = [folded(name) for name in found.first["header"]]
    place_of = {name: place for place, name in reversed(list(enumerate(header)))}
    places = [
        place_of.get(folded(name), place) for place, name in enumerate(case["header"])
    ]
    return [[row["values"][place] for place in places] for row in found.rows]


def differences(
    case: Mapping[str, Any], expected: Sequence[Any], found: Checked
) -> list[str]:
    """Return what is not as *expected*, row by row; nothing when all is right."""
    values = named_values(case, found)
    if len(values) != len(expected):
        return [f"{len(values)} rows, not {len(expected)}: {values}"]
    told: list[str] = []
    for place, (right, row, cells) in enumerate(
        zip(expected, found.rows, values, strict=True)
    ):
        if isinstance(right, Mapping):
            wrong = _error_differences(right, row)
        else:
            wrong = _row_differences(case, right, row, cells)
        told += [f"record {place}: {each}" for each in wrong]
    return told


def _row_differences(
    case: Mapping[str, Any], right: Sequence[Any], row: dict[str, Any], cells: list[Any]
) -> list[str]:
    wrong = []
    errors = [each for each in row["issues"] if each["level"] == "error"]
    columns = zip(case["header"], right, cells, strict=True)
    for name, wanted, cell in columns:
        if isinstance(wanted, Mapping) and "error" in wanted:
            wrong += _error_differences({**wanted, "field": name}, row)
            errors = [each for each in errors if not _is_column(each, name)]
        elif not _is_same(wanted, cell):
            wrong.append(f"{name} is {cell!r}, not {wanted!r}")
    return wrong + [f"unexpected {each}" for each in errors]


def _is_same(wanted: Any, cell: Any) -> bool:
    if isinstance(wanted, Mapping):
        return wanted == {"missing": True} and cell is None
    if isinstance(wanted, list):  # no type of `check`: the text of it as JSON
        return isinstance(cell, str) and bool(wanted == json.loads(cell))
    if isinstance(wanted, str) and isinstance(cell, str) and "T" in wanted:
        return wanted == cell or _is_same_instant(wanted, cell)
    return type(wanted) is type(cell) and wanted == cell


def _is_same_instant(wanted: str, cell: str) -> bool:
    try:
        one, other = datetime.fromisoformat(wanted), datetime.fromisoformat(cell)
    except ValueError:
        return False
    return (one.tzinfo is None) is (other.tzinfo is None) and one == other


def _error_differences(right: Mapping[str, Any], row: dict[str, Any]) -> list[str]:
    """Return what is missing of an error that a row, or a cell of it, should have."""
    number = right.get("line", right.get("sheet_row", row["row"]))
    if number != row["row"]:
        return [f"row {row['row']}, not {number}"]
    fields = right.get("fields", [right.get("field")])
    return [
        f"no {right['error']} in {name or 'the row'} as {dict(right)}: {row['issues']}"
        for name in fields
        if not any(_is_error(right, name, issue) for issue in row["issues"])
    ]


def _is_error(
    right: Mapping[str, Any], name: str | None, issue: Mapping[str, Any]
) -> bool:
    codes = CODES.get(right["error"], {right["error"]})
    parameters = issue["parameters"]
    return (
        issue["code"] in codes
        and issue["level"] == "error"
        and (name is None or _is_column(issue, name))
        and right.get("value", issue["value"]) == issue["value"]
        and right.get("first_line") in {None, parameters.get("first_row")}
        and right.get("expected") in {None, parameters.get("expected")}
        and right.get("found") in {None, parameters.get("found")}
    )


def _is_column(issue: Mapping[str, Any], name: str) -> bool:
    return issue["column"] is not None and folded(issue["column"]) == folded(name)
