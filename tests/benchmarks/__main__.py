"""Measure imports of customers against a plain script, in interleaved pairs.

``python -m tests.benchmarks [--rows 10000,100000,1000000] [--pairs 3]`` prints, for
each size, the medians of wall time, CPU time and peak memory of each way of importing
the same file into SQLite, and of its rate over the plain script's, run by run.
Every run is a process of its own with a database of its own; they take turns, so that a
slow spell of the machine meets all of them.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
import polars as pl

ROOT = Path(__file__).parents[2]
WAYS = {
    "batchfx": "TableImporter",
    "rows": "Importer with checks and process, called a row",
    "plain": "Pydantic a row, SQLAlchemy in bulk",
    "insert": "the driver's insert of the same rows alone",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took: seconds, MiB, and rows stored."""

    wall: float
    cpu: float
    memory: float
    stored: int
    steps: dict[str, float]


@click.command()
@click.option("--rows", default="10000,100000,1000000", show_default=True)
@click.option("--pairs", default=3, show_default=True, help="Runs of each way.")
def main(rows: str, pairs: int) -> None:
    """Measure and print."""
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"Polars {pl.__version__}, {os.cpu_count()} cores, {platform.machine()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for count in (int(word) for word in rows.split(",")):
            measure(Path(folder), count, pairs)


def measure(folder: Path, count: int, pairs: int) -> None:
    """Run every way *pairs* times on a file of *count* rows and print the figures."""
    source = folder / f"{count}.csv"
    command = [sys.executable, "samples/generate.py", "customers", str(count)]
    with source.open("wb") as file:
        subprocess.run(
            [*command, "--seed", "1", "--faulty", "0.03"],
            cwd=ROOT,
            stdout=file,
            check=True,
        )
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _ in range(pairs):
        for way in WAYS:
            runs[way].append(run(way, source))
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


def run(way: str, source: Path) -> Run:
    """Run one way in a process of its own."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.ways", way, str(source), folder],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{way} ended with {process.returncode}")
    said = json.loads(output)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(said["wall"], cpu, usage.ru_maxrss / 1024, said["stored"], said["steps"])


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
    return f"{way:<9}{figures}  {own[0].stored:,} ({WAYS[way]})"


def steps(runs: list[Run]) -> dict[str, float]:
    """Return the median seconds of each step of an import."""
    return {
        step: statistics.median(each.steps[step] for each in runs)
        for step in runs[0].steps
    }


if __name__ == "__main__":
    main()
