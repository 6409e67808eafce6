"""OpenDocument spreadsheets, read as a person reads them."""

from __future__ import annotations

import io
import json
import resource
import time
import zipfile
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.ods import inspect_ods, is_ods, read_ods
from batchfx.files.ods_rows import ods_rows as sheet_rows
from tests.unit.files.spreadsheets import (
    archive,
    document,
    number,
    ods_blocks,
    ods_faults,
    ods_rows,
    raw,
    row,
    spreadsheet,
    table,
    text,
)
from tests.unit.files.workbooks import CASES, sheet, workbook

HEADER = row("id", "value")


def one(cell: str, styles: str = "", columns: str = "") -> tuple[str | None, str]:
    """Return the text and kind of a cell below a header."""
    file = spreadsheet(table(columns, HEADER, row("x", cell)), styles=styles)
    ((_, _, found, kinds),) = ods_rows(file)
    return found, kinds[1] if kinds else "t"


def typed(kind: str, attribute: str, value: str, shown: str = "shown") -> str:
    return raw(
        f"<text:p>{shown}</text:p>",
        f'office:value-type="{kind}" office:{attribute}="{value}"',
    )


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("ods_million_repeated_rows", [(2, "1", "Ann", "nt"), (3, "2", "Ben", "nt")]),
        (
            "ods_repeated_data",
            [
                (2, "1", "1", None, "x", "nn-t"),
                (3, "same", "7", None, None, "tn--"),
                (4, "same", "7", None, None, "tn--"),
                (5, "same", "7", None, None, "tn--"),
                (8, "last", None, None, "y", None),
            ],
        ),
    ],
)
def test_a_case_is_read_as_a_person_reads_it(
    name: str, rows: list[tuple[object, ...]]
) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text("utf-8"))
    file = io.BytesIO((CASES / f"{name}.ods").read_bytes())

    start = time.process_time()
    layout = inspect_ods(file)
    found = ods_rows(file)
    spent = time.process_time() - start

    assert is_ods(file)
    assert layout.header == tuple(expected["header"])
    assert found == rows
    assert layout.warnings == ()
    assert spent < 0.5


