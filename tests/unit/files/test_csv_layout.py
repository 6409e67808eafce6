from __future__ import annotations

import io
from typing import Any

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.csv_layout import SAMPLE, Given, inspect_csv
from batchfx.model.issues import Level, Phase
from batchfx.model.sources import Layout


def layout_of(text: str | bytes, **given: Any) -> Layout:
    content = text.encode() if isinstance(text, str) else text
    return inspect_csv(io.BytesIO(content), Given(**given))


def warnings_of(text: str | bytes, **given: Any) -> list[str]:
    return [warning.code for warning in layout_of(text, **given).warnings]


def refusal_of(text: str | bytes, **given: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        layout_of(text, **given)
    return caught.value


def test_a_layout_says_how_to_read_the_source() -> None:
    assert layout_of("\ufeffsku;name\r\nA;b\r\n") == Layout(
        "csv",
        ("sku", "name"),
        1,
        {
            "encoding": "utf-8",
            "bom": True,
            "delimiter": ";",
            "quote": '"',
            "newline": "\n",
            "start": 13,
            "line": 2,
        },
        reasons={
            "format": "CSV: it is text, and no other format",
            "encoding": "UTF-8: the file begins with its byte-order mark",
            "delimiter": "';': 2 of the first 2 rows have 2 cells with it",
            "quoting": "'\"': it is the usual one, and 0 are in the sample",
            "newline": "CR LF: the sample has 2 CR LF, 0 LF alone and 0 CR alone",
            "header_row": "line 1: it is the first line that may name the columns",
        },
    )


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1,5\t2;5\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a;b", ";"),
        ('a,b\n"x;y;z",1\n"x;y",2\n', ","),
        ("Preis, netto;Preis, brutto\n1,50;2,50\n", ";"),
        ("a,b\n1\n1,2\n1,2,3\n1,2\n", ","),
        ("a^b\n1^2\n", "^"),
        ("a:b\n1:2\n", ":"),
    ],
)
def test_the_delimiter_is_what_cuts_most_records_alike(
    text: str, delimiter: str
) -> None:
    assert layout_of(text).settings["delimiter"] == delimiter


@pytest.mark.parametrize(
    "text",
    [
        "trade\nBaking/Pastry\nBoats and Sails\n",
        "trade\nArts, crafts\nMasonry\nForestry\n",
        "name\nSmith, John\nDoe, Jane\n",
        "time\n12:30\n13:40\n",
        "x",
    ],
)
def test_a_file_may_have_one_column(text: str) -> None:
    layout = layout_of(text)

    assert len(layout.header) == 1
    assert layout.settings["delimiter"] is None


def test_a_rare_delimiter_is_said_to_be_a_guess() -> None:
    assert warnings_of("a:b\n1:2\n") == ["guessed_delimiter"]
    assert warnings_of("a:b\n1:2\n", delimiter=":") == []


@pytest.mark.parametrize("hint", ["sep=;", "SEP=;", '"sep=;"'])
def test_the_hint_for_excel_names_the_delimiter(hint: str) -> None:
    layout = layout_of(f"{hint}\r\na,x;b\r\n1;2\r\n")

    assert (layout.header, layout.header_row) == (("a,x", "b"), 2)
    assert layout.settings["line"] == 3


@pytest.mark.parametrize("line", ['sep="', "sep=a", "sep=;;", "sep"])
def test_only_a_mark_can_be_the_delimiter_that_is_hinted_at(line: str) -> None:
    assert layout_of(f"{line}\na,b\n1,2\n3,4\n").settings["delimiter"] == ","


def test_a_hint_of_the_quote_that_is_given_is_no_hint() -> None:
    settings = layout_of("sep=;\na,b\n1,2\n", quote=";").settings

    assert (settings["delimiter"], settings["quote"]) == (",", ";")


def test_apostrophes_quote_when_they_do_so_consistently() -> None:
    layout = layout_of("id,title\n1,'Tea, green'\n2,'O''Hara'\n")

    assert layout.settings["quote"] == "'"
    assert [warning.code for warning in layout.warnings] == ["guessed_quote"]


