"""What a person sees on a terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.shell import SCRIPT, Shell, shell_in

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def seen(
    shell: Shell, *arguments: str, interrupt: bool = False, **environment: str
) -> tuple[int, str]:
    """Run the console script on a terminal; return its exit code and what it wrote.

    Ctrl-C is pressed, if at all, once a row waits.
    """
    master, slave = pty.openpty()
    variables = {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    with subprocess.Popen(
        [SCRIPT, *arguments],
        cwd=shell.folder,
        env=shell.environment(**variables),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    ) as process:
        os.close(slave)
        written = b""
        with suppress(OSError):  # the end of a pseudo-terminal on Linux
            while piece := os.read(master, 4096):
                written += piece
                if interrupt and (shell.folder / "waiting").exists():
                    process.send_signal(signal.SIGINT)
                    interrupt = False
        os.close(master)
    return process.returncode, written.decode()


def test_the_bar_is_drawn_below_the_heading_and_the_cursor_comes_back(
    shell: Shell,
) -> None:
    code, text = seen(shell, "import", "people", "faulty.csv")

    plain = CONTROL.sub("", text)
    assert code == 3
    assert plain.startswith("Importing faulty.csv as people, batch 1\r\n")
    assert plain.index("Database: ") < plain.index("reading")
    assert "━━━━  100%  4 rows" in plain
    assert plain.index("100%") < plain.index("Batch 1 is complete.")
    assert text.count(HIDE) == text.count(SHOW) == 1


def test_an_interrupted_bar_says_that_it_will_stop(shell: Shell) -> None:
    names = ("Ann", "Bob", "Wait", "Dan", "Eve", "Fay")
    rows = "".join(f"{number},{name},10\n" for number, name in enumerate(names))
    shell.write("wait.csv", f"Code,Name,Age\n{rows}")
    code, text = seen(shell, "import", "noisy", "wait.csv", interrupt=True, PAUSE="1.5")

    assert code == 130
    assert "Stopping once the rows at hand are done." in text
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert "Batch 1 was stopped." in text


def test_colours_are_for_terminals_that_want_them(shell: Shell) -> None:
    _, coloured = seen(shell, "import", "people", "faulty.csv")
    _, plain = seen(shell, "import", "people", "faulty.csv", "--again", NO_COLOR="1")

    assert COLOUR.search(coloured)
    assert not COLOUR.search(plain)


def test_a_dumb_terminal_gets_lines(shell: Shell) -> None:
    _, text = seen(shell, "import", "people", "faulty.csv", TERM="dumb")

    assert "\x1b" not in text
    assert "100%, 4 of 4 rows, " in text


def test_long_lines_of_rows_are_cut_at_the_edge(shell: Shell) -> None:
    shell.run("import", "people", "faulty.csv")
    _, text = seen(shell, "rows", "1", COLUMNS="40")

    lines = CONTROL.sub("", text).split("\r\n")[2:]
    assert max(map(len, lines)) == 40
    assert sum(line.endswith("…") for line in lines) == 3
