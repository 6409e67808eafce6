"""A batch is watched from the shell, whoever runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from batchfx.execution.follow import cursor_after, follow
from batchfx.model.events import ENDINGS, EventKind
from batchfx.model.states import BatchState
from batchfx.store import events
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import BatchKey
from samples.servers import start_postgres
from tests.acceptance.here import Here
from tests.acceptance.shell import Ran, Shell, shell_in
from tests.acceptance.test_cli_terminal import CONTROL, HIDE, SHOW, seen
from tests.store.entered import a_batch, end

NAMES = ("Ann", "Bob", "Wait", "Dan", "Eve", "Fay")
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  "


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell with a file of three chunks; the second one waits for PAUSE seconds."""
    shell = shell_in(tmp_path)
    rows = "".join(f"{number},{name},10\n" for number, name in enumerate(NAMES))
    shell.write("wait.csv", f"Code,Name,Age\n{rows}")
    return shell


@pytest.fixture
def here(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Here:
    """The shell's database, for commands that need no process of their own."""
    return Here(f"sqlite:///{shell.folder / 'batchfx.db'}", capsys)


def importing(shell: Shell, pause: float) -> subprocess.Popen[str]:
    """Start an import; return it once its second chunk waits."""
    process = shell.start("import", "noisy", "wait.csv", PAUSE=str(pause))
    deadline = time.monotonic() + 30
    while not (shell.folder / "waiting").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def records(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_running_import_is_watched_to_its_end(shell: Shell) -> None:
    with importing(shell, pause=1.0) as process:
        watched = shell.run("watch", "1")
        process.communicate(timeout=30)

    first, *_, last = watched.out.splitlines()
    assert (process.returncode, watched.code, watched.err) == (0, 0, "")
    assert re.fullmatch(STAMP + "created: reading, 0 rows", first)
    assert re.fullmatch(
        STAMP + r"completed: 100%, 6 of 6 rows, [0-9]+ rows/s, 6 created", last
    )


def test_each_event_is_a_line_of_json_that_can_be_gone_on_from(
    shell: Shell, here: Here
) -> None:
    shell.run("import", "people", "faulty.csv")
    watched = here.run("watch", "1", "--json")

    found = records(watched)
    assert [each["seq"] for each in found] == list(range(1, len(found) + 1))
    assert [found[0]["kind"], found[-1]["kind"]] == ["created", "completed"]
    assert {each["batch"] for each in found} == {1}
    assert found[-1]["content"] == {
        "state": "completed",
        "total": 4,
        "examined": 4,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "skipped": 0,
        "invalid": 3,
        "failed": 0,
        "unknown": 0,
        "pending": 0,
    }
    for place, event in enumerate(found, start=1):
        rest = here.run("watch", "1", "--json", "--from", event["cursor"])
        assert records(rest) == found[place:]
        assert rest.code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("people", "good.csv"),
        ("people", "faulty.csv"),
        ("people", "faulty.csv", "--max-error-rate", "10%"),
        ("people", "good.csv", "--dry-run"),
    ],
)
def test_watching_ends_as_the_import_did(
    shell: Shell, here: Here, arguments: tuple[str, ...]
) -> None:
    imported = shell.run("import", *arguments)
    assert here.run("watch", "1").code == imported.code


@pytest.mark.parametrize("state", [BatchState.FAILED, BatchState.CANCELLED])
def test_a_batch_that_came_to_no_good_end_ends_the_watching_with_1(
    database: str,
    store: Store,
    capsys: pytest.CaptureFixture[str],
    state: BatchState,
) -> None:
    key = a_batch(store)
    end(store, key, state)
    add(store, key, ENDINGS[state])
    watched = Here(database, capsys).run("watch", "1")

    assert (watched.code, watched.err) == (1, "")
    assert re.fullmatch(STAMP + f"{state}\n", watched.out)


