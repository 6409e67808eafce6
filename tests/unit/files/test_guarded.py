"""Readers in a process of their own: whatever happens there, the parent goes on."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.guarded import Limits, inspect_guarded, read_guarded
from batchfx.model.blocks import Block
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

READER = "tests.unit.files.misbehaving"
TIGHT = Limits(memory=256 * 1024**2, seconds=1, patience=5)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[io.BufferedReader]:
    path = tmp_path / "file"
    path.write_text("nothing")
    with path.open("rb") as file:
        yield file


def layout_for(how: str) -> Layout:
    return Layout("test", ("content",), 0, {"how": how})


def inspected(source: io.BufferedReader, how: str) -> Layout:
    return inspect_guarded(READER, source, limits=TIGHT, how=how)


def blocks_of(source: io.BufferedReader, how: str) -> list[Block]:
    return list(read_guarded(READER, source, layout_for(how), 1, limits=TIGHT))


def children() -> list[psutil.Process]:
    """Return the children of this process that aren't servers of other tests."""
    servers = {"postgres", "valkey-server"}
    return [each for each in psutil.Process().children() if each.name() not in servers]


def test_a_layout_comes_back_as_it_was_made(source: io.BufferedReader) -> None:
    layout = inspect_guarded(READER, source, sheet="Data")

    assert layout == Layout(
        "test",
        ("content",),
        0,
        {"how": "nothing", "sheet": "Data"},
        (Issue("odd", "Odd.", Phase.FILE, level=Level.WARNING),),
    )
    assert children() == []


def test_a_file_in_memory_is_lent_as_a_copy() -> None:
    layout = inspect_guarded(READER, io.BytesIO(b"in memory"))

    assert layout.settings == {"how": "in memory"}


def test_a_temporary_file_is_lent_with_what_was_just_written() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"just written")
        layout = inspect_guarded(READER, file)

        assert layout.settings == {"how": "just written"}
        assert file.tell() == 12


def test_the_place_in_the_source_is_not_moved(source: io.BufferedReader) -> None:
    source.seek(3)
    inspect_guarded(READER, source)

    assert source.tell() == 3
    assert source.read() == b"hing"
    assert os.lseek(source.fileno(), 0, os.SEEK_CUR) == 7


def test_blocks_come_one_by_one_and_go_on_from_a_position(
    source: io.BufferedReader,
) -> None:
    blocks = read_guarded(READER, source, layout_for(""), 2, {"row": 990})

    numbers = [(block.frame["row"].to_list(), block.position) for block in blocks]

    assert numbers[0] == ([991, 991], {"row": 991})
    assert numbers[-1] == ([999, 999], {"row": 999})
    assert len(numbers) == 9
    assert children() == []


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("abort", "unsafe_file", "broke the program that reads it"),
        ("die", "unsafe_file", "broke the program that reads it"),
        ("quit", "corrupt", "The file is damaged"),
        ("allocate", "unsafe_file", "more memory than is allowed"),
        ("loop", "unsafe_file", "takes longer than is allowed"),
        ("fail", "corrupt", "index 7 is out of range"),
        ("panic", "corrupt", "a panic"),
        ("refuse", "empty_file", "It is empty."),
    ],
)
@pytest.mark.parametrize("step", [inspected, blocks_of])
def test_what_a_reader_does_is_an_error_of_the_file(
    source: io.BufferedReader,
    how: str,
    code: str,
    words: str,
    step: Callable[[io.BufferedReader, str], object],
) -> None:
    with pytest.raises(SourceError, match=words) as error:
        step(source, how)

    assert error.value.code == code
    assert children() == []


def test_an_unforeseen_error_says_where_it_came_up_without_a_path(
    source: io.BufferedReader,
) -> None:
    with pytest.raises(SourceError) as error:
        inspected(source, "fail")

    (detail,) = error.value.parameters.values()
    assert re.fullmatch(r"IndexError in [a-z_]+, line [0-9]+", detail)


def test_a_reader_that_only_waits_is_ended(source: io.BufferedReader) -> None:
    limits = Limits(patience=1.5)

    with pytest.raises(SourceError, match="takes longer than is allowed") as error:
        inspect_guarded(READER, source, limits=limits, how="sleep")

    assert error.value.code == "unsafe_file"


def test_an_error_keeps_its_parameters(source: io.BufferedReader) -> None:
    with pytest.raises(SourceError) as error:
        inspect_guarded(READER, source, how="refuse")

    assert error.value.parameters == {"size": 0}


def test_a_wrong_option_is_the_callers_error(source: io.BufferedReader) -> None:
    with pytest.raises(UsageError, match="rows can't be negative"):
        inspect_guarded(READER, source, how="misuse")


def test_what_a_reader_prints_is_no_answer(source: io.BufferedReader) -> None:
    blocks = read_guarded(READER, source, layout_for("print"), 1, {"row": 996})

    assert [block.position for block in blocks] == [{"row": n} for n in (997, 998, 999)]


def test_blocks_before_a_kill_are_kept_and_the_kill_is_told(
    source: io.BufferedReader,
) -> None:
    blocks = read_guarded(READER, source, layout_for(""), 1)
    first = next(blocks)
    (child,) = children()
    child.kill()

    with pytest.raises(SourceError, match="broke the program that reads it"):
        list(blocks)

    assert first.position == {"row": 1}
    assert children() == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_of_a_service_does_not_spoil_the_reading(
    source: io.BufferedReader, sign: signal.Signals
) -> None:
    blocks = read_guarded(READER, source, layout_for(""), 1, {"row": 990})
    next(blocks)
    children()[0].send_signal(sign)

    assert len(list(blocks)) == 8


def test_the_process_ends_when_the_reading_is_given_up(
    source: io.BufferedReader,
) -> None:
    blocks = read_guarded(READER, source, layout_for(""), 1)
    next(blocks)
    assert len(children()) == 1

    blocks.close()  # type: ignore[attr-defined]

    assert children() == []


def test_a_slow_taker_of_blocks_does_not_fill_memory_or_lose_patience(
    source: io.BufferedReader,
) -> None:
    blocks = read_guarded(READER, source, layout_for(""), 1, limits=TIGHT)
    next(blocks)
    (child,) = children()
    time.sleep(1.2)

    first = psutil.Process(child.pid).cpu_times().user
    time.sleep(0.3)

    assert psutil.Process(child.pid).cpu_times().user == first
    assert next(blocks).position == {"row": 2}
    blocks.close()  # type: ignore[attr-defined]


PARENT = """
import os, signal, sys
from pathlib import Path
from batchfx.files.guarded import read_guarded
from batchfx.model.sources import Layout
layout = Layout("test", ("content",), 0, {"how": sys.argv[2]})
with Path(sys.argv[1]).open("rb") as source:
    for block in read_guarded("tests.unit.files.misbehaving", source, layout, 1):
        import psutil
        print(psutil.Process().children()[0].pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["", "sleep"])
def test_the_process_ends_when_its_parent_is_killed(
    source: io.BufferedReader, how: str
) -> None:
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    parent = subprocess.run(
        [sys.executable, "-c", PARENT, source.name, how],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    child = int(parent.stdout)

    def alive() -> bool:
        try:
            return psutil.Process(child).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    until = time.monotonic() + 10
    while alive() and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive()


def test_a_process_that_cannot_be_started_is_told(
    source: io.BufferedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(SourceError, match="can't be started") as error:
        inspect_guarded(READER, source)

    assert error.value.code == "unreadable_file"
