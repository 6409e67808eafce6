"""Files that broke real importers, each with the result that is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.shell import Shell
from tests.cases.checking import (
    FILES,
    arguments_of,
    case_of,
    checked,
    differences,
    every_case,
    parsed,
)

EXPORTS = [name for name in every_case() if "export" in (case_of(name)["rows"] or [{}])]
BEHAVIOUR = [  # of imports as a whole: see test_behaviour
    "app_duplicate_keys_in_file",
    "app_overlapping_download",
    "app_parent_later_in_file",
    "app_partial_failure_policies",
    "app_progress_with_blank_tail",
    "app_rerun_after_crash",
    "app_row_numbers",
    "app_same_file_twice",
    "app_unique_only_at_flush",
]
VALUES = [name for name in every_case() if name not in {*EXPORTS, *BEHAVIOUR}]

Rows = list[Any]

# Rows that a case describes in words, written out.
WRITTEN_OUT: dict[str, Callable[[], Rows]] = {
    "csv_10000_columns": lambda: [[str(number) for number in range(10_000)]],
    "csv_long_field_140k": lambda: [[1, "lorem ipsum, " * 10_800], [2, "short"]],
    "ndjson_late_key": lambda: [
        [number, f"x{number}" if number >= 150 else None] for number in range(1, 201)
    ],
    "xls_ints_dates_long_text": lambda: [
        ["12345", "04507", "2026-02-28", 3, "Größe €", True],
        ["A-7", "01234", "2026-02-28", 2, "x" * 9000, False],
    ],
    "xlsx_mixed_after_1000_rows": lambda: [
        *([number, None] for number in range(1, 1201)),
        *(
            [number, "XL" if number == 1204 else str(number)]
            for number in range(1201, 1206)
        ),
    ],
}


def refused(code: str, **place: Any) -> dict[str, Any]:
    return {"error": code, **place}


def with_cells(**cells: Any) -> Callable[[Rows], Rows]:
    """Return what puts other values into cells named ``r0c1``."""

    def change(rows: Rows) -> Rows:
        changed = [list(row) if isinstance(row, list) else row for row in rows]
        for place, value in cells.items():
            row, column = place.removeprefix("r").split("c")
            changed[int(row)][int(column)] = value
        return changed

    return change


def with_rows(**rows: Any) -> Callable[[Rows], Rows]:
    """Return what puts other rows in the place of those named ``r0``."""

    def change(before: Rows) -> Rows:
        changed = dict(enumerate(before))
        changed |= {int(place.removeprefix("r")): row for place, row in rows.items()}
        return [row for _, row in sorted(changed.items())]

    return change


# Where a case accepts several results, or none of the file: the one that batchfx gives.
ACCEPTED: dict[str, Callable[[Rows], Rows]] = {
    # The basic format of ISO 8601, 20230102, is not read.
    "csv_iso_dates_zones": with_cells(r3c1=refused("invalid_date")),
    # The reader goes on after the row whose quote is never closed.
    "csv_unterminated_quote": lambda _: [
        [1, "Anna", "Ulm"],
        refused("unterminated_quote", line=3),
        *([number, f"P{number}", f"C{number}"] for number in range(3, 41)),
    ],
    # A moment is no day: its time of day is not dropped.
    "xls_ints_dates_long_text": with_cells(r1c2=refused("invalid_date")),
    # The table of a web page is read.
    "xls_is_html_table": lambda _: [[1, "01234", "1234.50"], [2, "00501", None]],
}

# Cases of which the whole file is refused: the code that says why.
REFUSED = {
    "csv_duplicate_headers": "duplicate_header",
    "csv_empty_file": "empty_file",
    "xlsx_billion_laughs": "unsafe_file",
    "xlsx_password_protected": "encrypted",
}

# What is said of the file as a whole beside the rows.
SAID = {
    "csv_header_only": ["no_rows"],
    "xlsx_hidden_rows_columns_sheets": ["hidden_rows", "hidden_columns"],
}


def expected_rows(name: str, case: dict[str, Any]) -> Rows:
    rows = WRITTEN_OUT[name]() if name in WRITTEN_OUT else case["rows"]
    return ACCEPTED.get(name, list)(rows)


def file_of(case: dict[str, Any]) -> Path:
    return FILES / str(case["file"])


def test_every_case_is_accounted_for() -> None:
    files = {path.name for path in FILES.iterdir()}
    inputs = {str(case_of(name)["file"]) for name in every_case()}

    assert len(every_case()) == 100
    assert sorted([*VALUES, *BEHAVIOUR, *EXPORTS]) == every_case()
    assert files == inputs | {f"{name}.expected.json" for name in every_case()}


def test_cases_of_exports_wait_for_exports() -> None:
    assert EXPORTS == [
        "export_cell_over_32767",
        "export_control_characters_xlsx",
        "export_csv_non_ascii_for_excel",
        "export_decimal_zero",
        "export_formula_xlsx",
        "export_id_header_sylk",
        "export_injection_and_negatives",
        "export_timezone_datetimes",
    ]


@pytest.mark.parametrize("name", [name for name in VALUES if name not in REFUSED])
def test_a_file_is_read_as_a_careful_person_reads_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of(name)
    if name == "csv_10000_columns":
        case["header"] = [f"c{number:05}" for number in range(10_000)]
    began = time.process_time()

    found = checked(file_of(case), arguments_of(case), capsys)

    seconds = time.process_time() - began
    expected = expected_rows(name, case)
    faulty = sum(isinstance(row, dict) or _has_error(row) for row in expected)
    assert differences(case, expected, found) == []
    assert found.code == (3 if faulty else 0)
    assert found.totals == {
        "read": len(expected) + found.totals["blank"],
        "good": len(expected) - faulty,
        "faulty": faulty,
        "blank": found.totals["blank"],
    }
    assert found.totals["blank"] == case.get("skipped_blank", found.totals["blank"])
    numbers = [row["row"] for row in found.rows]
    assert numbers == case.get("sheet_rows", sorted(set(numbers)))
    assert set(SAID.get(name, [])) <= set(found.file_codes)
    assert seconds < case.get("budget", {}).get("seconds", 20)


def _has_error(row: list[Any]) -> bool:
    return any(isinstance(cell, dict) and "error" in cell for cell in row)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_file_that_nobody_could_read_is_refused_with_the_reason(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of(name)

    found = checked(file_of(case), arguments_of(case), capsys)

    assert found.code == 1
    assert found.file_codes == [REFUSED[name]]
    assert found.rows == []
    assert found.totals == {"read": 0, "good": 0, "faulty": 0, "blank": 0}


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Auckland"])
@pytest.mark.parametrize(
    "name", ["csv_iso_dates_zones", "csv_dates_dmy", "xlsx_time_rounding"]
)
def test_the_zone_of_the_machine_makes_no_difference(
    tmp_path: Path, name: str, zone: str
) -> None:
    case = case_of(name)
    arguments = ["check", str(file_of(case)), *arguments_of(case), "--json"]

    ran = Shell(tmp_path).run(*arguments, TZ=zone)

    assert ran.err == ""
    assert differences(case, expected_rows(name, case), parsed(ran.code, ran.out)) == []


@pytest.mark.parametrize("upload", ["upload.xls", "upload", "a.parquet", "b.json"])
def test_the_name_of_a_file_says_nothing(
    tmp_path: Path, upload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of("csv_sent_as_ms_excel")
    copy = tmp_path / upload
    copy.write_bytes(file_of(case).read_bytes())

    found = checked(copy, arguments_of(case), capsys)

    assert differences(case, case["rows"], found) == []
    assert found.first["detected"]["format"] == "csv"
