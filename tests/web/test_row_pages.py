"""Pages of rows: no query of one goes through the whole batch."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from batchfx.execution import browse
from batchfx.store.schema import ISSUE, OUTCOME
from tests.execution.test_imports import people, run
from tests.plans import recorded, widest_step
from tests.web.site import Site, as_user

ROWS, CHUNK = 3_000, 50
WAYS: list[dict[str, Any]] = [
    {},
    {"after": 2_900},
    {"verdict": "created"},
    {"verdict": "invalid", "after": 1_500},
    {"verdict": "pending"},
    {"verdict": "failed"},
    {"code": "int_parsing"},
    {"code": "int_parsing", "after": 2_000},
    {"code": "int_parsing", "field": "name"},
    {"code": "no_such_code"},
    {"field": "age"},
    {"field": "age", "verdict": "invalid", "text": "Ben"},
    {"text": "Ben"},
    {"text": "no such text"},
    {"text": "Ben", "verdict": "created"},
]


@pytest.fixture
def large(site: Site) -> Site:
    """A batch of many chunks, in each of which a third of the rows is faulty."""
    rows = [f"C{i},Ben,{'x' if i % 3 == 0 else 7}" for i in range(ROWS)]
    run(site.store, people(*rows), chunk_size=CHUNK)
    if site.store.engine.dialect.name == "postgresql":
        with site.store.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
    site.let_in = as_user("default:ann")
    return site


def test_no_query_of_a_page_goes_through_the_whole_batch(
    large: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "BUDGET", 60.0)
    with recorded(large.store) as statements:
        for wanted in WAYS:
            answer = large.get(f"/api/batches/1/rows?{urlencode(wanted)}")
            assert answer.status_code == 200, answer.text
    assert len(statements) > 5 * len(WAYS)
    assert widest_step(large.store, statements) < ROWS / 3


def test_a_query_that_goes_through_the_whole_batch_is_noticed(large: Site) -> None:
    whole = [
        sa.select(OUTCOME.c.row).where(OUTCOME.c.batch == 1, OUTCOME.c.verdict == "a"),
        sa.select(OUTCOME.c.row).where(OUTCOME.c.row + 0 > 5, OUTCOME.c.batch == 1),
        sa.select(sa.func.count()).select_from(OUTCOME),
    ]
    few = sa.select(ISSUE.c.row).where(ISSUE.c.batch == 1, ISSUE.c.row == 7)
    for query in whole:
        assert widest_step(large.store, [_sent(large, query)]) >= ROWS, str(query)
    assert widest_step(large.store, [_sent(large, few)]) < 10


def _sent(site: Site, query: sa.Select[Any]) -> tuple[str, Any]:
    with recorded(site.store) as statements, site.store.read() as connection:
        connection.execute(query)
    return statements[0]
