"""The commands for single rows: found, downloaded, excluded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A database with a batch of four rows, three of them faulty."""
    shell = shell_in(tmp_path)
    assert shell.run("import", "people", "faulty.csv").code == 3
    return shell


def numbers(shell: Shell, *options: str) -> list[int]:
    ran = shell.run("rows", "1", "--json", *options)
    assert ran.code == 0
    return [row["row"] for row in ran.json]


def test_rows_are_found_by_code_field_and_text(shell: Shell) -> None:
    every = shell.run("rows", "1", "--json").json
    faulty = [row for row in every if row["issues"]]
    first = faulty[0]
    issue = first["issues"][0]
    alike = [
        row["row"]
        for row in faulty
        if any(each["code"] == issue["code"] for each in row["issues"])
    ]
    assert numbers(shell, "--code", issue["code"]) == alike
    assert first["row"] in numbers(shell, "--field", "Age")
    text = every[0]["values"]["Name"].upper()
    assert every[0]["row"] in numbers(shell, "--text", text)
    ran = shell.run("rows", "1", "--text", "no such text")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No row is as you asked.")


def test_faulty_rows_are_downloaded_corrected_and_run_again(shell: Shell) -> None:
    ran = shell.run("download", "1", "-o", "back.json")
    assert (ran.code, ran.out) == (0, "Wrote back.json.\n")
    path = shell.folder / "back.json"
    rows = json.loads(path.read_text())
    assert len(rows) == 3
    again = shell.run("download", "1", "-o", "back.json")
    assert again.code == 2
    assert "exists already" in again.err

    assert shell.run("download", "1").out.startswith('\ufeff"row",')
    assert shell.run("rerun", "1", "back.json").code == 3
    assert numbers(shell, "--verdict", "created") == [2]


def test_excluded_rows_are_never_imported(shell: Shell) -> None:
    faulty = numbers(shell, "--verdict", "invalid") + numbers(
        shell, "--verdict", "failed"
    )
    words = [str(number) for number in faulty]
    ran = shell.run("exclude", "1", *words, "--reason", "a test")

    assert (ran.code, ran.out.strip()) == (0, "3 rows of batch 1 excluded.")
    (row, *_) = shell.run("rows", "1", "--verdict", "skipped", "--json").json
    assert row["reason"].startswith("Excluded by ")
    assert row["reason"].endswith(": a test")
    refused = shell.run("exclude", "1", "2")
    assert refused.code == 1
    assert "is finished and can't be changed" in refused.err
    assert shell.run("rerun", "1").code == 0
