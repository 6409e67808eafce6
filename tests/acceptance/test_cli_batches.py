"""Batches are left to workers, paused, cancelled and revived from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in

UNITS = "SELECT state, count(*) FROM batchfx_chunk GROUP BY state ORDER BY state"
BURY = (
    "UPDATE batchfx_chunk SET state = 'leased', worker = 'gone', lease_until = 0,"
    " losses = 2"
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a folder with the application and two files to import."""
    return shell_in(tmp_path)


@pytest.fixture
def waiting(shell: Shell) -> Shell:
    """A shell with an import that waits for workers."""
    ran = shell.run("import", "people", "good.csv", "--detach")
    assert (ran.code, ran.err) == (0, "")
    return shell


def state(shell: Shell) -> str:
    ((found,),) = shell.query("SELECT state FROM batchfx_batch")
    return str(found)


def test_a_detached_import_is_entered_and_nothing_is_run(waiting: Shell) -> None:
    assert waiting.query(UNITS) == [("queued", 1)]
    assert state(waiting) == "staging"
    tables = "SELECT count(*) FROM person"
    assert waiting.query(tables) == [(0,)]

    ran = waiting.run("rerun", "1")
    assert ran.code == 0
    assert state(waiting) == "completed"
    assert waiting.query(tables) == [(3,)]


def test_a_detached_rerun_is_entered_and_nothing_is_run(shell: Shell) -> None:
    shell.run("import", "people", "faulty.csv")
    ran = shell.run("rerun", "1", "--detach")
    assert (ran.code, ran.err) == (0, "")
    assert state(shell) == "running"
    assert shell.query(UNITS) == [("held", 1), ("queued", 1)]


def test_a_batch_is_paused_and_resumed(waiting: Shell) -> None:
    paused = waiting.run("pause", "1", "--json")
    assert (paused.code, paused.json["state"]) == (0, "paused")
    assert waiting.query(UNITS) == [("held", 1)]
    refused = waiting.run("rerun", "1")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        "Error: Batch 1 is paused. 'batchfx resume 1' lets it go on.\n"
    )

    resumed = waiting.run("resume", "1")
    assert resumed.code == 0
    assert waiting.query(UNITS) == [("queued", 1)]
    again = waiting.run("resume", "1")
    assert (again.code, again.err) == (1, "Error: Batch 1 is staging, not paused.\n")


def test_a_cancelled_batch_says_what_was_applied_and_stays_so(waiting: Shell) -> None:
    cancelled = waiting.run("cancel", "1", "--json")
    assert cancelled.code == 0
    assert cancelled.json["state"] == "cancelled"
    assert waiting.query(UNITS) == [("cancelled", 1)]

    told = waiting.run("cancel", "1")
    assert (told.code, told.err) == (0, "")
    for act in ("pause", "resume", "rerun", "revive"):
        ran = waiting.run(act, "1")
        assert ran.code in {1, 2}, act
        assert ran.err.startswith("Error: ")
        assert "Traceback" not in ran.err
    assert state(waiting) == "cancelled"


def test_what_is_complete_is_not_cancelled(shell: Shell) -> None:
    shell.run("import", "people", "good.csv")
    ran = shell.run("cancel", "1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "Error: Batch 1 is complete: nothing is left to be cancelled.\n"


def test_another_tenants_batch_is_not_there(waiting: Shell) -> None:
    ran = waiting.run("cancel", "1", "--tenant", "zeta")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: Tenant 'zeta' has no batch 1.")
    assert state(waiting) == "staging"


def test_what_is_dead_is_shown_and_revived(waiting: Shell) -> None:
    assert waiting.run("dead").out == "Nothing is dead.\n"
    waiting.execute(BURY)
    swept = waiting.run("sweep", "--json")
    assert (swept.code, swept.json["lost"], swept.json["died"]) == (0, 1, 1)
    assert state(waiting) == "failed"

    (unit,) = waiting.run("dead", "--json").json
    assert (unit["ordinal"], unit["reason"], unit["losses"]) == (-1, "poison", 3)
    assert unit["place"] == "its worker was not heard of any more"
    shown = waiting.run("dead").out
    assert "preparation" in shown
    assert "vanished (3 of 3 times)" in " ".join(shown.split())
    assert "revive 1" in shown

    young = waiting.run("dead", "--older-than", "1d")
    assert (young.code, young.out) == (0, "Nothing is dead.\n")
    old = waiting.run("dead", "--older-than", "0s", "--json")
    assert (old.code, len(old.json)) == (3, 1)
    assert waiting.run("dead", "--tenant", "zeta").out == "Nothing is dead.\n"

    revived = waiting.run("revive", "1")
    assert (revived.code, revived.err) == (0, "")
    assert revived.out == "1 chunk of batch 1 will be tried again.\n"
    assert waiting.query(UNITS) == [("queued", 1)]
    assert waiting.run("rerun", "1").code == 0
    assert state(waiting) == "completed"


def test_nothing_is_revived_where_nothing_is_dead(waiting: Shell) -> None:
    ran = waiting.run("revive", "1", "--chunk", "7")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "Error: Nothing of batch 1 is dead. 'batchfx dead' lists what is.\n"
    )


@pytest.mark.parametrize("age", ["", "1w", "-1d"])
def test_what_is_no_length_of_time_is_refused(waiting: Shell, age: str) -> None:
    ran = waiting.run("dead", f"--older-than={age}")
    assert (ran.code, ran.out) == (2, "")
    assert "is no length of time: write 90s, 15m, 2h or 7d." in " ".join(
        ran.err.split()
    )


def test_a_sweep_says_what_it_mended(waiting: Shell) -> None:
    assert waiting.run("sweep").out == "There was nothing to mend.\n"
    waiting.execute(
        "UPDATE batchfx_chunk SET state = 'leased', worker = 'gone', lease_until = 0"
    )
    assert waiting.run("sweep").out == "1 leases had run out.\n"
    waiting.execute("UPDATE batchfx_chunk SET due_at = 0")
    assert waiting.run("sweep").out == "1 retries were due.\n"
    assert waiting.query(UNITS) == [("queued", 1)]
