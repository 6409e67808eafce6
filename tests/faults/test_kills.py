"""SIGKILL in the middle of every operation; nothing lost, nothing doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.operations import STATES

ROOT = Path(__file__).parents[2]
DATABASES = ("sqlite", "postgresql")


def trials(*arguments: str) -> Counter[str]:
    """Do trials on both databases at once; return how many there were of each kind."""
    command = [sys.executable, "-m", "tests.faults.kills", *arguments]
    begun = [
        subprocess.Popen(
            [*command, "--database", database],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for database in DATABASES
    ]
    counts: Counter[str] = Counter()
    for process in begun:
        told, error = process.communicate(timeout=5_400)
        assert process.returncode == 0, error
        counts.update(json.loads(told))
    return counts


def killed(counts: Counter[str], database: str, operation: str) -> int:
    return counts[f"{database}: {operation}: killed"]


def test_operations_killed_anywhere_leave_nothing_lost_or_doubled() -> None:
    counts = trials("--spread", "1", "--moments", "3", "--by-operation")

    for database in DATABASES:
        for operation in STATES:
            assert killed(counts, database, operation) >= 1, (database, operation)


@pytest.mark.slow
def test_operations_killed_at_every_point_leave_nothing_lost_or_doubled() -> None:
    counts = trials("--spread", "0", "--moments", "100", "--by-operation")

    for database in DATABASES:
        assert killed(counts, database, "import") >= 200
        for operation in STATES:
            assert killed(counts, database, operation) >= 8, (database, operation)
