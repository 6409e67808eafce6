"""The tests can see: a fault that is put in is found."""

from __future__ import annotations

import pytest

from tests.faults.seeds import SEEDS
from tests.faults.sowing import BEGIN, END, ROOT, search

QUICK = ("ack by state", "lost is failed", "deferred write", "tables before lock")


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_fault_that_others_had_is_found(name: str) -> None:
    assert search(name).test is not None


def test_every_seed_has_a_fault_and_tests_of_its_own() -> None:
    numbers = [seed.number for seed in SEEDS.values() if seed.number is not None]
    assert len(numbers) == len(set(numbers))
    assert len({seed.sow for seed in SEEDS.values()}) == len(SEEDS)
    assert len({seed.what for seed in SEEDS.values()}) == len(SEEDS)


def test_the_page_has_a_line_for_every_seed_and_none_was_missed() -> None:
    page = (ROOT / "docs" / "faults.md").read_text("utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    assert table.count("\n| ") == len(SEEDS) + 2
    assert all(f"| {seed.what} |" in table for seed in SEEDS.values())
    assert "not found" not in table
