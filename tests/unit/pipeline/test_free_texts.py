"""Many columns of text are looked at as one, with what each alone would give."""

from __future__ import annotations

import polars as pl
import pytest

from batchfx.execution.row_models import row_model, row_plan
from batchfx.model.blocks import FAULTS, KINDS, ROW, Fault, dump_faults
from batchfx.model.notations import Notation
from batchfx.model.stacks import WIDE, stacked, unstacked
from batchfx.pipeline import free_texts as looked_at
from batchfx.pipeline.plan import RowPlan
from batchfx.pipeline.validate import Validated, declared
from tests.unit.pipeline.frames import NOW

Rows = list[dict[str, str | None]]

WIDTH = WIDE + 3
NAMES = [f"c{place}" for place in range(WIDTH)]
POSITIONS = {name: place for place, name in enumerate(NAMES)}


def wide_plan() -> RowPlan:
    """Return the plan of a model with one number and otherwise free texts."""
    return row_plan(NAMES, row_model(NAMES, {1: "integer"}))


def frame_of(
    rows: list[dict[str, str | None]],
    faults: list[str | None],
    kinds: list[str | None],
) -> pl.DataFrame:
    """Return a block's frame; what a row says nothing of is "x"."""
    cells = {name: [row.get(name, "x") for row in rows] for name in NAMES}
    number = {**cells, "c1": ["7"] * len(rows)}
    columns = {ROW: list(range(2, 2 + len(rows))), **number}
    schema = {ROW: pl.UInt32, **dict.fromkeys([*NAMES, FAULTS, KINDS], pl.String)}
    return pl.DataFrame({**columns, FAULTS: faults, KINDS: kinds}, schema=schema)


def told(validated: Validated) -> list[object]:
    """Return all that validation says."""
    masks = {
        name: None if cells.unset is None else cells.unset.to_list()
        for name, cells in validated.cells.items()
    }
    bad = {name: mask.to_list() for name, mask in validated.bad.items()}
    values = {name: validated.values(name) for name in NAMES}
    frame = validated.frame.rows(named=True)
    return [values, bad, masks, frame, validated.sound.to_list(), validated.issues]


CASES: dict[str, tuple[Rows, dict[int, int | None], dict[int, dict[int, str]]]] = {
    "plain": ([{"c0": "a", "c5": None}, {"c0": None, "c9": " b "}], {}, {}),
    "rounded": ([{"c4": "1.23E+12"}, {"c4": "2E4", "c7": "e+"}, {}], {}, {}),
    "broken": ([{"c0": "a", "c6": None}, {}, {"c8": None}], {1: None}, {}),
    "cell": ([{"c3": "a"}, {"c3": "b"}], {0: 3}, {}),
    "dates": ([{"c2": "2026-01-05"}, {}], {}, {0: {2: "d", 0: "c"}, 1: {5: "n"}}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("digits", [None, 15])
def test_many_free_columns_are_what_each_alone_would_be(
    name: str, digits: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, faulty, typed = CASES[name]
    faults = [
        dump_faults([Fault("odd", "It is odd.", faulty[i])]) if i in faulty else None
        for i in range(len(rows))
    ]
    kinds = [
        "".join(typed.get(i, {}).get(place, "t") for place in range(WIDTH))
        if typed
        else None
        for i in range(len(rows))
    ]
    frame = frame_of(rows, faults, kinds)
    said = Notation(digits=digits)
    plan = wide_plan().written(dict.fromkeys(NAMES, said))
    shared = {field.reader for field in plan.fields.values()}

    together = told(declared(plan, frame, POSITIONS, NOW))
    monkeypatch.setattr(looked_at, "WIDE", WIDTH + 1)
    alone = told(declared(plan, frame, POSITIONS, NOW))

    assert together == alone
    assert len(shared) == 2


def test_the_columns_of_a_stack_are_those_it_was_made_of() -> None:
    frame = pl.DataFrame({"a": ["1", None], "b": ["2", "3"], "c": [None, "4"]})

    stack = stacked(frame)

    assert stack.to_list() == ["1", None, "2", "3", None, "4"]
    assert unstacked(stack, frame.columns).equals(frame)
