"""Which row of a sheet holds the column names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx
from batchfx.model.sources import Layout
from tests.unit.files.workbooks import cell, merged, row, sheet, workbook

NO_NAMES = (
    "No row of sheet 'Sheet1' looks like column names. "
    "Say in which row the column names are."
)


def layout_of(
    *rows: str, merges: Sequence[str] = (), header_row: int | None = None
) -> Layout:
    after = merged(*merges) if merges else ""
    return inspect_xlsx(workbook(sheet(*rows, after=after)), header_row=header_row)


def test_the_first_row_of_texts_is_the_header() -> None:
    layout = layout_of(row(1, "id", "name"), row(2, 1, "Ann"), row(3, 2, "Ben"))

    assert (layout.header, layout.header_row) == (("id", "name"), 1)
    assert layout.warnings == ()


def test_names_are_tidied_of_line_ends_and_outer_blanks() -> None:
    layout = layout_of(row(1, " first\n name ", "e-mail"), row(2, "Ann", "a@b.example"))

    assert layout.header == ("first name", "e-mail")


def test_a_sheet_with_a_header_and_nothing_below_is_a_table() -> None:
    layout = layout_of(row(1, "id", "name"))

    assert (layout.header, layout.header_row) == (("id", "name"), 1)


def test_a_single_column_begins_with_its_name() -> None:
    layout = layout_of(row(2, "e-mail"), row(3, "a@b.example"), row(4, "c@d.example"))

    assert (layout.header, layout.header_row) == (("e-mail",), 2)


def test_pairs_of_label_and_value_above_the_table_are_no_header() -> None:
    layout = layout_of(
        row(1, "Report:", "Customers"),
        row(2, "By:", "Ann"),
        row(4, "id", "name", "city"),
        row(5, 1, "Ann", "Bonn"),
        row(6, 2, "Ben", "Ulm"),
    )

    assert (layout.header, layout.header_row) == (("id", "name", "city"), 4)
    assert [warning.parameters for warning in layout.warnings] == [{"rows": [1, 2]}]


def test_pairs_without_a_blank_row_between_them_and_a_wide_table_are_no_header() -> (
    None
):
    layout = layout_of(
        row(1, "Report:", "Customers"),
        row(2, "id", "name", "city", "zip"),
        row(3, 1, "Ann", "Bonn", "53111"),
        row(4, 2, "Ben", "Ulm", "89073"),
    )

    assert layout.header_row == 2


def test_years_may_stand_among_names() -> None:
    layout = layout_of(row(1, "sku", "name", 2025, 2026), row(2, "A", "Cup", 7, 8))

    assert layout.header == ("sku", "name", "2025", "2026")


def test_pairs_above_a_table_that_is_no_wider_are_no_header() -> None:
    layout = layout_of(
        *(row(1, "Company", "ACME"), row(2, "Date", "2024")),
        *(row(4, "sku", "qty"), row(5, "a", 1), row(6, "b", 2)),
    )

    assert (layout.header, layout.header_row) == (("sku", "qty"), 4)
    assert [each.code for each in layout.warnings] == ["rows_above_header"]


def test_the_first_of_two_tables_keeps_its_header() -> None:
    records = (row(2, "a", 1), row(3, "b", 2))
    layout = layout_of(
        row(1, "sku", "qty"),
        *records,
        *(row(5, "name", "age"), *(row(n, "Ann", n) for n in range(6, 10))),
    )

    assert (layout.header, layout.header_row) == (("sku", "qty"), 1)


def test_a_title_of_several_cells_is_no_header() -> None:
    title = row(1, "Sales report", None, "Date: 1.1.2024")
    names = row(2, "sku", "name", "qty")

    layout = layout_of(title, names, row(3, "a", "A", 1), row(4, "b", "B", 2))

    assert (layout.header, layout.header_row) == (("sku", "name", "qty"), 2)


def test_a_record_of_words_below_a_nameless_column_is_no_header() -> None:
    words = (row(2, "a", "x", "y"), row(3, "b", "y", "z"))

    layout = layout_of(row(1, "sku", None, "note"), *words)

    assert (layout.header, layout.header_row) == (("sku", "", "note"), 1)
    (warning,) = layout.warnings
    assert (warning.code, warning.parameters) == ("nameless_column", {"column": 2})


def test_years_and_numbers_that_count_up_are_names_behind_one() -> None:
    years = layout_of(row(1, "sku", 2023, 2024), row(2, "a", 1, 2), row(3, "b", 2, 3))
    counted = layout_of(row(1, "sku", 1, 2, 3), row(2, "a", 7, 8, 9))

    assert years.header == ("sku", "2023", "2024")
    assert counted.header == ("sku", "1", "2", "3")


@pytest.mark.parametrize(
    "rows",
    [
        [("Ann", 1990, 2010), ("Ben", 1985, 2000)],
        [("a", 1, 2), ("b", 3, 4)],
        [("a", 1, 2.5), ("b", 2, 3)],
        [(2023, "a"), (1, "b")],
    ],
)
def test_a_record_with_years_or_numbers_is_no_header(rows: list[tuple[object]]) -> None:
    with pytest.raises(SourceError) as error:
        layout_of(*(row(number, *each) for number, each in enumerate(rows, 1)))

    assert error.value.code == "no_header"


def test_a_column_without_a_name_in_the_table_belongs_to_it() -> None:
    layout = layout_of(
        row(1, None, "name", "city", None, "zip"),
        row(2, 0, "Ann", "Bonn", "x", "53111", "note"),
        *(row(number, number, "Ben", "Ulm", "y", "89073") for number in range(3, 9)),
    )

    assert layout.header == ("", "name", "city", "", "zip", "")
    assert layout.settings["columns"] == ["A", "B", "C", "D", "E", "F"]


def test_a_column_away_from_the_table_does_not_belong_to_it() -> None:
    stray = f'<row r="3">{cell("A3", "B")}{cell("H3", "stray")}</row>'
    layout = layout_of(row(1, "id", "name"), row(2, "A", "Ann"), stray)

    assert layout.settings["columns"] == ["A", "B"]


def test_an_unused_column_between_names_is_left_out() -> None:
    layout = layout_of(row(1, "id", None, "name"), row(2, "A", None, "Ann"))

    assert layout.header == ("id", "name")
    assert layout.settings["columns"] == ["A", "C"]


def test_names_of_groups_are_part_of_the_names() -> None:
    layout = layout_of(
        row(1, "Customers"),
        row(3, "Person", None, "Address", None, "Total"),
        row(4, "First", "Last", "Street", "Zip"),
        row(5, "Ann", "Ash", "Main 1", "01234", 5),
        merges=("A1:E1", "A3:B3", "C3:D3", "E3:E4"),
    )

    assert layout.header == (
        "Person / First",
        "Person / Last",
        "Address / Street",
        "Address / Zip",
        "Total",
    )
    assert layout.header_row == 4
    assert layout.settings["header_rows"] == [3, 4]


@pytest.mark.parametrize("header_row", [None, 3])
def test_names_of_groups_are_found_from_above_and_from_below(
    header_row: int | None,
) -> None:
    layout = layout_of(
        row(1, "Year", None, None, None),
        row(2, "Spring", None, "Autumn", None),
        row(3, "in", "out", "in", "out"),
        row(4, 1, 2, 3, 4),
        merges=("A2:B2", "C2:D2"),
        header_row=header_row,
    )

    assert layout.header == (
        "Spring / in",
        "Spring / out",
        "Autumn / in",
        "Autumn / out",
    )
    assert layout.settings["header_rows"] == [2, 3]


def test_a_stated_row_is_the_header_whatever_it_holds() -> None:
    rows = (row(1, "id", "name"), row(2, "x", 7), row(3, 1, "Ann"))

    layout = layout_of(*rows, header_row=2)

    assert (layout.header, layout.header_row) == (("x", "7"), 2)
    assert layout.warnings == ()


def test_a_stated_row_may_be_far_below() -> None:
    rows = [row(number, "note", number) for number in range(1, 2001)]

    layout = layout_of(
        *rows, row(2001, "id", "name"), row(2002, 1, "Ann"), header_row=2001
    )

    assert layout.header == ("id", "name")


@pytest.mark.parametrize(
    ("rows", "header_row", "message"),
    [
        (
            [row(1, 1, "Ann", 5), row(2, 2, "Ben", 6)],
            None,
            NO_NAMES,
        ),
        (
            [row(1, 17), row(2, 18)],
            None,
            NO_NAMES,
        ),
        (
            [row(1, "id", "name"), row(3, "x", "y")],
            2,
            "Row 2 of sheet 'Sheet1' is blank. Say in which row the column names are.",
        ),
    ],
)
def test_a_sheet_without_names_asks_for_their_row(
    rows: list[str], header_row: int | None, message: str
) -> None:
    with pytest.raises(SourceError) as error:
        layout_of(*rows, header_row=header_row)

    assert error.value.code == "no_header"
    assert str(error.value) == message


def test_a_stated_row_below_everything_is_refused() -> None:
    with pytest.raises(SourceError) as error:
        layout_of(row(1, "id", "name"), header_row=500)

    assert error.value.code == "empty_file"


def test_a_title_that_is_merged_over_all_columns_is_no_name_of_many() -> None:
    layout = layout_of(
        row(1, "Report"),
        row(2, "id", "name"),
        row(3, 1, "Ann"),
        merges=("A1:XFD1",),
        header_row=1,
    )

    assert layout.header == ("Report", "Report")


TWO_ROWS = (
    row(1, "ID", "Q1", None, "Q2", None),
    row(2, None, "Plan", "Real", "Plan", "Real"),
    *(row(3, 1, 2, 3, 4, 5), row(4, 2, 2, 3, 4, 5)),
)
MERGED = merged("A1:A2", "B1:C1", "D1:E1")
JOINED = ("ID", "Q1 / Plan", "Q1 / Real", "Q2 / Plan", "Q2 / Real")


@pytest.mark.parametrize(
    "named", [["ID"], ["id", "q1 / plan"], ["ID", "Q2 / Real"], ["ID", "other"]]
)
def test_names_of_a_header_of_two_rows_do_not_cut_it(named: list[str]) -> None:
    file = workbook(sheet(*TWO_ROWS, after=MERGED))

    layout = inspect_xlsx(file, expected_columns=named)

    assert (layout.header, layout.header_row) == (JOINED, 2)
    assert layout.warnings == ()


def test_a_second_row_of_names_that_is_left_out_is_told() -> None:
    file = workbook(sheet(*TWO_ROWS, after=MERGED))

    layout = inspect_xlsx(file, expected_columns=["ID", "Q1", "Q2"])

    assert layout.header_row == 1
    (warning,) = layout.warnings
    assert (warning.code, warning.parameters) == ("second_header_row", {"row": 2})


def test_notes_far_beside_a_small_table_are_no_columns_of_it() -> None:
    rows = (row(1, "id", "name"), row(3, 2, "b"), row(9, *[None] * 7, 5))
    note = row(2, 1, "a", None, None, None, None, "remember!")

    layout = layout_of(rows[0], note, *rows[1:])

    assert layout.header == ("id", "name")
    assert [each.code for each in layout.warnings] == ["outside_table"]


def test_dates_may_be_names_above_other_things() -> None:
    dates = cell("B1", 46023, style=1) + cell("C1", 46054, style=1)
    header = f'<row r="1">{cell("A1", "name", "str")}{dates}</row>'
    file = workbook(
        sheet(header, row(2, "a", 5, 6), row(3, "b", 7, 8)), formats=["yyyy-mm-dd"]
    )

    layout = inspect_xlsx(file)

    assert layout.header == ("name", "2026-01-01", "2026-02-01")


def dated(number: int, *values: object) -> str:
    """Return a row in which a year of four digits in brackets is a date of it."""
    cells = [
        cell(f"{chr(65 + index)}{number}", 45000 + value[0], style=1)
        if isinstance(value, tuple)
        else cell(f"{chr(65 + index)}{number}", value)
        for index, value in enumerate(values)
        if value is not None
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


def dated_layout(*rows: tuple[object, ...]) -> Layout:
    made = [dated(number, *values) for number, values in enumerate(rows, 1) if values]
    return inspect_xlsx(workbook(sheet(*made), formats=["mmm-yy"]))


DAY, NEXT = (1023,), (1054,)  # 2026-01-01 and 2026-02-01


@pytest.mark.parametrize(
    ("header", "records"),
    [
        (("item", 2024, 2025, DAY), [("A", 1, 2, 3), ("B", 4, 5, 6)]),
        (("sku", "name", "Jan", NEXT), [("A", "Cup", 20, 30), ("B", "Mug", 5, 6)]),
        (("item", 2025, DAY, NEXT), [("A", 10, 20, 30), ("B", 4, 5, 6)]),
        (("item", 2025, DAY, "Total"), [("A", 10, 20, 30), ("B", 4, 5, 6)]),
        (("item", "Budget", 2025, DAY), [("A", 10, 20, 30), ("B", 4, None, 6)]),
        (("item", "unit", 2024, DAY), [("A", "kg", 1, 2), ("B", "t", 4, 5)]),
        (("name", "team", DAY, NEXT), [("Ann", "x", "U", "K"), ("Ben", "y", "", "K")]),
        (("item", 1, 2, 3, "Total"), [("A", 7, 8, 9, 24), ("B", 1, 1, 1, 3)]),
        (("item", "unit", 1, 2, 3), [("A", "kg", 7, 8, 9), ("B", "t", 4, 5, 6)]),
    ],
)
def test_names_may_be_texts_numbers_and_dates_by_turns(
    header: tuple[object, ...], records: list[tuple[object, ...]]
) -> None:
    shown: dict[object, str] = {DAY: "2026-01-01", NEXT: "2026-02-01"}

    layout = dated_layout(header, *records)

    assert layout.header == tuple(shown.get(each, str(each)) for each in header)
    assert (layout.header_row, layout.warnings) == (1, ())


@pytest.mark.parametrize("names", [(None, DAY, NEXT), (None, 2024, 2025)])
def test_names_of_a_table_may_leave_the_column_of_its_keys_without_one(
    names: tuple[object, ...],
) -> None:
    layout = dated_layout(names, ("A", 1, 2), ("B", 3, 4))

    assert (len(layout.header), layout.header[0], layout.header_row) == (3, "", 1)


@pytest.mark.parametrize(
    "rows",
    [
        [("Ann", "Sales", DAY), ("Ben", "Finance", NEXT)],
        [("Ann", 17, DAY), ("Ben", 18, "none")],
        [(DAY, "Ann", 5), (NEXT, "Ben", 6)],
        [(None, 1, 2, 3), ("A", 4, 5, 6)],
    ],
)
def test_a_record_with_dates_or_numbers_is_no_header(
    rows: list[tuple[object, ...]],
) -> None:
    with pytest.raises(SourceError) as error:
        dated_layout(*rows)

    assert error.value.code == "no_header"


@pytest.mark.parametrize("gap", [[], [()]])
def test_a_title_with_a_date_is_no_header(gap: list[tuple[object, ...]]) -> None:
    layout = dated_layout(
        *[("Sales", "as of", DAY), *gap, ("sku", "name", "qty")],
        *[("A", "Cup", 1), ("B", "Mug", 2)],
    )

    assert (layout.header, layout.header_row) == (("sku", "name", "qty"), 2 + len(gap))