@pytest.mark.parametrize(
    "text",
    [
        "id,title\n1,'tis\n2,O'Hara'\n",
        "id,title\n1,'a'\n2,b\n",
        "id,title\n1,'a'\n2,'b'\n3,\"c, d\"\n",
        "id,title\n1,'a'\n2,'b'\n3,'c'd\n",
        "one,two,three\n',','\n',','\n",
    ],
)
def test_apostrophes_are_text_otherwise(text: str) -> None:
    assert layout_of(text).settings["quote"] == '"'


def test_an_encoding_that_the_file_does_not_name_is_said_to_be_a_guess() -> None:
    layout = layout_of("name\nGröße\n".encode("cp1252"))

    assert layout.settings["encoding"] == "cp1252"
    (warning,) = layout.warnings
    assert (warning.code, warning.phase, warning.level) == (
        "guessed_encoding",
        Phase.FILE,
        Level.WARNING,
    )
    assert warning.message == (
        "The file doesn't say how its letters are encoded. It was read as "
        "Windows-1252, which is a guess: look at its accents and signs."
    )
    assert warning.parameters["encoding"] == "cp1252"
    assert warning.parameters["confidence"] > 0.95
    assert (warning.parameters["line"], warning.parameters["offset"]) == (2, 7)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("Report\nname,age\nBob,3\n", 2),
        ("Report\n\nname,age\nBob,3\n", 3),
        ("Sales,,,\nPeriod:,2026,,\n,,,\na,b,c,d\n1,2,3,4\n", 4),
        ("Report:,x,\nPeriod:,2026,\n,,\nname,age,city\nBob,3,Ulm\n", 4),
        ("\n\nname,age\nBob,3\n", 3),
        ('"Sales\nreport"\na,b\n1,2\n3,4\n', 3),
    ],
)
def test_titles_above_the_header_are_left_out(text: str, row: int) -> None:
    assert layout_of(text).header_row == row


def test_titles_are_named_in_a_warning() -> None:
    (warning,) = layout_of("Report\n\nname,age\nBob,3\n").warnings

    assert warning.code == "rows_above_header"
    assert warning.parameters == {"rows": [1]}
    assert "The header was found on line 3" in warning.message


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,,\n2,,\n3,x,y\n",
        "a,b,\n1,2,\n3,4,x\n",
        "left,right,,,\nk,l,,,\n",
        "a,b,c\n1,2,3,4,5,6,7,8\n1,2,3\n",
        "a,b\n\n1,2\n",
        "a,b,c,\n1,2,3,\n\nx,y,z,w\n",
    ],
)
def test_the_first_record_is_the_header_if_it_may_be(text: str) -> None:
    assert layout_of(text).header_row == 1


def test_names_lose_what_cannot_be_seen_around_them() -> None:
    header = layout_of(
        '\ufeff\xa0E-Mail ,First\xa0Name,\u200bLAST\u200b,="Zip"\n'
    ).header

    assert header == ("E-Mail", "First\xa0Name", "LAST", "Zip")


def test_a_name_may_span_lines() -> None:
    layout = layout_of('id,"two\nlines"\n1,2\n')

    assert layout.header == ("id", "two\nlines")
    assert (layout.settings["start"], layout.settings["line"]) == (15, 3)


@pytest.mark.parametrize("text", ["a,b,\n1,2\n", "a,b,,,\n1,2,,,\n1,2, ,\n"])
def test_columns_at_the_end_without_name_and_data_are_left_out(text: str) -> None:
    layout = layout_of(text)

    assert layout.header == ("a", "b")
    assert layout.warnings == ()


def test_a_column_without_a_name_is_kept_and_told_if_it_has_data() -> None:
    layout = layout_of("a,,b,,\n1,x,2,,\n1,,2,y,\n")

    assert layout.header == ("a", "", "b", "")
    assert [warning.code for warning in layout.warnings] == ["nameless_column"] * 2
    assert [warning.parameters["column"] for warning in layout.warnings] == [2, 4]


def test_a_name_that_two_columns_have_is_refused() -> None:
    error = refusal_of("mark;mark;mark;mark_1\n1;2;3;4\n")

    assert error.code == "duplicate_header"
    assert error.parameters == {"names": ["mark"], "columns": [1, 2, 3]}
    assert str(error) == (
        "More than one column is called 'mark'. Give every column a name of its own."
    )


