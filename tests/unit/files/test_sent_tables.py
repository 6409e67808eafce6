"""Tables as people send them, through `batchfx check`: what is read, what is told."""

# ruff: noqa: RUF001 - letters and digits of other scripts are meant

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batchfx.files.subtotals import is_subtotal
from tests.cases.checking import Checked, checked
from tests.unit.files.spreadsheets import raw, spreadsheet, table
from tests.unit.files.spreadsheets import row as ods_row
from tests.unit.files.workbooks import cell, sheet, workbook

Check = Callable[..., Checked]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def ran(content: str | bytes, columns: str = "", *settings: str) -> Checked:
        path = tmp_path / "file"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        arguments = ["--columns", columns] if columns else []
        for each in settings:
            arguments += ["--set", each]
        return checked(path, arguments, capsys)

    return ran


def column(found: Checked, place: int) -> list[Any]:
    return [row["values"][place] for row in found.rows]


def codes(found: Checked) -> list[list[str]]:
    return [[each["code"] for each in row["issues"]] for row in found.rows]


def grid(*rows: str) -> str:
    return sheet(*(f'<row r="{n}">{cells}</row>' for n, cells in enumerate(rows, 1)))


RATES = ["0.19", "0.125", "0", "1", "7.0000000000000007E-2", "-0.005", "12"]


def rates_of_excel() -> bytes:
    names = cell("A1", "id") + cell("B1", "rate")
    shown = [
        cell(f"A{n}", n) + cell(f"B{n}", each, "n", 1)
        for n, each in enumerate(RATES, 2)
    ]
    text = cell("A9", 9) + cell("B9", "7%")
    return workbook(grid(names, *shown, text), formats=["0.00%"]).getvalue()


def rates_of_open_document() -> bytes:
    cells = [
        raw(
            "<text:p>shown</text:p>",
            f'office:value-type="percentage" office:value="{each}"',
        )
        for each in ["0.19", "0.125", "0", "1", "0.07", "-0.005", "12"]
    ]
    rows = [ods_row(str(n), each) for n, each in enumerate([*cells, "7%"], 2)]
    return spreadsheet(table(ods_row("id", "rate"), *rows)).getvalue()


@pytest.mark.parametrize("made", [rates_of_excel, rates_of_open_document])
def test_a_cell_shown_as_per_cent_is_the_number_that_is_said_of_per_cent(
    check: Check, made: Callable[[], bytes]
) -> None:
    number = check(made(), "rate:decimal", "percent=number")
    fraction = check(made(), "rate:decimal", "percent=fraction")
    unsaid = check(made(), "rate:decimal")

    assert column(number, 1) == ["19", "12.5", "0", "100", "7", "-0.5", "1200", "7"]
    held = ["0.19", "0.125", "0", "1", "0.07", "-0.005", "12"]
    assert column(fraction, 1) == [*held, "0.07"]
    assert column(unsaid, 1) == [*held, None]
    assert [each["code"] for each in unsaid.first["issues"]] == ["percent_not_stated"]


def test_a_cell_shown_as_per_cent_may_be_a_whole_number(check: Check) -> None:
    found = check(rates_of_excel(), "rate:integer", "percent=number")

    assert column(found, 1) == [19, None, 0, 100, 7, None, 1200, 7]
    assert codes(found)[1] == codes(found)[5] == ["int_parsing"]


def sheet_of_subtotals(written: str) -> bytes:
    """Return what Excel makes of "Data > Subtotal", its cells *written* in XML."""
    rows: list[list[Any]] = [
        ["Region", "City", "Umsatz"],
        *(["Nord", "A", 1], ["Nord", "B", 2], ["Nord Ergebnis", None, "C2:C3", 3]),
        *(["Süd", "C", 4], ["Süd Ergebnis", None, "C5:C5", 4]),
        ["Gesamtergebnis", None, "C2:C6", 7],
    ]
    made = []
    for number, values in enumerate(rows, 1):
        cells = "".join(
            cell(f"{letter}{number}", value)
            for letter, value in zip("ABC", values[:3], strict=True)
            if value is not None and len(values) == 3
        )
        if len(values) > 3:
            formula = written.format(range=values[2], row=number, value=values[3])
            cells = cell(f"A{number}", values[0]) + formula
        made.append(cells)
    return workbook(grid(*made)).getvalue()


