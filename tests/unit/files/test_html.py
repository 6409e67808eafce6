from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batchfx.errors import SourceError, UsageError
from batchfx.files.csv_record import is_total
from batchfx.files.html import inspect_html, read_html
from batchfx.model.blocks import FAULTS, KINDS, ROW, Fault, load_faults
from batchfx.model.sources import Layout

FOLDER = Path(__file__).parents[2] / "cases" / "files"
PAGE = "<table><tr><th>a<th>b<tr><td>{}<td>{}</table>"


def as_file(content: str | bytes) -> io.BytesIO:
    return io.BytesIO(content.encode() if isinstance(content, str) else content)


def layout_of(content: str | bytes, **overrides: Any) -> Layout:
    return inspect_html(as_file(content), **overrides)


def rows(content: str | bytes, **overrides: Any) -> list[tuple[Any, ...]]:
    """Return the numbers and cells of all rows."""
    source = as_file(content)
    blocks = read_html(source, inspect_html(source, **overrides), 2)
    return [row for block in blocks for row in block.frame.drop(FAULTS, KINDS).rows()]


def cells(*texts: str) -> tuple[Any, ...]:
    """Return the cells of a record whose two cells are written so."""
    ((_, *read),) = rows(PAGE.format(*texts))
    return tuple(read)


def faults(content: str | bytes, **overrides: Any) -> dict[int, Fault]:
    """Return the fault of each row that has one."""
    source = as_file(content)
    found: dict[int, Fault] = {}
    for block in read_html(source, inspect_html(source, **overrides), 2):
        for row, text in block.frame.select(ROW, FAULTS).rows():
            if text:
                (found[row],) = load_faults(text)
    return found


def refusal(content: str | bytes, **overrides: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        rows(content, **overrides)
    return caught.value


def test_the_reported_page_that_is_called_a_workbook_is_read() -> None:
    content = (FOLDER / "xls_is_html_table.xls").read_bytes()

    layout = layout_of(content)

    assert (layout.format, layout.header) == ("html", ("id", "zip", "amount"))
    assert rows(content) == [(2, "1", "01234", "1.234,50"), (3, "2", "00501", None)]
    (warning,) = layout.warnings
    assert (warning.code, warning.parameters) == ("wrong_format", {"found": "HTML"})
    assert "is a web page (HTML)" in warning.message
    assert "save it as an Excel workbook (.xlsx)" in warning.message


@pytest.mark.parametrize("content", ["<html><body>hello", "<table></table>", "<p>"])
def test_a_page_without_a_table_is_refused(content: str) -> None:
    error = refusal(content)

    assert (error.code, error.parameters) == ("wrong_format", {"found": "HTML"})
    assert ".xlsx" in str(error)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("x &amp; y &lt;z&gt;", "x & y <z>"),
        ("&eacute;&#233;&#xe9;&#128;", "ééé€"),
        ("  a \n\t b  ", "a b"),
        ("&nbsp;a&nbsp;b&nbsp;", "a\xa0b"),
        ("a<br>b <br/> c", "a\nb\nc"),
        ("<p>a</p><p>b</p>", "a\nb"),
        ("<b>a</b><i>b</i> <a href='x'>c</a>", "ab c"),
        ("a<!-- <td>b -->c", "ac"),
        ("<script>document.write('<td>x')</script>a<style>b</style>", "a"),
        ("<![if !supportEmptyParas]>a<![endif]><![odd]>", "a"),
        ("&nbsp;", None),
        ("", None),
        ("0123", "0123"),
    ],
)
def test_a_cell_is_the_text_that_is_seen(written: str, text: str | None) -> None:
    assert cells(written, "z") == (text, "z")


def test_all_cells_are_text() -> None:
    source = as_file(PAGE.format("1", "true"))

    (block,) = read_html(source, inspect_html(source), 5)

    assert block.frame[KINDS].to_list() == [None]


def test_cells_over_rows_are_in_each_and_over_columns_in_the_first() -> None:
    content = (
        "<table><tr><th>a<th>b<th>c"
        "<tr><td rowspan=2>1<td colspan=2>x"
        "<tr><td>2<td>3"
        "<tr><td>4<td>5<td rowspan=0>6"
        "<tr><td>7<td>8"
        "<tr><td colspan='2'>9</table>"
    )

    assert rows(content) == [
        (2, "1", "x", None),
        (3, "1", "2", "3"),
        (4, "4", "5", "6"),
        (5, "7", "8", "6"),
        (6, "9", None, "6"),
    ]
    assert [each.code for each in layout_of(content).warnings][-1] == "merged_cells"


