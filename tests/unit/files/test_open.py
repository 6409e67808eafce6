from __future__ import annotations

import gzip
import io
from pathlib import Path
from random import Random
from typing import Any

import openpyxl
import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files import open as files

CASES = Path(__file__).parents[2] / "cases" / "files"


def inspect(content: bytes, **overrides: Any) -> Any:
    return files.inspect(io.BytesIO(content), **overrides)


def refusal(content: bytes) -> SourceError:
    with pytest.raises(SourceError) as caught:
        inspect(content)
    return caught.value


def workbook() -> bytes:
    book = openpyxl.Workbook()
    for row in (("sku", "name"), ("A-1", "Cup"), ("A-2", "Jug")):
        book.active.append(row)  # type: ignore[union-attr]
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def test_text_is_read_wherever_the_source_stands() -> None:
    source = io.BytesIO(b"a,b\n1,2\n")
    source.seek(5)

    layout = files.inspect(source)
    (block,) = files.read(source, layout, 10)

    assert (layout.format, layout.header) == ("csv", ("a", "b"))
    assert block.frame.row(0)[:3] == (2, "1", "2")


def test_a_workbook_is_told_by_its_content() -> None:
    source = io.BytesIO(workbook())

    layout = files.inspect(source)
    first, second = files.read(source, layout, 1)
    (again,) = files.read(source, layout, 1, first.position)

    assert (layout.format, layout.header) == ("xlsx", ("sku", "name"))
    assert first.frame.row(0)[1:3] == ("A-1", "Cup")
    assert second.frame.equals(again.frame)


def test_text_that_begins_like_an_archive_is_text() -> None:
    assert inspect(b"PK,name\n1,Ann\n").header == ("PK", "name")
    assert inspect(b"BZh91,name\n1,Ann\n").header == ("BZh91", "name")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("xlsx_password_protected.xlsx", "encrypted"),
        ("xlsx_billion_laughs.xlsx", "unsafe_file"),
        ("csv_empty_file.csv", "empty_file"),
    ],
)
def test_a_file_without_a_table_that_is_read_is_refused(name: str, code: str) -> None:
    assert refusal((CASES / name).read_bytes()).code == code


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a picture (PNG)"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a picture (JPEG)"),
        (b"%PDF-1.7\n1 0 obj\n", "a PDF document"),
        (b"\x1f\x8b\x07\x00", "a compressed file (gzip)"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b'<?xml version="1.0"?>\n<Workbook/>', "an XML file"),
    ],
)
def test_another_format_is_named_and_refused(content: bytes, what: str) -> None:
    error = refusal(content)

    assert error.code == "unsupported_format"
    assert str(error) == (
        f"The file is {what}; save or export the table as .xlsx or .csv."
    )


@pytest.mark.parametrize(
    "content", [bytes(100), bytes(range(256)) * 4, b"\x02\x03\x04abc\x05\x06\n"]
)
def test_what_is_no_text_by_its_bytes_may_be_said_to_be_text(content: bytes) -> None:
    error = refusal(content)

    assert error.code == "unsupported_format"
    assert str(error) == (
        "The file is no text and no workbook, by its bytes. If it is text, say how it "
        "is encoded, such as --set encoding=utf-16-le; else save or export the table "
        "as .xlsx or .csv."
    )