PLAIN = '<c r="C{row}"><f>SUBTOTAL(9,{range})</f><v>{value}</v></c>'
PARSED = (
    '<c r="C{row}"><f><![CDATA[SUBTOTAL(109,Sheet1!{range})]]></f><v>{value}</v></c>'
)


@pytest.mark.parametrize("written", [PLAIN, PARSED])
def test_rows_with_subtotals_of_other_rows_are_no_records(
    check: Check, written: str
) -> None:
    found = check(sheet_of_subtotals(written), "Umsatz:integer")

    assert column(found, 2) == [1, 2, None, 4, None, None]
    no_record = ["not_a_record"]
    assert codes(found) == [[], [], no_record, [], no_record, no_record]
    message = found.rows[2]["issues"][0]["message"]
    assert message == (
        "This is a line of totals, not a record: it has the formula SUBTOTAL over "
        "other rows."
    )


def test_subtotals_of_an_open_document_are_no_records(check: Check) -> None:
    def counted(value: str, formula: str = "") -> str:
        more = f'table:formula="of:={formula}" ' if formula else ""
        return raw(
            f"<text:p>{value}</text:p>",
            f'{more}office:value-type="float" office:value="{value}"',
        )

    rows = [
        *(ods_row("region", "n"), ods_row("Nord", counted("1"))),
        ods_row("Nord Ergebnis", counted("1", "SUBTOTAL(9;[.B2:.B2])")),
        ods_row("Süd", counted("4")),
    ]
    found = check(spreadsheet(table(*rows)).getvalue(), "n:integer")

    assert column(found, 1) == [1, None, 4]
    assert codes(found) == [[], ["not_a_record"], []]


def test_a_count_of_the_rows_so_far_is_part_of_a_record(check: Check) -> None:
    counted = '<c r="A{n}"><f>SUBTOTAL(3,B$2:B{n})</f><v>{v}</v></c>'
    rows = [
        counted.format(n=n, v=n - 1) + cell(f"B{n}", f"name {n}") for n in range(2, 900)
    ]
    content = workbook(grid(cell("A1", "nr") + cell("B1", "name"), *rows)).getvalue()

    found = check(content, "nr:integer")

    assert column(found, 0) == [*range(1, 899)]
    assert found.totals == {"read": 898, "good": 898, "faulty": 0, "blank": 0}


@pytest.mark.parametrize(
    "label",
    [
        *("Gesamtergebnis", "Soma", "Jumlah", "รวม", "Tổng cộng", "المجموع", "Σύνολο"),
        *("कुल", "Teilergebnis", "Общий итог", "Celkový součet", "Viso", "סך הכל"),
    ],
)
def test_totals_have_names_in_many_languages(check: Check, label: str) -> None:
    sure = check(f"name,n\nA,3\nB,4\n{label},7\n")
    other = check(f"name,n\nA,3\nB,4\n{label},8\n")

    assert codes(sure) == [[], [], ["not_a_record"]]
    assert codes(other) == [[], [], ["possible_total"]]


@pytest.mark.parametrize(
    ("north", "south"),
    [
        ("North Total", "South Total"),
        ("Total North", "Total: South"),
        ("North  Ergebnis", "south - summe"),
        ("North Итог", "SOUTH TOTAL:"),
    ],
)
def test_a_total_of_the_records_above_has_their_key(
    check: Check, north: str, south: str
) -> None:
    found = check(
        f"region,qty\nNorth,1\nNorth,2\n{north},3\nSouth,4\n{south},4\nGrand Total,7\n",
        "qty:integer",
    )

    doubt = ["possible_total"]
    assert column(found, 1) == [1, 2, 3, 4, 4, None]
    assert codes(found) == [[], [], doubt, [], doubt, ["not_a_record"]]


def test_a_product_may_have_the_word_in_its_name(check: Check) -> None:
    found = check(
        "name,ml\nShell,500\nTotal 500 ml,500\nPetrol Total,9\nDim Sum,1009\n"
    )

    assert codes(found) == [[], [], [], []]