@pytest.mark.parametrize(
    "text", ["", "\n\r\n", " \n,,\n\t\n", ",,\n,,\n", "\ufeff", "\x1a"]
)
def test_a_file_in_which_nothing_can_be_seen_is_empty(text: str) -> None:
    assert refusal_of(text).code == "empty_file"


@pytest.mark.parametrize(
    "text", ['"a,b\n1,2\n', '"a"x,b\n1,2\n3,4\n', '"', '="",=""\n']
)
def test_a_header_that_cannot_be_read_is_refused(text: str) -> None:
    assert refusal_of(text).code == "no_header"


def test_a_header_without_rows_is_told() -> None:
    assert warnings_of("code,name\r\n") == ["no_rows"]
    assert layout_of("code,name").settings["start"] == 9


def test_what_is_given_is_not_found_out() -> None:
    text = "x;y\n\n'a;b',c\n'1;2',3\n".encode("utf-16-le")

    layout = layout_of(
        text, encoding="utf-16-le", delimiter=",", quote="'", header_row=3
    )

    assert (layout.header, layout.header_row) == (("a;b", "c"), 3)
    assert layout.warnings == ()


def test_an_empty_quote_says_that_nothing_is_quoted() -> None:
    layout = layout_of('a\tb\n"x\ty\n', quote="")

    assert layout.settings["quote"] is None
    assert layout.warnings == ()


@pytest.mark.parametrize("row", [2, 9])
def test_a_header_row_with_nothing_on_it_is_refused(row: int) -> None:
    error = refusal_of("a,b\n\n1,2\n", header_row=row)

    assert error.code == "no_header"
    assert str(error) == f"Line {row} can't be the header: nothing is there."


@pytest.mark.parametrize(
    "given",
    [
        {"delimiter": "\n"},
        {"delimiter": "|\n"},
        {"quote": '""'},
        {"escape": "\\\\"},
        {"delimiter": ";", "quote": ";"},
        {"quote": '"', "escape": '"'},
        {"header_row": -1},
        {"header_rows": 0},
        {"header_row": 1, "header_rows": 2},
        {"header_row": 0, "header_rows": 2},
        {"skip_after_header": -1},
    ],
)
def test_what_cannot_be_given_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Given(**given)


GROUPS = "Person,,Address,,Total\nFirst,Last,Street,Zip,\nAnn,Ash,Main 1,01234,5\n"


@pytest.mark.parametrize(
    ("text", "given", "header", "row"),
    [
        (
            GROUPS,
            {"header_rows": 2},
            (
                *("Person / First", "Person / Last", "Address / Street"),
                *("Address / Zip", "Total"),
            ),
            2,
        ),
        (
            "id,P,,Q\n,a,b,c\n1,2,3,4\n",
            {"header_rows": 2},
            ("id", "P / a", "P / b", "Q / c"),
            2,
        ),
        (
            "T,,,\nid,P,,\n,a,b,c\n1,x,y,3\n",
            {"header_rows": 2},
            ("id", "P / a", "P / b", "P / c"),
            3,
        ),
        (
            "A,,B,\nx,,y,z\n1,2,3,4\n1,,2,3\n",
            {"header_row": 2, "header_rows": 2},
            ("A / x", "", "B / y", "B / z"),
            2,
        ),
        (
            "A,,\nB,,C\nx,y,z\n1,2,3\n",
            {"header_rows": 3},
            ("A / B / x", "A / B / y", "A / C / z"),
            3,
        ),
    ],
)
def test_a_header_of_several_rows_names_groups(
    text: str, given: dict[str, int], header: tuple[str, ...], row: int
) -> None:
    layout = layout_of(text, **given)

    assert (layout.header, layout.header_row) == (header, row)
    assert layout.settings["line"] == row + 1


@pytest.mark.parametrize(("skipped", "line"), [(0, 2), (1, 3), (2, 4), (9, 5)])
def test_rows_below_the_header_may_be_left_out(skipped: int, line: int) -> None:
    layout = layout_of("name,weight\n,kg\n\nx,5\n", skip_after_header=skipped)

    assert layout.settings["line"] == line


