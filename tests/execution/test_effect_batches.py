"""Effects in a whole batch: each row acts once, reruns included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from batchfx import Context, Importer, Invalid, Options, import_path, rerun
from batchfx.model.states import BatchState
from batchfx.store import effects
from batchfx.store.engine import Store

CALLS: list[str] = []
ANSWERS: dict[str, Callable[[], Any]] = {}


class Payment(BaseModel):
    code: str


class Paying(Importer[Payment]):
    name = "paying"
    effects = True
    chunk_size = 3

    def process(self, row: Payment, context: Context) -> Any:
        return context.effect(f"pay:{row.code}", {}, call)


def call(key: str) -> str:
    CALLS.append(key)
    return str(ANSWERS.get(key, lambda: f"receipt of {key}")())


def time_out() -> str:
    raise TimeoutError


def refuse() -> str:
    code = "no_credit"
    raise Invalid(code, "Pay first.")


@pytest.fixture
def payments(tmp_path: Path) -> Path:
    CALLS.clear()
    ANSWERS.clear()
    path = tmp_path / "payments.csv"
    path.write_text("code\n" + "".join(f"{number}\n" for number in range(8)), "utf-8")
    return path


def test_each_row_acts_once_and_a_rerun_repeats_nothing(
    store: Store, payments: Path
) -> None:
    ANSWERS.update({"pay:1": time_out, "pay:5": refuse})
    first = import_path(store, Paying, payments)
    ANSWERS.clear()
    with store.write() as connection:
        assert effects.settle(
            connection, "default", "pay:1", happened=True, result="found"
        )
    again = rerun(store, first.key)

    assert [f"pay:{number}" for number in range(8)] == CALLS
    assert (first.tally.created, first.tally.unknown, first.tally.invalid) == (6, 1, 1)
    assert (again.tally.created, again.tally.unknown, again.tally.invalid) == (7, 0, 1)
    assert again.batch.state is BatchState.COMPLETED


def test_a_dry_run_acts_on_nothing(store: Store, payments: Path) -> None:
    checked = import_path(store, Paying, payments, options=Options(dry_run=True))

    assert (checked.batch.state, CALLS) == (BatchState.CHECKED, [])