def test_a_key_is_known_though_it_stands_in_the_block_before(check: Check) -> None:
    filler = "".join(f"k{n},1\n" for n in range(70_000))

    found = check(f"name,n\n{filler}North,5\nNorth Total,6\n")

    assert codes(found)[-2:] == [[], ["possible_total"]]
    assert sum(map(bool, codes(found))) == 1


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (
            ["6.02214076E23", "1.602176634E-19"],
            [f"602214076{'0' * 15}", f"0.{'0' * 18}1602176634"],
        ),
        (["1.5E3", "1.25E-4"], ["1500", "0.000125"]),
        (["1.500E-3", "2.250e1"], ["0.001500", "22.50"]),
        (["2E3", "7"], ["2000", "7"]),
        (["-1,5E3", "2,250E1"], ["-1500", "22.50"]),
    ],
)
def test_a_number_with_a_power_of_ten_tells_its_decimal_mark(
    check: Check, written: list[str], values: list[str]
) -> None:
    found = check("k;v\n" + "".join(f"a;{each}\n" for each in written), "v:decimal")

    assert column(found, 1) == values
    assert codes(found) == [[], []]
    assert found.first["issues"] == []


def test_powers_of_ten_with_both_marks_are_asked_about(check: Check) -> None:
    found = check("k;v\na;1.5E3\nb;2,5E1\n", "v:decimal")

    assert codes(found) == [["ambiguous_number"], ["ambiguous_number"]]
    assert [each["code"] for each in found.first["issues"]] == ["ambiguous_number"]


def test_a_whole_number_with_a_power_of_ten_is_suggested_without_it(
    check: Check,
) -> None:
    found = check("k,v\na,4.00E+00\nb,7\n", "v:integer")

    (issue,) = found.rows[0]["issues"]
    assert (issue["code"], issue["suggestion"]) == ("int_parsing", "4")
    assert column(found, 1) == [None, 7]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('id, name\n1, "Tea"\n2, "Mug"\n', [["1", "Tea"], ["2", "Mug"]]),
        ('"id", "name"\n"1", "Tea"\n', [["1", "Tea"]]),
        (
            'id, name, city\n1, "Tea, green", "Rome"\n3, Cup, Oslo\n',
            [["1", "Tea, green", "Rome"], ["3", "Cup", "Oslo"]],
        ),
        (
            '"id"; "name"; "v"\n"1"; "Tea; ""x"""; "3,5"\n"2"; "M\nug"; "4,5"\n',
            [["1", 'Tea; "x"', "3,5"], ["2", "M\nug", "4,5"]],
        ),
        ('a\t  "b"\n1\t "x\ty"\n', [["1", "x\ty"]]),
    ],
)
def test_a_quotation_mark_behind_a_blank_opens_a_cell_where_all_of_them_do(
    check: Check, text: str, rows: list[list[str]]
) -> None:
    found = check(text)

    assert [row["values"] for row in found.rows] == rows
    assert codes(found) == [[] for _ in rows]
    assert not any('"' in name or " " in name for name in found.first["header"])
    assert found.first["detected"]["skip_initial_space"] is True
    assert "blanks in front of a cell" in found.first["detected"]["reasons"]["quoting"]


def test_a_blank_before_a_quotation_mark_that_comes_late_is_a_fault(
    check: Check,
) -> None:
    text = "id,name\n" + "1,Cup\n" * 60_000 + '2, "Mug"\n3, "so" he said\n'

    unsaid = check(text)
    text_of_it = check(text, "", "skip_initial_space=false")
    skipped = check('id,name\n1,Cup\n2, "Mug"\n', "", "skip_initial_space=true")

    *_, mug, said = unsaid.rows
    assert (mug["row"], mug["values"]) == (60_002, ["2", None])
    assert [each["code"] for each in mug["issues"]] == ["bad_quote"]
    assert said["values"] == ["3", ' "so" he said']
    assert unsaid.totals["faulty"] == 1
    assert text_of_it.rows[-2]["values"] == ["2", ' "Mug"']
    assert text_of_it.totals["faulty"] == 0
    assert column(skipped, 1) == ["Cup", "Mug"]