def test_without_a_header_the_columns_are_numbered() -> None:
    layout = layout_of("\ufeff1,Ann\n2,Ben\n", header_row=0)

    assert (layout.header, layout.header_row) == (("1", "2"), 0)
    assert (layout.settings["line"], layout.settings["start"]) == (1, 3)
    assert layout.warnings == ()
    assert layout.reasons["header_row"] == "none: it was said that there is none"


def test_names_that_are_expected_show_the_header() -> None:
    text = "Report x,y,z\nPeriod,a,b\nSKU,E-Mail,Menge!\n1,a,3\n"

    layout = layout_of(text, expected_columns=["sku", "email", "menge", "more"])

    assert (layout.header, layout.header_row) == (("SKU", "E-Mail", "Menge!"), 3)
    assert layout_of(text, expected_columns=["sku", "b", "c"]).header_row == 1


@pytest.mark.parametrize(
    ("given", "text", "delimiter"),
    [
        ("||", "a||b\n1||2\n", "||"),
        ("::", 'a::"b::c"\n1::2\n', "::"),
        ("\\t", "a\tb\n1\t2\n", "\t"),
        ("tab", "a\tb\n1\t2\n", "\t"),
        ("\\x1f", "a\x1fb\n1\x1f2\n", "\x1f"),
    ],
)
def test_a_delimiter_may_have_several_characters(
    given: str, text: str, delimiter: str
) -> None:
    layout = layout_of(text, delimiter=given)

    assert layout.settings["delimiter"] == delimiter
    assert layout.header[1] in {"b", "b::c"}
    assert layout.reasons["delimiter"] == f"{delimiter!r}: it was given"


@pytest.mark.parametrize("delimiter", ["~", "^", "\x1f", "\x01"])
def test_rare_delimiters_are_found_and_told(delimiter: str) -> None:
    text = f"a{delimiter}b\n1{delimiter}2\n3{delimiter}4\n"

    assert layout_of(text).settings["delimiter"] == delimiter
    assert warnings_of(text) == ["guessed_delimiter"]


def test_an_escape_is_kept_for_reading() -> None:
    layout = layout_of('a,"b \\"c\\" d"\n1,2\n', escape="\\")

    assert layout.header == ("a", 'b "c" d')
    assert layout.settings["escape"] == "\\"


def test_names_lose_what_cannot_be_seen_within_them() -> None:
    assert layout_of("na\xadme,E\u200b-Mail\n1,2\n").header == ("name", "E-Mail")


def test_an_unsure_encoding_is_told_with_the_words_that_differ() -> None:
    (warning,) = layout_of("city\nPoznań\n".encode("cp1250")).warnings

    assert "Windows-1252 would make 'Poznañ' of what is 'Poznań'" in warning.message
    assert "set the encoding to cp1252" in warning.message
    first = warning.parameters["alternatives"][0]
    assert first == {"encoding": "cp1252", "words": [["Poznań", "Poznañ"]]}
    assert 0.5 <= warning.parameters["confidence"] < 0.8


