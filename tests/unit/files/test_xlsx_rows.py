"""Rows of a sheet as programs write them, and as they may also be written."""

from __future__ import annotations

import re
from itertools import accumulate
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx
from batchfx.files.xlsx_cells import NO_RESULT
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_rows import StoredRow, sheet_rows
from tests.unit.files.workbooks import MAIN, packed, row, sheet, workbook

Content = tuple[str, str, str]


def rows_of(part: str | bytes) -> list[StoredRow]:
    with Package(packed({"sheet.xml": part})) as package:
        return list(sheet_rows(package, "sheet.xml"))


def contents(part: str | bytes) -> list[tuple[int, dict[str, Content]]]:
    """Return, of each row, the cells with content: type, style and what is stored."""
    return [
        (
            each.number,
            {
                letters: (*kind_and_style(code), stored)
                for letters, code, stored in zip(*each[1:], strict=True)
                if stored
            },
        )
        for each in rows_of(part)
    ]


def kind_and_style(code: str) -> tuple[str, str]:
    if code == NO_RESULT:
        return "formula", ""
    named = dict(re.findall(r' ([a-z]+)="([^"]*)"', code))
    return named.get("t", "n"), named.get("s", "0")


@pytest.mark.parametrize(
    ("xml", "found"),
    [
        ('<c r="B1"><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="B1" s="3"><v>1</v></c>', {"B": ("n", "3", "1")}),
        ('<c r="B1" s="3" t="s"><v>1</v></c>', {"B": ("s", "3", "1")}),
        ("<c r='B1'><v>1</v></c>", {"B": ("n", "0", "1")}),
        ('<c  r="B1"\n><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="B1" xml:lang="de"><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="b1"><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="B1"/>', {}),
        ('<c r="B1" s="1" />', {}),
        ('<c r="B1"></c>', {}),
        ('<c r="B1"><v/></c>', {}),
        ('<c r="B1"><v></v></c>', {}),
        ('<c r="B1"> <v>1</v> </c>', {"B": ("n", "0", "1")}),
        ('<c r="B1"><f>A1</f><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="B1"><f t="shared" si="0"/><v>1</v></c>', {"B": ("n", "0", "1")}),
        ('<c r="B1"><f>A1</f></c>', {"B": ("formula", "", "=A1")}),
        ('<c r="B1"><f>A1</f><v></v></c>', {"B": ("formula", "", "=A1")}),
        ('<c r="B1"><f>A1</f><v /></c>', {"B": ("formula", "", "=A1")}),
        ('<c r="B1" t="str"><f>A1</f><v></v></c>', {}),
        ('<c r="B1" t="str"><f>A1&amp;A2</f><v>x</v></c>', {"B": ("str", "0", "x")}),
        ('<c r="B1" t="e"><f>1/0</f><v>#DIV/0!</v></c>', {"B": ("e", "0", "#DIV/0!")}),
        (
            '<c r="B1" t="inlineStr"><is><t>a &amp; b</t></is></c>',
            {"B": ("inlineStr", "0", "a & b")},
        ),
        ('<c r="B1" t="inlineStr"><is><t/></is></c>', {}),
        (
            '<c r="B1" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>',
            {"B": ("inlineStr", "0", "ab")},
        ),
        (
            '<c r="B1" t="inlineStr"><is><t>a</t><rPh><t>b</t></rPh></is></c>',
            {"B": ("inlineStr", "0", "a")},
        ),
        ('<c r="B1"><v>1<!-- 2 -->3</v></c>', {"B": ("n", "0", "13")}),
        ('<c r="B1"><v><![CDATA[1]]></v></c>', {"B": ("n", "0", "1")}),
        (
            '<c><v>1</v></c><c r="C1"><v>2</v></c><c><v>3</v></c>',
            {
                "A": ("n", "0", "1"),
                "C": ("n", "0", "2"),
                "D": ("n", "0", "3"),
            },
        ),
    ],
)
def test_a_cell_is_read_however_it_is_written(
    xml: str, found: dict[str, Content]
) -> None:
    part = sheet(f'<row r="1">{xml}</row>', row(2, 5))

    assert contents(part) == [(1, found), (2, {"A": ("n", "0", "5")})]


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        ('<row r="2"/><row r="4"></row><row/>', [2, 4, 5]),
        ("<row><c><v>1</v></c></row><row r='7'/><row/>", [1, 7, 8]),
        ('<row spans="1:2" r="3" ht="15.5" x14ac:dyDescent="0.25"/>', [3]),
        ('\n  <row r="1" >\n <c r="A1"/>\n</row>\n<row r="1048576"/>', [1, 1048576]),
        ("", []),
    ],
)
def test_rows_without_a_number_follow_the_one_before(
    rows: str, numbers: list[int]
) -> None:
    other = 'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"'
    part = sheet(rows).replace("<worksheet ", f"<worksheet {other} ")

    assert [each.number for each in rows_of(part)] == numbers


ROW = '<row r="3"><c r="B3"><v>7</v></c></row>'
PREFIXED = (
    f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData><x:row r="3"><x:c r="B3">'
    "<x:v>7</x:v></x:c></x:row></x:sheetData></x:worksheet>"
)
FOREIGN = '<o:row r="1"/><row r="3"><c r="B3"><o:v>8</o:v><v>7</v></c></row>'


