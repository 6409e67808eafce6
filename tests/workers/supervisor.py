"""A worker as `batchfx worker` runs it, with the timing that a test wants."""

from __future__ import annotations

import json
import sys

from batchfx.cli.worker import begin_log
from batchfx.execution.access import identify
from batchfx.execution.handlers import Launch
from batchfx.execution.hints import Hints
from batchfx.execution.holdings import Timing
from batchfx.execution.lease import new_worker
from batchfx.execution.worker import Plan, Worker
from batchfx.execution.worker_threads import Door

if __name__ == "__main__":
    begin_log()
    told = json.loads(sys.argv[1])
    launch = Launch(
        (sys.executable, "-m", "batchfx.cli.handler"),
        {"database": told["database"], "importers": [told["importers"]]},
    )
    door = Door(
        told["database"],
        new_worker(),
        "test",
        lambda store: identify(store, told["secret"]),
    )
    hints = Hints(told["redis"]) if told["redis"] else None
    plan = Plan(door, launch, told["processes"], Timing(**told["timing"]))
    sys.exit(Worker(plan, hints).run())
