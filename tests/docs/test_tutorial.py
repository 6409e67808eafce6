"""The tutorial does what it says, word for word."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_the_tutorial_runs_as_it_is_written(tmp_path: Path) -> None:
    blocks = BLOCK.findall((DOCS / "tutorial.md").read_text("utf-8"))
    for kind, text in blocks:
        if kind == "python" and text.startswith("# "):
            name = text.split("\n", 1)[0].removeprefix("# ")
            (tmp_path / name).write_text(text, "utf-8")
    tables = [text for kind, text in blocks if kind == "text"]
    for name, text in zip(("books.csv", "books-corrected.csv"), tables, strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    commands = [
        line.removeprefix("$ ").split()
        for kind, text in blocks
        if kind == "console"
        for line in text.splitlines()
    ]

    first, again = (run(tmp_path, *command[1:]) for command in commands)

    assert first["tally"]["created"] == 2
    assert first["tally"]["invalid"] == 3
    assert again["tally"]["created"] == 4
    assert again["tally"]["invalid"] == 1
    issues = rows(tmp_path)
    assert issues[3] == ["duplicate_in_file"]


def run(folder: Path, *words: str) -> dict[str, dict[str, int]]:
    program = Path(sys.executable).with_name("batchfx")
    done = subprocess.run(
        [program, *words, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    said: dict[str, dict[str, int]] = json.loads(done.stdout)
    return said


def rows(folder: Path) -> dict[int, list[str]]:
    program = Path(sys.executable).with_name("batchfx")
    words = ["--importers", "books", "rows", "1", "--verdict", "invalid", "--json"]
    done = subprocess.run(
        [program, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return {
        row["row"]: [issue["code"] for issue in row["issues"]]
        for row in json.loads(done.stdout)
    }
