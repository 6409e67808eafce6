"""Workbooks as the programs write them that people send files from."""

from __future__ import annotations

from typing import Any

import pytest

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from batchfx.model.blocks import Block, load_faults
from tests.unit.files.workbooks import (
    MAIN,
    PACKAGE,
    RELATIONS,
    packed,
    read_rows,
    sheet,
    strings,
    styles,
    workbook,
    workbook_parts,
)

X14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'

# LibreOffice Calc: every attribute of every row, white space kept everywhere.
LIBRE_ROW = (
    '<row r="{}" customFormat="false" ht="12.8" hidden="false" customHeight="false" '
    'outlineLevel="0" collapsed="false">{}</row>'
)
LIBRE = sheet(
    LIBRE_ROW.format(
        1, '<c r="A1" s="0" t="s"><v>0</v></c><c r="B1" s="0" t="s"><v>1</v></c>'
    ),
    LIBRE_ROW.format(
        2, '<c r="A2" s="1" t="n"><v>46081</v></c><c r="B2" s="0" t="s"><v>2</v></c>'
    ),
    LIBRE_ROW.format(
        3,
        '<c r="A3" s="2" t="b"><v>1</v></c>'
        '<c r="B3" s="0" t="e"><f aca="false">1/0</f><v>#DIV/0!</v></c>',
    ),
    before='<sheetPr filterMode="false"><pageSetUpPr fitToPage="false"/></sheetPr>'
    '<dimension ref="A1:B3"/>'
    '<cols><col collapsed="false" hidden="false" max="1025" min="1"/></cols>',
    after='<printOptions headings="false"/><pageMargins left="0.7"/>',
)
LIBRE_STRINGS = strings(
    *(f'<t xml:space="preserve">{text}</t>' for text in ("day", "note", " a  b "))
)

# ClosedXML and the Open XML SDK: a prefix before every name.
PREFIXED = (
    f'{DECLARED}<x:worksheet xmlns:x="{MAIN}"><x:sheetData>'
    '<x:row r="1"><x:c r="A1" t="s"><x:v>0</x:v></x:c>'
    '<x:c r="B1" t="s"><x:v>1</x:v></x:c></x:row>'
    '<x:row r="2"><x:c r="A2" s="1"><x:v>46081</x:v></x:c>'
    '<x:c r="B2" t="inlineStr"><x:is><x:t>é</x:t></x:is></x:c></x:row>'
    "</x:sheetData></x:worksheet>"
)

# SheetJS: dates as ISO text, UTC by name only; sheets without styles.
SHEETJS = sheet(
    '<row r="1"><c r="A1" t="str"><v>day</v></c>'
    '<c r="B1" t="str"><v>note</v></c></row>',
    '<row r="2"><c r="A2" t="d"><v>2026-02-28T00:00:00.000Z</v></c>'
    '<c r="B2" t="str"><v>x &amp;lt; y</v></c></row>',
    '<row r="3"><c r="A3" t="d"><v>2026-02-28T09:30:00Z</v></c></row>',
)

# Google Sheets: names spaces that nobody uses, styled cells to the right and below.
GOOGLE = (
    f'{DECLARED}<worksheet xmlns="{MAIN}" xmlns:r="{RELATIONS}" xmlns:x14="{X14}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    '<sheetPr><outlinePr summaryBelow="0" summaryRight="0"/></sheetPr>'
    '<sheetViews><sheetView workbookViewId="0"/></sheetViews>'
    '<sheetFormatPr customHeight="1" defaultColWidth="12.63" defaultRowHeight="15.75"/>'
    '<sheetData><row r="1"><c r="A1" s="0" t="s"><v>0</v></c>'
    '<c r="B1" s="0" t="s"><v>1</v></c><c r="C1" s="0"/></row>'
    '<row r="2"><c r="A2" s="1"><v>46081.0</v></c>'
    '<c r="B2" s="0" t="str"><f t="shared" ref="B2:B3" si="1">A2&amp;""</f><v>t</v></c>'
    '<c r="C2" s="0"/></row>'
    '<row r="3"><c r="A3" s="1"><v>46082.0</v></c>'
    '<c r="B3" s="0" t="str"><f t="shared" si="1"/><v>u</v></c></row>'
    '<row r="4"><c r="A4" s="0"/><c r="B4" s="0"/></row></sheetData>'
    '<drawing r:id="rId1"/></worksheet>'
)

# Apache POI, streaming: spans, texts in the cells.
POI = sheet(
    '<row r="1" spans="1:2">\n<c r="A1" t="inlineStr"><is><t>day</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>note</t></is></c></row>\n',
    '<row r="2">\n<c r="A2" s="1" t="n"><v>46081.0</v></c>'
    '<c r="B2" t="inlineStr"><is><t xml:space="preserve"> a&#13;\n</t></is></c>'
    "</row>\n",
    '<row r="3"><c r="A3" s="2" t="n"><v>1.5</v></c><c r="B3" t="b"><v>0</v></c></row>',
)
DAY = "[$-409]d\\-mmm\\-yyyy;@"


