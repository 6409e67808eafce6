"""Files made to do harm: each is read in a process that may take little of anything."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from batchfx.errors import SourceError
from batchfx.files import open as files
from tests.unit.files.hostile import (
    Entry,
    archive,
    honest,
    outcome,
    repeated_deflate,
)
from tests.unit.files.workbooks import (
    CASES,
    MAIN,
    cell,
    row,
    sheet,
    strings,
    workbook_parts,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="asks Linux's /proc"
)

MIB = 1 << 20
ZEROS = bytes(10 * MIB)
SHEET = "xl/worksheets/sheet1.xml"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write


Write = Callable[[bytes], Path]


def laughs(depth: int = 12) -> str:
    """Return a document type whose last entity is ten to the power of *depth*."""
    entities = ['<!ENTITY l0 "ha">'] + [
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, depth)
    ]
    return f"<!DOCTYPE x [{''.join(entities)}]>"


def ods(content: str | bytes | Entry) -> bytes:
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
        f'manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{ODS}"/></manifest:manifest>'
    )
    parts = {"mimetype": ODS, "META-INF/manifest.xml": manifest, "content.xml": content}
    return archive(parts)


def ods_content(rows: str, before: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{before}<o:document-content xmlns:o="{OFFICE}" '
        f'xmlns:t="{TABLE}" xmlns:x="{TEXT}" o:version="1.2"><o:body><o:spreadsheet>'
        f'<t:table t:name="S">{rows}</t:table>'
        "</o:spreadsheet></o:body></o:document-content>"
    )


def ods_row(*texts: str, times: int = 1) -> str:
    cells = "".join(
        f'<t:table-cell o:value-type="string"><x:p>{text}</x:p></t:table-cell>'
        for text in texts
    )
    return f'<t:table-row t:number-rows-repeated="{times}">{cells}</t:table-row>'


def parts(**changed: Entry | str) -> bytes:
    """Return a workbook with some of its parts made to do harm."""
    second = f'<row r="2">{cell("A2", 1)}{cell("B2", 0, "s")}</row>'
    rows = (row(1, "id", "name"), second)
    usual = workbook_parts(sheet(*rows), shared=strings("<t>x</t>"))
    names = {"sheet": SHEET, "strings": "xl/strings.xml", "styles": "xl/styles.xml"}
    return archive({**usual, **{names[key]: part for key, part in changed.items()}})


# --- Entities -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        parts(strings=f'{laughs()}<sst xmlns="{MAIN}"><si><t>&l11;</t></si></sst>'),
        parts(sheet=laughs() + sheet(row(1, "id", "name"), row(2, "&l11;", "x"))),
        ods(ods_content(ods_row("a", "&l11;"), laughs())),
    ],
    ids=["xlsx_strings", "xlsx_sheet", "ods"],
)
def test_entities_that_expand_without_end_are_unsafe(
    file: Write, content: bytes
) -> None:
    found = outcome(file(content))

    assert found.code == "unsafe_file"
    assert "document type (DTD)" in found.message
    assert found.peak < 50 * MIB


# --- Bombs ----------------------------------------------------------------------------


def gigabytes(count: int) -> Entry:
    """Return a member of so many times 1000 MiB of zeros."""
    return Entry(repeated_deflate(b"", ZEROS, count * 100, b""))


def test_ten_gigabytes_of_zeros_in_gzip_are_unsafe(file: Write) -> None:
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    stream = repeated_deflate(b"", ZEROS, 1000, b"")

    one_stream = outcome(file(header + stream + bytes(8)))
    many_streams = outcome(file(gzip.compress(ZEROS) * 1000))

    assert (one_stream.code, many_streams.code) == ("unsafe_file", "unsafe_file")
    assert "expands to more than 250 times what is packed" in one_stream.message
    assert max(one_stream.peak, many_streams.peak) < 50 * MIB


def test_a_bomb_in_any_other_packing_is_unsafe(file: Write) -> None:
    in_zstd = outcome(file(zstd.compress(ZEROS) * 1000))
    in_zip = outcome(file(archive({"a.csv": gigabytes(10)})))

    assert (in_zstd.code, in_zip.code) == ("unsafe_file", "unsafe_file")
    assert max(in_zstd.peak, in_zip.peak) < 100 * MIB


def test_a_window_that_takes_much_memory_is_not_given(file: Write) -> None:
    # RFC 8878, 3.1.1.1: a window of 2 GiB, and one raw block.
    frame = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x41\x00\x00a,b\n1,2\n"

    found = outcome(file(frame))

    assert found.code == "corrupt"
    assert found.peak < 50 * MIB


@pytest.mark.parametrize("part", ["sheet", "strings", "styles"])
def test_a_part_of_gigabytes_is_unsafe(file: Write, part: str) -> None:
    starts = {
        "sheet": f'<worksheet xmlns="{MAIN}"><sheetData>',
        "strings": f'<sst xmlns="{MAIN}">',
        "styles": f'<styleSheet xmlns="{MAIN}">',
    }
    blanks = repeated_deflate(starts[part].encode(), b" " * (10 * MIB), 300, b"")

    found = outcome(file(parts(**{part: Entry(blanks)})))

    assert found.code == "unsafe_file"
    assert found.peak < 50 * MIB


@pytest.mark.slow
def test_a_sheet_of_gigabytes_is_unsafe_in_ods(file: Write) -> None:
    start = ods_content("").partition("</t:table>")[0].encode()

    found = outcome(
        file(ods(Entry(repeated_deflate(start, b" " * 10 * MIB, 300, b""))))
    )

    assert found.code == "unsafe_file"
    assert found.peak < 50 * MIB


def test_shared_strings_of_much_text_stay_on_the_disk(file: Write) -> None:
    text = "<si><t>" + "x" * 30_000 + "</t></si>"
    start = f'<sst xmlns="{MAIN}">'
    packed = repeated_deflate(start.encode(), text.encode() * 100, 50, b"</sst>")

    content = (start + text * 5_000 + "</sst>").encode()
    entry = Entry(packed, len(content), zlib.crc32(content))
    rows = [row(1, "id", "name")]
    rows += [
        f'<row r="{n}">{cell(f"A{n}", n)}{cell(f"B{n}", n, "s")}</row>'
        for n in range(2, 5_000)
    ]
    found = outcome(file(parts(strings=entry, sheet=sheet(*rows))))

    assert (found.code, found.rows, found.widest) == (None, 4_998, 30_000)
    assert found.peak < 300 * MIB


# --- Archives -------------------------------------------------------------------------


def test_an_archive_of_archives_is_refused(file: Write) -> None:
    content = archive({"a.csv": "a,b\n1,2\n"})
    for _ in range(5):
        content = archive({"a.zip": content})

    found = outcome(file(content))

    assert (found.code, found.peak < 50 * MIB) == ("nested_archive", True)


@pytest.mark.parametrize(
    "entry",
    [
        Entry(honest("a,b\n1,2\n").packed, 3, honest("a,b\n1,2\n").checksum),
        Entry(honest("a,b\n1,2\n").packed[:6], 8, honest("a,b\n1,2\n").checksum),
        Entry(honest("a,b\n1,2\n").packed, 8, 7),
        Entry(honest("a,b\n1,2\n").packed, 8, honest("a,b\n1,2\n").checksum, at=9),
        Entry(honest("a,b\n1,2\n").packed, 8, 1, at=0xFFFFFFF0),
    ],
    ids=["size", "cut", "checksum", "offset", "far"],
)
def test_an_archive_that_lies_is_damaged(file: Write, entry: Entry) -> None:
    assert outcome(file(archive({"a.csv": entry}))).code == "corrupt"


def test_a_size_that_is_too_large_is_not_believed(file: Write) -> None:
    true = honest("a,b\n1,2\n")

    found = outcome(
        file(archive({"a.csv": Entry(true.packed, 1 << 31, true.checksum)}))
    )

    assert (found.rows, found.peak < 50 * MIB) == (1, True)


def test_members_that_lie_over_each_other_cost_no_more_than_one(file: Write) -> None:
    bomb = repeated_deflate(b"", ZEROS, 6, b"")
    entries = {"a0": Entry(bomb, 60 * MIB, zlib.crc32(ZEROS * 6))}
    entries |= {f"a{n}": Entry(b"", 60 * MIB, at=0) for n in range(1, 2_000)}

    found = outcome(file(archive(dict(entries))))

    assert (found.code, found.peak < 50 * MIB) == ("choose_member", True)


def test_parts_of_a_workbook_may_have_the_names_of_system_files(file: Write) -> None:
    usual = workbook_parts(sheet(row(1, "id", "name"), row(2, 1, "Ann")))
    evil = {"../../../../etc/passwd": "x", "/etc/shadow": "x", "..\\..\\evil.dll": "x"}

    found = outcome(file(archive({**usual, **evil})))

    assert (found.format, found.rows) == ("xlsx", 1)


def test_macros_are_not_run(file: Write) -> None:
    usual = workbook_parts(sheet(row(1, "id", "name"), row(2, 1, "Ann")))

    found = outcome(file(archive({**usual, "xl/vbaProject.bin": bytes(100)})))

    assert (found.format, found.rows) == ("xlsx", 1)


# --- Sheets ---------------------------------------------------------------------------


def test_one_far_cell_asks_for_no_grid(file: Write) -> None:
    far = f'<row r="1048576">{cell("XFD1048576", 1)}</row>'
    rows = (row(1, "id", "name"), row(2, 1, "Ann"), far)

    found = outcome(file(parts(sheet=sheet(*rows))))

    assert (found.rows, found.width, found.warnings) == (1, 2, ("outside_table",))
    assert found.peak < 50 * MIB


def test_one_far_cell_asks_for_no_grid_in_ods(file: Write) -> None:
    gap = '<t:table-cell t:number-columns-repeated="16383"/>'
    value = '<t:table-cell o:value-type="string"><x:p>far</x:p></t:table-cell>'
    far = (
        '<t:table-row t:number-rows-repeated="1048573"/>'
        f"<t:table-row>{gap}{value}</t:table-row>"
    )
    rows = ods_row("id", "name") + ods_row("1", "Ann") + far

    found = outcome(file(ods(ods_content(rows))))

    assert (found.rows, found.width, found.warnings) == (1, 2, ("outside_table",))
    assert found.peak < 50 * MIB


def test_a_million_formatted_empty_rows_are_no_records(file: Write) -> None:
    first = row(1, "id", "name") + row(2, 1, "Ann")
    styled = (
        f'<row r="{n}" s="1"><c r="A{n}" s="1"/><c r="B{n}" s="1"/></row>'
        for n in range(3, 1_048_576)
    )
    last = f'<row r="1048576">{cell("A1048576", 2)}{cell("B1048576", "Ben")}</row>'

    found = outcome(file(parts(sheet=sheet(first, *styled, last))))

    assert (found.rows, found.faulty, found.blank) == (2, 0, 1_048_573)
    assert found.peak < 50 * MIB


def test_rows_that_are_repeated_without_end_are_refused_or_read(file: Write) -> None:
    header = ods_row("id", "name")
    blank = (
        '<t:table-row t:number-rows-repeated="1048574"><t:table-cell/></t:table-row>'
    )

    empty = outcome(file(ods(ods_content(header + ods_row("1", "A") + blank))))
    full = outcome(file(ods(ods_content(header + ods_row("1", "A", times=2_000_000)))))

    assert (empty.rows, empty.peak < 50 * MIB) == (1, True)
    assert full.code == "unsafe_file"
    assert full.peak < 50 * MIB


def test_ten_thousand_columns_are_read(file: Write) -> None:
    names = [f"column {number}" for number in range(10_000)]
    values = [str(number) for number in range(10_000)]
    record = dict(zip(names, values, strict=True))
    letters = [
        a + b + c
        for a in ["", *"ABCDEFGHIJKLMNO"]
        for b in ["", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
        if b or not a
        for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ][:10_000]
    cells = [
        "".join(cell(f"{at}{n}", text) for at, text in zip(letters, texts, strict=True))
        for n, texts in enumerate((names, values, values), 1)
    ]
    rows = [f'<row r="{n}">{each}</row>' for n, each in enumerate(cells, 1)]
    lines = [",".join(names), *[",".join(values)] * 2]

    for content in (
        "\n".join(lines).encode(),
        json.dumps([record, record]).encode(),
        parts(sheet=sheet(*rows)),
    ):
        found = outcome(file(content))

        assert (found.rows, found.width, found.faulty) == (2, 10_000, 0)
        assert found.peak < 300 * MIB


def test_a_cell_of_140_kilobytes_is_read_whole(file: Write) -> None:
    text = "é" * 140_000

    for content in (
        f"id,name\n1,{text}\n".encode(),
        json.dumps([{"id": 1, "name": text}]).encode(),
        parts(sheet=sheet(row(1, "id", "name"), row(2, 1, text))),
        ods(ods_content(ods_row("id", "name") + ods_row("1", text))),
    ):
        found = outcome(file(content))

        assert (found.rows, found.faulty, found.widest) == (1, 0, 140_000)


# --- Text -----------------------------------------------------------------------------


def test_a_line_without_end_is_refused_soon() -> None:
    found = outcome("endless", unit="abc", size=1 << 30)
    quoted = outcome("endless", unit='"a', size=1 << 28)

    assert (found.code, quoted.code) == ("line_too_long", "line_too_long")
    assert max(found.peak, quoted.peak) < 400 * MIB


def test_nothing_but_nul_bytes_is_no_text() -> None:
    found = outcome("endless", unit="\0", size=1 << 40)

    assert (found.code, found.peak < 50 * MIB) == ("unsupported_format", True)


def test_quotation_marks_without_end_take_their_time_once(file: Write) -> None:
    found = outcome(file(b'a,b\n"1,2\n' + b'"x",y\n""",z\n' * 100_000))

    assert found.rows > 0


@pytest.mark.parametrize("unit", ["[", '{"a":', '[{"a":'])
def test_json_that_is_nested_deeply_is_refused(file: Write, unit: str) -> None:
    found = outcome(file(unit.encode() * 1_000_000))

    assert found.code is not None
    assert found.peak < 300 * MIB


def test_a_json_text_without_end_is_refused() -> None:
    found = outcome("endless", unit='["a', size=1 << 28)

    assert found.code is not None
    assert found.peak < 400 * MIB


# --- Formats that foreign code reads --------------------------------------------------


@pytest.mark.parametrize(
    "name", ["parquet_types.parquet", "xls_ints_dates_long_text.xls"]
)
def test_damage_in_formats_of_others_ends_no_process(name: str) -> None:
    seed = (CASES / name).read_bytes()
    chance = random.Random(name)  # noqa: S311 - the same damage each time

    for _ in range(6):
        content = bytearray(seed)
        for _ in range(chance.randint(1, 20)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        source = io.BytesIO(bytes(content[: chance.randint(len(seed) // 2, len(seed))]))
        with suppress(SourceError):
            list(files.read(source, files.inspect(source), 10))