def test_a_cell_reaches_past_missing_cells_and_not_into_another_section() -> None:
    content = (
        "<table><thead><tr><th rowspan=0>a<th>b<th>c</thead>"
        "<tbody><tr><td>1<td>2<td rowspan=2>3<tr><td>4<tr><td>5<td>6<td>7</table>"
    )

    assert rows(content) == [
        (2, "1", "2", "3"),
        (3, "4", None, "3"),
        (4, "5", "6", "7"),
    ]


def test_cells_over_rows_can_be_left_in_the_first() -> None:
    content = "<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table>"

    assert rows(content, merged="top") == [(2, "1", "2"), (3, None, "3")]
    warnings = layout_of(content, merged="top").warnings
    assert [each.code for each in warnings] == ["wrong_format"]


def test_rows_below_the_header_can_be_left_out() -> None:
    content = "<table><tr><th>a<th>b<tr><td>text<td>text<tr><td>1<td>2</table>"

    assert rows(content, skip_after_header=1) == [(3, "1", "2")]


def test_a_row_that_has_only_what_reaches_into_it_is_blank() -> None:
    content = "<table><tr><th>a<th>b<tr><td rowspan=3>1<td>2<tr><tr><td>3</table>"
    source = as_file(content)

    (block,) = read_html(source, inspect_html(source), 5)

    assert block.frame[ROW].to_list() == [2, 4]
    assert block.blank == 1


# The header.


@pytest.mark.parametrize(
    ("content", "names", "row"),
    [
        ("<tr><th>a<th>b<tr><td>1<td>2", ("a", "b"), 1),
        ("<tr><td>a<td>b<tr><td>1<td>2", ("a", "b"), 1),
        ("<thead><tr><td>a<td>b</thead><tr><td>1<td>2", ("a", "b"), 1),
        ("<tr><td colspan=2>Report<tr><td>a<td>b<tr><td>1<td>2", ("a", "b"), 2),
        ("<tr><th colspan=2>Report<tr><th>a<th>b<tr><td>1<td>2", ("a", "b"), 2),
        ("<tr><td>Report<tr><td>&nbsp;<tr><th>a<th>b<tr><td>1<td>2", ("a", "b"), 3),
        ("<tr><th>a<tr><td>1<tr><td>2", ("a",), 1),
        ("<tr><th>a<th>2024<tr><th>x<td>2", ("a", "2024"), 1),
        ("<tr><th>a\n  b<br>c<th>b<tr><td>1<td>2", ("a b c", "b"), 1),
    ],
)
def test_the_header_is_found(content: str, names: tuple[str, ...], row: int) -> None:
    layout = layout_of(f"<table>{content}</table>")

    assert (layout.header, layout.header_row) == (names, row)


GROUPED = (
    "<table><tr><th rowspan=2>id<th colspan=2>Person<tr><th>First<th>Last"
    "<tr><td>1<td>A<td>B</table>"
)


def test_names_of_groups_are_put_before_those_of_their_columns() -> None:
    layout = layout_of(GROUPED)

    assert layout.header == ("id", "Person / First", "Person / Last")
    assert layout.header_row == 2
    assert rows(GROUPED) == [(3, "1", "A", "B")]
    assert [each.code for each in layout.warnings] == ["wrong_format"]


def test_the_header_can_be_stated() -> None:
    content = "<table><tr><td>x<td>y<tr><td>a<td>b<tr><td>1<td>2</table>"

    assert layout_of(content, header_row=2).header == ("a", "b")
    assert rows(content, header_row=2) == [(3, "1", "2")]
    assert layout_of(content, header_row=2, header_rows=2).header == ("x / a", "y / b")
    assert layout_of(content, header_rows=2).header == ("x / a", "y / b")
    assert refusal(content, header_row=9).code == "no_header"


def test_expected_names_tell_the_header() -> None:
    content = (
        "<table><tr><th>u<th>v<tr><td>x<td>y<tr><td>A b<td>C<tr><td>1<td>2</table>"
    )

    layout = layout_of(content, expected_columns=["a_b", "c"])

    assert (layout.header, layout.header_row) == (("A b", "C"), 3)
    assert layout_of(content, expected_columns=["q"]).header == ("u", "v")


def test_two_columns_of_one_name_are_refused() -> None:
    error = refusal("<table><tr><th>a<th>a<tr><td>1<td>2</table>")

    assert (error.code, error.parameters) == (
        "duplicate_header",
        {"names": ["a"], "columns": [1, 2]},
    )


def test_a_column_without_a_name_is_told() -> None:
    content = "<table><tr><th>a<th>&nbsp;<th>&nbsp;<tr><td>1<td>2</table>"

    layout = layout_of(content)

    assert layout.header == ("a", "")
    assert layout.warnings[-1].code == "nameless_column"