def test_the_sample_grows_until_it_has_some_lines() -> None:
    wide = ",".join(f"column {number:020}" for number in range(SAMPLE // 20))

    layout = layout_of(f"{wide}\n{wide}\n")

    assert len(layout.header) == SAMPLE // 20
    assert layout.header_row == 1


@pytest.mark.parametrize("delimiter", [None, ","])
def test_more_columns_than_a_sheet_has_are_refused(delimiter: str | None) -> None:
    names = [f"c{number}" for number in range(16_385)]

    widest = layout_of(f"{','.join(names[1:])}\n", delimiter=delimiter)
    assert len(widest.header) == 16_384

    with pytest.raises(SourceError, match="more than 16,384 cells") as refused:
        layout_of(f"{','.join(names)}\n" * 3, delimiter=delimiter)
    assert refused.value.code == "too_many_columns"


def test_one_record_of_very_many_cells_is_no_reason_to_refuse_the_others() -> None:
    lines = ["a,b,c", *["1,2,3"] * 9, "1," * 20_000, *["1,2,3"] * 9]

    layout = layout_of("\n".join(lines))

    assert layout.header == ("a", "b", "c")
    assert layout.settings["delimiter"] == ","


def test_a_header_far_down_may_be_given() -> None:
    notes = "note\n" * SAMPLE

    assert layout_of(f"{notes}a,b\n1,2\n", header_row=SAMPLE + 1).header == ("a", "b")


NO_DELIMITER = "none: no delimiter cuts most of the lines alike, so there is one column"


@pytest.mark.parametrize(
    ("text", "given", "what", "reason"),
    [
        ("sep=;\na;b\n1;2\n", {}, "delimiter", "';': the first line says so (sep=)"),
        ("a\nb\n", {}, "delimiter", NO_DELIMITER),
        (
            "a,b\n1,'x'\n2,'y'\n",
            {},
            "quoting",
            '"\'": cells begin and end with it throughout',
        ),
        ("a,b\n1,2\n", {"quote": ""}, "quoting", "none: it was given"),
        ("a,b\n1,2\n", {"quote": "'"}, "quoting", '"\'": it was given'),
        (
            "a,b\r1,2\r",
            {},
            "newline",
            "CR: the sample has 0 CR LF, 0 LF alone and 2 CR alone",
        ),
        ("a,b\n1,2\n", {"header_row": 1}, "header_row", "line 1: it was given"),
        (
            "P,\na,b\n1,2\n",
            {"header_row": 2, "header_rows": 2},
            "header_row",
            "lines 1 to 2: it was given",
        ),
        (
            "x,y\na,b\n1,2\n",
            {"expected_columns": ["A"]},
            "header_row",
            "line 2: it has most of the names that are expected",
        ),
        ("a,b\n", {"encoding": "cp1252"}, "encoding", "Windows-1252: it was given"),
    ],
)
def test_what_was_found_is_given_a_reason(
    text: str, given: dict[str, Any], what: str, reason: str
) -> None:
    assert layout_of(text, **given).reasons[what] == reason


def test_a_line_in_another_encoding_than_the_others_is_told() -> None:
    content = "id,city\n1,Köln\n2,Düren\n3,Málaga\n".encode("cp1252")

    assert "mixed_encodings" not in warnings_of(content)
    layout = layout_of(content + "4,Zürich\n".encode())

    guess, mixed = layout.warnings
    assert (guess.code, mixed.code) == ("guessed_encoding", "mixed_encodings")
    assert mixed.parameters == {"line": 5}
    assert "line 5 is UTF-8" in mixed.message


def test_a_second_row_of_names_that_was_not_told_of_is_suspected() -> None:
    *nameless, suspected = layout_of(GROUPS + "Ben,Bay,Oak 2,00501,6\n").warnings

    assert {each.code for each in nameless} == {"nameless_column"}
    assert (suspected.code, suspected.parameters) == ("second_header_row", {"line": 2})


@pytest.mark.parametrize(
    "text",
    [
        "a,,c\nx,y,z\np,q,r\n",
        "a,b,c\nx,y,z\n1,2,3\n",
        "a,,c\nx,1,z\n1,2,3\n",
        "a,,c\nx,y,z\n",
    ],
)
def test_a_second_row_of_names_is_not_suspected_lightly(text: str) -> None:
    assert "second_header_row" not in warnings_of(text)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (
            "Account,123\nFrom,2026-01-01\n\nDay,Text,Sum\n2026-01-01,a,1\n",
            4,
        ),
        ("# comment, one\n# another, with commas, in it\nid,n\n1,a\n2,b\n", 3),
        ("# one, two, three\nname,city\nAnn,Rome\nBen,Ulm\n", 2),
        ("Export;2026-01-01;\nUser;Ann;\nsku;name;qty\nA;x;1\nB;y;2\n", 3),
        ("Date;2026-01-01\nPlace;Bonn\nname;qty\nAnn;5\nBen;6\n", 3),
        ("##f=V\n##s=x,y\n#CHR\tPOS\nc1\t100\nc2\t120\n", 3),
    ],
)
def test_a_preamble_in_cells_is_left_out(text: str, row: int) -> None:
    layout = layout_of(text)

    assert layout.header_row == row
    assert [each.code for each in layout.warnings] == ["rows_above_header"]