def test_blank_rows_between_records_are_counted_and_those_after_are_not() -> None:
    blank = row(raw(""), more='table:number-rows-repeated="1000000"')
    file = spreadsheet(table(HEADER, row("a", "1"), row(), row("b", "2"), blank))

    (block,) = ods_blocks(file)

    assert block.frame["row"].to_list() == [2, 4]
    assert block.blank == 1
    assert block.position == {"row": 4}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (number("0.30000000000000004"), ("0.30000000000000004", "n")),
        (number("12345678901234567890.12"), ("12345678901234567890.12", "n")),
        (number("1E+15"), ("1000000000000000", "n")),
        (number("1.50", "1,50"), ("1.5", "n")),
        (number("-0"), ("0", "n")),
        (number("4507", "04507"), ("04507", "n")),
        (number("4507", "04508"), ("4507", "c")),
        (number("123456789", "01 23 45 67 89"), ("0123456789", "n")),
        (number("42", "K-0042"), ("42", "c")),
        (number("12.5", "00012.5"), ("12.5", "c")),
        (number("5000", "5 000"), ("5000", "n")),
        (number("1e999", "huge"), ("huge", "t")),
        (number("", "nothing"), ("nothing", "t")),
        (typed("percentage", "value", "0.25", "25 %"), ("0.25", "p")),
        (typed("currency", "value", "1234.5", "1.234,50 €"), ("1234.5", "n")),
        (typed("boolean", "boolean-value", "true"), ("true", "b")),
        (typed("date", "date-value", "2026-02-28"), ("2026-02-28", "d")),
        (typed("date", "date-value", "2026-02-28T00:00:00"), ("2026-02-28", "d")),
        (
            typed("date", "date-value", "2026-02-28T09:59:59.999999998"),
            ("2026-02-28T10:00:00", "d"),
        ),
        (
            typed("date", "date-value", "2026-02-28T23:59:59.9999999"),
            ("2026-03-01", "d"),
        ),
        (
            typed("date", "date-value", "2026-02-28T10:00:00.123456"),
            ("2026-02-28T10:00:00.123456", "d"),
        ),
        (typed("date", "date-value", "2026-02-30", "30.02."), ("30.02.", "t")),
        (typed("time", "time-value", "PT10H30M00S"), ("10:30:00", "d")),
        (typed("time", "time-value", "PT32H15M00S"), ("PT32H15M", "s")),
        (typed("time", "time-value", "-PT06H"), ("-PT6H", "s")),
        (typed("time", "time-value", "P1M", "a month"), ("a month", "t")),
        (typed("string", "string-value", " a  b "), (" a  b ", "t")),
        (raw("<text:p>no type</text:p>"), ("no type", "t")),
    ],
)
def test_a_cell_is_the_exact_text_of_its_value(
    cell: str, expected: tuple[str, str]
) -> None:
    assert one(cell) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<text:p>a</text:p><text:p/><text:p>b</text:p>", "a\n\nb"),
        ('<text:p>a<text:s text:c="3"/>b<text:s/></text:p>', "a   b "),
        ("<text:p>a<text:tab/>b<text:line-break/>c</text:p>", "a\tb\nc"),
        ("<text:p> one\n   two </text:p>", "one two"),
        ("<text:p>a<text:span>b<text:a>c</text:a></text:span>d</text:p>", "abcd"),
        ("<text:p>x &amp; y &lt;z&gt;</text:p>", "x & y <z>"),
        (
            (
                "<office:annotation><text:p>a note</text:p></office:annotation>"
                "<text:p>cell</text:p>"
            ),
            "cell",
        ),
        (
            (
                "<text:p>cell<draw:frame><draw:text-box><text:p>box</text:p>"
                "</draw:text-box></draw:frame></text:p>"
            ),
            "cell",
        ),
        ("<text:p>cell<text:note><text:p>foot</text:p></text:note></text:p>", "cell"),
        ("<text:p>_x000D_</text:p>", "_x000D_"),
    ],
)
def test_a_text_is_its_paragraphs_with_their_written_white_space(
    content: str, expected: str
) -> None:
    assert one(raw(content, 'office:value-type="string"')) == (expected, "t")


DURATION_STYLE = (
    '<number:time-style style:name="N1" number:truncate-on-overflow="false"/>'
    '<style:style style:name="ce1" style:family="table-cell" '
    'style:data-style-name="N1"/>'
    '<style:style style:name="ce2" style:family="table-cell" '
    'style:parent-style-name="ce1"/>'
)
EIGHT_HOURS = 'office:value-type="time" office:time-value="PT08H00M00S"'


@pytest.mark.parametrize(
    ("attributes", "columns"),
    [
        ('table:style-name="ce1"', ""),
        ('table:style-name="ce2"', ""),
        (
            "",
            (
                "<table:table-column/><table:table-column "
                'table:default-cell-style-name="ce1"/>'
            ),
        ),
    ],
)
def test_a_time_in_a_format_beyond_24_hours_is_a_duration(
    attributes: str, columns: str
) -> None:
    cell = raw("<text:p>08:00</text:p>", f"{EIGHT_HOURS} {attributes}")

    assert one(cell, DURATION_STYLE, columns) == ("PT8H", "s")


def test_errors_are_faults_and_a_text_that_looks_like_one_is_not() -> None:
    formula = 'table:formula="of:=1/0"'
    file = spreadsheet(
        table(
            HEADER,
            row("a", raw("<text:p>#N/A</text:p>", 'calcext:value-type="error"')),
            row("b", number("0", "Err:502", formula)),
            row("c", text("#DIV/0!", formula)),
            row("d", text("#N/A")),
            row("e", text("fine", formula)),
        )
    )

    assert list(ods_faults(file)) == [
        (2, 1, "error_value", "#N/A"),
        (3, 1, "error_value", "Err:502"),
        (4, 1, "error_value", "#DIV/0!"),
    ]
    assert [line[2] for line in ods_rows(file)] == [
        "#N/A",
        "Err:502",
        "#DIV/0!",
        "#N/A",
        "fine",
    ]