def test_ctrl_c_ends_the_watching_and_not_the_batch(shell: Shell) -> None:
    with importing(shell, pause=1.5) as process:
        with shell.start("watch", "1") as watch:
            assert watch.stdout is not None
            watch.stdout.readline()
            watch.send_signal(signal.SIGINT)
            _, err = watch.communicate(timeout=30)
        _, told = process.communicate(timeout=30)

    assert watch.returncode == 130
    assert "No longer watching; batch 1 goes on. To watch it again:\n" in err
    assert "Traceback" not in err
    (again,) = re.findall(r"watch 1 --from (\S+)\n", err)
    assert (process.returncode, told) == (0, told)
    rest = shell.run("watch", "1", "--json", "--from", again)
    assert records(rest)[-1]["kind"] == "completed"


def test_a_batch_that_nobody_works_on_is_told_so_once(shell: Shell) -> None:
    with importing(shell, pause=30) as process:
        process.kill()
    with shell.start("watch", "1", "--json") as watch:
        assert watch.stderr is not None
        told = watch.stderr.readline() + watch.stderr.readline()
        time.sleep(1.2)
        watch.send_signal(signal.SIGINT)
        _, rest = watch.communicate(timeout=30)

    assert told.startswith("Nobody is at work on batch 1. To go on:\n  ")
    assert told.endswith(" rerun 1\n")
    assert "Nobody" not in rest


def add(store: Store, key: BatchKey, *kinds: EventKind) -> None:
    for kind in kinds:
        with store.write() as connection:
            events.add(connection, key, kind, {})


def test_a_cursor_that_cant_be_gone_on_from_is_told(
    database: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    here, key = Here(database, capsys), a_batch(store)
    add(store, key, EventKind.STARTED, EventKind.COMPLETED)
    end(store, key, BatchState.COMPLETED, seconds_ago=1000)
    first, last = follow(store, key)
    with store.write() as connection:
        assert events.expire(connection, older_than=500, limit=10) == 1

    past = cursor_after(key, first).replace("1.1.", "1.0.")
    late = here.run("watch", "1", "--json", "--from", past)
    wrong = here.run("watch", "1", "--json", "--from", "yesterday")
    error = late.json["error"]
    assert (late.code, error["code"]) == (2, "cursor_expired")
    assert error["earliest"] in late.err
    assert (wrong.code, wrong.json["error"]["code"]) == (2, "cursor_unknown")
    again = here.run("watch", "1", "--json", "--from", error["earliest"])
    assert [each["seq"] for each in records(again)] == [last.seq]


@pytest.mark.parametrize(
    "arguments",
    [
        ("7",),
        ("2147483648",),
        ("9" * 30,),
        ("9" * 30, "--tenant", "acme"),
        ("1", "--tenant", "zeta"),
    ],
)
def test_a_batch_that_is_not_there_cant_be_watched(
    database: str,
    store: Store,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    a_batch(store, "acme")
    ran = Here(database, capsys).run("watch", *arguments, "--json")

    assert (ran.code, ran.json["error"]["code"]) == (2, "not_found")


def test_a_database_that_comes_back_is_watched_on_without_gap_or_repeat(
    shell: Shell, server_folder: Path
) -> None:
    with start_postgres(server_folder / "pg", safe=False) as server:
        store = open_store(server.url)
        key = a_batch(store)
        add(store, key, EventKind.STARTED, EventKind.PROGRESSED)
        with shell.start(
            "watch", "1", "--json", BATCHFX_DATABASE_URL=server.url
        ) as watch:
            assert watch.stdout is not None
            assert watch.stderr is not None
            lines = [watch.stdout.readline() for _ in range(2)]
            server.kill()
            while "Still trying." not in watch.stderr.readline():
                assert watch.poll() is None
            server.start()
            store.engine.dispose()
            end(store, key, BatchState.COMPLETED)
            add(store, key, EventKind.PROGRESSED, EventKind.COMPLETED)
            out, _ = watch.communicate(timeout=30)
        store.close()

    lines += out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]
    assert watch.returncode == 0


def test_on_a_terminal_a_bar_and_then_the_tally_are_shown(shell: Shell) -> None:
    shell.run("import", "people", "faulty.csv")
    code, text = seen(shell, "watch", "1")

    shown = CONTROL.sub("", text)
    assert code == 3
    assert "━━━━  100%  4 rows" in shown
    assert "completed: 100%, 4 of 4 rows" in shown
    assert "progressed: " not in shown
    assert "Batch 1 is complete. 3 of 4 rows need attention." in shown
    assert text.count(HIDE) == text.count(SHOW) == 1