@pytest.mark.parametrize(
    ("content", "shared", "rows"),
    [
        (
            LIBRE,
            LIBRE_STRINGS,
            [
                (2, "2026-02-28", " a  b ", "dt"),
                (3, "true", "#DIV/0!", "bt"),
            ],
        ),
        (
            PREFIXED,
            strings("<t>day</t>", "<t>note</t>"),
            [(2, "2026-02-28", "é", "dt")],
        ),
        (
            SHEETJS,
            None,
            [
                (2, "2026-02-28", "x &lt; y", "dt"),
                (3, "2026-02-28T09:30:00", None, "d-"),
            ],
        ),
        (
            GOOGLE,
            strings("<t>day</t>", "<t>note</t>"),
            [(2, "2026-02-28", "t", "dt"), (3, "2026-03-01", "u", "dt")],
        ),
        (
            POI,
            None,
            [(2, "2026-02-28", " a\r\n", "dt"), (3, "PT36H", "false", "sb")],
        ),
    ],
    ids=["LibreOffice", "ClosedXML", "SheetJS", "Google Sheets", "Apache POI"],
)
def test_what_a_program_writes_is_read(
    content: str, shared: str | None, rows: list[tuple[Any, ...]]
) -> None:
    file = workbook(content, shared=shared, formats=[DAY, "[h]:mm:ss;@"])

    layout = inspect_xlsx(file)
    found = read_rows(file)

    assert (layout.header, layout.warnings) == (("day", "note"), ())
    assert [(*each[:3], each[4]) for each in found] == rows
    faults = [fault for each in found for fault in load_faults(each[3] or "[]")]
    assert [(fault.code, fault.column) for fault in faults] == (
        [("error_value", 1)] if content is LIBRE else []
    )


def test_targets_and_types_of_parts_may_be_written_as_epplus_does() -> None:
    parts = workbook_parts(
        sheet(
            '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>',
            '<row r="2"><c r="A2" s="1"><v>46081</v></c>'
            '<c r="B2" t="s"><v>1</v></c></row>',
        )
    )
    del parts["xl/styles.xml"]
    folder = f'Type="{RELATIONS}'
    parts |= {
        "_rels/.rels": f'{DECLARED}<Relationships xmlns="{PACKAGE}"><Relationship '
        f'{folder}/officeDocument" Target="/xl/workbook.xml" Id="R1"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">'
        f'<Relationship {folder}/worksheet" Target="/xl/worksheets/sheet1.xml" '
        f'Id="rId1"/><Relationship {folder}/styles" Target="/xl/styles.xml" Id="R2"/>'
        f'<Relationship {folder}/sharedStrings" Target="/xl/sharedStrings.xml" '
        'Id="R3"/></Relationships>',
        "xl/styles.xml": styles(DAY),
        "xl/sharedStrings.xml": strings("<t>day</t>", "<t>note</t>"),
    }

    assert read_rows(packed(parts)) == [(2, "2026-02-28", "note", None, "dt")]


def test_a_cell_that_refers_to_no_shared_string_is_faulty_alone() -> None:
    def lines(number: str) -> list[str]:
        return [
            f'<row r="{r}"><c r="A{r}"><v>{r}</v></c>'
            f'<c r="B{r}" t="s"><v>{n}</v></c></row>'
            for r, n in ((2, "0"), (3, number), (4, "1"))
        ]

    header = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    for number in ("7", "-1", "hello", "0.0"):
        file = workbook(
            sheet(header, *lines(number)), shared=strings("<t>day</t>", "<t>note</t>")
        )
        for rows in (1, 2, 100):
            blocks = list(read_xlsx(file, inspect_xlsx(file), rows))
            read = [row for block in blocks for row in block.frame.rows()]

            assert [row[:3] for row in read] == [
                *((2, "2", "day"), (3, "3", None), (4, "4", "note"))
            ]
            ((fault,),) = [load_faults(row[-2]) for row in read if row[-2]]
            assert (fault.code, fault.column, fault.value) == ("corrupt", 1, number)
            assert f"does not exist ({number})" in fault.message


def test_the_rows_before_damage_are_read() -> None:
    lines = [f'<row r="{r}"><c r="A{r}"><v>{r}</v></c></row>' for r in range(2, 700)]
    twice = '<row r="700"><c r="A700"><v>1</v></c><c r="A700"><v>2</v></c></row>'
    head = '<row r="1"><c r="A1" t="str"><v>id</v></c></row>'
    file = workbook(sheet(head, *lines, twice))
    blocks: list[Block] = []

    with pytest.raises(SourceError) as error:
        blocks.extend(read_xlsx(file, inspect_xlsx(file), 500))

    read = [row for block in blocks for row in block.frame["row"]]
    assert read == list(range(2, 700))
    assert (error.value.code, error.value.parameters) == ("corrupt", {"cell": "A700"})


def test_a_header_that_refers_to_no_shared_string_is_damage() -> None:
    content = sheet(
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>',
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="s"><v>0</v></c></row>',
    )

    for shared in (strings("<t>day</t>"), None):
        with pytest.raises(SourceError, match="shared text that does not") as error:
            read_rows(workbook(content, shared=shared))

        assert error.value.code == "corrupt"
