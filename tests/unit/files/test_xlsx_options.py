"""What can be said of a workbook beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.xlsx import inspect_xlsx
from tests.unit.files.workbooks import (
    cell,
    merged,
    read_blocks,
    read_rows,
    row,
    sheet,
    workbook,
)

PEOPLE = sheet(row(1, "id", "name"), row(2, 1, "Ann"))
CITIES = sheet(row(1, "zip", "city"), row(2, 5, "Bonn"))
HIDDEN = sheet(
    row(1, "id", "name", "secret"),
    row(2, 1, "Ann", "x"),
    f'<row r="3" hidden="1">{cell("A3", 2)}{cell("B3", "Ben")}</row>',
    row(4, 3, "Cy", "z"),
    '<row r="6" hidden="1"/>',
    row(8, 4, "Di", "w"),
    before='<cols><col min="3" max="3" hidden="1"/></cols>',
)


def refusal(sheets: Any, **options: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        inspect_xlsx(workbook(sheets), **options)
    return caught.value


@pytest.mark.parametrize(
    ("given", "name"),
    [("B", "B"), (2, "B"), ("2", "B"), (1, "A"), (3, "1"), ("1", "1"), (" b ", "B")],
    ids=repr,
)
def test_a_sheet_is_given_by_name_or_by_number(given: str | int, name: str) -> None:
    file = workbook({"A": PEOPLE, "B": CITIES, "1": PEOPLE})

    assert inspect_xlsx(file, sheet=given).settings["sheet"] == name


@pytest.mark.parametrize("given", [0, 4, "0", "-1", "99999999999999999999"], ids=repr)
def test_a_sheet_with_no_such_number_is_missed(given: str | int) -> None:
    assert refusal({"A": PEOPLE, "B": CITIES}, sheet=given).code == "no_such_sheet"


def test_expected_columns_find_the_sheet() -> None:
    sheets = {"A": PEOPLE, "B": CITIES, "C": CITIES}
    file = workbook(sheets)

    found = inspect_xlsx(file, expected_columns=["Náme", "mail"])
    assert found.settings["sheet"] == "A"
    error = refusal(sheets, expected_columns=["mail"])
    assert (error.code, error.parameters) == (
        ("choose_sheet", {"sheets": ["A", "B", "C"]})
    )
    error = refusal(sheets, expected_columns=["CITY", "name", "zip"])
    assert (error.code, error.parameters) == ("choose_sheet", {"sheets": ["B", "C"]})


def test_expected_columns_find_the_header() -> None:
    rows = (
        row(1, "Report", "of", "the", "month"),
        row(2, "Land", "Order-No.", "Day", "Sum"),
        row(3, "DE", "a", "b", 4),
    )
    file = workbook(sheet(*rows))

    layout = inspect_xlsx(file, expected_columns=["order no", "DÁY", "other"])

    assert (layout.header, layout.header_row) == (
        ("Land", "Order-No.", "Day", "Sum"),
        2,
    )
    assert layout.reasons["header_row"] == "2: 2 of 3 expected columns are there"
    assert inspect_xlsx(file, expected_columns=["other"]).header_row == 1


TWO_ROWS = (
    row(1, "Report"),
    row(3, "Person", None, "Address", None, "Total"),
    row(4, "First", "Last", "Street", "Zip"),
    row(5, "Ann", "Ash", "Main 1", "01234", 5),
)
JOINED = ("Person / First", "Last", "Address / Street", "Zip", "Total")


@pytest.mark.parametrize(
    "options",
    [
        {"header_rows": 2},
        {"header_rows": 2, "header_row": 4},
        {"header_rows": 2, "expected_columns": ["first", "last"]},
    ],
)
def test_as_many_rows_as_stated_are_the_header(options: dict[str, Any]) -> None:
    layout = inspect_xlsx(workbook(sheet(*TWO_ROWS)), **options)

    assert (layout.header, layout.header_row) == (JOINED, 4)
    assert layout.settings["header_rows"] == [3, 4]


def test_one_stated_row_is_the_header_even_below_names_of_groups() -> None:
    file = workbook(sheet(*TWO_ROWS, after=merged("A3:B3", "C3:D3")))

    layout = inspect_xlsx(file, header_row=4, header_rows=1)

    assert layout.settings["header_rows"] == [4]
    assert layout.header == ("First", "Last", "Street", "Zip", "")


def test_a_header_is_extended_downward_when_nothing_stands_above() -> None:
    rows = (row(1, "a", "b"), row(2, "x", "y"), row(3, 1, 2))

    layout = inspect_xlsx(workbook(sheet(*rows)), header_rows=2)

    assert layout.header == ("a / x", "b / y")


def test_no_header_of_the_stated_height_is_asked_for() -> None:
    rows = (row(1, "a", "b"), row(3, 1, 2))

    assert refusal(sheet(*rows), header_rows=2).code == "no_header"
    assert refusal(sheet(row(1, 1, 2)), header_rows=2).code == "no_header"


def test_rows_below_the_header_are_left_out_as_stated() -> None:
    rows = (
        row(1, "id", "name"),
        row(2, "number", "text", "what is to be written"),
        row(4, 1, "Ann"),
        row(6, 2, "Ben"),
    )
    file = workbook(sheet(*rows))

    blocks = read_blocks(file, skip_after_header=2)
    layout = inspect_xlsx(file, skip_after_header=2)

    assert [each[:3] for each in blocks[0].frame.rows()] == [
        (4, "1", "Ann"),
        (6, "2", "Ben"),
    ]
    assert (blocks[0].blank, layout.header_row, layout.warnings) == (1, 1, ())


def test_merged_cells_have_their_content_in_the_top_row_only_if_asked() -> None:
    rows = (row(1, "group", "name"), row(2, "G", "Ann"), row(3, None, "Ben"))
    file = workbook(sheet(*rows, after=merged("A2:A3")))

    assert [each[1] for each in read_rows(file)] == ["G", "G"]
    assert [each[1] for each in read_rows(file, merged="top")] == ["G", None]
    (warning,) = inspect_xlsx(file, merged="top").warnings
    assert warning.message == (
        "Cells are merged over several rows (A2:A3). "
        "Only the first of these rows has the value."
    )


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_hidden_rows_are_left_out_and_not_counted_if_asked(rows: int) -> None:
    file = workbook(HIDDEN)

    blocks = read_blocks(file, rows, hidden_rows="skip")
    warnings = inspect_xlsx(file, hidden_rows="skip").warnings

    numbers = [number for block in blocks for number in block.frame["row"]]
    assert numbers == [2, 4, 8]
    assert sum(block.blank for block in blocks) == 2
    assert warnings[0].message == (
        "Rows 3, 6 are hidden. What is hidden is left out, as was asked for."
    )


def test_hidden_columns_are_left_out_if_asked() -> None:
    file = workbook(HIDDEN)

    layout = inspect_xlsx(file, hidden_columns="skip")

    assert layout.header == ("id", "name")
    assert [each[:4] for each in read_rows(file, hidden_columns="skip")] == [
        (2, "1", "Ann", None),
        (3, "2", "Ben", None),
        (4, "3", "Cy", None),
        (8, "4", "Di", None),
    ]
    assert [warning.message for warning in layout.warnings] == [
        "Rows 3, 6 are hidden. What is hidden is read like the rest.",
        "Column C ('secret') is hidden. What is hidden is left out, as was asked for.",
    ]


def test_a_workbook_whose_columns_are_all_left_out_has_no_header() -> None:
    columns = '<cols><col min="1" max="9" hidden="1"/></cols>'
    rows = (row(1, "id", "name"), row(2, 1, "Ann"))

    error = refusal(sheet(*rows, before=columns), hidden_columns="skip")

    assert error.code == "no_header"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"merged": "down"}, "merged can be 'fill' or 'top', not 'down'."),
        ({"hidden_rows": "no"}, "hidden_rows can be 'read' or 'skip', not 'no'."),
        ({"hidden_columns": ""}, "hidden_columns can be 'read' or 'skip', not ''."),
        ({"header_row": 0}, "header_row must be 1 or more, not 0."),
        ({"header_rows": 0}, "header_rows must be 1 or more, not 0."),
        ({"skip_after_header": -1}, "skip_after_header must be 0 or more, not -1."),
    ],
)
def test_what_can_not_be_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        inspect_xlsx(workbook(PEOPLE), **option)

    assert str(error.value) == message


def test_a_name_that_two_columns_have_is_refused() -> None:
    error = refusal(sheet(row(1, "a", "b", "a"), row(2, 1, 2, 3)))

    assert (error.code, error.parameters) == (
        ("duplicate_header", {"names": ["a"], "columns": ["A", "C"]})
    )
    assert str(error) == (
        "More than one column is called 'a' (A, C). Give every column a name of its "
        "own."
    )


@pytest.mark.parametrize(
    ("sheets", "options", "reason"),
    [
        ({"A": PEOPLE}, {}, "'A': no other visible sheet has anything in it"),
        ({"A": PEOPLE, "Help": CITIES}, {}, "'A': its table is the largest"),
        ({"A": PEOPLE, "B": CITIES}, {"sheet": 2}, "'B': as was stated"),
        (
            {"A": PEOPLE, "B": CITIES},
            {"expected_columns": ["zip"]},
            "'B': it has most of the expected columns",
        ),
    ],
)
def test_the_layout_says_why_it_is_this_sheet(
    sheets: dict[str, str], options: dict[str, Any], reason: str
) -> None:
    reasons = inspect_xlsx(workbook(sheets), **options).reasons

    assert reasons["sheet"] == reason
    assert reasons["columns"] == "A to B, with 2 in use"
    assert reasons["format"] == (
        "an Excel workbook: a ZIP archive with a workbook part in it"
    )


def test_the_layout_says_why_it_is_this_header_row() -> None:
    file = workbook(PEOPLE)

    assert inspect_xlsx(file).reasons["header_row"] == (
        "1: the first with a name for most columns that are in use below"
    )
    assert inspect_xlsx(file, header_row=1).reasons["header_row"] == "1: as was stated"
