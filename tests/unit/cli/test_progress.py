from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.cli.interruption import STOPPING
from batchfx.cli.progress import Bar, Lines, line_of
from batchfx.cli.screen import Screen
from batchfx.model.progress import Progress
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally

READING = Progress(BatchState.STAGING, Tally(15_000), 0, 0, 0.5)
HALF = Progress(
    BatchState.RUNNING, Tally(20_000, created=9_000, invalid=1_000), 10_000, 0, 10.0
)
ALMOST = Progress(BatchState.RUNNING, Tally(20_000, created=19_999), 19_999, 0, 10.0)
DONE = Progress(BatchState.COMPLETED, Tally(20_000, created=20_000), 20_000, 0, 10.0)
CHECKED = Progress(BatchState.CHECKED, Tally(20_000, invalid=1), 20_000, 0, 10.0)
STOPPED = Progress(BatchState.STOPPED, Tally(20_000, created=5_000), 5_000, 0, 10.0)


def drawn(progress: Progress, width: int = 100, *, stopping: bool = False) -> list[str]:
    screen = Screen(
        file=io.StringIO(), width=width, force_terminal=True, color_system=None
    )
    bar = Bar(screen, lambda: stopping)
    bar.tell(progress)
    with screen.capture() as captured:
        screen.print(bar)
    return captured.get().splitlines()


def words(lines: list[str]) -> list[str]:
    """Return the lines without the bar, and with single blanks."""
    return [" ".join(re.sub("[━╸╺]", "", line).split()) for line in lines]


def test_the_bar_says_how_many_rows_were_read() -> None:
    assert words(drawn(READING)) == ["reading 15,000 rows 30,000 rows/s"]


def test_the_bar_has_rate_time_left_and_counts() -> None:
    assert words(drawn(HALF)) == [
        "50% 10,000 of 20,000 1,000 rows/s 0:10 left",
        "9,000 created 1,000 invalid",
    ]


def test_the_bar_is_full_only_when_all_is_done() -> None:
    assert words(drawn(ALMOST))[0].startswith("99% 19,999 of 20,000")
    assert words(drawn(DONE)) == ["100% 20,000 rows"]
    assert words(drawn(STOPPED)) == ["25% 5,000 of 20,000"]


def test_a_dry_run_is_done_although_nothing_is_decided() -> None:
    assert words(drawn(CHECKED)) == ["100% 20,000 rows"]


def test_the_bar_says_that_the_run_will_stop() -> None:
    assert words(drawn(HALF, stopping=True))[-1] == STOPPING


@given(
    state=st.sampled_from(list(BatchState)),
    total=st.integers(0, 10_000_000),
    share=st.floats(0, 1),
    seconds=st.floats(1, 4_000),
    stopping=st.booleans(),
)
def test_the_bar_never_needs_a_second_line(
    state: BatchState, total: int, share: float, seconds: float, *, stopping: bool
) -> None:
    created = int(total * share)
    progress = Progress(state, Tally(total, created=created), created, 0, seconds)

    for width in (80, 100, 200):
        lines = drawn(progress, width, stopping=stopping)
        assert all(len(line.rstrip()) <= width for line in lines)
        assert len(lines) <= 2 + stopping


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (READING, "reading, 15,000 rows, 30,000 rows/s"),
        (
            HALF,
            (
                "50%, 10,000 of 20,000 rows, 1,000 rows/s, 10 s left, "
                "9,000 created, 1,000 invalid"
            ),
        ),
        (DONE, "100%, 20,000 of 20,000 rows, 2,000 rows/s, 20,000 created"),
        (STOPPED, "25%, 5,000 of 20,000 rows, 500 rows/s, 5,000 created"),
    ],
)
def test_a_line_says_how_far_the_run_is(progress: Progress, line: str) -> None:
    assert line_of(progress) == line


def test_lines_are_few_and_the_last_one_always_comes() -> None:
    output = io.StringIO()
    lines = Lines(Screen(file=output, width=10_000))

    for progress in [READING, *[HALF] * 1_000, DONE]:
        lines.tell(progress)
    lines.end()

    assert output.getvalue() == f"{line_of(DONE)}\n"
