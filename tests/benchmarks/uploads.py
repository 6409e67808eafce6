"""How much memory the page takes for an upload, at its peak (VmHWM of the process).

`batchfx serve` is started anew for each size. What it needs for a file of one megabyte
it needs for any: the code of the libraries, and the first rows that are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

from batchfx import open_store
from importers.models import Base
from samples.servers import start_postgres
from tests.benchmarks.reading import write_customers
from tests.benchmarks.serving import served

SIZES = (1, 500)  # megabytes
MEGABYTE = 1_000_000
ROWS = 50_000  # of the file that is sent again and again
PIECE = 1 << 16


def measure_uploads(folder: Path) -> None:
    """Measure uploads to SQLite and to PostgreSQL."""
    source = folder / "upload.csv"
    write_customers(source, ROWS, 0.0)
    measure_on(f"sqlite:///{folder / 'uploads.db'}", source)
    folder.chmod(0o711)
    with start_postgres(folder / "uploads-pg") as server:
        measure_on(server.url, source)


def measure_on(url: str, source: Path) -> None:
    """Measure uploads of each size to the database at *url*."""
    with_tables(url)
    print(f"\n{url.partition(':')[0]}: peak MiB of batchfx serve for an upload")
    for size in SIZES:
        with served(url) as page:
            page.get("/api/importers")
            before = page.peak
            started = time.perf_counter()
            page.upload("customers", pieces(source, size * MEGABYTE))
            seconds = time.perf_counter() - started
            print(f"{size:6} MB{before:8.0f} before{page.peak:8.0f}{seconds:8.1f} s")


def with_tables(url: str) -> None:
    """Make the tables, so that no process measured does."""
    store = open_store(url)
    with store.write() as connection:
        Base.metadata.create_all(connection)
    store.close()


def pieces(source: Path, size: int) -> Iterator[bytes]:
    """Yield a file of about *size* bytes: the rows of *source* again and again."""
    header, _, rows = source.read_bytes().partition(b"\n")
    parts = [rows[at : at + PIECE] for at in range(0, len(rows), PIECE)]
    yield header + b"\n"
    for sent, part in enumerate(chain.from_iterable(repeat(parts))):
        if sent * PIECE >= size:
            return
        yield part
