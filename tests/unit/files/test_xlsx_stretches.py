"""Rows that are taken many at once are the same as rows that are read one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsx_blocks import Table, blocks, make_fills, records
from batchfx.files.xlsx_cells import CellReader
from batchfx.files.xlsx_formats import GENERAL, NumberFormat, Shape
from batchfx.files.xlsx_notes import Profile
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_rows import StoredRow, sheet_rows, table_rows
from batchfx.files.xlsx_stretches import Stretch, Stretches
from batchfx.files.xlsx_strings import SharedStrings
from tests.unit.files.workbooks import packed, row, sheet, strings

FORMATS = (GENERAL, NumberFormat(Shape.DATE))
SHARED = ("Ann", "", " ", "Total", "Note: no", "10:", "a_x0041_", "Ben", "x &amp; y")
PROFILE = Profile(("n", "t", "n"), (0, 1), 2)
BLOCK = 4  # rows


class Outcome(NamedTuple):
    rows: list[tuple[Any, ...]]
    blocks: list[tuple[int, dict[str, Any]]]  # blank rows, position
    error: str


def read(part: str | bytes, width: int, after: int, alone: int | None) -> Outcome:
    """Read a sheet in stretches after *alone* rows, or row by row with None."""
    shared = strings(*(f"<t>{text}</t>" for text in SHARED))
    table = Table(range(width))
    profile = PROFILE if width == len(PROFILE.kinds) else Profile()
    found = Outcome([], [], "")
    with (
        Package(packed({"sheet.xml": part, "strings.xml": shared})) as package,
        SharedStrings(package, "strings.xml") as texts,
    ):
        cells = CellReader(FORMATS, texts, date1904=False)
        rows = stored(package, width, alone)
        laid_out = records(rows, table, cells, make_fills((), table, 1), after)
        try:
            for block in blocks(laid_out, table, cells, BLOCK, after, profile=profile):
                found.rows.extend(block.frame.rows())
                found.blocks.append((block.blank, dict(block.position)))
        except SourceError as error:
            return found._replace(error=f"{error.code} {error}")
    return found


def stored(
    package: Package, width: int, alone: int | None
) -> Iterator[StoredRow | Stretch]:
    if alone is None:
        return sheet_rows(package, "sheet.xml")
    return table_rows(package, "sheet.xml", Stretches(range(width), alone))


def check(part: str, width: int, after: int, alone: int) -> None:
    """Compare both ways; where one comes to damage it may be some rows later."""
    careful = read(part, width, after, None)
    quick = read(part, width, after, alone)
    if not careful.error:
        assert quick == careful
        return
    assert quick.error == careful.error
    pairs = list(zip(quick.rows, careful.rows, strict=False))
    assert [pair[0] for pair in pairs] == [pair[1] for pair in pairs]
    assert len(quick.rows) >= len(careful.rows)


def check_all(part: str, alone: int) -> None:
    """Compare with an XML parser that sees all, as it does of unusual encodings."""
    declared = f'<?xml version="1.0" encoding="utf-16"?>{part}'.encode("utf-16")
    parsed = read(declared, 3, 1, None)
    assert parsed.error or read(part, 3, 1, alone) == parsed


ALONE = st.integers(0, 5)
WORDS = "1|12.50|-3|1e3|44000|44000.5|2|3|4|0|Ann|Total|total:|#N/A|true|=A1|*** ***"
TEXT = st.sampled_from(
    [
        *WORDS.split("|"),
        "",
        " ",
        "\n",
        "\r\n",
        "&#10;",
        "a &lt; b",
        "_x0041_",
        "é",
        "東",
    ]
)
CODES = (
    '| s="1"| s="1" t="n"| t="n"| t="str"| t="b"| t="e"| t="inlineStr"| t="d"| s="7"'
)
CODE = st.sampled_from([*CODES.split("|"), ' s="0" t="n"', " "])
INDEX = st.sampled_from([*map(str, range(len(SHARED))), "00"])
WRONG_INDEX = st.sampled_from(["99", "-1", "", "x"])


@st.composite
def cells(draw: st.DrawFn, name: str, odd: int) -> str:
    """Draw a cell: a plain one, with 1 perhaps a strange one, or with 2 a wrong one."""
    usual = f'<c r="{name}" t="s"><v>{draw(st.sampled_from("0678"))}</v></c>'
    if draw(st.integers(0, 3)):
        return usual
    text, code = draw(TEXT), draw(CODE)
    plain = [
        usual,
        f'<c r="{name}" t="s"><v>{draw(INDEX)}</v></c>',
        f'<c r="{name}"{code}><v>{text}</v></c>',
        f'<c r="{name}" t="inlineStr"><is><t>{text}</t></is></c>',
        f'<c r="{name}"{code}><is><t xml:space="preserve">{text}</t></is></c>',
        f'<c r="{name}"{code}><f>A1+1</f><v>{text}</v></c>',
        f'<c r="{name}"{code}/>',
        "",
    ]
    strange = [
        f'<c r="{name}"{code}><f t="shared" si="0"/><v>{text}</v></c>',
        f'<c r="{name}"{code} />',
        f'<c r="{name}" x="y"><v>{text}</v></c>',
        f'<c r="{name}"{code}></c>',
        f'<c r="{name}"{code}><v/></c>',
        f'<c r="{name}"{code}><f>A1</f></c>',
        f"<c r='{name}'><v>{text}</v></c>",
        f'<c r="{name}"{code}><v>{text}</v></c><!-- </row> -->',
        f'<c r="{name}"{code}><v><![CDATA[</row>]]></v></c>',
        f'\n<c r="{name}"{code}>\n<v>{text}</v></c>',
    ]
    wrong = [
        f'<c r="{name}" t="s"><v>{draw(WRONG_INDEX)}</v></c>',
        f'<c r="{name}"{code}/><v>{text}</v></c>',
        f'<c r="{name}"{code}/><v></v></c>',
        f'<c r="{name}"{code}><v>{text}</t></is></c>',
        f'<c r="{name}"{code}><is><t>{text}</v></c>',
        f'<c r="{name}"{code}><v>&bad;</v></c>',
        f'<c r="{name}"{code}><v>\x01</v></c>',
        f'<c r="{name}" s="1><v>{text}</v></c>',
        f'<c r="{name}00000000"><v>{text}</v></c>',
        f'<c r="D{name[1:]}"><v>{text}</v></c>',
        "<c><v>5</v></c>",
    ]
    return draw(st.sampled_from([plain, strange, wrong][draw(st.integers(0, odd))]))


@st.composite
def rows(draw: st.DrawFn, number: int, odd: int) -> str:
    """Draw a row with cells in the columns A to C."""
    content = "".join(draw(cells(f"{letter}{number}", odd)) for letter in "ABC")
    plain = [f'<row r="{number}" spans="1:3">{content}</row>']
    strange = [
        f"<row>{content}</row>",
        f'<row r="{number}"/>',
        f'\n<row r="{number}" ht="15.5" x:y="z">{content}</row>\n',
        f'<row r="{number}" xmlns:z="z">{content}</row>',
        f'<row r="{number}" a=">">{content}</row>',
        f'<!-- <row r="{number}"></row> --><row r="{number}">{content}</row>',
    ]
    wrong = [
        f'<row r="{number}" r="{number}">{content}</row>',
        f'<row r="{number}">{content}',
        f'<row r="{number - 1}">{content}</row>',
        f'<row r="{number + 1_048_570}">{content}</row>',
    ]
    kind = draw(st.integers(0, odd)) if not draw(st.integers(0, 3)) else 0
    return draw(st.sampled_from([plain, strange, wrong][kind]))


@st.composite
def sheets(draw: st.DrawFn) -> str:
    """Draw a sheet of rows that mostly follow one another."""
    odd = draw(st.sampled_from([0, 0, 0, 1, 1, 2]))
    found = []
    number = 1
    for _ in range(draw(st.integers(1, 16))):
        found.append(draw(rows(number, odd)))
        number += draw(st.sampled_from([1] * 20 + [2, 3]))
    text = sheet(*found)
    return text.replace("<worksheet ", '<worksheet xmlns:x="x" ') if odd else text


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(sheets())
    at = draw(st.integers(0, len(text)))
    end = at + draw(st.integers(0, 12))
    fragments = ["", "<", ">", "/", '"', " ", "</row>", "</c>", "<v>", "&amp;", "&"]
    return text[:at] + draw(st.sampled_from(fragments)) + text[end:]


LENGTHS = pytest.mark.parametrize(
    "examples", [60, pytest.param(5_000, marks=pytest.mark.slow)]
)
SLOWNESS = (HealthCheck.too_slow, HealthCheck.data_too_large)


@LENGTHS
def test_stretches_and_single_rows_give_the_same_records(examples: int) -> None:
    drawn = given(sheets() | damaged(), st.integers(1, 4), st.integers(0, 6), ALONE)

    settings(max_examples=examples, suppress_health_check=SLOWNESS)(drawn(check))()


@LENGTHS
def test_an_xml_parser_that_sees_all_rows_finds_the_same(examples: int) -> None:
    drawn = given(sheets(), ALONE)

    settings(max_examples=examples, suppress_health_check=SLOWNESS)(drawn(check_all))()


ODD_ROWS = {
    "comment": '<row r="{0}"><c r="A{0}"><v>{0}</v></c><!-- </row> <row> --></row>',
    "cdata": '<row r="{0}"><c r="A{0}"><v><![CDATA[{0}]]></v></c></row>',
    "between": '<row r="{0}"><c r="A{0}"><v>{0}</v></c></row><!-- <row></row> -->',
    "inner": '<row r="{0}"><c r="A{0}"><v>{0}</v></c><z><row xmlns=""></row></z></row>',
    "foreign": '<row xmlns="o"></row><row r="{0}"><c r="A{0}"><v>{0}</v></c></row>',
}


@pytest.mark.parametrize("kind", ODD_ROWS)
def test_rows_behind_a_parsed_one_are_taken_together_again(kind: str) -> None:
    rows = [row(number, number) for number in range(1, 1001)]
    rows[500] = ODD_ROWS[kind].format(501)

    found = taken(sheet(*rows), 1)

    sizes = [each.height if isinstance(each, Stretch) else 1 for each in found]
    texts = [text for each in found for text in stored_texts(each)]
    assert texts == [str(number) for number in range(1, 1001)]
    assert sizes[0] >= 500
    assert sizes[-1] > 450


def stored_texts(found: StoredRow | Stretch) -> list[str]:
    return list(found.stored[0]) if isinstance(found, Stretch) else list(found.stored)


def taken(part: str, width: int) -> list[StoredRow | Stretch]:
    with Package(packed({"sheet.xml": part})) as package:
        return list(stored(package, width, 0))


def test_plain_rows_are_one_stretch_with_the_columns_of_the_table() -> None:
    part = sheet(
        '<row r="2" spans="1:3"><c r="A2" s="1"><v>1</v></c><c r="C2"/></row>',
        '<row r="3"><c r="B3" t="inlineStr"><is><t>a &amp; b</t></is></c></row>',
        '<row r="4"><c r="A4"><f>A3*2</f><v>3</v></c><c r="B4"><v>4</v></c></row>',
    )

    (stretch,) = taken(part, 3)

    assert isinstance(stretch, Stretch)
    assert (stretch.first, stretch.last) == (2, 4)
    assert [list(column) for column in stretch.stored] == [
        ["1", "", "3"],
        ["", "a & b", "4"],
        ["", "", ""],
    ]
    assert list(stretch.attributes[0]) == [' s="1"', "", ""]


def test_a_stretch_ends_where_a_row_is_missing() -> None:
    part = sheet(row(1, 5), row(2, 6), row(5, 7))

    assert [(each[0], each[2]) for each in taken(part, 1)] == [
        (1, [("5", "6")]),
        (5, [("7",)]),
    ]


def test_rows_behind_an_odd_one_are_taken_together_again() -> None:
    rows = [row(number, number) for number in range(1, 1001)]
    rows[500] = '<row r="501"><c r="A501"> <v>0</v></c></row>'

    kinds = [type(each) for each in taken(sheet(*rows), 1)]

    assert kinds[0] is kinds[-1] is Stretch
    assert kinds.count(StoredRow) < 5


@pytest.mark.parametrize("width", [1, 3])
def test_rows_that_are_all_odd_take_no_longer_than_one_by_one(width: int) -> None:
    rows = (f'<row r="{n}"><c r="A{n}"> <v>{n}</v></c></row>' for n in range(1, 20_001))
    part = sheet(*rows)
    seconds = []
    for alone in (0, 10**9):
        with Package(packed({"sheet.xml": part})) as package:
            started = time.process_time()
            found = table_rows(package, "sheet.xml", Stretches(range(width), alone))
            assert sum(1 for _ in found) == 20_000
            seconds.append(time.process_time() - started)

    assert seconds[0] < seconds[1] * 1.5 + 0.02


def test_the_last_row_of_a_sheet_ends_a_stretch() -> None:
    part = sheet(row(1_048_575, 1), row(1_048_576, 2), row(1_048_577, 3))
    with Package(packed({"sheet.xml": part})) as package:
        rows = stored(package, 1, 0)

        assert next(rows) == Stretch(1_048_575, [("", "")], [("1", "2")])
        with pytest.raises(SourceError, match="row 1048577 after row 1048576"):
            next(rows)