def test_a_formula_without_a_result_is_a_fault_and_one_with_no_text_is_not() -> None:
    file = spreadsheet(
        table(
            HEADER,
            row("a", raw("", 'table:formula="of:=[.A1]*2"')),
            row("b", raw("", 'table:formula="of:=1" office:value-type="float"')),
            row("c", text("", 'table:formula="of:=&quot;&quot;"')),
        )
    )

    assert list(ods_faults(file)) == [
        (2, 1, "no_cached_value", "=[.A1]*2"),
        (3, 1, "no_cached_value", "=1"),
    ]


def test_merged_cells_fill_the_rows_below_and_what_they_cover_is_not_read() -> None:
    covered = (
        "<table:covered-table-cell><text:p>old</text:p></table:covered-table-cell>"
    )
    merged = text("J-1", 'table:number-rows-spanned="3"')
    file = spreadsheet(
        table(
            HEADER,
            row(merged, "a"),
            row(covered, "b"),
            row(covered, "c"),
            row("K", "d"),
        )
    )

    layout = inspect_ods(file)

    assert [line[1:3] for line in ods_rows(file)] == [
        ("J-1", "a"),
        ("J-1", "b"),
        ("J-1", "c"),
        ("K", "d"),
    ]
    assert [(each.code, each.parameters["ranges"]) for each in layout.warnings] == [
        ("merged_cells", ["A2:A4"])
    ]


def test_hidden_rows_and_columns_are_read_and_told() -> None:
    columns = (
        '<table:table-column/><table:table-column table:visibility="collapse"/>'
        '<table:table-column table:visibility="collapse" '
        'table:number-columns-repeated="16382"/>'
    )
    hidden = 'table:visibility="filter" table:number-rows-repeated="2"'
    group = (
        '<table:table-row-group table:display="false">'
        f"{row('c', '3')}</table:table-row-group>"
    )
    empty = row(
        raw(""), more='table:visibility="collapse" table:number-rows-repeated="9"'
    )
    file = spreadsheet(
        table(columns, HEADER, row("a", "1"), row("b", "2", more=hidden), group, empty)
    )

    layout = inspect_ods(file)

    assert [line[0] for line in ods_rows(file)] == [2, 3, 4, 5]
    assert [line[0] for line in ods_rows(file, hidden_rows="skip")] == [2]
    assert [each.message for each in layout.warnings] == [
        "Rows 3 to 5 are hidden by a filter. What is hidden is read like the rest.",
        "Column B ('value') is hidden. What is hidden is read like the rest.",
    ]


HIDDEN_SHEET = (
    '<style:style style:name="ta1" style:family="table">'
    '<style:table-properties table:display="false"/></style:style>'
    '<style:style style:name="ta2" style:family="table">'
    '<style:table-properties table:display="true"/></style:style>'
)


def test_a_hidden_sheet_is_only_read_when_it_is_named() -> None:
    secret = table(
        row("code", "label"), row("x", "y"), name="Lists", more='table:style-name="ta1"'
    )
    shown = table(HEADER, row("a", "1"), name="Data", more='table:style-name="ta2"')
    file = spreadsheet(secret, shown, styles=HIDDEN_SHEET)

    assert inspect_ods(file).settings["sheet"] == "Data"
    assert ods_rows(file) == [(2, "a", "1", None)]
    assert ods_rows(file, sheet="Lists") == [(2, "x", "y", None)]


def test_two_sheets_with_the_same_columns_are_a_choice_to_be_made() -> None:
    sheets = [table(HEADER, row("a", "1"), name=name) for name in ("North", "South")]

    with pytest.raises(SourceError) as error:
        inspect_ods(spreadsheet(*sheets))

    assert error.value.code == "choose_sheet"
    assert error.value.parameters == {"sheets": ["North", "South"]}


def test_reading_goes_on_where_a_block_ended() -> None:
    file = spreadsheet(table(HEADER, *[row(f"k{i}", str(i)) for i in range(7)]))
    layout = inspect_ods(file)

    first, *rest = read_ods(file, layout, 3)
    again = list(read_ods(file, layout, 3, first.position))

    assert [block.frame["row"].to_list() for block in again] == [[5, 6, 7], [8]]
    assert [block.frame.rows() for block in again] == [b.frame.rows() for b in rest]


