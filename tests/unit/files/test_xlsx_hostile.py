"""Workbooks that are broken or made to do harm: they are refused, by one exception."""

from __future__ import annotations

import io
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsx import inspect_xlsx, read_xlsx
from tests.unit.files.workbooks import (
    CASES,
    cell,
    merged,
    packed,
    read_rows,
    row,
    sheet,
    strings,
    workbook,
    workbook_parts,
)

SEEDS = {
    path.stem: path.read_bytes()
    for path in sorted(CASES.glob("*.xlsx"))
    if path.stat().st_size < 100_000
}
ARCHIVES = sorted(name for name, seed in SEEDS.items() if seed.startswith(b"PK"))
FRAGMENTS = [
    b"<",
    b">",
    b"/>",
    b'"',
    b"&amp;",
    b"&#x0;",
    b"&x;",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"<?x y?>",
    b"<row>",
    b"</row>",
    b'<row r="9"/>',
    b"<c><v>1</v></c>",
    b'<c r="XFD1048576"><v>1</v></c>',
    b'<c r="AAAA1" t="s"><v>99999999999</v></c>',
    b"</sheetData>",
    b'<mergeCell ref="A1:XFD1048576"/>',
    b'<mergeCell ref="A2:A9"/>',
    b"\xff",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"1e999",
    b"-1",
    b"_xD800_",
    "\u0663".encode(),
    b' r="2"',
    b' t="d"',
    b' t="e"',
    b' s="1"',
    b' s="9999999999999"',
    b' xmlns="x"',
    b' encoding="utf-16"',
]


def survives(content: bytes) -> None:
    """Read a workbook in the way that staging does; only one exception may come out."""
    source = io.BytesIO(content)
    with suppress(SourceError):
        layout = inspect_xlsx(source)
        for block in read_xlsx(source, layout, 7):
            assert block.frame.height <= 7


@given(st.data())
@settings(max_examples=200)
def test_no_damage_to_the_bytes_of_a_file_is_a_surprise(data: st.DataObject) -> None:
    content = bytearray(SEEDS[data.draw(st.sampled_from(sorted(SEEDS)))])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        end = start + data.draw(st.integers(0, 8))
        content[start:end] = data.draw(st.binary(max_size=8))

    survives(bytes(content))


@given(st.data())
@settings(max_examples=200)
def test_no_damage_to_the_xml_of_a_part_is_a_surprise(data: st.DataObject) -> None:
    seed = SEEDS[data.draw(st.sampled_from(ARCHIVES))]
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        parts: dict[str, str | bytes] = {n: archive.read(n) for n in archive.namelist()}
    name = data.draw(st.sampled_from(sorted(parts)))
    content = bytearray(parts[name])  # type: ignore[arg-type] # bytes, as read
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = start + data.draw(st.integers(0, 12))
        content[start:end] = data.draw(
            st.sampled_from(FRAGMENTS) | st.binary(max_size=3)
        )
    parts[name] = bytes(content)

    survives(packed(parts).read())


DTD = '<!DOCTYPE x [<!ENTITY a "b">]>'


@pytest.mark.parametrize(
    "part",
    [
        "_rels/.rels",
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/styles.xml",
        "xl/strings.xml",
        "xl/worksheets/sheet1.xml",
    ],
)
def test_a_document_type_is_unsafe_wherever_it_is(part: str) -> None:
    rows = [row(1, "id", "name"), f'<row r="2">{cell("A2", 0, "s")}</row>']
    parts = workbook_parts(sheet(*rows), shared=strings("<t>x</t>"))
    parts[part] = f"{DTD}{parts[part]!s}"

    with pytest.raises(SourceError) as error:
        read_rows(packed(parts))

    assert error.value.code == "unsafe_file"
    assert error.value.parameters == {"reason": "DTD/entities"}


TABLE = row(1, "id", "name") + row(2, 1, "Ann")


@pytest.mark.parametrize(
    "part",
    [
        sheet(TABLE, f'<row r="3"><c r="A3" x="{"y" * 9_000_000}"/></row>'),
        sheet(TABLE, f'<row r="3"><c r="A3"><v>{"7" * 9_000_000}</v></c></row>'),
        sheet(TABLE, f'<row r="3"><!--{"x" * 9_000_000}--></row>'),
        sheet(TABLE, "<a>" * 1_500_000 + "</a>" * 1_500_000),
        sheet(TABLE, "<row><c>" * 100_000 + "</c></row>" * 100_000),
        sheet(TABLE, after=merged(*["A1:A2"] * 200_001)),
        sheet(TABLE, before=f"<!--{'x' * 3_000_000}-->"),
    ],
    ids=["attribute", "text", "comment", "depth", "rows in rows", "merges", "head"],
)
def test_more_than_any_program_writes_is_unsafe(part: str) -> None:
    with pytest.raises(SourceError) as error:
        read_rows(workbook(part))

    assert error.value.code == "unsafe_file"


def test_a_long_text_that_many_cells_share_does_not_fill_the_memory() -> None:
    letters = "ABCDEFGHIJKLMNOPQRST"
    rows = [
        f'<row r="{n}">{"".join(cell(f"{x}{n}", 0, "s") for x in letters)}</row>'
        for n in range(2, 1002)
    ]
    shared = strings(f"<t>{'long' * 8_000}</t>")
    file = workbook(sheet(row(1, *letters), *rows), shared=shared)

    with pytest.raises(SourceError) as error:
        read_rows(file)

    assert error.value.code == "unsafe_file"


def test_a_merge_over_the_whole_sheet_costs_nothing() -> None:
    everything = ["A1:XFD1048576", "A2:XFD1048576"] * 1000

    found = read_rows(
        workbook(sheet(TABLE, row(3, 2, "Ben"), after=merged(*everything)))
    )

    assert [each[:3] for each in found] == [(2, "1", "Ann"), (3, "2", "Ben")]


def test_one_cell_in_the_last_corner_of_the_sheet_costs_nothing() -> None:
    corner = f'<row r="1048576">{cell("XFD1048576", 1)}</row>'
    rows = sheet(TABLE, corner, before='<dimension ref="A1:XFD1048576"/>')
    started = time.process_time()

    found = read_rows(workbook(rows))

    assert [each[:3] for each in found] == [(2, "1", "Ann")]
    assert time.process_time() - started < 1


READ = """
import re
import sys
from pathlib import Path

from batchfx.files.xlsx import inspect_xlsx, read_xlsx

with open(sys.argv[1], "rb") as file:
    rows = sum(b.frame.height for b in read_xlsx(file, inspect_xlsx(file), 2000))
print(rows, *re.findall(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()))
"""


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    peaks = []
    for count in (60_000, 180_000):
        rows = (
            f'<row r="{n}">{cell(f"A{n}", n, "s")}{cell(f"B{n}", count + n, "s")}</row>'
            for n in range(2, count + 2)
        )
        texts = (f"<t>some text, {number}</t>" for number in range(2 * count + 2))
        path = tmp_path / f"{count}.xlsx"
        file = workbook(sheet(row(1, "a", "b"), *rows), shared=strings(*texts))
        path.write_bytes(file.read())
        command = [sys.executable, "-c", READ, str(path)]
        output = subprocess.run(command, capture_output=True, check=True).stdout.split()
        assert int(output[0]) == count
        peaks.append(int(output[1]))

    assert peaks[1] < peaks[0] * 1.2
