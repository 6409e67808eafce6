"""A chunk whose rows take long does not look like a standstill."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from batchfx import (
    Context,
    Importer,
    Progress,
    Skip,
    Watch,
    import_source,
    open_store,
)
from batchfx.model.states import BatchState


class SlowRow(BaseModel):
    name: str


class SlowImporter(Importer[SlowRow]):
    name = "slow-rows"

    def process(self, row: SlowRow, context: Context) -> Any:
        time.sleep(0.02)
        if row.name == "n30":
            reason = "those before it are tried again"
            raise Skip(reason)
        return context.row


def test_rows_of_a_chunk_are_told_while_it_is_at_work(tmp_path: Path) -> None:
    told: list[Progress] = []
    content = "name\n" + "".join(f"n{number}\n" for number in range(60))
    store = open_store(f"sqlite:///{tmp_path}/test.db")

    report = import_source(
        store,
        SlowImporter,
        io.BytesIO(content.encode()),
        name="slow.csv",
        watch=Watch(listener=told.append),
    )

    store.close()
    at_work = [p for p in told if p.state is BatchState.RUNNING and p.underway]
    reached = [p.reached for p in at_work]
    assert len(at_work) >= 3
    assert reached == sorted(reached)
    assert 0 < reached[0] < reached[-1] < 60
    assert all(p.examined == 0 and p.share < 1 for p in at_work)
    assert told[-1].reached == told[-1].examined == 60
    assert (report.tally.created, report.tally.skipped) == (59, 1)