def test_a_table_without_rows_is_told() -> None:
    layout = layout_of("<table><tr><th>a<th>b</table>")

    assert (layout.header, layout.warnings[-1].code) == (("a", "b"), "no_rows")


# Which table.

ONE = "<table><caption>The <b>first</b></caption><tr><th>a<th>b<tr><td>1<td>2</table>"
TWO = "<table id=second><tr><th>c<th>d<tr><td>3<td>4</table>"


def test_several_tables_are_asked_about() -> None:
    error = refusal(ONE + TWO)

    assert error.code == "choose_sheet"
    assert error.parameters == {"sheets": ["The first", "second"]}
    assert "table 1 'The first' (2 rows), table 2 'second' (2 rows)" in str(error)


@pytest.mark.parametrize(
    ("sheet", "names"),
    [
        (1, ("a", "b")),
        ("2", ("c", "d")),
        ("the FIRST", ("a", "b")),
        ("second", ("c", "d")),
    ],
)
def test_the_table_that_is_named_is_read(
    sheet: str | int, names: tuple[str, ...]
) -> None:
    assert layout_of(ONE + TWO, sheet=sheet).header == names


def test_a_table_that_is_not_there_is_told() -> None:
    error = refusal(ONE + TWO, sheet=3)

    assert error.code == "no_such_sheet"
    assert error.parameters == {"sheets": ["The first", "second"]}


def test_tables_that_lay_out_the_page_are_not_taken_for_records() -> None:
    content = (
        "<table><tr><td>Menu<td>Home</table>"
        f"<table><tr><td>x<td>y<tr><td colspan=2>{ONE}<tr><td>z</table><table></table>"
    )

    assert layout_of(content).settings["table"] == 3
    assert rows(content) == [(2, "1", "2")]


def test_what_a_table_in_a_cell_says_is_a_part_of_the_cell() -> None:
    content = f"<table><tr><th>p<th>q<tr><td>x{ONE}y<td>z</table>"

    assert rows(content, sheet=1) == [(2, "x\nThe first\na b\n1 2\ny", "z")]


SMALL = "<table><tr><td>q</table>"


@pytest.mark.parametrize("inner", [SMALL, "<table><tr><td>q<tr><td></table>"])
def test_a_table_in_a_cell_does_not_take_the_place_of_the_records(inner: str) -> None:
    content = (
        "<table><tr><th>id<th>n<tr><td>1<td>x"
        f"<tr><td>2<td>{inner}<tr><td>3<td>z</table>"
    )

    assert layout_of(content).settings["table"] == 1
    assert rows(content) == [(2, "1", "x"), (3, "2", "q"), (4, "3", "z")]


def test_a_table_of_one_column_with_a_table_in_a_cell_is_read() -> None:
    content = f"<table><tr><th>id<tr><td>1<tr><td>{SMALL}</table>"

    assert rows(content) == [(2, "1"), (3, "q")]


@pytest.mark.parametrize(
    "header",
    [
        "<table><tr><th>a<th>b</table>",
        "<table><thead><tr><td>a<td>b<tr><td>c<td>d</table>",
    ],
)
def test_a_table_without_rows_is_not_chosen_where_another_has_some(header: str) -> None:
    assert rows(f"{header}<table><tr><th>x<tr><td>1<tr><td>2</table>") == [
        (2, "1"),
        (3, "2"),
    ]


def test_records_and_a_table_of_records_in_one_of_them_are_asked_about() -> None:
    error = refusal(f"<table><tr><th>p<th>q<tr><td>{ONE}<td>z</table>")

    assert (error.code, error.parameters) == (
        "choose_sheet",
        {"sheets": ["1", "The first"]},
    )


def test_a_record_with_too_long_a_table_in_it_is_faulty() -> None:
    inner = f"<table><tr><td>{'x' * 40_000}</table>"
    content = f"<table><tr><th>p<th>q<tr><td>1<td>{inner}<tr><td>2<td>y</table>"

    assert [(row, each.code) for row, each in faults(content).items()] == [
        (2, "nested_table")
    ]
    assert rows(content) == [(2, None, None), (3, "2", "y")]