def test_a_spreadsheet_with_a_password_is_told() -> None:
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
        'manifest:1.0"><manifest:file-entry manifest:full-path="content.xml">'
        "<manifest:encryption-data/></manifest:file-entry></manifest:manifest>"
    )
    file = archive(b"\x93\x01scrambled", **{"META-INF/manifest.xml": manifest})

    with pytest.raises(SourceError) as error:
        inspect_ods(file)

    assert error.value.code == "encrypted"


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (
            spreadsheet(
                table(HEADER, row("a", "&bomb;".replace("&", ""))),
                before='<!DOCTYPE x [<!ENTITY bomb "bomb">]>',
            ),
            "unsafe_file",
        ),
        (
            spreadsheet(
                table(
                    HEADER,
                    row(more='table:number-rows-repeated="2000000"'),
                    row("far", "down"),
                )
            ),
            "unsafe_file",
        ),
        (
            spreadsheet(
                table(
                    HEADER,
                    row(
                        text("x", 'table:number-columns-repeated="16384"'),
                        more='table:number-rows-repeated="1048000"',
                    ),
                )
            ),
            "unsafe_file",
        ),
        (
            spreadsheet(
                table(
                    HEADER, row(text("x", 'table:number-columns-repeated="999999999"'))
                )
            ),
            "too_many_columns",
        ),
        (
            spreadsheet(
                table(
                    HEADER,
                    row(raw('<text:p>a<text:s text:c="999999999"/></text:p>')),
                )
            ),
            "unsafe_file",
        ),
        (archive(document(table(HEADER, row("a", "b")))[:-60]), "corrupt"),
        (archive("<a>" * 1000), "unsafe_file"),
        (spreadsheet(), "empty_file"),
        (spreadsheet(table(row(), row(raw("")))), "empty_file"),
    ],
)
def test_a_hostile_or_broken_spreadsheet_is_refused(
    file: io.BytesIO, code: str
) -> None:
    with pytest.raises(SourceError) as error:
        inspect_ods(file)

    assert error.value.code == code


def test_other_archives_are_no_spreadsheet() -> None:
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as made:
        made.writestr("content.xml", "x")

    assert not is_ods(workbook(sheet()))
    assert not is_ods(plain)
    assert not is_ods(io.BytesIO(b"id,name\n"))


def test_a_long_spreadsheet_is_read_in_bounded_memory() -> None:
    lines = "".join(row(f"k{i}", number(str(i))) for i in range(20_000))
    file = spreadsheet(table(HEADER, lines))
    del lines
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    layout = inspect_ods(file)
    count = sum(block.frame.height for block in read_ods(file, layout, 1000))

    assert count == 20_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


VALUES = st.sampled_from(["", "", "a", "b c", "7"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), max_size=12))
def test_repetitions_read_as_if_they_were_written_out(grid: list[list[str]]) -> None:
    def written(values: list[str]) -> str:
        return "".join(
            text(value, repeated) if value else raw("", repeated)
            for value, same in groupby(values)
            for repeated in (f'table:number-columns-repeated="{len(list(same))}"',)
        )

    lines = [
        f'<table:table-row table:number-rows-repeated="{len(list(same))}">'
        f"{written(values)}</table:table-row>"
        for values, same in groupby(grid)
    ]
    content = document(table(*lines)).encode()

    stored = sheet_rows(iter([content]), frozenset())

    assert [(each.number, each.letters, each.stored) for each in stored] == [
        (number, *zip(*cells, strict=True))
        for number, values in enumerate(grid, 1)
        if (cells := [pair for pair in zip("ABC", values, strict=True) if pair[1]])
    ]


def test_a_later_sheet_with_merged_cells_is_read_like_the_first() -> None:
    merged = text("J", 'table:number-rows-spanned="2"')
    covered = "<table:covered-table-cell/>"
    first = table(row("a", "b", "c"), row("1", "2", "3"), name="First")
    second = table(HEADER, row(merged, "x"), row(covered, "y"), name="Second")
    third = table(row("d", "e"), row("4", "5"), name="Third")
    file = spreadsheet(first, second, third)

    assert ods_rows(file, sheet="Second") == [(2, "J", "x", None), (3, "J", "y", None)]
    assert ods_rows(file, sheet=3) == [(2, "4", "5", None)]
