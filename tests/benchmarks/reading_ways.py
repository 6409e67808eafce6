"""One run of one of the ways of reading a file that the benchmark compares."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from pathlib import Path

import openpyxl
import polars as pl
import python_calamine

from batchfx.files import open as files
from tests.benchmarks.runs import peak_memory

ROWS = 5_000


def batchfx(path: Path) -> tuple[int, float]:
    """Stage the file: read it into blocks, every record judged, each block packed."""
    with path.open("rb") as source:
        started = time.process_time()
        layout = files.inspect(source)
        rows, first = 0, 0.0
        for block in files.read(source, layout, ROWS):
            block.frame.write_parquet(
                io.BytesIO(), compression="zstd", compression_level=1, statistics=False
            )
            first = first or time.process_time() - started
            rows += block.frame.height
    return rows, first


def python_csv(path: Path) -> tuple[int, float]:
    """Go through the file with the standard library's reader and keep nothing."""
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.reader(file)) - 1, 0.0


def polars(path: Path) -> tuple[int, float]:
    """Read the whole file as text; a clean one only, it stops at what is not."""
    return pl.read_csv(path, infer_schema=False).height, 0.0  # noqa: TID251 - the peer


def read_only_openpyxl(path: Path) -> tuple[int, float]:
    """Go through the sheet with openpyxl's streaming reader and keep nothing."""
    book = openpyxl.load_workbook(path, read_only=True)
    sheet = book.worksheets[0]
    return sum(1 for _ in sheet.iter_rows(values_only=True)) - 1, 0.0


def calamine(path: Path) -> tuple[int, float]:
    """Go through the sheet with calamine, which holds all of it in memory."""
    sheet = python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0)
    return sum(1 for _ in sheet.iter_rows()) - 1, 0.0


WAYS = {
    "batchfx": batchfx,
    "csv": python_csv,
    "polars": polars,
    "openpyxl": read_only_openpyxl,
    "calamine": calamine,
}


def main(way: str, path: Path) -> None:
    """Run one way and print its rows, its seconds, and the CPU seconds of it alone."""
    started, cpu = time.monotonic(), time.process_time()
    rows, first = WAYS[way](path)
    taken = {"wall": time.monotonic() - started, "own": time.process_time() - cpu}
    print(json.dumps({"rows": rows, "first": first, "peak": peak_memory(), **taken}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
