"""What lease, events and counters cost of a chunk's time: goal, less than 5 %."""

from __future__ import annotations

import tempfile
from pathlib import Path

from batchfx import import_path, open_store
from batchfx.execution import chunk, run
from batchfx.store import chunks, claims
from importers.models import Base
from importers.shop import CustomerImporter
from samples.servers import start_postgres
from tests.benchmarks.reading import write_customers
from tests.benchmarks.ways import Steps, timed

PARTS = {
    "claim the next chunk": (claims, "of_batch"),
    "tally and fence": (chunks, "commit"),
    "counters, event, end of the batch": (chunk, "settle"),
}
WHOLE = {"validate": (run, "check_chunk"), "commit": (run, "commit_chunk")}


def measure_bookkeeping(folder: Path, count: int) -> None:
    """Import so many customers into each database; print each part's share."""
    source = folder / "customers.csv"
    write_customers(source, count, 0.03)
    steps: dict[str, float] = {}
    for name, (module, function) in (PARTS | WHOLE).items():
        setattr(module, function, timed(steps, name, getattr(module, function)))
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        inside = Path(inner)
        inside.chmod(0o711)
        _measure("SQLite", f"sqlite:///{inside / 'bench.db'}", source, steps)
        with start_postgres(inside / "postgres") as server:
            _measure("PostgreSQL", server.url, source, steps)


def _measure(name: str, url: str, source: Path, steps: Steps) -> None:
    store = open_store(url)
    with store.write() as connection:
        Base.metadata.create_all(connection)
    steps.clear()
    report = import_path(store, CustomerImporter, source)
    number = -(-report.tally.total // report.batch.chunk_size)
    store.close()
    whole = sum(steps[step] for step in WHOLE)
    own = sum(steps[part] for part in PARTS)
    print(
        f"\n{name}: {number} chunks of {report.batch.chunk_size:,} rows, "
        f"{whole / number * 1e3:.0f} ms each, of it {own / whole:.1%} for"
    )
    for part in PARTS:
        each = steps[part] / number * 1e3
        print(f"    {part:<36}{each:7.2f} ms {steps[part] / whole:6.2%}")
