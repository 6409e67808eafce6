"""What the file's reader found wrong with a record or a cell."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from batchfx.columns import Column
from batchfx.model.blocks import Fault
from batchfx.model.issues import Issue, Phase
from tests.unit.pipeline.frames import codes, validate


class Row(BaseModel):
    a: int
    b: int = 7


RAGGED = Fault("short_row", "1 of 2 columns", value="5", parameters={"cells": 1})
BROKEN_CELL = Fault("error_value", "The cell shows #N/A", column=1, value="#N/A")


def test_a_fault_of_the_record_keeps_its_values_out() -> None:
    validated = validate(Row, ["x", None], ["5", "6"], faults={0: [RAGGED]})

    assert validated.issues == [
        Issue(
            "short_row",
            "1 of 2 columns",
            Phase.RECORD,
            2,
            None,
            "5",
            parameters={"cells": 1},
        )
    ]
    assert validated.frame.to_dict(as_series=False) == {
        "row": [2, 3],
        "a": [None, 5],
        "b": [None, 6],
    }
    assert validated.sound.to_list() == [False, True]
    assert validated.bad["a"].to_list() == [True, False]


def test_a_fault_of_a_cell_keeps_that_cell_out() -> None:
    validated = validate(Row, ["x", None], ["5", "6"], faults={0: [BROKEN_CELL]})

    assert codes(validated.issues) == [(2, "a", "int_parsing"), (2, "b", "error_value")]
    assert validated.issues[1].phase is Phase.RECORD
    assert validated.values("b") == [None, 6]
    assert validated.bad["b"].to_list() == [True, False]


def test_a_fault_in_a_column_that_is_not_used_is_nobodys() -> None:
    fault = Fault("error_value", "The cell shows #N/A", column=9)
    validated = validate(Row, ["5", "6"], faults={0: [fault]})

    assert validated.issues == []
    assert validated.sound.to_list() == [True]


def test_several_faults_of_a_record_are_all_told() -> None:
    validated = validate(Row, ["x", "y"], faults={0: [BROKEN_CELL, RAGGED]})

    assert codes(validated.issues) == [(2, None, "short_row"), (2, "b", "error_value")]


def test_a_fault_shows_no_value_of_a_sensitive_field() -> None:
    class Secret(BaseModel):
        a: Annotated[int, Column(sensitive=True)]
        b: int

    faults = {0: [RAGGED], 1: [Fault("error_value", "Broken", column=0, value="5")]}
    validated = validate(Secret, ["1", "2"], ["1", "2"], faults=faults)

    assert [(issue.value, dict(issue.parameters)) for issue in validated.issues] == [
        ("•••", {}),
        ("•••", {}),
    ]
