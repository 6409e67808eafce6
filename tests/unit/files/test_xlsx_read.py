"""Blocks of a workbook: their size, going on after one, what is beside the table."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import block_schema, load_faults
from tests.unit.files.workbooks import (
    cell,
    merged,
    read_blocks,
    read_rows,
    row,
    sheet,
    strings,
    workbook,
)


def people(count: int) -> str:
    return sheet(
        row(1, "id", "name"), *(row(n, n, f"P{n}") for n in range(2, count + 2))
    )


def saved(book: openpyxl.Workbook) -> io.BytesIO:
    file = io.BytesIO()
    book.save(file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("count", "heights"), [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (9, [3, 3, 3])]
)
def test_blocks_have_the_size_asked_for(count: int, heights: list[int]) -> None:
    blocks = read_blocks(workbook(people(count)), rows=3)

    assert [block.frame.height for block in blocks] == heights
    assert all(block.frame.schema == block_schema(2) for block in blocks)


def test_a_layout_is_plain_json() -> None:
    layout = inspect_xlsx(workbook({"People": people(1)}))

    assert json.loads(json.dumps(dict(layout.settings))) == {
        "sheet": "People",
        "part": "xl/worksheets/sheet1.xml",
        "columns": ["A", "B"],
        "ignored": [],
        "header_rows": [1],
        "skip_after_header": 0,
        "profile": [[], [], 0],
        "date1904": False,
        "merged": False,
        "hidden_rows": "read",
    }


@given(st.data())
@settings(max_examples=50)
def test_reading_goes_on_after_any_block(data: st.DataObject) -> None:
    numbers = sorted(data.draw(st.sets(st.integers(2, 60), min_size=1, max_size=30)))
    merges = data.draw(st.sampled_from([(), ("A2:A9", "A20:A41", "B30:B31")]))
    rows = [row(1, "id", "name"), *(row(n, None, n) for n in numbers)]
    file = workbook(sheet(*rows, after=merged(*merges) if merges else ""))
    layout = inspect_xlsx(file)
    blocks = list(read_xlsx(file, layout, 3))
    stop = data.draw(st.integers(0, len(blocks) - 1))
    position = json.loads(json.dumps(dict(blocks[stop].position)))

    rest = list(read_xlsx(file, layout, 3, position))

    assert [b.frame.rows() for b in rest] == [
        b.frame.rows() for b in blocks[stop + 1 :]
    ]
    assert [b.blank for b in rest] == [b.blank for b in blocks[stop + 1 :]]


def test_rows_between_records_count_as_blank_and_those_after_do_not() -> None:
    rows = [
        row(1, "id", "name"),
        row(4, 1, "A"),
        row(5),
        row(6, "  ", ""),
        row(9, 2, "B"),
    ]
    blocks = read_blocks(workbook(sheet(*rows, row(10), row(99))), rows=1)

    assert [(block.frame["row"].item(), block.blank) for block in blocks] == [
        (4, 2),
        (9, 4),
    ]


@pytest.mark.parametrize("blank", ["<t/>", "<t> </t>", "<t>\n</t>", "<t>_x000D_</t>"])
def test_a_row_of_shared_strings_without_text_is_blank(blank: str) -> None:
    shared = strings("<t>id</t>", "<t>name</t>", "<t>x</t>", blank)
    rows = [
        f'<row r="{n}">{cell(f"A{n}", a, "s")}{cell(f"B{n}", b, "s")}</row>'
        for n, a, b in [(1, 0, 1), (2, 3, 3), (3, 3, 2)]
    ]

    (only,) = read_rows(workbook(sheet(*rows), shared=shared))

    assert (only[0], only[2]) == (3, "x")


def test_a_cell_with_an_empty_text_is_empty() -> None:
    shared = strings("<t>id</t>", "<t>name</t>", "<t/>")
    rows = [
        f'<row r="1">{cell("A1", 0, "s")}{cell("B1", 1, "s")}</row>',
        f'<row r="2">{cell("A2", 0, "s")}{cell("B2", 2, "s")}</row>',
    ]

    assert read_rows(workbook(sheet(*rows), shared=shared)) == [
        (2, "id", None, None, None)
    ]


BESIDE = (
    "There is something beside the table, in H3, I3, XFD1048576. It is left out. "
    "If it belongs to the table, give its column a name."
)


def test_content_beside_the_table_is_a_warning_and_costs_no_row() -> None:
    beside = cell("H3", "?") + cell("I3", 7)
    rows = [
        row(1, "id", "name"),
        row(2, 1, "Ann"),
        f'<row r="3">{cell("A3", 2)}{cell("B3", "Ben")}{beside}</row>',
        f'<row r="4">{cell("A4", 3)}{cell("B4", "Cy")}<c r="H4" s="1"/></row>',
        f'<row r="1048576">{cell("XFD1048576", "far")}</row>',
    ]
    file = workbook(sheet(*rows))

    assert read_rows(file) == [
        (2, "1", "Ann", None, "nt"),
        (3, "2", "Ben", None, "nt"),
        (4, "3", "Cy", None, "nt"),
    ]
    layout = inspect_xlsx(file)
    assert [(w.code, w.message, w.parameters) for w in layout.warnings] == [
        (
            "outside_table",
            BESIDE,
            {"cells": ["H3", "I3", "XFD1048576"], "count": 3},
        )
    ]
    assert layout.settings["ignored"] == ["H", "I", "XFD"]


def test_content_beside_the_table_in_an_odd_notation_is_a_fault_of_its_row() -> None:
    beside = "<c t='str' r='H3'><v>?</v></c>"
    rows = [
        row(1, "id", "name"),
        row(2, 1, "Ann"),
        f'<row r="3">{cell("A3", 2)}{cell("B3", "Ben")}{beside}</row>',
    ]
    file = workbook(sheet(*rows))

    (block,) = read_blocks(file)

    (fault,) = load_faults(block.frame["faults"][1])
    assert block.frame["faults"][0] is None
    assert (fault.code, fault.column, fault.value, fault.parameters) == (
        ("outside_table", None, "?", {"cells": ["H3"]})
    )
    assert fault.message == (
        "There is something beside the table, in H3. "
        "Give the column a name, or clear the cell."
    )


TABLE = (row(1, "id", "name", "sum"), row(2, 1, "Ann", 5), row(3, 2, "Ben", 6))
NOTE = "This is a line of totals or a note, not a record."


@pytest.mark.parametrize(
    ("below", "notes"),
    [
        ([row(5, "Total", None, 11)], [(5, "Total", ("Total", "", "11"))]),
        ([row(4, None, "All orders:", 11)], []),
        (
            [row(5, "Printed by Cy"), row(6, None, None, "2026")],
            [
                (5, "Printed by Cy", ("Printed by Cy", "", "")),
                (6, "2026", ("", "", "2026")),
            ],
        ),
        ([row(4, None, "Total", 11)], []),
        ([row(4, "Sum", None, None)], [(4, "Sum", ("Sum", "", ""))]),
        ([row(4, "Sum:", 7, None), row(5, 3, "Cy", 7)], []),
        ([row(4, "Total", 3, 11)], []),
        (
            [row(4, "Total", 3, 11), row(6, "Printed")],
            [(6, "Printed", ("Printed", "", ""))],
        ),
        ([row(5, "Total:", 3, 11), row(6, "Sum", None, 4)], []),
        (
            [row(4, "Total", 3, 11), row(5, "Exported 2024-01-01")],
            [(5, "Exported 2024-01-01", ("Exported 2024-01-01", "", ""))],
        ),
        ([row(4, "Total", 3, 11), row(5, 3, "Cy", 7)], []),
        ([row(5, "Total", 3, 11), row(6, 3, "Cy", 7)], []),
        ([row(5, None, 3, 11)], [(5, "3", ("", "3", "11"))]),
        ([row(4, None, 3, 11)], []),
        (
            [row(5, "Legend", "x"), row(6, "c", "city")],
            [(5, "Legend", ("Legend", "x", "")), (6, "c", ("c", "city", ""))],
        ),
        (
            [row(5, "Ann", 7, "x"), row(6, "Ben", 8, "y")],
            [(5, "Ann", ("Ann", "7", "x")), (6, "Ben", ("Ben", "8", "y"))],
        ),
        ([row(5, 3, "Cy", 7), row(7, 4, "Di", "none"), row(9, 5, "Ed")], []),
        ([row(5, "Legend", "x"), row(6, 3, "Cy", 7)], []),
        ([row(4, "without a sum")], []),
        ([row(5, "only an id"), row(6, 3, "Cy", 7)], []),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_totals_and_notes_below_the_table_are_no_records(
    below: list[str], notes: list[tuple[Any, ...]], rows: int
) -> None:
    file = workbook(sheet(*TABLE, *below))
    layout = inspect_xlsx(file)
    blocks = read_blocks(file, rows)

    found = [
        (number, fault.value, fault.fields)
        for block in blocks
        for number, faults in zip(
            block.frame["row"], block.frame["faults"], strict=True
        )
        for fault in load_faults(faults or "[]")
        if (fault.code, fault.message, fault.column) == ("not_a_record", NOTE, None)
    ]
    assert found == notes
    for index, block in enumerate(blocks):
        rest = list(read_xlsx(file, layout, rows, block.position))
        assert [r.frame.rows() for r in rest] == [
            r.frame.rows() for r in blocks[index + 1 :]
        ]


LINES = st.sampled_from(
    [(1, "x", 2), (1, None, None), ("Total", None, 3), (None, "alone", None), ()]
)


@given(st.lists(LINES, max_size=12), st.integers(1, 3))
@settings(max_examples=100)
def test_reading_goes_on_among_totals_and_notes(
    lines: list[tuple[Any, ...]], rows: int
) -> None:
    numbered = (row(number, *line) for number, line in enumerate(lines, 2))
    file = workbook(sheet(row(1, "id", "name", "sum"), *numbered))
    layout = inspect_xlsx(file)
    blocks = list(read_xlsx(file, layout, rows))

    for index, block in enumerate(blocks):
        rest = list(read_xlsx(file, layout, rows, block.position))
        assert [r.frame.rows() for r in rest] == [
            r.frame.rows() for r in blocks[index + 1 :]
        ]


def test_behind_a_blank_row_a_list_may_go_on_with_something_else() -> None:
    names = (row(2, "Ann"), row(3, "Ben"), row(5, 77), row(7, "Total"))

    found = read_rows(workbook(sheet(row(1, "name"), *names)))

    assert [each[1:3] for each in found] == [
        *(("Ann", None), ("Ben", None), ("77", None), ("Total", None))
    ]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_another_table_behind_a_blank_row_is_no_part_of_the_first(rows: int) -> None:
    file = workbook(
        sheet(
            *(row(1, "sku", "qty"), row(2, "a", 1), row(3, "b", 2)),
            *(row(6, "name", "mail"), row(7, "Ann", "a@b.example")),
        )
    )
    (warning,) = inspect_xlsx(file).warnings

    assert (warning.code, warning.parameters) == ("second_table", {"row": 6})
    codes = [
        (number, fault.code)
        for block in read_blocks(file, rows)
        for number, faults in block.frame.select("row", "faults").rows()
        for fault in load_faults(faults or "[]")
    ]
    assert codes == [(6, "not_a_record"), (7, "not_a_record")]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_records_whose_keys_are_words_go_on_behind_a_blank_row(rows: int) -> None:
    body = (row(2, 1001, "Cup"), row(3, 1002, "Jug"))
    below = (row(5, "A-7", "Fork"), row(6, "A-8", "Bowl"))
    file = workbook(sheet(row(1, "sku", "name"), *body, *below))

    (warning,) = inspect_xlsx(file).warnings
    found = [each for block in read_blocks(file, rows) for each in block.frame.rows()]

    assert (warning.code, warning.parameters) == ("second_table", {"row": 5})
    assert [each[:3] for each in found][2:] == [(5, "A-7", "Fork"), (6, "A-8", "Bowl")]
    assert {each[-2] for each in found} == {None}


def test_a_control_character_is_a_fault_of_its_cell_however_it_is_written() -> None:
    items = ("<t>x_x0000_y</t>", "<t>fine</t>")
    shared = row(3, "z_x001B_", "l1&#10;l2&#9;")
    first = f'<row r="2">{cell("A2", 0, "s")}{cell("B2", 1, "s")}</row>'
    lines = (first, shared, row(4, "a&#127;", "b"))
    file = workbook(sheet(row(1, "id", "name"), *lines), shared=strings(*items))

    found = [
        (number, fault.column, fault.code, fault.parameters)
        for block in read_blocks(file, 100)
        for number, faults in block.frame.select("row", "faults").rows()
        for fault in load_faults(faults or "[]")
    ]
    assert found == [
        (2, 0, "control_character", {"character": "U+0000"}),
        (3, 0, "control_character", {"character": "U+001B"}),
        (4, 0, "control_character", {"character": "U+007F"}),
    ]


def test_notes_below_a_narrow_table_are_records() -> None:
    file = workbook(sheet(row(1, "id", "name"), row(2, 1, "Ann"), row(4, "Total")))

    assert [each[3] for each in read_rows(file)] == [None, None]


def test_cells_out_of_order_stand_in_their_columns() -> None:
    odd = f'<row r="2">{cell("B2", "Ann")}{cell("A2", 1)}</row>'

    assert read_rows(workbook(sheet(row(1, "id", "name"), odd))) == [
        (2, "1", "Ann", None, "nt")
    ]


def test_a_cell_that_is_there_twice_is_damage() -> None:
    odd = f'<row r="2">{cell("A2", 1)}{cell("A2", 2)}</row>'

    with pytest.raises(SourceError) as error:
        read_rows(workbook(sheet(row(1, "id", "name"), odd)))

    assert error.value.code == "corrupt"


def test_merged_cells_fill_rows_that_have_something_else() -> None:
    rows = [
        row(1, "group", "name", "city"),
        row(2, "G1", "Ann", "Bonn"),
        row(3, None, "Ben"),
        row(5, None, "Cy"),
        row(6, "G2", "Di"),
        row(7, "own", "Ed"),
        row(8, None, "Flo"),
    ]
    merges = merged("A2:A5", "C2:C3", "A6:A7", "B8:C8", "H2:H9")
    file = workbook(sheet(*rows, after=merges))

    assert [each[:4] for each in read_rows(file)] == [
        (2, "G1", "Ann", "Bonn"),
        (3, "G1", "Ben", "Bonn"),
        (5, "G1", "Cy", None),
        (6, "G2", "Di", None),
        (7, "own", "Ed", None),
        (8, None, "Flo", None),
    ]
    (warning,) = inspect_xlsx(file).warnings
    assert warning.parameters == {"ranges": ["A2:A5", "C2:C3", "A6:A7"], "count": 3}


def test_a_filled_cell_keeps_the_kind_and_the_fault_of_the_top() -> None:
    rows = [
        row(1, "day", "ratio", "name"),
        f'<row r="2">{cell("A2", 46081, style=1)}{cell("B2", "#N/A", "e")}</row>',
        row(3, None, None, "Ann"),
    ]
    file = workbook(
        sheet(*rows, after=merged("A2:A3", "B2:B3")), formats=["yyyy-mm-dd"]
    )

    _, filled = read_rows(file)

    assert (*filled[:4], filled[5]) == (3, "2026-02-28", "#N/A", "Ann", "dtt")
    assert [(f.column, f.code) for f in load_faults(filled[4])] == [(1, "error_value")]


@pytest.mark.parametrize(
    ("xml", "text", "kind"),
    [
        (cell("B2", 1, "b"), "true", "b"),
        (cell("B2", 0, "b"), "false", "b"),
        (cell("B2", "maybe", "b"), "maybe", "t"),
        (cell("B2", "2026-02-28T12:00:00", "d"), "2026-02-28T12:00:00", "d"),
        (cell("B2", "soon", "d"), "soon", "t"),
        (cell("B2", "abc", "n"), "abc", "t"),
        (cell("B2", "x", "str"), "x", "t"),
        (cell("B2", "x", "new"), "x", "t"),
        (cell("B2", 46081, style=1), "2026-02-28", "d"),
        (cell("B2", -5, style=1), "-5", "n"),
        (cell("B2", "abc", "n", style=1), "abc", "t"),
        (cell("B2", 1.5, style=2), "PT36H", "s"),
        (cell("B2", 7, style=3), "00007", "n"),
        (cell("B2", -7, style=3), "-00007", "n"),
        (cell("B2", 7.5, style=3), "7.5", "c"),
        (cell("B2", "abc", "n", style=3), "abc", "t"),
        (cell("B2", 7, style=99), "7", "n"),
        (cell("B2", "_x0041_"), "A", "t"),
    ],
)
def test_a_cell_has_the_text_and_kind_that_it_shows(
    xml: str, text: str, kind: str
) -> None:
    rows = [row(1, "a", "b"), f'<row r="2">{cell("A2", "x")}{xml}</row>']
    file = workbook(sheet(*rows), formats=["yyyy-mm-dd", "[h]:mm", "00000"])

    (found,) = read_rows(file)

    assert found == (2, "x", text, None, f"t{kind}" if kind != "t" else None)


def test_a_file_of_another_program_is_read_as_it_was_written() -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(["text", "number", "day", "at", "clock", "for", "flag", "sum"])
    page.append(
        [
            "a & b <c> Größe 😀 _x0041_",
            12345678.9,
            date(2026, 2, 28),
            datetime(2026, 2, 28, 12, 30),  # noqa: DTZ001 - a workbook has no zones
            time(7, 5),
            timedelta(hours=32, minutes=15),
            True,
            "=1+1",
        ]
    )

    (found,) = read_rows(saved(book))

    assert found[1:8] == (
        "a & b <c> Größe 😀 A",
        "12345678.9",
        "2026-02-28",
        "2026-02-28T12:30:00",
        "07:05:00",
        "PT32H15M",
        "true",
    )
    assert found[10] == "tndddsb-"
    assert [fault.code for fault in load_faults(found[9])] == ["no_cached_value"]


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]))
VALUES = st.one_of(
    st.none(),
    TEXTS.map("t{}".format),
    st.integers(-(10**15), 10**15),
    # The other program writes 16 digits.
    st.floats(-1e300, 1e300, allow_subnormal=False).map(
        lambda number: float(f"{number:.15g}")
    ),
    st.booleans(),
    st.dates(date(1900, 3, 1)),
)
KINDS = {str: "t", int: "n", float: "n", bool: "b", date: "d", type(None): "-"}


def text_of(value: object) -> str | None:
    """Return what a cell with *value* reads as."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = f"{Decimal(f'{value or 0.0:.15g}'):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return None if value is None else str(value)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=9))
@settings(max_examples=50)
def test_whatever_another_program_writes_is_read(rows: list[tuple[Any, ...]]) -> None:
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet()
    for values in [("key", "a", "b", "c"), *(("k", *each) for each in rows)]:
        page.append(values)

    found = read_rows(saved(book))

    assert [each[2:5] for each in found] == [
        tuple(text_of(value) for value in each) for each in rows
    ]
    kinds = ["t" + "".join(KINDS[type(value)] for value in each) for each in rows]
    assert [each[6] for each in found] == [k if k.strip("t-") else None for k in kinds]
