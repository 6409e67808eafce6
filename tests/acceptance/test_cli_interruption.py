"""Runs that a person or the machine ends early, and how they go on."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.shell import SCRIPT, Shell, shell_in

WAIT = 40  # seconds: a busy machine may be slow, but what is tested waits for longer
# What measures coverage in a process is started before batchfx, and swallows Ctrl-C.
UNMEASURED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}
NAMES = ("Ann", "Bob", "Wait", "Dan", "Eve", "Fay")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell with a file of three chunks; the second one waits for PAUSE seconds."""
    shell = shell_in(tmp_path)
    rows = "".join(f"{number},{name},10\n" for number, name in enumerate(NAMES))
    shell.write("wait.csv", f"Code,Name,Age\n{rows}")
    return shell


def outcomes(shell: Shell) -> int:
    return int(shell.query("SELECT count(*) FROM batchfx_outcome")[0][0])


def start(shell: Shell, pause: float) -> subprocess.Popen[str]:
    """Start the import and return it once its second chunk waits, the first is done."""
    process = shell.start("import", "noisy", "wait.csv", PAUSE=str(pause))
    deadline = time.monotonic() + 30
    while not ((shell.folder / "waiting").exists() and outcomes(shell) == 2):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_stops_between_chunks_and_the_run_can_go_on(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    with start(shell, pause=0.5) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    resumed = shell.run("import", "noisy", "wait.csv", "--json")

    assert process.returncode == code
    assert "Stopping once the rows at hand are done." in err
    assert re.search(r"Batch 1 was stopped\. [24] of 6 rows are done\.\n", out)
    assert "It was interrupted; what is done is kept.\n" in out
    assert out.splitlines()[-1] == f"  {SCRIPT} rerun 1"
    assert (resumed.code, resumed.json["batch"]) == (0, 1)
    assert (resumed.json["attempt"], resumed.json["tally"]["created"]) == (2, 6)
    assert "Running batch 1 again: wait.csv as noisy" in resumed.err


def test_a_second_interrupt_ends_the_run_at_once(shell: Shell) -> None:
    with start(shell, pause=60) as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Stopping once the rows ")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT)
    found = shell.run("status", "1", "--json").json

    assert (process.returncode, err) == (130, "")
    assert "Ended at once; what was committed is kept.\nTo go on:\n" in out
    assert out.splitlines()[-1] == f"  {SCRIPT} rerun 1"
    assert (found["state"], found["tally"]["pending"]) == ("interrupted", 4)


def test_a_killed_run_is_shown_as_interrupted_and_goes_on(shell: Shell) -> None:
    with start(shell, pause=60) as process:
        during = shell.run("status", "1")
        process.kill()
        process.communicate()
    after = shell.run("status", "1")
    resumed = shell.run("rerun", "1", "--json", PAUSE="0")

    assert "Batch 1 is running. 2 of 6 rows are done.\n" in during.out
    assert f"process {process.pid} on " in during.out
    assert "rerun" not in during.out
    assert (
        "Batch 1 was interrupted: the process that ran it has ended. "
        "2 of 6 rows are done.\n"
    ) in after.out
    assert after.out.splitlines()[-1] == f"  {SCRIPT} rerun 1"
    assert (resumed.code, resumed.json["tally"]["created"]) == (0, 6)


def test_a_batch_that_is_running_is_left_alone(shell: Shell) -> None:
    with start(shell, pause=60) as process:
        other = shell.run("rerun", "1", "--json")
        process.kill()
        process.communicate()

    assert (other.code, other.json["error"]["code"]) == (1, "illegal_move")
    assert other.err.startswith("Error: Batch 1 is being worked on by ")


def test_an_interrupt_ends_a_listing_at_once(shell: Shell) -> None:
    rows = "".join(f"{number},Ann,10\n" for number in range(100_000))
    shell.write("many.csv", f"Code,Name,Age\n{rows}")
    assert shell.run("import", "people", "many.csv").code == 0
    with shell.start("rows", "1", "--json") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[\n"  # then the pipe is full, it waits
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT)

    assert process.returncode == -signal.SIGINT
    assert err == f"Database: {shell.folder / 'batchfx.db'}\n"


@pytest.mark.parametrize("delay", [0.3, 0.5, 0.7])
def test_an_interrupt_during_the_imports_is_not_lost(
    shell: Shell, delay: float
) -> None:
    shell.write("slow.py", "import time\ntime.sleep(120)\n")
    with shell.start("types", "--importers", "slow", **UNMEASURED) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT)

    assert (process.returncode, out, err) == (-signal.SIGINT, "", "")


def test_progress_in_a_pipe_is_a_line_now_and_then(shell: Shell) -> None:
    rows = "".join(f"{number},Wait,10\n" for number in range(6))
    shell.write("waits.csv", f"Code,Name,Age\n{rows}")
    began = time.monotonic()
    ran = shell.run("import", "noisy", "waits.csv", PAUSE="0.8")
    seconds = time.monotonic() - began

    lines = [line for line in ran.err.splitlines() if "rows/s" in line]
    assert 2 <= len(lines) <= 1 + seconds / 2
    assert re.match(r"(16|33|50|66)%, [1-4] of 6 rows, ", lines[0])
    assert lines[-1].startswith("100%, 6 of 6 rows, ")
