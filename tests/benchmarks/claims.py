"""What a claim costs with many chunks waiting, and whether every tenant gets its share.

One tenant has nine tenths of the chunks and a weight of its own; the others have 1, 2
and 4. Workers, each a process with one connection, claim a chunk in a transaction and
end it in another. In the middle a newcomer queues its first chunks.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from batchfx.model.access import FOREVER, Identity
from batchfx.store import access, claims, lanes
from batchfx.store import chunks as stored_chunks
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import LANE
from samples.servers import start_postgres
from tests.benchmarks.runs import ROOT
from tests.store.entered import a_batch, a_chunk

TENANTS = 200
HOG = "hog"
HOG_WEIGHT = 100.0
HOG_PART = 0.9  # of all chunks
CHUNK_ROWS = 1_000
BATCHES_OF_HOG = 20
NEWCOMER = "newcomer"
WINDOW = 1_000  # claims over which a share is taken
EVERYTHING = Identity("bench", frozenset({"*"}), frozenset({"*"}), FOREVER, None)

SERIES = {
    "sqlite": """
        WITH RECURSIVE series (n) AS (
            SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n + 1 < :count
        )""",
    "postgresql": """
        WITH series (n) AS (SELECT generate_series(0, :count - 1))""",
}
INSERT = """
    INSERT INTO batchfx_chunk (
        batch, ordinal, tenant, importer, priority, first_row, last_row, rows, state,
        round, fence, failures, losses, created, updated, unchanged, skipped, invalid,
        failed, unknown
    )
    {series}
    SELECT :batch, n, :tenant, 'people', 0, 1 + n * :rows, (n + 1) * :rows, :rows,
        'queued', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM series
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A claim: when it was had, by the machine's monotonic clock, and what it took."""

    at: float
    seconds: float
    tenant: str


def measure_claims(folder: Path, chunks: int, seconds: float, workers: int) -> None:
    """Measure on PostgreSQL and on SQLite, and print the figures."""
    folder.chmod(0o711)
    with start_postgres(folder / "postgres") as server:
        measure("PostgreSQL", server.url, chunks, seconds, workers)
    measure("SQLite", f"sqlite:///{folder / 'claims.db'}", chunks, seconds, workers)


def measure(name: str, url: str, count: int, seconds: float, workers: int) -> None:
    """Measure on the database at *url*."""
    store = open_store(url)
    weights = fill(store, count)
    print(f"\n{name}: {count:,} chunks of {len(weights)} tenants, {workers} workers")
    processes = [_started(url, f"bench-{n}", seconds) for n in range(workers)]
    for process in processes:
        _hear(process)  # that it is ready
    for process in processes:
        _say(process, "go")
    time.sleep(seconds / 2)
    queued_at = arrive(store)
    taken = [
        Taken(*each) for process in processes for each in json.loads(_hear(process))
    ]
    for process in processes:
        process.communicate()
    store.close()
    taken.sort(key=lambda each: each.at)
    show(taken, weights, queued_at)


