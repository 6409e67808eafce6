"""Binary workbooks, read like the others, and refused where that isn't sure."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsb import inspect_xlsb, is_xlsb, read_xlsb
from tests.unit.files.binary_workbooks import (
    binary_parts,
    binary_workbook,
    cell,
    hidden_column,
    merged,
    number,
    record,
    row,
    sheet,
    short,
    text,
    wide,
    xlsb_faults,
    xlsb_rows,
)
from tests.unit.files.workbooks import packed, workbook
from tests.unit.files.workbooks import sheet as xml_sheet

HEADER = row(1, text(0, "id"), text(1, "value"))
DOUBLE = struct.Struct("<d")


def rk(value: int, *, hundredth: bool = False) -> bytes:
    return struct.pack("<i", value << 2 | 2 | hundredth)


def one(made: bytes, *formats: str, date1904: bool = False) -> tuple[str | None, str]:
    """Return the text and kind of a cell below a header."""
    content = sheet(HEADER, row(2, text(0, "x"), made))
    file = binary_workbook(
        content, strings=["zero", "_x000D_"], formats=formats, date1904=date1904
    )
    ((_, _, found, kinds),) = xlsb_rows(file)
    return found, kinds[1] if kinds else "t"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (number(1, 12345.0), ("12345", "n")),
        (number(1, 0.1 + 0.2), ("0.3", "n")),
        (cell(2, 1, rk(-7)), ("-7", "n")),
        (cell(2, 1, rk(12345, hundredth=True)), ("123.45", "n")),
        (cell(2, 1, DOUBLE.pack(1.5)[4:]), ("1.5", "n")),
        (cell(4, 1, b"\1"), ("true", "b")),
        (cell(7, 1, bytes(4)), ("zero", "t")),
        (cell(7, 1, b"\1\0\0\0"), ("_x000D_", "t")),
        (cell(62, 1, b"\0" + wide("rich 😀")), ("rich 😀", "t")),
        (cell(8, 1, wide("result") + bytes(6)), ("result", "t")),
        (cell(9, 1, DOUBLE.pack(2.5) + bytes(6)), ("2.5", "n")),
        (cell(10, 1, b"\0" + bytes(6)), ("false", "b")),
        (short(13, rk(8)), ("8", "n")),
        (short(15, b"\1"), ("true", "b")),
        (short(16, DOUBLE.pack(0.5)), ("0.5", "n")),
        (short(17, wide("short")), ("short", "t")),
        (short(18, bytes(4)), ("zero", "t")),
    ],
)
def test_a_cell_of_any_kind_is_its_exact_text(
    made: bytes, expected: tuple[str, str]
) -> None:
    assert one(made) == expected


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (4507.0, "00000", ("04507", "n")),
        (46081.0, "dd.mm.yyyy", ("2026-02-28", "d")),
        (1.34375, "[h]:mm", ("PT32H15M", "s")),
        (12500000.0, '[Red]0" days"', ("12500000", "n")),
    ],
)
def test_a_number_is_what_its_format_makes_of_it(
    value: float, code: str, expected: tuple[str, str]
) -> None:
    assert one(number(1, value, 1), code) == expected


def test_dates_of_the_1904_system_are_not_four_years_early() -> None:
    made = number(1, 44619.0, 1)

    assert one(made, "dd.mm.yyyy", date1904=True) == ("2026-02-28", "d")


def test_errors_are_faults() -> None:
    made = [cell(3, 1, b"\x2a"), cell(11, 1, b"\x07" + bytes(6)), short(14, b"\x17")]
    rows = [row(i, text(0, "x"), each) for i, each in enumerate(made, 2)]

    assert xlsb_faults(binary_workbook(sheet(HEADER, *rows))) == [
        (2, 1, "error_value", "#N/A"),
        (3, 1, "error_value", "#DIV/0!"),
        (4, 1, "error_value", "#REF!"),
    ]


def test_short_cells_after_a_gap_stand_where_they_belong() -> None:
    names = row(1, *[text(i, name) for i, name in enumerate("abcde")])
    cells = row(2, text(0, "1"), short(12, b""), text(2, "3"), short(17, wide("4")))
    other = row(5, text(1, "b"), short(13, rk(3)), cell(1, 4, b""))

    assert xlsb_rows(binary_workbook(sheet(names, cells, other))) == [
        (2, "1", None, "3", "4", None, None),
        (5, None, "b", "3", None, None, "-tn--"),
    ]


def test_what_is_hidden_or_merged_is_told() -> None:
    rows = [
        row(2, text(0, "J-1"), text(1, "a")),
        row(3, text(1, "b"), hidden=True),
        row(4, hidden=True),
    ]
    content = sheet(HEADER, *rows, before=hidden_column(1), after=merged(1, 2, 0, 0))
    file = binary_workbook(content)

    assert [each.message for each in inspect_xlsb(file).warnings] == [
        "Row 3 is hidden. What is hidden is read like the rest.",
        "Column B ('value') is hidden. What is hidden is read like the rest.",
        (
            "Cells are merged over several rows (A2:A3). "
            "Each of these rows gets the value of the top cell."
        ),
    ]
    assert [line[1] for line in xlsb_rows(file)] == ["J-1", "J-1"]


def test_a_hidden_sheet_is_only_read_when_it_is_named() -> None:
    lists = sheet(row(1, text(0, "code"), text(1, "label")), row(2, text(0, "x")))
    data = sheet(HEADER, row(2, text(0, "a"), text(1, "b")))
    file = binary_workbook({"Lists": lists, "Data": data}, hidden=["Lists"])

    assert xlsb_rows(file) == [(2, "a", "b", None)]
    assert xlsb_rows(file, sheet="Lists") == [(2, "x", None, None)]


def test_reading_goes_on_where_a_block_ended() -> None:
    rows = [row(i, text(0, f"k{i}"), number(1, i)) for i in range(2, 9)]
    file = binary_workbook(sheet(HEADER, *rows))
    layout = inspect_xlsb(file)

    first, *rest = read_xlsb(file, layout, 3)
    again = list(read_xlsb(file, layout, 3, first.position))

    assert [block.frame["row"].to_list() for block in again] == [[5, 6, 7], [8]]
    assert [block.frame.rows() for block in again] == [b.frame.rows() for b in rest]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (
            sheet(HEADER, row(2, text(0, "a"), record(99, bytes(12)))),
            "unsupported_format",
        ),
        (sheet(HEADER, row(2, text(20_000, "a"))), "too_many_columns"),
        (sheet(HEADER, row(2, text(0, "a")), row(2, text(0, "b"))), "corrupt"),
        (sheet(HEADER, row(2_000_000, text(0, "a"))), "corrupt"),
        (sheet(HEADER, row(2, cell(5, 0, b"\0\0"))), "corrupt"),
        (sheet(HEADER, row(2, cell(6, 0, b"\xff\xff\0\0ab"))), "corrupt"),
        (sheet(HEADER)[:-20], "corrupt"),
        (record(129) + record(145) + HEADER, "corrupt"),
        (b"\x06\xff\xff\xff\x7f" + bytes(100), "unsafe_file"),
        (sheet(), "empty_file"),
    ],
)
def test_what_is_not_sure_is_refused(content: bytes, code: str) -> None:
    with pytest.raises(SourceError) as error:
        xlsb_rows(binary_workbook(content))

    assert error.value.code == code


def test_an_xlsx_workbook_is_no_binary_one() -> None:
    assert is_xlsb(binary_workbook(sheet(HEADER)))
    assert not is_xlsb(workbook(xml_sheet()))
    assert not is_xlsb(io.BytesIO(b"id,name\n"))
    with pytest.raises(SourceError) as error:
        inspect_xlsb(workbook(xml_sheet()))
    assert error.value.code == "wrong_format"


CELLS = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
    st.integers(-(10**15), 10**15),
)

KEYS = (text(3, "k"), text(4, "k"))  # a row with one cell could be taken for a note


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=8), st.booleans())
def test_what_is_written_is_read_back(
    grid: list[list[str | int | None]],
    shared: bool,  # noqa: FBT001 - drawn
) -> None:
    texts = [each for line in grid for each in line if isinstance(each, str)]

    def made(column: int, value: str | int | None) -> bytes:
        if value is None:
            return cell(1, column, b"")
        if isinstance(value, int):
            return number(column, float(value))
        if shared:
            return cell(7, column, struct.pack("<I", texts.index(value)))
        return text(column, value)

    rows = [
        row(i, *[made(column, value) for column, value in enumerate(line)], *KEYS)
        for i, line in enumerate(grid, 2)
    ]
    names = row(1, *[text(column, name) for column, name in enumerate("vwxyz")])
    file = binary_workbook(sheet(names, *rows), strings=texts)

    assert [line[:4] for line in xlsb_rows(file, header_row=1)] == [
        (i, *[None if value is None else str(value) for value in line])
        for i, line in enumerate(grid, 2)
    ]


def test_parts_that_are_cut_anywhere_are_corrupt() -> None:
    parts = binary_parts(sheet(HEADER, row(2, cell(7, 0, bytes(4)))), strings=["one"])
    for name in ("xl/strings.bin", "xl/workbook.bin"):
        whole = parts[name]
        assert isinstance(whole, bytes)
        cut = packed({**parts, name: whole[: len(whole) // 2]})

        with pytest.raises(SourceError) as error:
            xlsb_rows(cut)

        assert error.value.code == "corrupt"