@pytest.mark.parametrize(
    "text",
    [
        "id,,2024\nn,x,3\nm,y,4\n",
        "sku,,city\nA,x,Rome\nB,y,Ulm\n",
        "#,name,qty\n1,Ann,2\n2,Ben,3\n",
        "#id,name\nAnn,Rome\nBen,Ulm\n",
        "# id,x\n1,2\n2,3\n",
        "name,30,60\nAnn,1,2\nnone,x,y\nBen,3,4\n",
        "1,a\n2,b\nx,c\n4,d\n",
        "id,2024-01\nAnn,n/a\nBen,3\n",
        "id,2024-01-01,2024-02-01\nAnn,n/a,-\nBen,3,4\n",
    ],
)
def test_a_first_line_is_no_preamble_without_a_better_one(text: str) -> None:
    assert layout_of(text).header_row == 1


@pytest.mark.parametrize("content", [b"id,stra\xdfe\n1,a\n2,\xc3\x9cber\n3,\xc3\xa4\n"])
def test_a_header_that_is_no_text_is_refused(content: bytes) -> None:
    refusal = refusal_of(content)

    assert refusal.code == "encoding"
    assert refusal.parameters == {"line": 1, "column": 2}
    assert "column 2 on line 1 ('stra\ufffde')" in str(refusal)


def test_a_hint_for_excel_that_no_line_follows_is_ignored() -> None:
    layout = layout_of("sep=;\nid,n\n1,a\n2,b\n")

    assert (layout.header, layout.settings["delimiter"]) == (("id", "n"), ",")
    assert layout.reasons["delimiter"].startswith("',': 3 of the first 3 rows")
    (warning,) = layout.warnings
    assert warning.code == "ignored_hint"
    assert warning.parameters == {"hint": ";", "delimiter": ","}


def test_a_hint_for_excel_may_stand_above_one_column() -> None:
    layout = layout_of("sep=;\nname\nAnn\nBen\n")

    assert (layout.header, layout.settings["delimiter"]) == (("name",), ";")
    assert layout.warnings == ()


@pytest.mark.parametrize("delimiter", ["::", "||", "^^", "~~", ";;"])
def test_a_doubled_delimiter_is_found_and_told(delimiter: str) -> None:
    text = "id,name,qty\n1,a,2\n2,,3\n".replace(",", delimiter)
    layout = layout_of(text)

    assert layout.header == ("id", "name", "qty")
    assert layout.settings["delimiter"] == delimiter
    assert warnings_of(text) == ["guessed_delimiter"]
    assert layout.reasons["delimiter"].startswith(f"{delimiter!r}: 3 of the first 3")


@pytest.mark.parametrize("text", ["a,,b\n1,,2\n", "a||b\n1|x|2\n", "a|\n1|\n"])
def test_empty_columns_do_not_make_a_doubled_delimiter(text: str) -> None:
    assert len(layout_of(text).settings["delimiter"]) == 1


@pytest.mark.parametrize("delimiter", ["#", "!", "/", "§", "¦"])
def test_a_strange_delimiter_is_asked_about(delimiter: str) -> None:
    layout = layout_of("id,Art Nr\n1,a\n2,b\n".replace(",", delimiter))

    assert layout.settings["delimiter"] is None
    (warning,) = layout.warnings
    assert (warning.code, warning.parameters) == (
        "possible_delimiter",
        {"delimiter": delimiter},
    )
    assert f"--set delimiter={delimiter})" in warning.message


@pytest.mark.parametrize(
    "text",
    [
        "Hello!\nYou there!\nBye!\n",
        "trade\nBaking/Pastry\nBoats/Sails\n",
        "Well! Said he\nOh! Said she\nAh! They said\n",
        "01/02\n02/02\n03/02\n",
    ],
)
def test_prose_is_not_asked_about(text: str) -> None:
    assert warnings_of(text) == []


def test_mixed_line_ends_are_given_a_reason() -> None:
    layout = layout_of("a,b\r\n1,2\n3,4\r5,6\n")

    assert layout.settings["newline"] == "any"
    assert layout.reasons["newline"] == (
        "CR LF, LF and CR: the sample has 1, 2 and 1, and each ends lines like the "
        "others"
    )


