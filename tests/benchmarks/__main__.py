"""Measure imports against a plain script, and reading against other readers.

``python -m tests.benchmarks [--only imports|reading|pages|uploads|claims|workers]
[--scale 1] [--rows 10000,100000,1000000] [--pairs 3] [--keep FOLDER]`` prints medians
of wall time, CPU time and peak memory of each way of doing the same work on the same
file, how soon pages of the rows of a batch, the largest of these, are there, and what
uploads take. Every run is a process of its own; they take turns, so that a slow spell
of the machine meets all of them. The batch whose pages are measured is kept in the
folder, for the next time. ``--only claims [--chunks 1000000] [--seconds 30]
[--workers 4]`` is about the queue alone, and ``--only workers`` about what a second
process adds.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
from pathlib import Path
from typing import Any

import click
import polars as pl

from tests.benchmarks.bookkeeping import measure_bookkeeping
from tests.benchmarks.claims import measure_claims
from tests.benchmarks.pages import measure_pages
from tests.benchmarks.reading import measure_reading, write_customers
from tests.benchmarks.runs import Run, run
from tests.benchmarks.uploads import measure_uploads
from tests.benchmarks.workers import measure_workers

BOOKKEEPING_ROWS = 100_000
PARTS = ["imports", "reading", "pages", "uploads", "claims", "workers"]
WAYS = {
    "batchfx": "TableImporter",
    "rows": "Importer with checks and process, called a row",
    "plain": "Pydantic a row, SQLAlchemy in bulk",
    "insert": "the driver's insert of the same rows alone",
}


@click.command()
@click.option("--only", type=click.Choice(PARTS))
@click.option("--scale", default=1.0, show_default=True, help="Of the files to read.")
@click.option("--rows", default="10000,100000,1000000", show_default=True)
@click.option("--pairs", default=3, show_default=True, help="Runs of each way.")
@click.option("--keep", type=click.Path(path_type=Path), help="For pages.")
@click.option("--chunks", default=1_000_000, show_default=True, help="That wait.")
@click.option("--seconds", default=30.0, show_default=True, help="Of claiming.")
@click.option("--workers", default=4, show_default=True, help="That claim.")
def main(
    *,
    only: str | None,
    scale: float,
    rows: str,
    pairs: int,
    keep: Path | None,
    **queue: Any,
) -> None:
    """Measure and print."""
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"Polars {pl.__version__}, {os.cpu_count()} cores, {platform.machine()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        if only in {None, "imports"}:
            for count in (int(word) for word in rows.split(",")):
                measure(Path(folder), count, pairs)
        if only in {None, "reading"}:
            measure_reading(Path(folder), scale, pairs)
        if only in {None, "pages"}:
            measure_pages(keep or Path(folder), max(map(int, rows.split(","))))
        if only in {None, "uploads"}:
            measure_uploads(Path(folder))
        if only in {None, "claims"}:
            measure_claims(Path(folder), **queue)
            measure_bookkeeping(Path(folder), BOOKKEEPING_ROWS)
        if only in {None, "workers"}:
            measure_workers(Path(folder), pairs, scale)


def measure(folder: Path, count: int, pairs: int) -> None:
    """Run every way *pairs* times on a file of *count* rows and print the figures."""
    source = folder / f"{count}.csv"
    write_customers(source, count, 0.03)
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _ in range(pairs):
        for way in WAYS:
            runs[way].append(run_once(way, source))
    print(
        f"\n{count:,} rows, {source.stat().st_size / 1e6:.0f} MB, {pairs} runs of each"
    )
    print(
        f"{'':9}{'rows/s':>9}{'wall s':>8}{'CPU s':>8}{'MiB':>6}{'/ plain':>9}  stored"
    )
    for way in WAYS:
        print(line(way, count, runs))
    for step, seconds in steps(runs["batchfx"]).items():
        print(f"    {step:<40}{seconds:7.2f} s {seconds / count * 1e6:6.2f} µs a row")


def run_once(way: str, source: Path) -> Run:
    """Run one way in a process, with a database of its own."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        return run("tests.benchmarks.ways", way, str(source), folder)


def line(way: str, count: int, runs: dict[str, list[Run]]) -> str:
    """Return a way's medians, the last one that of its rate over the plain one's."""
    own = runs[way]
    wall = statistics.median(each.wall for each in own)
    cpu = statistics.median(each.cpu for each in own)
    memory = statistics.median(each.memory for each in own)
    ratio = statistics.median(
        plain.wall / each.wall for plain, each in zip(runs["plain"], own, strict=True)
    )
    figures = f"{count / wall:9,.0f}{wall:8.2f}{cpu:8.2f}{memory:6.0f}{ratio:9.2f}"
    return f"{way:<9}{figures}  {own[0].said['stored']:,} ({WAYS[way]})"


def steps(runs: list[Run]) -> dict[str, float]:
    """Return the median seconds of each step of an import."""
    return {
        step: statistics.median(each.said["steps"][step] for each in runs)
        for step in runs[0].said["steps"]
    }


if __name__ == "__main__":
    main()
