"""Workers that froze and woke too late, and many that want the same at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def counts_of(program: str, *arguments: str) -> Counter[str]:
    command = [sys.executable, "-m", f"tests.faults.{program}", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3_600
    )
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


def test_a_worker_that_wakes_too_late_writes_nothing() -> None:
    counts = counts_of("zombies", "--spread", "6")

    assert counts["sqlite: lease lost"] == 6
    late = counts["postgresql: lease lost"] + counts["postgresql: cut off"]
    assert late + counts["postgresql: in time"] == 6
    assert counts["postgresql: lease lost"] >= 1
    assert counts["postgresql: cut off"] >= 1


@pytest.mark.slow
def test_a_worker_that_wakes_too_late_anywhere_writes_nothing() -> None:
    counts = counts_of("zombies", "--spread", "0")

    assert counts["sqlite: lease lost"] >= 10
    assert counts["postgresql: lease lost"] >= 10
    assert counts["postgresql: cut off"] >= 30


def test_many_processes_that_want_the_same_get_it_once() -> None:
    counts = counts_of("crowds", "--processes", "4")

    for database in ("sqlite", "postgresql"):
        assert counts[f"{database}: import: done"] == 1
        assert counts[f"{database}: import: told"] == 3
        for name in ("submit", "rerun", "cancel", "sweep", "claim"):
            assert counts[f"{database}: {name}: done"] == 4, name
        assert counts[f"{database}: rerun here: done"] >= 1


@pytest.mark.slow
def test_many_processes_that_want_the_same_get_it_once_however_often() -> None:
    counts = counts_of("crowds", "--processes", "16", "--rounds", "20")

    for database in ("sqlite", "postgresql"):
        assert counts[f"{database}: import: done"] == 20
