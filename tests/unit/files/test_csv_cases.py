"""The faults that were reported of other importers, as far as reading goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from batchfx.errors import SourceError
from batchfx.files import open as files
from batchfx.model.blocks import load_faults
from batchfx.model.sources import Layout

FOLDER = Path(__file__).parents[2] / "cases" / "files"
READ_IN_ANOTHER_WAY = {
    "csv_10000_columns.csv",
    "csv_long_field_140k.csv",
    "csv_unterminated_quote.csv",
    "app_rerun_after_crash.csv",
}
CASES = {
    path.name: json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    for pattern in ("csv_*.csv", "tsv_*.[ct]*", "app_*.csv", "xls_is_tab*.xls")
    for path in sorted(FOLDER.glob(pattern))
}
TABLES = {
    name: case
    for name, case in CASES.items()
    if isinstance(case["rows"], list) and name not in READ_IN_ANOTHER_WAY
}
REFUSED = {
    name: case
    for name, case in CASES.items()
    if isinstance(case["rows"], dict) and name not in READ_IN_ANOTHER_WAY
}
FOUND_BY_READING = {
    *("bad_quote", "control_character", "encoding", "field_count"),
    *("not_a_record", "unterminated_quote"),
}
# What comes after reading: keys are trimmed, and the marks that an export put before
# what a spreadsheet might run are taken off.
AFTERWARDS: dict[str, Callable[[str], str]] = {
    "csv_keys_spaces_case.csv": str.strip,
    "app_failed_rows_reupload.csv": lambda text: (
        text[1:] if text.startswith("'") and text[1] in "+-=@" else text
    ),
}
UNUSED_COLUMNS = {"app_failed_rows_reupload.csv": ("Error",)}

Record = tuple[int, list[str | None], list[Any]]


def read(name: str) -> tuple[Layout, list[Record], int]:
    """Return the layout, the rows with their number and faults, and the blank ones."""
    records: list[Record] = []
    blank = 0
    with (FOLDER / name).open("rb") as source:
        layout = files.inspect(source)
        for block in files.read(source, layout, 3):
            blank += block.blank
            for row, *cells, faults, _ in block.frame.rows():
                records.append((row, cells, load_faults(faults) if faults else []))
    return layout, records, blank


def names_of(header: Iterable[str]) -> list[str]:
    return [" ".join(name.casefold().split()) for name in header]


def is_as_expected(record: Record, expected: Any, case: dict[str, Any]) -> bool:
    row, cells, faults = record
    if isinstance(expected, list):
        later = AFTERWARDS.get(case["file"], str)
        texts = [
            (cell and later(cell), value)
            for cell, value, kind in zip(cells, expected, case["types"], strict=False)
            if kind == "text"
        ]
        return not faults and all(cell == value for cell, value in texts)
    in_line = row == expected.get("line", row)
    if expected["error"] not in FOUND_BY_READING:
        return in_line and not faults
    (fault,) = faults
    column = fault.column is not None and case["header"][fault.column]
    return (
        in_line
        and fault.code == expected["error"]
        and fault.value == expected.get("value", fault.value)
        and column == expected.get("field", column)
        and all(fault.parameters[key] == expected[key] for key in fault.parameters
                if key in expected)
    )  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_reported_table_is_read_as_a_careful_person_would(name: str) -> None:
    case = TABLES[name]

    layout, records, blank = read(name)

    unused = UNUSED_COLUMNS.get(name, ())
    assert names_of(layout.header) == names_of([*case["header"], *unused])
    assert len(records) == len(case["rows"])
    for record, expected in zip(records, case["rows"], strict=True):
        assert is_as_expected(record, expected, case), (record, expected)
    assert blank == case.get("skipped_blank", blank)


@pytest.mark.parametrize("name", REFUSED)
def test_a_reported_file_without_a_table_is_refused(name: str) -> None:
    expected = dict(REFUSED[name]["rows"])

    with pytest.raises(SourceError) as caught:
        read(name)

    assert caught.value.code == expected.pop("error")
    expected.pop("message", None)
    assert caught.value.parameters == expected


def test_an_open_quotation_mark_costs_its_own_row_only() -> None:
    _, records, _ = read("csv_unterminated_quote.csv")

    assert [row for row, _, _ in records] == list(range(2, 42))
    assert records[2][1] == ["3", "P3", "C3"]
    assert records[39][1] == ["40", "P40", "C40"]
    faulty = [(row, faults) for row, _, faults in records if faults]
    assert [(row, fault.code, fault.parameters) for row, (fault,) in faulty] == [
        (3, "unterminated_quote", {"column": 2})
    ]


def test_a_field_of_140400_characters_is_read() -> None:
    _, records, _ = read("csv_long_field_140k.csv")

    assert records[0] == (2, ["1", "lorem ipsum, " * 10_800], [])
    assert records[1][1] == ["2", "short"]


def test_ten_thousand_columns_are_read() -> None:
    layout, records, _ = read("csv_10000_columns.csv")

    assert layout.header == tuple(f"c{number:05}" for number in range(10_000))
    assert records == [(2, [str(number) for number in range(10_000)], [])]


def test_a_thousand_rows_are_read() -> None:
    _, records, _ = read("app_rerun_after_crash.csv")

    assert [cells for _, cells, _ in records] == [
        [f"R{number:04}", f"Name {number}"] for number in range(1, 1_001)
    ]


def test_all_the_cases_of_this_family_are_there() -> None:
    assert (len(TABLES), len(REFUSED)) == (len(CASES) - 4 - len(REFUSED), 2)
    assert len(CASES) == 57