@pytest.mark.parametrize(
    ("name", "found", "header"),
    [
        ("csv_sep_hint.csv", "csv", ("sku", "name", "price")),
        ("json_big_integers.json", "json", ("id", "n")),
        ("ndjson_late_key.ndjson", "ndjson", ("a", "b")),
        ("ods_repeated_data.ods", "ods", ("a", "b", "c")),
        ("parquet_types.parquet", "parquet", ("price", "at_utc", "at_local")),
        ("xls_ints_dates_long_text.xls", "xls", ("code", "zip", "day")),
        ("xls_is_html_table.xls", "html", ("id", "zip", "amount")),
        ("xls_is_tab_text.xls", "csv", ("id", "name", "zip")),
        ("xlsx_strict_ooxml.xlsx", "xlsx", ("id", "name", "day")),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_each_format_is_known_by_its_content(
    name: str, found: str, header: tuple[str, ...], *, packed: bool
) -> None:
    content = (CASES / name).read_bytes()
    source = io.BytesIO(gzip.compress(content) if packed else content)

    layout = files.inspect(source)
    blocks = list(files.read(source, layout, 1))
    (*_, last) = files.read(source, layout, 1, blocks[0].position)

    assert (layout.format, layout.header[:3]) == (found, header)
    assert len(blocks) > 1
    assert last.frame.equals(blocks[-1].frame)


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><body><table><tr>{}</table>",
        " \n<!-- made by x -->\n<TABLE border=1><tr>{}</TABLE>",
        '<?xml version="1.0"?>\n<html xmlns="x"><table><tr>{}</tr></table></html>',
        "<meta charset=utf-8><table><tr>{}</table>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_web_page_is_known_and_told(page: str, encoding: str) -> None:
    cells = "<th>id<th>name<tr><td>1<td>Ann"

    layout = inspect(page.format(cells).encode(encoding))

    assert (layout.format, layout.header) == ("html", ("id", "name"))
    assert "wrong_format" in [warning.code for warning in layout.warnings]


def test_a_web_page_without_a_table_is_refused() -> None:
    assert refusal(b"<html><body>Log in, please.</body></html>").code == "wrong_format"


def test_who_says_how_text_is_delimited_means_text() -> None:
    content = b'["a"|"b"]\n["1"|"2"]\n'

    assert inspect(content, delimiter="|", quote="").header == ('["a"', '"b"]')


def test_a_web_page_is_no_delimited_text_whatever_is_said() -> None:
    page = b"<table><tr><th>id<th>name<tr><td>1<td>Ann</table>"

    with pytest.raises(UsageError, match="delimiter can't be set for a web page"):
        inspect(page, delimiter=",")


def test_a_hint_is_no_mistake_where_it_is_of_no_use() -> None:
    assert inspect(b'[{"a": 1}]', expected_columns=["a"]).header == ("a",)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,\x002\n",
        "a;b\n1;2\n".encode("utf-16-le"),
        "a;b\n1;2\n".encode("utf-16"),
        "a;b\n1;2\n".encode("utf-32"),
        b"a,b\n<b>,2\n",
        b"<b>,c\n1,2\n",
    ],
)
def test_text_with_strange_characters_is_text(content: bytes) -> None:
    assert inspect(content).format == "csv"


def test_a_given_encoding_makes_text_of_what_does_not_look_like_it() -> None:
    content = "漢字,編碼\n一,二\n".encode("utf-16-be")

    assert inspect(content, encoding="utf-16-be").header == ("漢字", "編碼")


def test_overrides_of_none_say_nothing() -> None:
    assert inspect(b"a;b\n1;2\n", delimiter=None, quote=None, sheet=None).header == (
        "a",
        "b",
    )


def test_overrides_reach_the_reader() -> None:
    assert inspect(b"x\na;b,c\n", delimiter=",", header_row=2).header == ("a;b", "c")
    assert inspect(workbook(), header_row=2).header == ("A-1", "Cup")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a,b\n",
            "sheet can't be set for a text file; delimiter, encoding, escape, expected",
        ),
        (
            workbook(),
            "delimiter can't be set for a workbook; expected_columns, header_row",
        ),
    ],
)
def test_an_override_that_does_not_fit_the_format_is_refused(
    content: bytes, message: str
) -> None:
    override = message.partition(" ")[0]

    with pytest.raises(UsageError, match=message):
        inspect(content, **{override: "x"})


def test_a_block_of_no_rows_is_refused() -> None:
    source = io.BytesIO(b"a,b\n1,2\n")

    with pytest.raises(UsageError, match="one row at least, not 0"):
        files.read(source, files.inspect(source), 0)


def test_bytes_at_random_are_no_text() -> None:
    content = Random(1).randbytes(3_000)  # noqa: S311 - the same ones each time

    with pytest.raises(SourceError, match="no text and no workbook"):
        files.inspect(io.BytesIO(content))


def test_an_end_that_was_never_written_does_not_make_a_text_binary() -> None:
    source = io.BytesIO(b"a,b\n1,2\n" + bytes(5_000))

    layout = files.inspect(source)
    (block,) = files.read(source, layout, 9)

    assert (layout.format, layout.header) == ("csv", ("a", "b"))
    assert block.frame.height == 2
    with pytest.raises(SourceError, match="no text and no workbook"):
        files.inspect(io.BytesIO(bytes(5_000)))


@pytest.mark.parametrize(
    "content",
    [
        b'callback([{"a":1}]);',
        b'/**/ app.rows_1({"data": [{"a": 1}]})',
        b"$cb([[1, 2]])",
    ],
)
def test_json_in_a_call_is_told(content: bytes) -> None:
    error = refusal(content)

    assert (error.code, error.parameters) == ("wrong_format", {"found": "JSONP"})


def test_a_name_may_have_brackets() -> None:
    assert inspect(b"sum(a),n (x)\n1,2\n").header == ("sum(a)", "n (x)")