# Encodings.


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ('<META http-equiv=x content="text/html; charset=koi8-r">', "koi8-r"),
        ('<?xml version="1.0" encoding="windows-1251"?>', "cp1251"),
        ("", "utf-8"),
        ('<meta charset="nonsense">', "utf-8"),
        ('<meta charset="utf-16">', "utf-8"),
        ("\ufeff<meta charset='koi8-r'>", "utf-8"),
        ("\ufeff", "utf-16-le"),
        ("<html>", "utf-16-be"),
    ],
)
def test_the_page_says_its_encoding(head: str, encoding: str) -> None:
    content = (head + PAGE.format("Привет", "x")).encode(encoding)

    assert rows(content) == [(2, "Привет", "x")]


def test_latin_1_is_what_browsers_take_it_for() -> None:
    content = ("<meta charset=iso-8859-1>" + PAGE.format("“€”", "x")).encode("cp1252")

    assert rows(content) == [(2, "“€”", "x")]


def test_an_encoding_can_be_stated() -> None:
    content = ("<meta charset=utf-8>" + PAGE.format("é", "x")).encode("cp1252")

    assert rows(content, encoding="cp1252") == [(2, "é", "x")]
    with pytest.raises(UsageError, match="'nonsense'"):
        layout_of(content, encoding="nonsense")


def test_letters_of_a_page_that_says_nothing_of_them_are_guessed_and_told() -> None:
    content = "<table><tr><th>größe<tr><td>Köln</table>".encode("cp1252")

    layout = layout_of(content)

    assert (layout.header, layout.settings["encoding"]) == (("größe",), "cp1252")
    assert layout.warnings[0].code == "guessed_encoding"
    assert rows(content) == [(2, "Köln")]


def test_bytes_in_a_name_that_mean_nothing_are_told_of_the_page() -> None:
    content = "<meta charset=utf-8><table><tr><th>größe<tr><td>Köln</table>"

    error = refusal(content.encode("cp1252"))

    assert (error.code, error.parameters) == ("encoding", {"columns": [1]})
    assert "'gr\ufffd\ufffde'" in str(error)


# Faults.


def test_undecodable_bytes_and_control_characters_are_faults_of_their_cell() -> None:
    content = (
        b"<meta charset=utf-8>"
        b"<table><tr><th>a<th>b<tr><td>x<td>\xff<tr><td>\x01<td>y</table>"
    )

    found = faults(content)

    assert [(row, each.code, each.column) for row, each in found.items()] == [
        (2, "encoding", 1),
        (3, "control_character", 0),
    ]
    assert rows(content) == [(2, "x", "\ufffd"), (3, "\x01", "y")]


def test_no_mark_of_what_is_no_text_gets_out_of_a_page() -> None:
    content = (
        b"<meta charset=utf-8><table><caption>t\xff</caption><tr><th>a<th>b"
        b"<tr><td>\xff<td>\xff<td>\xff<tfoot><tr><td>\xff<td>1</table>"
        b"<table><tr><th>c<th>d<tr><td>1<td>2</table>"
    )

    told = list(faults(content, sheet=1).values())
    error = refusal(content)

    assert [each.code for each in told] == ["field_count", "not_a_record"]
    assert told[0].fields == ("\ufffd", "\ufffd", "\ufffd")
    assert "\ufdd0" not in f"{told} {error} {error.parameters}"


def test_rows_that_are_no_records_are_faults() -> None:
    content = (
        "<table><tr><th>a<th>b<th>c"
        "<tr><td>1<td>2<td>3<td>4"
        "<tr><td>5<td>6<td>7<td>&nbsp;"
        "<tr><th>a<th>b<th>c"
        "<tr><td>Total<td><td>"
        "<tr><td>8<tfoot><tr><td>x<td>y<td>z</table>"
    )

    found = faults(content)

    assert [(row, each.code) for row, each in found.items()] == [
        (2, "field_count"),
        (4, "not_a_record"),
        (5, "not_a_record"),
        (7, "not_a_record"),
    ]
    assert found[2].parameters == {"expected": 3, "found": 4}
    assert found[2].fields == ("1", "2", "3", "4")
    assert rows(content)[1] == (3, "5", "6", "7")
    assert rows(content)[4] == (6, "8", None, None)


@pytest.mark.parametrize(
    ("end", "is_whole"),
    [
        ("<tr><td>3<td", False),
        ("<tr><td>3<td>4", False),
        ("</tr>", False),
        ("</table>", True),
        ("</body>", True),
        ("</html>", True),
    ],
)
def test_a_page_cut_within_its_table_is_told_after_its_whole_rows(
    end: str, *, is_whole: bool
) -> None:
    content = "<table><tr><th>a<th>b<tr><td>1<td>2</tr>" + end
    blocks = read_html(as_file(content), layout_of(content), 5)

    assert next(blocks).frame.select("c0", "c1").rows() == [("1", "2")]
    if is_whole:
        assert list(blocks) == []
    else:
        with pytest.raises(SourceError, match="breaks off within its table") as caught:
            next(blocks)
        assert caught.value.code == "truncated"


