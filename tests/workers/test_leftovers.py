"""What a killed supervisor leaves on its machine is ended by another worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from batchfx.execution.lease import new_worker
from batchfx.execution.leftovers import MARK, end_leftovers
from tests.workers.fleet import Fleet, wait_for

SLEEPER = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended after the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def name_of_the_dead() -> str:
    """Return the name of a worker of this machine that has ended."""
    program = "from batchfx.execution.lease import new_worker; print(new_worker())"
    return subprocess.check_output([sys.executable, "-c", program], text=True).strip()


def has_begun(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether it has the environment that it was given, no more that of here."""
    return "-S" in psutil.Process(process.pid).cmdline()


def test_only_what_the_dead_left_is_ended(
    sleepers: list[subprocess.Popen[bytes]],
) -> None:
    dead, living = name_of_the_dead(), new_worker()
    elsewhere = "elsewhere" + dead[dead.index("/") :]
    for mark in (dead, living, elsewhere, "nonsense"):
        environment = {**os.environ, MARK: mark}
        sleepers.append(subprocess.Popen(SLEEPER, env=environment))
    sleepers.append(subprocess.Popen(SLEEPER))
    left, *others = sleepers
    wait_for(lambda: all(map(has_begun, sleepers)))
    assert end_leftovers() == 1
    assert left.wait(10) == -signal.SIGKILL
    assert [process.poll() for process in others] == [None] * 4


def test_a_worker_ends_what_a_killed_one_left(fleet: Fleet) -> None:
    fleet.submit("daemon:600", "fork_and_stay:600", "fork_and_stay:600")
    worker = fleet.start(processes=2)
    wait_for(lambda: len(worker.tree()) >= 5)  # two handlers, two daemons, a fork
    below = worker.tree()
    worker.send(signal.SIGKILL)
    worker.process.wait()
    fleet.start()
    wait_for(lambda: not any(_is_running(process) for process in below))


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
