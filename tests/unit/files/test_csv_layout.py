from __future__ import annotations

import io
from typing import Any

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.csv_layout import SAMPLE, Given, inspect_csv
from batchfx.model.issues import Issue, Level, Phase
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
    assert layout.warnings == (
        Issue(
            "guessed_encoding",
            "The file doesn't say how its letters are encoded. It was read as "
            "Windows-1252, which is a guess: look at its accents and signs.",
            Phase.FILE,
            parameters={"encoding": "cp1252"},
            level=Level.WARNING,
        ),
    )


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
        {"delimiter": ",,"},
        {"delimiter": "\n"},
        {"quote": '""'},
        {"delimiter": ";", "quote": ";"},
        {"header_row": 0},
    ],
)
def test_what_cannot_be_given_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Given(**given)


def test_the_sample_grows_until_it_has_some_lines() -> None:
    wide = ",".join(f"column {number}" for number in range(SAMPLE // 8))

    layout = layout_of(f"{wide}\n{wide}\n")

    assert len(layout.header) == SAMPLE // 8
    assert layout.header_row == 1


def test_a_header_far_down_may_be_given() -> None:
    notes = "note\n" * SAMPLE

    assert layout_of(f"{notes}a,b\n1,2\n", header_row=SAMPLE + 1).header == ("a", "b")
