from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from batchfx.cli.follow import exit_code, heading
from batchfx.cli.summary import CORRECT, next_step
from batchfx.cli.words import headline, is_active, state_of
from batchfx.execution.prepare import INTERRUPTED
from batchfx.execution.reports import Report
from batchfx.model.sources import Layout
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Tally
from batchfx.store.batches import Batch
from batchfx.store.claims import Holder
from batchfx.store.schema import BatchKey

BATCH = Batch(
    key=BatchKey("acme", 7),
    importer="people",
    source_name="people.csv",
    digest="",
    layout=Layout("csv", ("a",), 1),
    mapping={"a": 0},
    chunk_size=5_000,
    dry_run=False,
    max_error_rate=None,
    state=BatchState.COMPLETED,
    reason=None,
    attempt=1,
    staged=True,
    position=None,
    blank=0,
    priority=0,
    created_by=None,
    event_seq=1,
    created_at=0.0,
    started_at=10.0,
    ended_at=12.0,
    seconds_since_start=2.0,
)


def report(tally: Tally, *holders: Holder, **changes: Any) -> Report:
    return Report(dataclasses.replace(BATCH, **changes), tally, at_work=holders)


CASES = [
    (
        report(Tally(3, created=2, skipped=1)),
        ("Batch 7 is complete. All 3 rows ended well.", None, 0),
    ),
    (
        report(Tally(1, created=1)),
        ("Batch 7 is complete. The row ended well.", None, 0),
    ),
    (
        report(Tally(2_000, created=1_999, invalid=1)),
        ("Batch 7 is complete. 1 of 2,000 rows needs attention.", CORRECT, 3),
    ),
    (
        report(Tally(3, failed=1, unknown=1, created=1)),
        (
            "Batch 7 is complete. 2 of 3 rows need attention.",
            "To try these rows again:",
            3,
        ),
    ),
    (
        report(Tally(3), state=BatchState.CHECKED),
        (
            "Batch 7 was checked; nothing was written. All 3 rows are valid.",
            "To import them now:",
            0,
        ),
    ),
    (
        report(Tally(3, invalid=1), state=BatchState.CHECKED),
        (
            "Batch 7 was checked; nothing was written. 1 of 3 rows needs attention.",
            CORRECT,
            3,
        ),
    ),
    (
        report(Tally(3, created=1), state=BatchState.STOPPED, reason=INTERRUPTED),
        (
            "Batch 7 was stopped. 1 of 3 rows are done.",
            "To go on where it ended:",
            1,
        ),
    ),
    (
        report(Tally(9, invalid=2), state=BatchState.STOPPED, reason="too many"),
        (
            "Batch 7 was stopped. 2 of 9 rows are done, 2 need attention.",
            "To go on where it ended:",
            3,
        ),
    ),
    (
        report(Tally(9), state=BatchState.FAILED, staged=False),
        (
            "Batch 7 failed. 9 rows were read so far.",
            "To go on where it ended:",
            1,
        ),
    ),
]


@pytest.mark.parametrize(
    ("found", "expected"), CASES, ids=[expected[0] for _, expected in CASES]
)
def test_a_report_has_a_headline_a_next_step_and_an_exit_code(
    found: Report, expected: tuple[str, str | None, int]
) -> None:
    assert (headline(found), next_step(found), exit_code(found)) == expected


def test_a_batch_at_work_is_left_alone() -> None:
    found = report(
        Tally(9, created=4),
        Holder(3, "elsewhere/1/x", 20.0),
        state=BatchState.RUNNING,
    )

    assert is_active(found)
    assert (state_of(found), next_step(found)) == ("running", None)
    assert headline(found) == "Batch 7 is running. 4 of 9 rows are done."


def test_a_batch_whose_process_is_gone_was_interrupted() -> None:
    gone = Holder(3, "elsewhere/1/x", -1.0)
    found = report(Tally(9, created=4), gone, state=BatchState.RUNNING)

    assert not is_active(found)
    assert state_of(found) == "interrupted"
    assert next_step(found) == "To go on where it ended:"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"state": BatchState.STAGING, "staged": False},
            "Importing people.csv as people, batch 7",
        ),
        (
            {"state": BatchState.STAGING, "staged": False, "dry_run": True},
            "Checking people.csv as people, batch 7 (dry run)",
        ),
        (
            {"state": BatchState.STAGING, "staged": False, "position": {"row": 9}},
            "Going on with batch 7: people.csv as people",
        ),
        (
            {"state": BatchState.STOPPED, "staged": False},
            "Going on with batch 7: people.csv as people",
        ),
        ({}, "Running batch 7 again: people.csv as people"),
    ],
)
def test_the_heading_says_what_is_about_to_be_done(
    changes: dict[str, Any], text: str
) -> None:
    assert heading(dataclasses.replace(BATCH, **changes)) == text