def _started(url: str, worker: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.claims", url, worker, str(seconds)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said:
        sys.exit(f"a worker ended with {process.wait()}")
    return said


def _say(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def fill(store: Store, count: int) -> dict[str, float]:
    """Enter so many chunks that wait; return the weight of each tenant."""
    weights = {HOG: HOG_WEIGHT}
    weights |= {f"t{n:03}": (1.0, 2.0, 4.0)[n % 3] for n in range(TENANTS - 1)}
    of_hog = int(count * HOG_PART)
    of_others = (count - of_hog) // (TENANTS - 1)
    for tenant, weight in weights.items():
        is_hog = tenant == HOG
        parts = BATCHES_OF_HOG if is_hog else 1
        for _ in range(parts):
            key = a_batch(store, tenant)
            values = {
                "count": (of_hog if is_hog else of_others) // parts,
                "batch": key.number,
                "tenant": tenant,
                "rows": CHUNK_ROWS,
            }
            with store.write() as connection:
                series = SERIES[connection.dialect.name]
                connection.execute(sa.text(INSERT.format(series=series)), values)
                lanes.set_share(connection, tenant, weight, None)
                lanes.wake(connection, tenant)
    with store.write() as connection:
        for tenant, weight in weights.items():  # as if they had come one by one
            vtime = random.uniform(0, CHUNK_ROWS / weight)  # noqa: S311 - nothing to guess
            connection.execute(
                sa.update(LANE).where(LANE.c.tenant == tenant).values(vtime=vtime)
            )
    with store.write() as connection:
        if connection.dialect.name == "postgresql":  # as its own daemon does
            connection.exec_driver_sql("ANALYZE batchfx_chunk")
    return weights


def arrive(store: Store) -> float:
    """Queue the first chunks of a tenant nobody knew; return when that was."""
    key = a_batch(store, NEWCOMER)
    for ordinal in range(10):
        a_chunk(store, key, ordinal, rows=CHUNK_ROWS)
    with store.write() as connection:
        lanes.wake(connection, NEWCOMER)
    return time.monotonic()


def work(url: str, worker: str, seconds: float) -> list[tuple[float, float, str]]:
    """Claim and end chunks for so many seconds; return what was claimed."""
    store = open_store(url)
    with store.write() as connection:
        access.enter(connection, worker, EVERYTHING, "bench")
    taken: list[tuple[float, float, str]] = []
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + seconds
    while (started := time.monotonic()) < until:
        with store.write() as connection:
            found = claims.fair(connection, worker, ["people"], 30.0)
        at = time.monotonic()
        for claim in found:
            taken.append((at, at - started, claim.key.tenant))
            with store.write() as connection:
                stored_chunks.commit(connection, claim, None)
    store.close()
    return taken


def show(taken: Sequence[Taken], weights: dict[str, float], queued_at: float) -> None:
    """Print the figures."""
    times = sorted(each.seconds for each in taken)
    span = taken[-1].at - taken[0].at
    print(
        f"  {len(taken) / span:,.0f} claims a second; "
        f"{statistics.median(times) * 1e3:.1f} ms, "
        f"99th percentile {times[len(times) * 99 // 100] * 1e3:.1f} ms, "
        f"longest {times[-1] * 1e3:.0f} ms"
    )
    first = next((each.at for each in taken if each.tenant == NEWCOMER), None)
    waited = "never" if first is None else f"{max(0.0, first - queued_at):.3f} s"
    print(f"  a newcomer's first chunk after {waited}")
    others = sum(weights.values()) - HOG_WEIGHT
    fair = HOG_WEIGHT / sum(weights.values())
    shares = sorted(hog_shares([each.tenant for each in taken]))
    worst = max(abs(shares[0] - fair), abs(shares[-1] - fair))
    print(
        f"  {HOG} has weight {HOG_WEIGHT:g} to {others:g}, so {fair:.1%}; over any "
        f"{WINDOW:,} claims it got {shares[0]:.1%} to {shares[-1]:.1%} "
        f"(off by {worst / fair:.1%} at most)"
    )
    got: dict[float, list[int]] = {}
    counts = Counter(each.tenant for each in taken)
    for tenant, weight in weights.items():
        if tenant != HOG:
            got.setdefault(weight, []).append(counts[tenant])
    told = (f"{w:g}: {statistics.mean(n):.1f}" for w, n in sorted(got.items()))
    print(f"  claims of a tenant by its weight: {', '.join(told)}")


def hog_shares(tenants: Sequence[str]) -> list[float]:
    """Return the hog's part of every so many claims that follow each other."""
    window = min(WINDOW, len(tenants))
    count = sum(tenant == HOG for tenant in tenants[:window])
    shares = [count / window]
    for gone, come in zip(tenants, tenants[window:], strict=False):
        count += (come == HOG) - (gone == HOG)
        shares.append(count / window)
    return shares


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
