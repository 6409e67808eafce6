"""How soon a page of a large batch's rows is there, and what its queries look at.

For each way of filtering, pages at places all over the batch are asked for. Every
statement of one of them is then explained by the database: the most rows that a step of
its plan goes through is printed beside the times.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from batchfx import BatchKey, Options, Store, import_path, open_store
from batchfx.execution import browse
from batchfx.store import outcomes
from importers.models import Base
from importers.shop import CustomerImporter
from samples.servers import start_postgres
from tests.benchmarks.reading import write_customers

PAGES = 100  # of each kind
TARGET = 50.0  # milliseconds, of 95 in 100
FAULTY = 0.03

Statement = tuple[str, Any]


def measure_pages(folder: Path, count: int) -> None:
    """Measure pages of a batch of *count* rows on SQLite and on PostgreSQL."""
    source = folder / "pages.csv"
    write_customers(source, count, FAULTY)
    measure_on(f"sqlite:///{folder / 'pages.db'}", source)
    place = folder / "pages-pg"
    folder.chmod(0o711)
    with start_postgres(place) as server:
        measure_on(server.url, source)


def measure_on(url: str, source: Path) -> None:
    """Import *source* into the database at *url*, and page through the batch."""
    store = open_store(url)
    with store.write() as connection:
        Base.metadata.create_all(connection)
    report = import_path(store, CustomerImporter, source, options=Options(again=True))
    name = store.engine.dialect.name
    tally = report.tally
    print(f"\n{name}: {tally.total:,} rows, {tally.faulty:,} of them faulty")
    print(f"{'':22}{'median':>8}{'95 %':>8}{'most':>8} ms   rows of the widest step")
    for title, wanted in kinds(store, report.key).items():
        line = figures(store, report.key, tally.total, wanted)
        print(f"{title:<22}{line}")
    store.close()


def kinds(store: Store, key: BatchKey) -> dict[str, dict[str, Any]]:
    """Return the ways of filtering that are measured."""
    with store.read() as connection:
        group = next(outcomes.groups(connection, key))
    return {
        "all": {},
        "invalid": {"verdict": "invalid"},
        "pending (none)": {"verdict": "pending"},
        "code": {"code": group.code},
        "field": {"field": "email"},
        "code, field": {"code": group.code, "field": group.field},
        "code, field (none)": {"code": group.code, "field": "vip"},
        "text (common)": {"text": "an"},
        "text (rare)": {"text": "zzzqqq"},
        "text, invalid": {"text": "berlin", "verdict": "invalid"},
    }


def figures(store: Store, key: BatchKey, total: int, wanted: dict[str, Any]) -> str:
    """Return the times of pages at random places, and the rows of the widest step."""
    places = random.Random(1)  # noqa: S311 - no secret
    times: list[float] = []
    for _ in range(PAGES):
        after = places.randrange(total)
        started = time.perf_counter()
        browse.page(store, key, after=after, **wanted)
        times.append((time.perf_counter() - started) * 1e3)
    times.sort()
    late = times[int(len(times) * 0.95) - 1]
    widest = widest_step(store, lambda: browse.page(store, key, after=9, **wanted))
    note = "" if late <= TARGET else f"  more than {TARGET:.0f} ms"
    median = statistics.median(times)
    return f"{median:8.1f}{late:8.1f}{times[-1]:8.1f}      {widest:,}{note}"


def widest_step(store: Store, ask: Callable[[], object]) -> int:
    """Return the most rows that a step of any statement's plan goes through."""
    with recorded(store) as statements:
        ask()
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "sqlite":
            return max(scanned(connection, each) for each in statements)
        return max(gone_through(connection, each) for each in statements)


@contextmanager
def recorded(store: Store) -> Iterator[list[Statement]]:
    """Note the statements that are run."""
    statements: list[Statement] = []

    def note(*arguments: Any) -> None:
        _, _, text, parameters, _, _ = arguments
        if text.startswith("SELECT"):
            statements.append((text, parameters))

    sa.event.listen(store.engine, "before_cursor_execute", note)
    yield statements
    sa.event.remove(store.engine, "before_cursor_execute", note)


def scanned(connection: Connection, statement: Statement) -> int:
    """Return how many rows the table has that SQLite reads without an index."""
    text, parameters = statement
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
    most = 0
    for row in plan.all():
        words = row[3].split()
        if words[0] == "SCAN" and words[1].startswith("batchfx_"):
            counted = f"SELECT count(*) FROM {words[1]}"  # noqa: S608 - a table of the plan
            most = max(most, connection.exec_driver_sql(counted).scalar_one())
    return most


def gone_through(connection: Connection, statement: Statement) -> int:
    """Return the most rows that a step of PostgreSQL's plan went through."""
    text, parameters = statement
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text}"
    (plan,) = connection.exec_driver_sql(explain, parameters).scalar_one()
    return max(rows_of(plan["Plan"]))


def rows_of(step: dict[str, Any]) -> Iterator[int]:
    """Yield the rows that each step of a plan has read, kept or not."""
    each = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
    yield round(each * step["Actual Loops"])
    for inner in step.get("Plans", ()):
        yield from rows_of(inner)