# Laws.

TAGS = st.sampled_from(
    [
        *("<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>", "<br>", "x"),
        *("<td rowspan=2>", "<td colspan=3>", "<td rowspan=0 colspan=2>", "<thead>"),
        *("</thead>", "<tfoot>", "<caption>", "</caption>", "<script>", "</script>"),
        *("<!--", "-->", "<![", "<!", "<?", "&amp;", "&#", "\n", "<td", "'", '"', "é"),
        *("<table><tr><th>a<th>b<tr><td>1<td>2", "<tr><td>3<td>4", "</body>", "\x00"),
    ]
)
CONTENTS = st.lists(TAGS, max_size=40).map("".join).map(str.encode) | st.binary()


def all_of(content: bytes, count: int, size: int, position: Any = None) -> Any:
    """Return the rows and blank ones from a position on, the places, and the error."""
    found: list[Any] = []
    places: list[Any] = []
    blank = 0
    source = as_file(content)
    try:
        layout = inspect_html(source)
        for block in read_html(source, layout, count, position, size=size):
            found += block.frame.rows()
            blank += block.blank
            places.append((json.loads(json.dumps(block.position)), len(found), blank))
    except SourceError as error:
        return found, blank, error.code, places
    return found, blank, None, places


@given(CONTENTS, st.integers(1, 4), st.sampled_from([1, 2, 3, 7, 50]))
@example(b"<table><tr><th>a<th>b<tr><td rowspan=3>1<td>2<tr><tr><td>3</table>", 1, 3)
def test_whatever_the_page_and_the_sizes_the_rows_are_the_same(
    content: bytes, count: int, size: int
) -> None:
    whole = all_of(content, 1_000, 1 << 20)
    found, blank, error, places = all_of(content, count, size)

    assert (found, blank, error) == whole[:3]
    for place, read, passed in places:
        rest = all_of(content, count, size, place)
        assert rest[:3] == (found[read:], blank - passed, error)


TEXTS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
TABLES = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


@given(TABLES)
def test_what_is_written_as_a_table_is_read_back(
    table: Sequence[Sequence[str]],
) -> None:
    lines = [
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>"
        for row in table
        if not is_total(row, 2)
    ]
    head = "<tr><th>one name</th><th>another name</th></tr>"

    read = rows(f"<table>{head}{''.join(lines)}</table>")

    assert [row[1:] for row in read] == [row for row in table if not is_total(row, 2)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("<table>" * 200, "unsafe_file"),
        ("<table>" + "<tr><td>x</table><table>" * 10_001, "unsafe_file"),
        ("<table><tr>" + "<td colspan=1000>x" * 20, "too_many_columns"),
        ("<table>" + "<tr><td rowspan=99999>x" * 20_000, "unsafe_file"),
        ("<table>" + ("<tr>" + "<td colspan=1000>x" * 16) * 1_000, "unsafe_file"),
        ("<table><tr><td>" + "x" * 5_000_000, "unsafe_file"),
        ("<table><tr><td>&#" + "9" * 5_000 + ";x</table>", "corrupt"),
        ("<!--" * 1_500_000, "corrupt"),
        ("<script>" + "</scrip" * 1_000_000, "corrupt"),
        ("<a x='" * 100_000, "wrong_format"),
    ],
    ids=range(10),
)
def test_a_page_made_to_do_harm_is_refused_in_time(content: str, code: str) -> None:
    started = time.process_time()

    assert refusal(content).code == code
    assert time.process_time() - started < 10


TWO_HEADS = (
    "<table><tr><th colspan=2>A<th rowspan=2>B<tr><th>x<th>y"
    "<tr><td>1<td>2<td>3<tr><td>4<td>5<td>6</table>"
)


@pytest.mark.parametrize(
    "named", [["A / x", "A / y", "B"], ["B"], ["A / x"], ["b", "a / y"]]
)
def test_names_of_a_header_of_two_rows_do_not_cut_it(named: list[str]) -> None:
    layout = layout_of(TWO_HEADS, expected_columns=named)

    assert (layout.header, layout.header_row) == (("A / x", "A / y", "B"), 2)


@pytest.mark.parametrize("span", ["2", "65534", "70000", "1000000000", "9" * 5000])
def test_a_cell_may_span_more_rows_than_there_are(span: str) -> None:
    content = f"<table><tr><th>a<th>b<tr><td rowspan={span}>1<td>2<tr><td>3</table>"

    assert rows(content) == [(2, "1", "2"), (3, "1", "3")]
