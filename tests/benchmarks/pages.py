"""How soon a page of a large batch's rows is there, and what its queries look at.

For each way of filtering, pages at places all over the batch are asked for, over HTTP,
of `batchfx serve` in a process of its own by one client that stays connected: what is
measured is the time from the request to the first byte of its answer. The ways take
turns, round after round, and the median of the rounds is printed, so that a slow spell
of the machine counts for little. Every statement of one of the pages is then explained
by the database: the most rows that a step of its plan goes through is printed, too.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from batchfx import BatchKey, Store, import_path, open_store
from batchfx.execution import browse
from batchfx.execution.control import DEFAULT_TENANT
from batchfx.store import batches, outcomes
from importers.models import Base
from importers.shop import CustomerImporter
from samples.servers import start_postgres
from tests.benchmarks.reading import write_customers
from tests.benchmarks.serving import Served, served
from tests.plans import recorded, widest_step

ROUNDS = 5
PAGES = 60  # of each kind in a round
WARM = 5  # pages before these
TARGET = 50.0  # milliseconds, of 95 in 100
FAULTY = 0.03


def measure_pages(folder: Path, count: int) -> None:
    """Measure pages of a batch of *count* rows on SQLite and on PostgreSQL.

    What an earlier run has left in *folder* is used again.
    """
    source = folder / f"pages-{count}.csv"
    if not source.exists():
        write_customers(source, count, FAULTY)
    measure_on(f"sqlite:///{folder / f'pages-{count}.db'}", source)
    folder.chmod(0o711)
    with start_postgres(folder / f"pages-{count}-pg") as server:
        measure_on(server.url, source)


def measure_on(url: str, source: Path) -> None:
    """Page through the batch of *source* in the database at *url*."""
    store = open_store(url)
    key, total = imported(store, source)
    wanted = kinds(store, key)
    print(f"\n{store.engine.dialect.name}: {total:,} rows; ms until the first byte")
    print(f"{'':22}{'median':>8}{'95 %':>8}{'most':>8}{'CPU':>7}  rows of widest step")
    with served(url) as page:
        rounds = [a_round(page, key, places, wanted) for places in drawn(total)]
    for title, filters in wanted.items():
        of_kind = line([each[title] for each in rounds])
        print(f"{title:<22}{of_kind}  {widest(store, key, filters):,}")
    store.close()


def imported(store: Store, source: Path) -> tuple[BatchKey, int]:
    """Return the batch of *source* and its rows; import it where that wasn't done."""
    with store.write() as connection:
        Base.metadata.create_all(connection)
        found = batches.listing(connection, DEFAULT_TENANT, 1)
        if found:
            return found[0].key, batches.tally(connection, found[0].key).total
    report = import_path(store, CustomerImporter, source)
    return report.key, report.tally.total


def kinds(store: Store, key: BatchKey) -> dict[str, dict[str, Any]]:
    """Return the ways of filtering that are measured."""
    with store.read() as connection:
        common, *_, rare = outcomes.groups(connection, key)
    return {
        "all": {},
        "created": {"verdict": "created"},
        "invalid": {"verdict": "invalid"},
        "pending (none)": {"verdict": "pending"},
        "code (common)": {"code": common.code},
        "code (rare)": {"code": rare.code},
        "code (none)": {"code": "no_such_code"},
        "field": {"field": "email"},
        "code, field": {"code": common.code, "field": common.field},
        "code, field (none)": {"code": common.code, "field": "vip"},
        "text (common)": {"text": "an"},
        "text (none)": {"text": "zzzqqq"},
        "text, invalid": {"text": "berlin", "verdict": "invalid"},
        "text, code": {"text": "berlin", "code": common.code},
    }


@dataclass(frozen=True, slots=True)
class Asked:
    """Pages of one kind: sorted milliseconds, and those of the page's processor."""

    times: list[float]
    cpu: float

    @property
    def late(self) -> float:
        """What 95 in 100 are not above."""
        return self.times[int(len(self.times) * 0.95) - 1]


def drawn(total: int) -> Iterator[list[int]]:
    """Yield for each round the rows after which its pages begin."""
    places = random.Random(1)  # noqa: S311 - no secret
    for _ in range(ROUNDS):
        yield [places.randrange(total) for _ in range(WARM + PAGES)]


def a_round(
    page: Served, key: BatchKey, places: list[int], wanted: dict[str, dict[str, Any]]
) -> dict[str, Asked]:
    """Return what pages of each kind took."""
    path = f"/api/batches/{key.number}/rows"
    return {
        title: asked(
            page, [f"{path}?{urlencode(each | {'after': after})}" for after in places]
        )
        for title, each in wanted.items()
    }


def asked(page: Served, paths: list[str]) -> Asked:
    """Return what the pages at *paths* took, but for the first few."""
    for path in paths[:WARM]:
        page.get(path)
    before = page.cpu
    times = sorted(page.get(path) for path in paths[WARM:])
    return Asked(times, (page.cpu - before) / len(times) * 1e3)


def line(rounds: list[Asked]) -> str:
    """Return the figures of one kind: medians of the rounds, and the longest of all."""
    late = statistics.median(each.late for each in rounds)
    middle = statistics.median(statistics.median(each.times) for each in rounds)
    most = max(each.times[-1] for each in rounds)
    cpu = statistics.median(each.cpu for each in rounds)
    note = "" if late <= TARGET else f"  more than {TARGET:.0f} ms"
    return f"{middle:8.1f}{late:8.1f}{most:8.1f}{cpu:7.1f}{note}"


def widest(store: Store, key: BatchKey, wanted: dict[str, Any]) -> int:
    """Return the most rows that a step of any statement of a page goes through."""
    with recorded(store) as statements:
        browse.page(store, key, after=9, **wanted)
    return widest_step(store, statements)
