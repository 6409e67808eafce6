"""Every workbook of the collected cases, read as a person reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import load_faults
from tests.unit.files.workbooks import CASES

# File: rows of the sheet as number, cells ..., kinds.
READ: dict[str, list[tuple[Any, ...]]] = {
    "app_progress_with_blank_tail": [
        (row, f"K-{row - 1}", str(row - 1), "tn") for row in range(2, 22)
    ],
    "app_row_numbers": [
        (4, "Ann", "ann@example.org", None),
        (6, "Ben", "bad", None),
        (7, "Cy", "cy@example.org", None),
        (10, "Di", "also bad", None),
        (11, "line1\nline2", "e@example.org", None),
        (12, "Fay", None, None),
    ],
    "xlsx_1904_dates": [
        (2, "a", "1951-06-07", "1951-06-07T12:00:00", "tdd"),
        (3, "b", "1977-10-21", "2026-02-28", "tdd"),
        (4, "c", "1904-01-01", "1904-01-01T06:00:00", "tdd"),
    ],
    "xlsx_absolute_targets": [(2, "1", "Ann", "nt")],
    "xlsx_durations_and_times": [
        (2, "1", "PT32H15M", "12:00:00", "nsd"),
        (3, "2", "PT39H29M24S", "00:00:00", "nsd"),
        (4, "3", "PT250H25M30S", "23:59:59", "nsd"),
        (5, "4", "-PT6H", "1.5", "nsn"),
        (6, "5", "32:15", "7:05 PM", "ntt"),
    ],
    "xlsx_error_cells": [
        (2, "1", "0.5", "ok", "fine", "nntt"),
        (3, "2", "#DIV/0!", "#N/A", "errors", "nttt"),
        (4, "3", "#DIV/0!", "#N/A", "formula errors", "nttt"),
        (5, "4", "1", "#N/A", "text that looks like an error", "nntt"),
        (6, "5", "#REF!", "#REF!", "#NAME?", "nttt"),
    ],
    "xlsx_formatted_empty_rows": [
        (2, "G-1", "Cup", "3", "ttn"),
        (3, "G-2", "Jug", "4", "ttn"),
    ],
    "xlsx_formulas_cached": [
        (2, "K-1", "2", "1.5", "3", "No. K-1", "tnnnt"),
        (3, "K-2", "3", "2", "6", None, "tnnn-"),
    ],
    "xlsx_formulas_no_cache": [
        (2, "K-1", "2", "1.5", None, "tnn-"),
        (3, "K-2", "3", "2", "6", "tnnn"),
        (4, "K-3", None, "2", "4", "t-nn"),
    ],
    "xlsx_hidden_rows_columns_sheets": [
        (2, "1", "Ann", "x", "ntt"),
        (3, "2", "Ben", "y", "ntt"),
        (4, "3", "Cy", "z", "ntt"),
    ],
    "xlsx_merged_cells_down": [
        (2, "J-1", "Red", "S", "1", "tttn"),
        (3, "J-1", "Red", "M", "2", "tttn"),
        (4, "J-1", "Blue", "L", "3", "tttn"),
        (5, "J-2", "Grey", "S", "4", "tttn"),
    ],
    "xlsx_mixed_after_1000_rows": [
        *[(row, str(row - 1), None, "n-") for row in range(2, 1202)],
        (1202, "1201", "1201", "nn"),
        (1203, "1202", "1202", "nn"),
        (1204, "1203", "1203", "nn"),
        (1205, "1204", "XL", "nt"),
        (1206, "1205", "1205", "nn"),
    ],
    "xlsx_mixed_dates": [
        (2, "1", "2025-02-19", "nd"),
        (3, "2", "17/08/2023", "nt"),
        (4, "3", "2025-02-19T18:00:00", "nd"),
        (5, "4", "45707", "nn"),
        (6, "5", "2025-02-19", "nt"),
        (7, "6", " 3/4/2025 ", "nt"),
        (8, "7", "n/a", "nt"),
        (9, "8", "17.08", "nn"),
    ],
    "xlsx_multirow_header": [
        (3, "Ann", "Ash", "Main 1", "01234", "5", "ttttn"),
        (4, "Ben", "Birch", "Oak 2", "00501", "6", "ttttn"),
    ],
    "xlsx_no_cell_references": [
        (2, "1", "Ann", "5", "ntn"),
        (4, "2", None, "6", "n-n"),
        (5, "3", None, "7", "n-n"),
    ],
    "xlsx_no_styles_inline": [
        (2, "1", "Ann", "nt"),
        (3, "2", "Ben & Co <x>", "nt"),
    ],
    "xlsx_number_formats_not_dates": [
        (2, "1", "1", "2.5", "12500000", "-1234", "45000", "nnnnnn"),
        (3, "2", "0", "10", "1000000", "99", "7", "nnnnnn"),
    ],
    "xlsx_numbers_for_text_fields": [
        (2, "12345", "1632960123", "04507", "3", "nnnn"),
        (3, "12345", "2012345678900", "00501", "1000", "nnnn"),
        (4, "00123", "07700900123", "02138", "7", None),
        (5, "0.1", "1234567890123", "12345", "2", "nnnn"),
    ],
    "xlsx_rich_text_hyperlinks": [
        (2, "L-1", "ann@example.org", "Deep blue sea", None),
        (3, "L-2", "bob@example.org", "plain", None),
    ],
    "xlsx_sharedstrings_capital": [(2, "1", "Ann", "nt")],
    "xlsx_strict_ooxml": [
        (2, "1", "Ann", "2026-02-28", "ntd"),
        (3, "2", "Ben", "2026-02-28", "ntd"),
    ],
    "xlsx_time_rounding": [
        (2, "1", "2027-05-09T10:00:00", "nd"),
        (3, "2", "2025-10-17", "nd"),
        (4, "3", "2025-08-14T02:30:00", "nd"),
        (5, "4", "2024-11-03T00:39:00", "nd"),
        (6, "5", "2021-02-17T11:30:00", "nd"),
        (7, "6", "2022-09-01T04:29:49", "nd"),
    ],
    "xlsx_title_rows_empty_first_column": [
        (5, "H-1", "Cup", "7", "ttn"),
        (6, "H-2", None, "8", "t-n"),
    ],
    "xlsx_wrong_dimension": [
        (2, "1", "Ann", "nt"),
        (3, "2", "Ben", "nt"),
        (4, "3", "Cy", "nt"),
    ],
    "xlsx_x000d_escapes": [
        (2, "1", "first line\r\nsecond line", "nt"),
        (3, "2", "_x000D_", "nt"),
        (4, "3", "fileAb and __x__", "nt"),
    ],
}

REFUSED = {
    "xlsx_billion_laughs": "unsafe_file",
    "xlsx_password_protected": "encrypted",
}

# File: sheet row, block column, code, value.
FAULTS = {
    "xlsx_error_cells": [
        (3, 1, "error_value", "#DIV/0!"),
        (3, 2, "error_value", "#N/A"),
        (4, 1, "error_value", "#DIV/0!"),
        (4, 2, "error_value", "#N/A"),
        (6, 1, "error_value", "#REF!"),
        (6, 3, "error_value", "#NAME?"),
    ],
    "xlsx_formulas_no_cache": [
        (2, 3, "no_cached_value", "=B2*C2"),
        (4, 1, "no_cached_value", "=1+1"),
    ],
}

MERGED = (
    "Cells are merged over several rows (A2:A4). "
    "Each of these rows gets the value of the top cell."
)
WARNINGS = {
    "app_row_numbers": [
        (
            "rows_above_header",
            "Row 3 was taken for the column names. Row 1 above it is left out.",
        )
    ],
    "xlsx_hidden_rows_columns_sheets": [
        (
            "hidden_rows",
            "Row 3 is hidden by a filter. What is hidden is read like the rest.",
        ),
        (
            "hidden_columns",
            "Column C ('secret') is hidden. What is hidden is read like the rest.",
        ),
    ],
    "xlsx_merged_cells_down": [
        (
            "merged_cells",
            MERGED,
        )
    ],
    "xlsx_title_rows_empty_first_column": [
        (
            "rows_above_header",
            "Row 4 was taken for the column names. Rows 1 to 2 above it are left out.",
        )
    ],
}


def test_all_workbooks_among_the_cases_are_tested() -> None:
    names = {path.stem for path in CASES.glob("*.xlsx")}

    assert names == READ.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", READ)
def test_a_case_is_read_as_a_person_reads_it(name: str) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text("utf-8"))
    with (CASES / f"{name}.xlsx").open("rb") as file:
        layout = inspect_xlsx(file)
        blocks = list(read_xlsx(file, layout, 1000))

    rows = [row for block in blocks for row in block.frame.rows()]
    faults = [
        (row[0], fault.column, fault.code, fault.value)
        for row in rows
        for fault in load_faults(row[-2] or "[]")
    ]
    warnings = [(warning.code, warning.message) for warning in layout.warnings]
    assert layout.header == tuple(expected["header"])
    assert [(*row[:-2], row[-1]) for row in rows] == READ[name]
    assert faults == FAULTS.get(name, [])
    assert warnings == WARNINGS.get(name, [])


@pytest.mark.parametrize("name", REFUSED)
def test_a_case_that_cannot_be_read_is_refused_by_name(name: str) -> None:
    with (
        (CASES / f"{name}.xlsx").open("rb") as file,
        pytest.raises(SourceError) as error,
    ):
        inspect_xlsx(file)

    assert error.value.code == REFUSED[name]