def test_quotation_marks_within_a_text_are_a_part_of_it(check: Check) -> None:
    found = check('id;note\n1; "quoted" is a word\n2;he said, "no"\n3; 5" pipe\n')

    assert column(found, 1) == [' "quoted" is a word', 'he said, "no"', ' 5" pipe']
    assert codes(found) == [[], [], []]
    assert "skip_initial_space" not in found.first["detected"]


NO_TABLES = {
    "a web archive or a message (MIME)": (
        "From: a\r\nSubject: x\r\n y\r\nMIME-Version: 1.0\r\n\r\n<table><tr><td>1"
    ),
    "a sheet in SYLK": 'ID;PWXL;N;E\r\nP;PGeneral\r\nC;Y1;X1;K"id"\r\nC;X2;K"n"\r\nE',
    "a table in Data Interchange Format (DIF)": 'TABLE\n0,1\n"EXCEL"\nVECTORS\n0,2\n',
    "a bank's statement (OFX)": "OFXHEADER:100\nDATA:OFXSGML\n\n<OFX><A>-5</OFX>",
    "an account's list (QIF)": "!Type:Bank\nD1/15/2026\nT-5.00\n^\n",
    "a bank's statement (MT940)": ":20:STARTUMSE\n:25:1001/11\n:28C:1/1\n:61:26,00N\n",
    "a list of contacts (vCard)": "BEGIN:VCARD\nVERSION:3.0\nFN:Ann\nEND:VCARD\n",
    "a calendar (iCalendar)": "BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n",
    "a directory's export (LDIF)": "dn: cn=Ann,dc=x\ncn: Ann\nmail: a@b.example\n",
    "YAML": "items:\n- id: 1\n  n: x\n- id: 2\n  n: y\n",
    "a script in SQL": "-- dump\nSET x=1;\nINSERT INTO t VALUES (1, 'a');\n",
    "an XML file": '<rows>\n<row a="1,2"/>\n</rows>\n',
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_text_that_is_no_table_is_refused_by_what_it_is(
    check: Check, what: str
) -> None:
    found = check(NO_TABLES[what])

    (issue,) = found.first["issues"]
    assert (found.code, issue["code"]) == (1, "unsupported_format")
    assert issue["message"] == (
        f"The file is {what}; save or export the table as .xlsx or .csv."
    )


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("ID;PREIS\nC;5\nF;6\n", ["ID", "PREIS"]),
        ("dn,cn\nx,y\n", ["dn", "cn"]),
        ("<id>,<name>\n1,x\n", ["<id>", "<name>"]),
        ("- item,n\n- x,1\n", ["- item", "n"]),
        ("Set,Use\nCreate,Table\n", ["Set", "Use"]),
        ("Type,Account\n!Type,5\n", ["Type", "Account"]),
    ],
)
def test_a_table_that_begins_much_like_something_else_is_one(
    check: Check, text: str, header: list[str]
) -> None:
    found = check(text)

    assert (found.code, found.first["header"]) == (0, header)


@pytest.mark.parametrize(
    "guard", [")]}',\n", ")]}'\n", "while(1);", "for (;;);", "{}&& ", ")]}\n"]
)
def test_what_keeps_json_from_being_a_script_is_left_out_and_told(
    check: Check, guard: str
) -> None:
    found = check(guard + '[{"a": 1},\n{"a": 2}]')

    line = guard.count("\n") + 1
    assert [(row["row"], row["values"]) for row in found.rows] == [
        (line, ["1"]),
        (line + 1, ["2"]),
    ]
    assert [each["code"] for each in found.first["issues"]] == ["left_out"]


def test_records_behind_the_separator_of_json_sequences_are_read(check: Check) -> None:
    found = check('\x1e{"a": 1}\n\x1e{"a": 2}\n')

    assert [(row["row"], row["values"]) for row in found.rows] == [
        (1, ["1"]),
        (2, ["2"]),
    ]
    assert found.first["issues"] == []


