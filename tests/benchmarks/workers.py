"""Measure how much two worker processes do in the time in which one does its work.

The importer is bound by the processor: each row is hashed some hundred times in Python.
Every run is a batch on PostgreSQL that a real ``batchfx worker`` finds waiting; its
time is the database's, from its first chunk to its end.
"""

from __future__ import annotations

import io
import os
import signal
import statistics
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Context, Importer, Options, Store, import_source, open_store
from batchfx.execution.follow import follow
from batchfx.store import access
from samples.servers import start_postgres

ROOT = Path(__file__).parents[2]
ROWS = 20_000
CHUNK = 500
ROUNDS = 600  # of hashing for a row
SECRET = "bfx_of-a-benchmark"  # noqa: S105 - of a database that ends with the run


class Base(DeclarativeBase):
    """The application's tables."""


class Hashed(Base):
    """A text and what hashing it many times gave."""

    __tablename__ = "hashed"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    digest: Mapped[str]


class HashedRow(BaseModel):
    """A text."""

    text: Annotated[str, Column("Text")]


class HashedImporter(Importer[HashedRow]):
    """Hashes each text over and over, in Python."""

    name = "hashed"

    def process(self, row: HashedRow, context: Context) -> Any:
        """Keep the text with its hash."""
        digest = row.text.encode()
        for _ in range(ROUNDS):
            digest = sha256(digest).digest()
        record = Hashed(text=row.text, digest=digest.hex())
        context.session.add(record)
        return record


def measure_workers(folder: Path, pairs: int, scale: float) -> None:
    """Run with one process and with two, in turns; print the medians."""
    folder.chmod(0o711)  # for the user that PostgreSQL runs as
    count = max(CHUNK * 8, int(ROWS * scale))
    taken: dict[int, list[float]] = {1: [], 2: []}
    with start_postgres(folder / "postgres", safe=True) as server:
        store = open_store(server.url)
        with store.write() as connection:
            Base.metadata.create_all(connection)
            digest = sha256(SECRET.encode()).hexdigest()
            access.issue(connection, "b", digest, ["*"], ["*"], lifetime=86_400.0)
        for _ in range(pairs):
            for processes, seconds in taken.items():
                seconds.append(_run(store, server.url, count, processes))
        store.close()
    print(f"\n{count:,} rows in chunks of {CHUNK}, bound by Python, on PostgreSQL")
    for processes, seconds in taken.items():
        rate = count / statistics.median(seconds)
        print(
            f"{processes} process(es) {statistics.median(seconds):8.2f} s {rate:8,.0f}"
        )
    ratio = statistics.median(
        one / two for one, two in zip(taken[1], taken[2], strict=True)
    )
    print(f"two in the time of one: {ratio:.2f} times the rows")


def _run(store: Store, url: str, count: int, processes: int) -> float:
    """Return the seconds of a batch's chunks, from the first to the end."""
    rows = "".join(f"text {number}\n" for number in range(count))
    source = io.BytesIO(f"Text\n{rows}".encode())
    options = Options(chunk_size=CHUNK, again=True)
    report = import_source(
        store, HashedImporter, source, name="texts", options=options, detached=True
    )
    environment = os.environ | {"BATCHFX_WORKER_CREDENTIAL": SECRET}
    command = [str(Path(sys.executable).with_name("batchfx")), "worker"]
    worker = subprocess.Popen(
        [
            *command,
            *("--processes", str(processes), "--database", url),
            *("--importers", "tests.benchmarks.workers"),
        ],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        events = list(follow(store, report.key))
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    first = next(each for each in events if each.content["examined"] > 0)
    begun, done = first.at, int(first.content["examined"])
    seconds = events[-1].at - begun
    return seconds * count / float(count - done)
