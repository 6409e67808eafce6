"""Real workers for tests: started as processes, given batches, watched and killed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from batchfx import BatchKey, Importer, Options, Store, import_source
from batchfx.execution.access import issue
from batchfx.store.schema import BATCH, CHUNK
from tests.workers.troubles import TroubleImporter

ROOT = Path(__file__).parent.parent.parent
TIMING = {"ttl": 2.0, "poll": 0.2, "sweep": 0.3, "grace": 10.0}


def wait_for(is_true: Callable[[], Any], seconds: float = 30) -> Any:
    """Return what *is_true* returns once that is something."""
    until = time.monotonic() + seconds
    while not (found := is_true()):
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)
    return found


@dataclass
class Running:
    """A worker that was started."""

    process: subprocess.Popen[bytes]
    path: Path

    @property
    def log(self) -> str:
        """What it has said."""
        return self.path.read_text("utf-8")

    def tree(self) -> list[psutil.Process]:
        """Return every living process below it."""
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(self.process.pid).children(recursive=True)
            return [p for p in below if p.status() != psutil.STATUS_ZOMBIE]
        return []

    def handlers(self) -> list[psutil.Process]:
        """Return its handlers."""
        with suppress(psutil.NoSuchProcess):
            return [p for p in self.tree() if "batchfx.cli.handler" in p.cmdline()]
        return []

    def send(self, number: int) -> None:
        """Send a signal to the supervisor."""
        self.process.send_signal(number)

    def stop(self, seconds: float = 20) -> int:
        """Ask it to stop; return its exit code."""
        self.send(signal.SIGTERM)
        return self.process.wait(seconds)


@dataclass
class Fleet:
    """A database, and the workers on it."""

    database: str
    store: Store
    folder: Path
    redis: str | None = None
    started: list[Running] = field(default_factory=list)

    def secret(self, tenants: tuple[str, ...] = ("*",)) -> str:
        """Return the secret of a new credential."""
        name = f"fleet-{time.monotonic_ns()}"
        return issue(self.store, name, tenants, ("*",), lifetime=3600.0)

    def fell_asleep(self) -> bool:
        """Tell whether a row that sleeps once is at it: a lease alone is no proof."""
        return any(self.folder.glob("sleep-*"))

    def start(
        self,
        processes: int = 1,
        secret: str | None = None,
        importers: str = "tests.workers.troubles",
        **timing: float,
    ) -> Running:
        """Start a worker that has the importers of a module."""
        told = {
            "database": self.database,
            "secret": secret or self.secret(),
            "redis": self.redis,
            "processes": processes,
            "importers": importers,
            "timing": TIMING | timing,
        }
        return self.run(
            [sys.executable, "-m", "tests.workers.supervisor", json.dumps(told)]
        )

    def run(self, command: list[str], **environment: str) -> Running:
        """Start *command*, which is a worker."""
        path = self.folder / f"log-{len(self.started)}"
        variables = {**os.environ, "TROUBLES": str(self.folder), **environment}
        with path.open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=ROOT, env=variables
            )
        self.started.append(Running(process, path))
        return self.started[-1]

    def submit(
        self,
        *acts: str,
        tenant: str = "default",
        importer: type[Importer[Any]] = TroubleImporter,
    ) -> BatchKey:
        """Enter a batch with a row for each of *acts*, such as ``sleep:0.5``."""
        stamp = time.monotonic_ns()
        lines = ["Code,Act,Value"]
        for number, act in enumerate(acts):
            name, _, value = act.partition(":")
            lines.append(f"{stamp}-{number},{name},{value or 0}")
        source = io.BytesIO("\n".join(lines).encode())
        return import_source(
            self.store,
            importer,
            source,
            name="troubles.csv",
            options=Options(tenant=tenant),
            detached=True,
        ).key

    def state(self, key: BatchKey) -> str:
        """Return the state of a batch."""
        with self.store.read() as connection:
            found = connection.scalar(
                sa.select(BATCH.c.state).where(BATCH.c.id == key.number)
            )
        return str(found)

    def chunks(self, key: BatchKey) -> list[sa.Row[Any]]:
        """Return the chunks of a batch, without its preparation."""
        statement = (
            sa.select(CHUNK)
            .where(CHUNK.c.batch == key.number, CHUNK.c.ordinal >= 0)
            .order_by(CHUNK.c.ordinal)
        )
        with self.store.read() as connection:
            return list(connection.execute(statement).all())

    def states(self, key: BatchKey) -> list[str]:
        """Return the state of each chunk."""
        return [chunk.state for chunk in self.chunks(key)]

    def wait(
        self, key: BatchKey, state: str = "completed", seconds: float = 30
    ) -> None:
        """Wait until a batch is in *state*."""
        wait_for(lambda: self.state(key) == state, seconds)

    def close(self) -> None:
        """End every worker, and all below them."""
        for running in self.started:
            below = running.tree()
            running.process.kill()
            running.process.wait()
            for process in below:
                with suppress(psutil.Error):
                    process.kill()
