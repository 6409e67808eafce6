"""Which sheet of a workbook is read."""

from __future__ import annotations

from typing import Any

import pytest

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx
from tests.unit.files.workbooks import (
    MAIN,
    RELATIONS,
    merged,
    packed,
    row,
    sheet,
    workbook,
    workbook_parts,
)

PEOPLE = sheet(row(1, "id", "name"), row(2, 1, "Ann"))
CITIES = sheet(row(1, "zip", "city"), row(2, 1, "Bonn"))
MANY = sheet(row(1, "id", "name"), *(row(n, n, "Ann") for n in range(2, 9)))
NOTES = sheet(row(1, "Please fill in sheet People."), row(2, "Thank you."))
EMPTY = sheet('<row r="1"><c r="A1" s="1"/></row>')
GROUPED = sheet(
    row(1, "Person", None),
    row(2, "Name", None, "City"),
    row(3, "first", "last", "x"),
    row(4, "Ann", "Ash", "Bonn"),
    after=merged("A2:B2"),
)


def chosen(sheets: dict[str, str], **options: Any) -> tuple[str, list[str]]:
    hidden = options.pop("hidden", ())
    layout = inspect_xlsx(workbook(sheets, hidden=hidden), **options)
    others = [
        w.parameters["others"] for w in layout.warnings if w.code == "other_sheets"
    ]
    return layout.settings["sheet"], others[0] if others else []


@pytest.mark.parametrize(
    ("sheets", "options", "name", "others"),
    [
        ({"A": PEOPLE}, {}, "A", []),
        ({"A": EMPTY, "B": PEOPLE, "C": EMPTY}, {}, "B", []),
        ({"A": NOTES, "B": PEOPLE}, {}, "B", ["A"]),
        ({"A": PEOPLE, "B": NOTES}, {}, "A", ["B"]),
        ({"Lists": CITIES, "B": PEOPLE}, {}, "B", ["Lists"]),
        ({"Lists": CITIES, "Notes": NOTES}, {}, "Lists", ["Notes"]),
        ({"A": CITIES, "B": MANY}, {}, "B", ["A"]),
        ({"A": GROUPED, "B": CITIES}, {}, "A", ["B"]),
        ({"A": PEOPLE, "B": CITIES}, {"expected_columns": ["Zip"]}, "B", ["A"]),
        ({"A": NOTES, "B": NOTES}, {}, "A", ["B"]),
        ({"A": PEOPLE, "B": PEOPLE}, {"hidden": ["A"]}, "B", []),
        ({"A": PEOPLE, "B": PEOPLE}, {"sheet": "B"}, "B", []),
        ({"A": PEOPLE, "B": PEOPLE}, {"sheet": "B", "hidden": ["B"]}, "B", []),
        ({"People": PEOPLE, "B": PEOPLE}, {"sheet": " people "}, "People", []),
        ({"a": PEOPLE, "A": PEOPLE}, {"sheet": "A"}, "A", []),
    ],
)
def test_the_sheet_that_surely_is_meant_is_read(
    sheets: dict[str, str], options: dict[str, Any], name: str, others: list[str]
) -> None:
    assert chosen(sheets, **options) == (name, others)


@pytest.mark.parametrize(
    ("sheets", "options", "code", "names"),
    [
        ({"A": MANY, "B": PEOPLE, "C": CITIES}, {}, "choose_sheet", ["A", "B"]),
        ({"A": PEOPLE, "B": PEOPLE, "C": NOTES}, {}, "choose_sheet", ["A", "B"]),
        ({"A": PEOPLE, "B": CITIES, "C": NOTES}, {}, "choose_sheet", ["A", "B"]),
        ({"A": EMPTY, "B": PEOPLE}, {"hidden": ["B"]}, "choose_sheet", ["B"]),
        ({"A": EMPTY}, {}, "empty_file", None),
        ({"A": EMPTY}, {"sheet": "A"}, "empty_file", None),
        ({"A": PEOPLE, "B": NOTES}, {"sheet": "C"}, "no_such_sheet", ["A", "B"]),
    ],
)
def test_a_choice_that_only_a_person_can_make_is_asked_for(
    sheets: dict[str, str], options: dict[str, Any], code: str, names: list[str] | None
) -> None:
    with pytest.raises(SourceError) as error:
        chosen(sheets, **options)

    assert error.value.code == code
    assert error.value.parameters.get("sheets") == names


@pytest.mark.parametrize(
    ("other", "what"), [(PEOPLE, "the same columns"), (CITIES, "a table")]
)
def test_the_question_names_the_choices(other: str, what: str) -> None:
    with pytest.raises(SourceError) as error:
        chosen({"A": PEOPLE, "B": other})

    assert str(error.value) == (
        f"Several sheets have {what}: 'A', 'B'. Say which one to read: --set sheet=NAME"
    )


def test_the_warning_names_the_sheets_that_are_not_read() -> None:
    layout = inspect_xlsx(workbook({"A": MANY, "B": CITIES, "C": NOTES}))

    assert [warning.message for warning in layout.warnings] == [
        "Only sheet 'A' is read; there is also something in 'B', 'C'."
    ]


def test_a_hidden_table_is_told_where_the_visible_sheet_has_none() -> None:
    sheets = {"Data": sheet(row(1, "id", "n"), row(2, 1, 2)), "V": sheet(row(1, "x"))}

    layout = inspect_xlsx(workbook(sheets, hidden=["Data"]))

    assert [each.code for each in layout.warnings] == ["other_sheets", "no_rows"]
    assert layout.warnings[0].parameters == {"sheet": "V", "others": ["Data"]}


def test_a_chart_sheet_has_no_cells_to_read() -> None:
    parts = workbook_parts({"Chart": PEOPLE, "Data": PEOPLE})
    links = str(parts["xl/_rels/workbook.xml.rels"])
    chart = f'Id="rId1" Type="{RELATIONS}/chartsheet"'
    parts["xl/_rels/workbook.xml.rels"] = links.replace(
        f'Id="rId1" Type="{RELATIONS}/worksheet"', chart
    )
    parts["xl/worksheets/sheet1.xml"] = f'<chartsheet xmlns="{MAIN}"/>'

    assert inspect_xlsx(packed(parts)).settings["sheet"] == "Data"
    with pytest.raises(SourceError, match="chart") as error:
        inspect_xlsx(packed(parts), sheet="Chart")
    assert error.value.code == "no_such_sheet"
