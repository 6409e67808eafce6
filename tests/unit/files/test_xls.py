"""Excel 97-2003 workbooks, read as a person reads them."""

from __future__ import annotations

import io
import json
import random
import struct
from contextlib import suppress

import pytest

from batchfx.errors import SourceError
from batchfx.files import open as files
from batchfx.files.xls import inspect_xls, is_xls, read_xls
from batchfx.files.xls_child import inspect_inside
from tests.unit.files.old_workbooks import (
    NO_TEXT,
    boolean,
    error,
    formula,
    hidden_column,
    hidden_row,
    label,
    merged,
    number,
    old_workbook,
    record,
    xls_faults,
    xls_rows,
)
from tests.unit.files.workbooks import CASES, sheet, workbook

CASE = CASES / "xls_ints_dates_long_text.xls"
HEADER = [label(0, 0, "id"), label(0, 1, "value")]


def one(cell: bytes, *formats: str, date1904: bool = False) -> tuple[str | None, str]:
    """Return the text and kind of a cell below a header."""
    file = old_workbook(
        {"Data": [*HEADER, label(1, 0, "x"), cell]}, formats=formats, date1904=date1904
    )
    ((_, _, text, kinds),) = xls_rows(file)
    return text, kinds[1] if kinds else "t"


def test_a_workbook_that_was_cut_before_its_directory_is_damaged() -> None:
    content = CASE.read_bytes()
    (sector,) = struct.unpack_from("<I", content, 48)  # with the directory

    for size in (512, 1024, (sector + 1) * 512, (sector + 1) * 512 + 100):
        cut = io.BytesIO(content[:size])
        with pytest.raises(SourceError) as refused:
            files.inspect(cut)
        assert refused.value.code == "corrupt"


def test_the_case_of_integers_dates_and_long_text_is_read_as_a_person_reads_it() -> (
    None
):
    expected = json.loads(CASE.with_suffix(".expected.json").read_text("utf-8"))
    with CASE.open("rb") as file:
        assert is_xls(file)
        layout = inspect_xls(file)
        (block,) = read_xls(file, layout, 1000)

    assert layout.format == "xls"
    assert layout.header == tuple(expected["header"])
    assert layout.warnings == ()
    assert block.frame.rows() == [
        (2, "12345", "04507", "2026-02-28", "3", "Größe €", "true", None, "nndntb"),
        (
            3,
            "A-7",
            "01234",
            "2026-02-28T10:00:00",
            "2",
            "x" * 9000,
            "false",
            None,
            "ttdntb",
        ),
    ]


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (12345.0, "General", ("12345", "n")),
        (0.1 + 0.2, "General", ("0.3", "n")),
        (12345678, "000-00-0000", ("012345678", "n")),
        (42, '"K-"0000', ("42", "c")),
        (99999999999999.99, "General", ("99999999999999.98", "n")),
        (1e22, "General", ("10000000000000000000000", "n")),
        (-3.0, "0.00", ("-3", "n")),
        (4507.0, "00000", ("04507", "n")),
        (46081.0, "dd.mm.yyyy", ("2026-02-28", "d")),
        (46081.5, 'yyyy"-"mm h:mm', ("2026-02-28T12:00:00", "d")),
        (0.5, "h:mm", ("12:00:00", "d")),
        (1.34375, "[h]:mm", ("PT32H15M", "s")),
        (12500000.0, '[Red]0" days"', ("12500000", "n")),
    ],
)
def test_a_number_is_what_its_format_makes_of_it(
    value: float, code: str, expected: tuple[str, str]
) -> None:
    assert one(number(1, 1, value, 2), code) == expected


def test_dates_of_the_1904_system_are_not_four_years_early() -> None:
    cell = number(1, 1, 44619.0, 2)

    assert one(cell, "dd.mm.yyyy", date1904=True) == ("2026-02-28", "d")


def test_truth_values_are_such() -> None:
    assert one(boolean(1, 1, value=True)) == ("true", "b")


def test_errors_are_faults_and_a_text_that_looks_like_one_is_not() -> None:
    cells = [error(1, 1, 0x2A), error(2, 1, 0x07), label(3, 1, "#N/A")]
    names = [label(row, 0, f"k{row}") for row in (1, 2, 3)]
    file = old_workbook({"Data": [*HEADER, *names, *cells]})

    assert xls_faults(file) == [
        (2, 1, "error_value", "#N/A"),
        (3, 1, "error_value", "#DIV/0!"),
    ]
    assert [row[2] for row in xls_rows(file)] == ["#N/A", "#DIV/0!", "#N/A"]


def test_formulas_that_nobody_computed_are_faults() -> None:
    names = [label(row, 0, f"k{row}") for row in (1, 2)]
    cells = [formula(1, 1, NO_TEXT), formula(2, 1, NO_TEXT)]
    file = old_workbook({"Data": [*HEADER, *names, *cells]})

    assert xls_faults(file) == [
        (2, 1, "no_cached_value", "=…"),
        (3, 1, "no_cached_value", "=…"),
    ]


