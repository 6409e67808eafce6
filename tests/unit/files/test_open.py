from __future__ import annotations

import io
import zipfile
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


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("xlsx_password_protected.xlsx", "encrypted"),
        ("xls_ints_dates_long_text.xls", "unsupported_format"),
        ("ods_repeated_data.ods", "unsupported_format"),
        ("parquet_types.parquet", "unsupported_format"),
        ("xls_is_html_table.xls", "wrong_format"),
        ("csv_empty_file.csv", "empty_file"),
    ],
)
def test_a_file_without_a_table_that_is_read_is_refused(name: str, code: str) -> None:
    assert refusal((CASES / name).read_bytes()).code == code


def test_an_archive_without_a_workbook_is_refused() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("readme.txt", "a,b\n")

    assert refusal(target.getvalue()).code == "wrong_format"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a picture (PNG)"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a picture (JPEG)"),
        (b"%PDF-1.7\n1 0 obj\n", "a PDF document"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"\x1f\x8b\x08\x00", "a compressed file (gzip)"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b'<?xml version="1.0"?>\n<Workbook/>', "an XML file"),
        (bytes(100), "no text and no workbook"),
        (bytes(range(256)) * 4, "no text and no workbook"),
        (b"\x02\x03\x04abc\x05\x06\n", "no text and no workbook"),
    ],
)
def test_another_format_is_named_and_refused(content: bytes, what: str) -> None:
    error = refusal(content)

    assert error.code == "unsupported_format"
    assert str(error) == (
        f"The file is {what}; save or export the table as .xlsx or .csv."
    )


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html>",
        " \n<!-- made by x -->\n<TABLE border=1><tr>",
        '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">',
        "<meta charset=utf-8><table>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_web_page_is_refused(page: str, encoding: str) -> None:
    error = refusal(page.encode(encoding))

    assert error.code == "wrong_format"
    assert error.parameters == {"found": "HTML"}


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
            "sheet can't be set for a text file; delimiter, encoding, header_row",
        ),
        (workbook(), "delimiter can't be set for a workbook; header_row, sheet can."),
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
