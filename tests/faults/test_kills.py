"""SIGKILL at every transaction and at random moments; nothing lost, nothing doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def trials(*arguments: int) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.faults.kills", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


def test_an_import_killed_anywhere_is_finished_exactly_once() -> None:
    counts = trials(3, 20, 1)

    assert counts["killed before"] >= 5
    assert counts["killed inside"] >= 5
    assert counts["killed after"] >= 5
    assert counts["killed at a moment"] >= 5


@pytest.mark.slow
def test_an_import_killed_at_every_transaction_is_finished_exactly_once() -> None:
    counts = trials(1, 300, 2)

    assert counts["killed before"] >= 15
    assert counts["killed inside"] >= 15
    assert counts["killed after"] >= 15
    assert counts["killed at a moment"] >= 200