def test_tables_of_a_web_page_that_are_not_read_are_told(check: Check) -> None:
    narrow = "<table><tr><th>sku<tr><td>A1<tr><td>A2<tr><td>A3</table>"
    wide = "<table><tr><th>b<th>c<tr><td>1<td>2</table>"

    found = check(narrow + wide)
    asked = check(narrow + wide, "", "sheet=1")

    assert found.first["header"] == ["b", "c"]
    issue = found.first["issues"][-1]
    assert issue["code"] == "other_sheets"
    assert issue["message"] == (
        "Only table 2 of the page is read; there is also table 1 (4 rows). Say which "
        "one to read: --set sheet=NUMBER"
    )
    assert column(asked, 0) == ["A1", "A2", "A3"]
    assert [each["code"] for each in asked.first["issues"]] == ["wrong_format"]


def test_columns_in_digits_of_other_scripts_are_read(check: Check) -> None:
    arabic = check(
        "k,v,d\nA,١٢٣٫٥٠,٢٠٢٦-٠١-٠١\nB,١٬٢٣٤٫٥٠,٢٠٢٦-٠١-٠٢\n", "v:decimal,d:date"
    )
    wide = check(
        "k,v,d\nA,１２３,１５/０１/２０２６\nB,４５,０２/０１/２０２６\n",
        "v:integer,d:date",
    )
    none = check("n\n①\n²\n", "n:integer")

    assert [row["values"] for row in arabic.rows] == [
        ["A", "123.50", "2026-01-01"],
        ["B", "1234.50", "2026-01-02"],
    ]
    assert [row["values"] for row in wide.rows] == [
        ["A", 123, "2026-01-15"],
        ["B", 45, "2026-01-02"],
    ]
    issues = [issue for row in none.rows for issue in row["issues"]]
    assert [(each["code"], each["suggestion"]) for each in issues] == [
        ("int_parsing", None),
        ("int_parsing", None),
    ]


@pytest.mark.parametrize("thousands", ["space", ""])
def test_a_number_that_may_be_grouped_is_no_suggestion(
    check: Check, thousands: str
) -> None:
    found = check(
        "v;k\n1.234;a\n12.5;b\n", "v:decimal", "decimal=,", f"thousands={thousands}"
    )

    issues = [issue for row in found.rows for issue in row["issues"]]
    assert [each["suggestion"] for each in issues] == [None, "12,5"]


def test_the_orders_of_dates_that_are_asked_about_fit_all_of_them(
    check: Check,
) -> None:
    found = check(
        "d;k\n02.01.26;a\n30.01.26;b\n", "d:date", "two_digit_year=2000"
    ).first["issues"]

    assert found[0]["parameters"]["choices"] == ["dmy", "ymd"]
    assert found[0]["message"] == (
        "In the column 'd' every date can be read as DD/MM/YYYY or as YYYY/MM/DD. "
        "State which is meant: --set date_order=dmy or --set date_order=ymd"
    )


def test_what_is_beside_records_at_every_level_is_told(check: Check) -> None:
    found = check(
        '{"ok": 1, "data": {"items": [{"x": 1}], "next": "/p2", "total": 500}}'
    )

    (issue,) = found.first["issues"]
    beside = ["ok", "data.next", "data.total"]
    assert (issue["code"], issue["parameters"]["beside"]) == ("records_found", beside)


def test_notes_below_a_sheet_are_no_second_table(check: Check) -> None:
    rows = [
        cell("A1", "id") + cell("B1", "name") + cell("C1", "qty"),
        *(f"{cell(f'A{n}', n)}{cell(f'B{n}', 'x')}{cell(f'C{n}', 2)}" for n in (2, 3)),
        *("", cell("A5", "Prepared by J. Doe"), cell("A6", "Checked") + cell("C6", 5)),
    ]

    found = check(workbook(grid(*rows)).getvalue())

    assert found.first["issues"] == []
    assert codes(found) == [[], [], ["not_a_record"], ["not_a_record"]]


def test_a_delimiter_may_be_doubled_and_single_in_cells(check: Check) -> None:
    found = check("id||name||v\n1||A|x||2\n2||B||3\n")

    assert found.first["header"] == ["id", "name", "v"]
    assert [row["values"] for row in found.rows] == [["1", "A|x", "2"], ["2", "B", "3"]]


