"""The files that reading is measured on, and the figures."""

from __future__ import annotations

import csv
import re
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl

from tests.benchmarks.runs import ROOT, Run, run

TEXT_PEERS = ("csv", "polars")
SHEET_PEERS = ("openpyxl", "calamine")

CONTENT_TYPES = """<?xml version="1.0"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels"
 ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.\
openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.\
openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>
<Override PartName="/xl/styles.xml" ContentType="application/vnd.\
openxmlformats-officedocument.spreadsheetml.styles+xml"/>
<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.\
openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>"""
RELATIONS = """<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
{}</Relationships>"""
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = f'<Relationship Id="r{{}}" Type="{OFFICE}/{{}}" Target="{{}}"/>'
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
    '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
)
WORKBOOK = (
    f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="Customers" sheetId="1" r:id="r1"/></sheets></workbook>'
)


# Columns of customers that a workbook holds as what they are.
DATES, AMOUNTS = "E", "F"
TRUTHS = {"true": 1, "false": 0}
ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EPOCH = date(1899, 12, 30)


def write_customers(path: Path, count: int, faulty: float) -> None:
    """Write *count* customers, that part of them faulty, as CSV."""
    command = [sys.executable, "samples/generate.py", "customers", str(count)]
    with path.open("wb") as file:
        subprocess.run(
            [*command, "--seed", "1", "--faulty", str(faulty)],
            cwd=ROOT,
            stdout=file,
            check=True,
        )


def spoil(source: Path, target: Path) -> None:
    """Copy a CSV file; of a hundred records three are ragged or quoted badly."""
    spoilt = {10: b'x"y,"z\n', 40: b"1,2,3\n", 70: b',,"a"b",,,,,\n'}
    with source.open("rb") as file, target.open("wb") as out:
        for number, line in enumerate(file):
            out.write(spoilt.get(number % 100, line) if number else line)


def write_workbook(source: Path, target: Path) -> None:
    """Copy a CSV file into a workbook, as Excel lays it out."""
    strings: dict[str, int] = {}
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package,
        source.open(newline="", encoding="utf-8") as file,
    ):
        package.writestr("[Content_Types].xml", CONTENT_TYPES)
        office = RELATION.format(1, "officeDocument", "xl/workbook.xml")
        package.writestr("_rels/.rels", RELATIONS.format(office))
        parts = RELATION.format(1, "worksheet", "worksheets/sheet1.xml")
        parts += RELATION.format(2, "sharedStrings", "sharedStrings.xml")
        parts += RELATION.format(3, "styles", "styles.xml")
        package.writestr("xl/styles.xml", STYLES)
        package.writestr("xl/_rels/workbook.xml.rels", RELATIONS.format(parts))
        package.writestr("xl/workbook.xml", WORKBOOK)
        with package.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            for piece in _sheet(csv.reader(file), strings):
                sheet.write(piece.encode())
        shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
        package.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{shared}</sst>')


def write_with_openpyxl(source: Path, target: Path) -> None:
    """Copy a CSV file into a workbook whose texts stand in their cells."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Customers")
    with source.open(newline="", encoding="utf-8") as file:
        for cells in csv.reader(file):
            sheet.append([_typed(place, text) for place, text in enumerate(cells)])
    book.save(target)


def _typed(place: int, text: str) -> date | float | bool | str | None:
    column = "ABCDEFGH"[place]
    if column == DATES and ISO_DAY.fullmatch(text):
        return date.fromisoformat(text)
    if column == AMOUNTS and text.replace(".", "", 1).isdigit():
        return float(text)
    if text in TRUTHS:
        return bool(TRUTHS[text])
    return text.replace("=", ":", 1) or None  # or openpyxl takes it for a formula


def _sheet(rows: Iterable[list[str]], strings: dict[str, int]) -> Iterator[str]:
    yield f'<worksheet xmlns="{MAIN}"><sheetData>'
    for number, cells in enumerate(rows, 1):
        shown = "".join(
            _cell(f"{'ABCDEFGH'[place]}{number}", text, strings)
            for place, text in enumerate(cells)
            if text
        )
        yield f'<row r="{number}" spans="1:8">{shown}</row>'
    yield "</sheetData></worksheet>"


def _cell(name: str, text: str, strings: dict[str, int]) -> str:
    if name[0] == DATES and ISO_DAY.fullmatch(text):
        serial = (date.fromisoformat(text) - EPOCH).days
        return f'<c r="{name}" s="1"><v>{serial}</v></c>'
    if name[0] == AMOUNTS and text.replace(".", "", 1).isdigit():
        return f'<c r="{name}"><v>{text}</v></c>'
    if text in TRUTHS:
        return f'<c r="{name}" t="b"><v>{TRUTHS[text]}</v></c>'
    place = strings.setdefault(text, len(strings))
    return f'<c r="{name}" t="s"><v>{place}</v></c>'


def measure_reading(folder: Path, scale: float, pairs: int) -> None:
    """Make the files and print how each way reads them, in turns."""
    rows = int(1_000_000 * scale)
    clean, faulty = folder / "clean.csv", folder / "faulty.csv"
    write_customers(clean, rows, 0.0)
    spoil(clean, faulty)
    compare(clean, ("batchfx", *TEXT_PEERS), pairs)
    compare(faulty, ("batchfx",), pairs)
    plain = folder / "plain.csv"
    for part in (0.1, 0.5):
        write_customers(plain, int(rows * part), 0.0)
        workbook = folder / f"{int(rows * part)}.xlsx"
        write_workbook(plain, workbook)
        compare(workbook, ("batchfx", *SHEET_PEERS), pairs)
    write_customers(plain, int(rows * 0.1), 0.0)
    workbook = folder / f"{int(rows * 0.1)}-by-openpyxl.xlsx"
    write_with_openpyxl(plain, workbook)
    compare(workbook, ("batchfx", *SHEET_PEERS), pairs)


def compare(path: Path, ways: tuple[str, ...], pairs: int) -> None:
    """Print the medians of each way of reading the file at *path*."""
    runs: dict[str, list[Run]] = {way: [] for way in ways}
    for _ in range(pairs):
        for way in ways:
            runs[way].append(run("tests.benchmarks.reading_ways", way, str(path)))
    size = path.stat().st_size / 1e6
    print(f"\nreading {path.name}, {size:.0f} MB, {pairs} runs of each")
    print(
        f"{'':9}{'rows':>10}{'rows/CPU s':>12}{'CPU s':>8}{'MiB':>6}{'/ batchfx':>11}"
    )
    for way, own in runs.items():
        cpu = statistics.median(each.said["own"] for each in own)
        memory = statistics.median(each.memory for each in own)
        ratio = statistics.median(
            each.said["own"] / first.said["own"]
            for each, first in zip(own, runs["batchfx"], strict=True)
        )
        rows = own[0].said["rows"]
        figures = f"{rows:10,}{rows / cpu:12,.0f}{cpu:8.2f}{memory:6.0f}{ratio:11.2f}"
        print(f"{way:<9}{figures}")
    first = statistics.median(each.said["first"] for each in runs["batchfx"])
    print(f"    the first block came after {first:.2f} CPU seconds")
