from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batchfx.cli.invocation import command
from batchfx.cli.options import Settings


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A console script that is the running program, in a folder off the path."""
    path = tmp_path / "project" / "bin" / "batchfx"
    path.parent.mkdir(parents=True)
    path.touch(0o755)
    monkeypatch.setattr(sys, "argv", [str(path), "status"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return path


def test_a_program_on_the_path_is_called_by_its_name(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(script.parent))

    assert command(Settings(), "rerun", "3") == "batchfx rerun 3"


def test_a_program_below_this_folder_is_called_from_here(script: Path) -> None:
    del script

    assert command(Settings(), "rerun", "3") == "project/bin/batchfx rerun 3"


def test_a_program_elsewhere_is_called_by_its_whole_path(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script.parent.parent / "deep").mkdir()
    monkeypatch.chdir(script.parent.parent / "deep")

    assert command(Settings(), "rerun", "3") == f"{script} rerun 3"


def test_what_runs_otherwise_is_called_by_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["-c"])

    assert command(Settings(), "rerun", "3") == "batchfx rerun 3"


def test_words_with_blanks_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-c"])
    settings = Settings(("shop.importers", "more"), "sqlite:///a b.db")

    assert command(settings, "rerun", "3", "my file.csv") == (
        "batchfx rerun 3 'my file.csv' --importers shop.importers --importers more "
        "--database 'sqlite:///a b.db'"
    )