def test_a_formula_whose_result_is_no_text_is_an_empty_cell() -> None:
    names = [label(row, 0, f"k{row}") for row in (1, 2)]
    cells = [formula(1, 1, NO_TEXT), formula(2, 1, 2.5)]
    file = old_workbook({"Data": [*HEADER, *names, *cells]})

    assert xls_faults(file) == []
    assert [row[2] for row in xls_rows(file)] == [None, "2.5"]


def test_what_is_hidden_or_merged_is_told() -> None:
    names = [label(1, 0, "J-1"), label(4, 0, "K")]
    values = [number(row, 1, float(row)) for row in (1, 2, 3, 4)]
    file = old_workbook(
        {
            "Data": [
                hidden_column(1),
                hidden_row(2),
                hidden_row(9),
                *HEADER,
                *names,
                *values,
                merged(1, 3, 0, 0),
            ]
        }
    )

    assert [each.message for each in inspect_inside(file).warnings] == [
        "Row 3 is hidden. What is hidden is read like the rest.",
        "Column B ('value') is hidden. What is hidden is read like the rest.",
        (
            "Cells are merged over several rows (A2:A4). "
            "Each of these rows gets the value of the top cell."
        ),
    ]
    assert [row[1] for row in xls_rows(file)] == ["J-1", "J-1", "J-1", "K"]


def test_a_hidden_sheet_is_only_read_when_it_is_named() -> None:
    lists = [label(0, 0, "code"), label(0, 1, "label"), label(1, 0, "x")]
    data = [*HEADER, label(1, 0, "a"), label(1, 1, "1")]
    file = old_workbook({"Lists": lists, "Data": data}, hidden=["Lists"])

    assert xls_rows(file) == [(2, "a", "1", None)]
    assert xls_rows(file, sheet="Lists") == [(2, "x", None, None)]


def test_a_workbook_in_memory_is_read_in_a_process_of_its_own() -> None:
    file = old_workbook({"Data": [*HEADER, label(1, 0, "a"), number(1, 1, 7.0)]})

    layout = inspect_xls(file, header_row=1)
    (block,) = read_xls(file, layout, 10)

    assert is_xls(file)
    assert block.frame.rows() == [(2, "a", "7", None, "tn")]


def test_a_workbook_with_a_password_is_told() -> None:
    file = old_workbook({"Data": HEADER})
    whole = file.getvalue()
    locked = whole[:20] + record(0x002F, bytes(6)) + whole[20:]

    with pytest.raises(SourceError) as caught:
        inspect_inside(io.BytesIO(locked))

    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("cut", [600, 5000, 13000])
def test_a_cut_workbook_is_corrupt(cut: int) -> None:
    with pytest.raises(SourceError) as caught:
        inspect_xls(io.BytesIO(CASE.read_bytes()[:cut]))

    assert caught.value.code == "corrupt"
    assert "BOF" not in str(caught.value)


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_never_end_anything_but_the_reading(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    content = bytearray(CASE.read_bytes())
    for _ in range(20):
        content[chance.randrange(len(content))] = chance.randrange(256)
    file = io.BytesIO(bytes(content))

    with suppress(SourceError):
        layout = inspect_xls(file)
        assert sum(each.frame.height for each in read_xls(file, layout, 10)) < 5


def test_other_files_are_no_old_workbook() -> None:
    protected = io.BytesIO((CASES / "xlsx_password_protected.xlsx").read_bytes())
    html = io.BytesIO((CASES / "xls_is_html_table.xls").read_bytes())

    assert not is_xls(protected)
    assert not is_xls(html)
    assert not is_xls(workbook(sheet()))
    assert not is_xls(io.BytesIO())


def test_an_older_workbook_that_names_no_encoding_has_a_warning() -> None:
    def old(*parts: bytes) -> io.BytesIO:
        return io.BytesIO(b"".join(parts))

    start = record(0x0809, struct.pack("<HHHH", 0x0500, 0x0005, 0, 1995))
    tab = record(0x0085, struct.pack("<IBB", 31, 0, 0) + b"\x04Data")
    cells = [(0, 0, b"id"), (0, 1, b"name"), (1, 0, b"1"), (1, 1, b"Jos\xe9")]
    labels = b"".join(
        record(0x0204, struct.pack("<HHHH", row, column, 0, len(text)) + text)
        for row, column, text in cells
    )
    page = record(0x0809, struct.pack("<HHHH", 0x0500, 0x0010, 0, 1995))
    file = old(start, tab, record(0x000A), page, labels, record(0x000A))

    assert [each.code for each in inspect_inside(file).warnings] == ["encoding_guessed"]
    assert xls_rows(file) == [(2, "1", "José", None)]