@pytest.mark.parametrize("mark", ["\uff0c", "\uff1b", "\u060c", "\u061b", "\u3001"])
def test_delimiters_of_other_scripts_are_asked_about(check: Check, mark: str) -> None:
    text = f"编号{mark}名称\n1{mark}甲\n2{mark}乙\n"

    unsaid = check(text)
    said = check(text, "", f"delimiter={mark}")

    (issue,) = unsaid.first["issues"]
    assert issue["code"] == "possible_delimiter"
    assert issue["parameters"] == {"delimiter": mark}
    assert said.first["header"] == ["编号", "名称"]


def test_columns_of_a_fixed_width_are_refused(check: Check) -> None:
    found = check("id          name\n----------- ----\n1           Ann\n")

    (issue,) = found.first["issues"]
    assert (found.code, issue["code"]) == (1, "unsupported_format")
    assert "fixed width" in issue["message"]


def test_a_time_that_is_too_fine_says_so(check: Check) -> None:
    found = check("k,t\n1,10:00:00.1234567\n2,10:00:00.1234567+02:00\n", "t:time")

    issues = [row["issues"][0] for row in found.rows]
    assert [each["suggestion"] for each in issues] == [
        "10:00:00.123456",
        "10:00:00.123456+02:00",
    ]
    finer = "The time is finer than microseconds; write no more than six decimals"
    assert {each["message"] for each in issues} == {finer}


def test_a_word_that_means_otherwise_in_the_language_is_no_suggestion(
    check: Check,
) -> None:
    czech = check("k,ok\n1,no\n2,yes\n", "ok:boolean", "languages=cs")
    german = check("k,ok\n1,no\n", "ok:boolean", "languages=de")

    suggested = [row["issues"][0]["suggestion"] for row in czech.rows]
    assert suggested == [None, "ano"]
    assert german.rows[0]["issues"][0]["suggestion"] == "nein"


def test_text_without_a_mark_that_is_not_known_names_the_option(check: Check) -> None:
    content = "编号,名称\n一,中国\n二,日本\n".encode("utf-16-le")

    unsaid = check(content)
    said = check(content, "", "encoding=utf-16-le")

    assert "--set encoding=utf-16-le" in unsaid.first["issues"][0]["message"]
    assert [row["values"] for row in said.rows] == [["一", "中国"], ["二", "日本"]]


@pytest.mark.parametrize(
    ("formula", "row", "expected"),
    [
        ("SUBTOTAL(109,[Sales])", 9, True),
        ("SUBTOTAL(109,Table1[Sales])", 9, True),
        ("SUBTOTAL(9,$C$2:C3)", 4, True),
        ("SUBTOTAL(9,C2:C3,C5:C6)", 7, True),
        ("SUBTOTAL(9,'My Sheet'!C2:C3)", 4, True),
        ("=SUBTOTAL(9;[$Sheet1.C2:.C3])", 4, True),
        ("SUBTOTAL(3,B$2:B9)", 9, False),
        ("SUBTOTAL(9,A5:C5)", 5, False),
        ("SUBTOTAL(9,C2:C3)*2", 4, False),
        ("SUBTOTAL(103,Table1[[#This Row],[x]])", 4, False),
        ("SUBTOTAL(9,OFFSET(A1,1,1))", 9, False),
        ("SUM(C2:C3)", 4, False),
    ],
)
def test_a_subtotal_is_one_of_other_rows_alone(
    formula: str, row: int, *, expected: bool
) -> None:
    assert is_subtotal(formula, row) is expected


@pytest.mark.parametrize("start", ["<center>", "<h1>Sales</h1>", "<p>\n", "<FONT>"])
def test_a_part_of_a_page_with_a_table_is_a_web_page(check: Check, start: str) -> None:
    found = check(f"{start}<TABLE><tr><th>a<th>b<tr><td>1<td>2</TABLE>")

    assert found.first["detected"]["format"] == "html"
    assert [row["values"] for row in found.rows] == [["1", "2"]]