@pytest.mark.parametrize(
    ("text", "delimiter", "header"),
    [
        ("id,name\n1,a\n2\n3,b,c\n4,d,\n", ",", ("id", "name")),
        ("id;name;city\n1;A\n2;B;C;x\n3;D\n4;E;F\n", ";", ("id", "name", "city")),
        ('id,n\n1,"a\n2,"b\n3,"c\n', ",", ("id", "n")),
    ],
)
def test_the_header_tells_the_delimiter_of_a_ragged_file(
    text: str, delimiter: str, header: tuple[str, ...]
) -> None:
    layout = layout_of(text)

    assert layout.header == header
    assert layout.settings["delimiter"] == delimiter
    assert [each.code for each in layout.warnings] == ["guessed_delimiter"]


@pytest.mark.parametrize(
    ("text", "mark", "what"),
    [
        ("id,name\n1\n2\n3,b,c\n", ",", "cuts the first line into names"),
        ("a;b\none\ntwo\nthree; four; five\n", ";", "cuts the first line into names"),
        ('"id,name"\n"1,Ann"\n"2,Bob"\n', ",", "each line is quoted as a whole"),
    ],
)
def test_what_may_be_the_delimiter_of_one_column_is_asked(
    text: str, mark: str, what: str
) -> None:
    layout = layout_of(text)
    (warning,) = layout.warnings

    assert len(layout.header) == 1
    assert (warning.code, warning.parameters) == (
        "possible_delimiter",
        {"delimiter": mark},
    )
    assert what in warning.message


@pytest.mark.parametrize("delimiter", ["|~|", "~|~", "|#|", "#|#", "|*|"])
def test_signs_around_a_delimiter_are_a_part_of_it(delimiter: str) -> None:
    lines = [("id", "name", "city"), ("1", "Ann", "Rome"), ("2", "a|b", "")]

    layout = layout_of("".join(f"{delimiter.join(line)}\n" for line in lines))

    assert layout.header == ("id", "name", "city")
    assert layout.settings["delimiter"] == delimiter
    assert [each.code for each in layout.warnings] == ["guessed_delimiter"]


def test_a_ruler_above_the_names_is_no_header() -> None:
    layout = layout_of("---,---\nid,name\n---,---\n1,a\n")

    assert (layout.header, layout.header_row) == (("id", "name"), 2)
    (warning,) = layout.warnings
    assert (warning.code, warning.parameters) == ("rows_above_header", {"rows": [1]})


@pytest.mark.parametrize(
    "text",
    [
        "17,Ann,2026-01-01,5.50\n18,Bob,2026-01-02,6.50\n19,Cyd,2026-01-03,7.00\n",
        "Ann;5\nBen;7\nCyd;9\n",
        "ann@x.org,a\nben@x.org,b\ncyd@x.org,c\n",
        "1,5\n2,\n3,7\n4,9\n",
        "5,5\n6,7\n8,9\n",
    ],
)
def test_a_first_line_like_all_others_is_no_header(text: str) -> None:
    error = refusal_of(text)

    assert (error.code, error.parameters) == ("no_header", {"line": 1})
    assert "--set header_row=0" in str(error)
    assert layout_of(text, header_row=0).header_row == 0
    assert layout_of(text.replace("5,5", "5,6"), header_row=1).header_row == 1


@pytest.mark.parametrize(
    "text",
    ["1,2,3\n4,5,6\n7,8,9\n", "2026-01-01,5\n2026-01-02,6\n", "0;1\n5;6\n7;8\n"],
)
def test_a_first_line_that_may_be_a_record_is_told(text: str) -> None:
    (warning,) = layout_of(text).warnings

    assert (warning.code, warning.parameters) == ("possible_record", {"line": 1})
    assert warning.level is Level.WARNING


@pytest.mark.parametrize(
    "text",
    [
        "name,2024,2025\na,5,6\nb,7,8\n",
        "name,2026-01-01,2026-02-01\na,5,6\nb,7,8\n",
        "2024,2025\n5,6\n7,8\n",
        "Ann,Rome\nBen,Oslo\nCyd,Bonn\n",
        "id,1st,2nd\n1,5,6\n2,7,8\n",
        "mail,http\na@b.example,http://b.example\nc@d.example,http://d.example\n",
    ],
)
def test_names_may_have_digits(text: str) -> None:
    assert warnings_of(text) == []