@pytest.mark.parametrize(
    "part",
    [
        PREFIXED,
        f"<worksheet xmlns='{MAIN}'><sheetData a='b'>{ROW}</sheetData></worksheet>",
        f"<worksheet><sheetData>{ROW}</sheetData></worksheet>",
        sheet(FOREIGN).replace("<worksheet ", '<worksheet xmlns:o="other" '),
        "\ufeff" + sheet(ROW),
        ('<?xml version="1.0" encoding="utf-16"?>' + sheet(ROW)).encode("utf-16"),
        "<?xml version='1.0' encoding='iso-8859-1'?>" + sheet(ROW),
        "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\r\n" + sheet(ROW),
    ],
)
def test_prefixes_namespaces_and_encodings_do_not_matter(part: str | bytes) -> None:
    assert contents(part) == [(3, {"B": ("n", "0", "7")})]


@pytest.mark.parametrize("spelled", ["xmlns", "extended"])
def test_rows_after_an_odd_one_are_read_too(spelled: str) -> None:
    odd = {
        "xmlns": f'<row r="501" xmlns="{MAIN}"><c r="A501"><v>501</v></c></row>',
        "extended": '<row r="501"><c r="A501"><v>501</v><extLst/></c></row>',
    }
    rows = [row(number, number) for number in range(1, 5001)]
    rows[500] = odd[spelled]

    expected = [(n, {"A": ("n", "0", str(n))}) for n in range(1, 5001)]
    assert contents(sheet(*rows)) == expected


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ('<row r="2"/><row r="2"/>', "corrupt"),
        ('<row r="2"/><row r="1"/>', "corrupt"),
        ('<row r="0"/>', "corrupt"),
        ('<row r="1048577"/>', "corrupt"),
        ('<row r="x"/>', "corrupt"),
        ('<row r="12345678"/>', "corrupt"),
        ('<row r="1"><c r="1A"><v>1</v></c></row>', "corrupt"),
        ('<row r="1"><c r="A1"><v>1</v></row>', "corrupt"),
        ('<row r="1"><c r="A1"><v>&unknown;</v></c></row>', "corrupt"),
        ('<row r="1"><c r="A1"><v>&#0;</v></c></row>', "corrupt"),
        ('<row r="1"><c r="A1"><v>\x01</v></c></row>', "corrupt"),
        ('<row r="1"><c r="XFE1"><v>1</v></c><z/></row>', "too_many_columns"),
        ('<row r="1">' + "<c><v>1</v></c>" * 16385 + "</row>", "too_many_columns"),
    ],
)
def test_what_no_program_writes_is_refused(rows: str, code: str) -> None:
    file = workbook(sheet(rows))

    with pytest.raises(SourceError) as error:
        inspect_xlsx(file)

    assert error.value.code == code


@pytest.mark.parametrize("cut", [10, 100, 300, 600])
def test_a_sheet_that_ends_early_is_damaged(cut: int) -> None:
    part = sheet(*(row(number, number) for number in range(1, 10)))[:-cut]

    with pytest.raises(SourceError) as error:
        rows_of(part)

    assert error.value.code == "corrupt"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ATTRIBUTES = st.sampled_from(["", ' s="1"', ' s="2" cm="1"'])
CONTENTS = st.one_of(
    st.just(' t="n"/>'),
    st.just("></c>"),
    st.integers().map(lambda number: f"><v>{number}</v></c>"),
    st.integers().map(lambda number: f"><f>A1&lt;2</f><v>{number}</v></c>"),
    WORDS.map(lambda word: f' t="inlineStr"><is><t>{escape(word)}</t></is></c>'),
    WORDS.map(
        lambda word: f' t="str"><f t="array" ref="A1">B1</f><v>{escape(word)}</v></c>'
    ),
    st.sampled_from(["><f>A1</f></c>", "> <v>1</v></c>", "><v>1</v><z/></c>"]),
)
ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), ATTRIBUTES, CONTENTS), max_size=6),
    max_size=20,
)


@given(ROWS, st.sampled_from(["", "\n"]))
def test_plain_rows_and_parsed_ones_are_the_same(
    rows: list[list[tuple[int, str, str]]], space: str
) -> None:
    written = []
    for number, cells in enumerate(rows, 1):
        columns = accumulate((gap + 1 for gap, _, _ in cells), initial=0)
        xml = "".join(
            f'<c r="{LETTERS[column]}{number}"{attributes}{content}'
            for column, (_, attributes, content) in zip(columns, cells, strict=False)
        )
        written.append(f'<row r="{number}">{space}{xml}</row>{space}')
    part = sheet(*written)
    declared = f'<?xml version="1.0" encoding="utf-16"?>{part}'

    assert contents(part) == contents(declared.encode("utf-16"))


def test_a_value_of_an_extension_is_not_that_of_its_cell() -> None:
    extension = '<extLst><ext uri="{x}"><v>77</v><f>1</f><t>8</t></ext></extLst>'
    cells = (
        f'<c r="A1"><v>19</v>{extension}</c>',
        f'<c r="B1" t="inlineStr"><is><t>x</t></is>{extension}</c>',
        f'<c r="C1">{extension}</c>',
    )

    assert contents(sheet(f'<row r="1">{"".join(cells)}</row>')) == [
        (1, {"A": ("n", "0", "19"), "B": ("inlineStr", "0", "x")})
    ]


@pytest.mark.parametrize(
    "twice", ["<v>7</v><v>8</v>", "<v>7</v><is><t>8</t></is>", "<v></v><v>8</v>"]
)
def test_a_cell_with_two_values_is_damage_that_is_told(twice: str) -> None:
    with pytest.raises(SourceError) as error:
        rows_of(sheet(row(1, 1), f'<row r="2"><c r="A2">{twice}</c></row>'))

    assert error.value.code == "corrupt"
    assert str(error.value).startswith("Cell A2 of the sheet has two values.")
