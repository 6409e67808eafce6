"""A tree of processes that is ended leaves nobody, whatever its members did."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from batchfx.execution import process_trees

MARK = "BATCHFX_TEST_TREE"
BEGIN = """
import os, signal, subprocess, sys, time
from batchfx.execution import process_trees
process_trees.become_subreaper()
def tell():
    open(sys.argv[1], "w").close()
def sleeper(**options):
    return subprocess.Popen([sys.executable, "-S", "-c", SLEEP], **options)
SLEEP = "import time; time.sleep(600)"
"""
DAEMONS = """
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
"""
SLEEP = "\ntell()\ntime.sleep(600)\n"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """A word in the environment of every process that a test starts."""
    word = f"{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv(MARK, word)
    return word


@pytest.fixture
def start(
    mark: str, tmp_path: Path
) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Run a program as a handler is run; wait until it has called `tell`."""
    process_trees.become_subreaper()
    started: list[subprocess.Popen[bytes]] = []

    def run(program: str) -> subprocess.Popen[bytes]:
        told = tmp_path / "told"
        arguments = [sys.executable, "-c", BEGIN + program, str(told)]
        process = subprocess.Popen(arguments, start_new_session=True)
        started.append(process)
        wait_for(told.exists)
        return process

    yield run
    if sys.platform == "linux":  # the process of the other tests adopts nobody
        ctypes.CDLL(None).prctl(process_trees.SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for left in marked(mark):
        left.kill()
    for process in started:
        process.wait()


def wait_for(is_true: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def marked(word: str) -> list[psutil.Process]:
    """Return the living processes that got *word* from their parents."""
    found = []
    for process in psutil.process_iter():
        try:
            carries = process.environ().get(MARK) == word
            if carries and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return [process for process in found if process.pid != os.getpid()]


def end(process: subprocess.Popen[bytes], spared: frozenset[int]) -> bool:
    return process_trees.end(process_trees.Tree(process.pid, lambda: spared))


@pytest.mark.parametrize(
    ("program", "least"),
    [
        ("sleeper()", 2),
        ("sleeper(start_new_session=True)", 2),
        ("if os.fork() == 0:\n    os.setsid()\n    sleeper()\n    os._exit(0)\n", 2),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsleeper()", 2),
        (
            DAEMONS,
            201,
        ),
    ],
    ids=["child", "own session", "double fork", "ignores TERM", "200 daemons"],
)
def test_nobody_of_a_tree_is_left(
    start: Callable[[str], subprocess.Popen[bytes]],
    mark: str,
    program: str,
    least: int,
) -> None:
    spared = process_trees.children()
    process = start(program + SLEEP)
    wait_for(lambda: len(marked(mark)) == least)
    assert end(process, spared)
    assert marked(mark) == []


def test_a_tree_that_goes_on_forking_is_ended(
    start: Callable[[str], subprocess.Popen[bytes]], mark: str
) -> None:
    spared = process_trees.children()
    process = start(
        "tell()\nuntil = time.monotonic() + 20\n"
        "while time.monotonic() < until:\n    if os.fork() == 0:\n"
        "        os.setsid()\n        if os.fork() == 0:\n            time.sleep(1)\n"
        "        os._exit(0)\n    time.sleep(0.005)\n"
    )
    wait_for(lambda: len(marked(mark)) > 20)
    assert end(process, spared)
    assert marked(mark) == []


def test_what_a_dead_process_left_behind_is_ended(
    start: Callable[[str], subprocess.Popen[bytes]], mark: str
) -> None:
    spared = process_trees.children()
    process = start("sleeper(start_new_session=True)\ntell()\nos._exit(7)")
    assert process.wait() == 7
    assert len(marked(mark)) == 1
    assert end(process, spared)
    assert marked(mark) == []


def test_other_children_of_the_supervisor_are_spared(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    other = start("sleeper()" + SLEEP)
    spared = process_trees.children()
    process = start("sleeper(start_new_session=True)" + SLEEP)
    assert end(process, spared)
    assert other.poll() is None
    assert len(psutil.Process(other.pid).children()) == 1


def test_a_process_that_is_asked_to_dies_with_its_parent(
    mark: str, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    child = (
        "import os, sys, time\nfrom batchfx.execution import process_trees\n"
        "process_trees.end_with_parent(int(sys.argv[1]))\n"
        "open(sys.argv[2], 'w').close()\ntime.sleep(600)"
    )
    parent = (
        "import os, subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', "
        f"{child!r}, str(os.getpid()), sys.argv[1]])\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", parent, str(told)]) as process:
        wait_for(told.exists)
        assert len(marked(mark)) == 2
        process.kill()
    wait_for(lambda: marked(mark) == [])


def test_a_process_whose_parent_is_gone_already_ends_itself() -> None:
    program = (
        "from batchfx.execution import process_trees\n"
        "process_trees.end_with_parent(1)\nprint('still here')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
