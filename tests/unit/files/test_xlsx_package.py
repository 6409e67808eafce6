"""The archive around a workbook."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx
from batchfx.files.xlsx_package import OLE_MAGIC, Package
from tests.unit.files.workbooks import (
    CASES,
    packed,
    row,
    sheet,
    workbook,
    workbook_parts,
)

PEOPLE = sheet(row(1, "id", "name"), row(2, 1, "Ann"))
HEADER = ("id", "name")


def refusal(content: bytes) -> SourceError:
    with pytest.raises(SourceError) as error:
        inspect_xlsx(io.BytesIO(content))
    return error.value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("worksheets/sheet1.xml", "/xl/worksheets/sheet1.xml"),
        ("worksheets/sheet1.xml", "./worksheets/../worksheets/sheet1.xml"),
        ("worksheets/sheet1.xml", "worksheets\\sheet1.xml"),
        ("worksheets/sheet1.xml", "Worksheets/Sheet1.XML"),
        ("worksheets/sheet1.xml", "worksheets/sheet%31.xml"),
    ],
)
def test_a_target_is_found_however_it_is_written(old: str, new: str) -> None:
    parts = workbook_parts(PEOPLE)
    links = str(parts["xl/_rels/workbook.xml.rels"])
    parts["xl/_rels/workbook.xml.rels"] = links.replace(old, new)

    assert inspect_xlsx(packed(parts)).header == HEADER


@pytest.mark.parametrize("written", [str.upper, lambda name: name.replace("/", "\\")])
def test_names_of_parts_may_be_in_another_case_or_with_backslashes(
    written: object,
) -> None:
    assert callable(written)
    parts = {written(name): part for name, part in workbook_parts(PEOPLE).items()}

    assert inspect_xlsx(packed(parts)).header == HEADER


@pytest.mark.parametrize("missing", ["_rels/.rels", "xl/styles.xml"])
def test_a_part_that_may_be_missing_is_not_missed(missing: str) -> None:
    parts = workbook_parts(PEOPLE)
    del parts[missing]

    assert inspect_xlsx(packed(parts)).header == HEADER


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("xl/workbook.xml", "wrong_format"),
        ("xl/_rels/workbook.xml.rels", "corrupt"),
        ("xl/worksheets/sheet1.xml", "corrupt"),
    ],
)
def test_a_part_that_must_be_there_is_missed(missing: str, code: str) -> None:
    parts = workbook_parts(PEOPLE)
    del parts[missing]

    assert refusal(packed(parts).read()).code == code


def test_a_binary_workbook_is_refused_by_name() -> None:
    parts = workbook_parts(PEOPLE)
    parts["xl/workbook.bin"] = parts.pop("xl/workbook.xml")
    parts["_rels/.rels"] = str(parts["_rels/.rels"]).replace(".xml", ".bin")

    error = refusal(packed(parts).read())

    assert (error.code, error.parameters) == ("unsupported_format", {"found": "xlsb"})


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("ods_repeated_data.ods", "unsupported_format", "ods"),
        ("xls_ints_dates_long_text.xls", "unsupported_format", "xls"),
    ],
)
def test_another_spreadsheet_is_refused_by_name(
    name: str, code: str, found: str
) -> None:
    error = refusal((CASES / name).read_bytes())

    assert (error.code, error.parameters) == (code, {"found": found})


def test_a_document_is_no_workbook() -> None:
    parts = {
        "_rels/.rels": str(workbook_parts(PEOPLE)["_rels/.rels"]).replace(
            "xl/", "word/"
        ),
        "word/workbook.xml": "<document/>",
    }

    assert refusal(packed(parts).read()).code == "wrong_format"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"id,name\n1,Ann\n", "corrupt"),
        (b"PK", "corrupt"),
        (b"PK\x05\x06" + bytes(18), "wrong_format"),
        (b"PK\x03\x04 no archive", "corrupt"),
        (OLE_MAGIC + bytes(100), "corrupt"),
    ],
)
def test_what_is_no_archive_is_refused(content: bytes, code: str) -> None:
    assert refusal(content).code == code


def test_an_archive_that_was_cut_is_damaged() -> None:
    content = workbook(PEOPLE).read()

    for cut in range(1, len(content), 97):
        assert refusal(content[:-cut]).code in {"corrupt", "empty_file"}


def test_a_wrong_checksum_is_damage_and_names_the_part() -> None:
    rows = [row(1, "id", "name"), *(row(n, n, "Ann") for n in range(2, 20_000))]
    content = bytearray(workbook(sheet(*rows)).read())
    entry = zipfile.ZipFile(io.BytesIO(content)).getinfo("xl/worksheets/sheet1.xml")
    content[content.rfind(struct.pack("<L", entry.CRC))] ^= 1

    error = refusal(bytes(content))

    assert error.code == "corrupt"
    assert "'xl/worksheets/sheet1.xml'" in str(error)
    assert "CRC" in str(error)


def test_an_encrypted_part_is_said_to_be_encrypted() -> None:
    content = bytearray(workbook(PEOPLE).read())
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := content.find(sign, start + 1)) >= 0:
            content[start + flags] |= 1

    assert refusal(bytes(content)).code == "encrypted"


def test_a_part_that_is_packed_unusually_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name, part in workbook_parts(PEOPLE).items():
            archive.writestr(name, part)

    assert refusal(file.getvalue()).code == "corrupt"


def test_macros_are_no_more_than_another_part() -> None:
    parts = workbook_parts(PEOPLE)
    parts["xl/vbaProject.bin"] = b"\xd0\xcf\x11\xe0 Sub Auto_Open()"

    assert inspect_xlsx(packed(parts)).header == HEADER


def test_a_part_is_not_expanded_beyond_its_limit() -> None:
    file = packed({"a.xml": b"x" * 1000})

    with Package(file) as package:
        assert b"".join(package.chunks("a.xml", 1000)) == b"x" * 1000
        with pytest.raises(SourceError) as error:
            list(package.chunks("a.xml", 999))

    assert error.value.code == "unsafe_file"


def test_a_small_part_that_expands_to_much_is_unsafe() -> None:
    parts = workbook_parts(PEOPLE)
    parts["xl/styles.xml"] = (
        b" " * (64 * 1024**2) + str(parts["xl/styles.xml"]).encode()
    )
    content = packed(parts).read()

    assert len(content) < 100_000
    assert refusal(content).code == "unsafe_file"


def test_two_parts_with_one_name_are_damage() -> None:
    file = workbook(PEOPLE)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("xl/Worksheets/sheet1.xml", sheet(row(1, "id", "age")))

    error = refusal(file.getvalue())

    assert (error.code, error.parameters) == (
        "corrupt",
        {"part": "xl/worksheets/sheet1.xml"},
    )


def test_an_archive_of_too_many_parts_is_unsafe() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(30_000):
            archive.writestr(f"{number}{'x' * 100}", b"")

    assert refusal(file.getvalue()).code == "unsafe_file"
