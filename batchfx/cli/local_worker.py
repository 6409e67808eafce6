"""A worker that is started along with the page and ends with it, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from batchfx.cli.options import Settings
from batchfx.cli.screen import Screen
from batchfx.cli.worker import SECRET
from batchfx.errors import StoreError, UsageError
from batchfx.execution.access import issue
from batchfx.execution.lease import new_worker
from batchfx.model.access import EVERY
from batchfx.store import access
from batchfx.store.engine import Store

LIFETIME = 365 * 86_400.0  # seconds; it is revoked when the page ends
GRACE = 5.0  # seconds for running chunks to finish
PATIENCE = 15.0  # seconds for the worker to end, after which it is killed
PACKAGES = ("dramatiq", "psutil", "redis")
CHILD = "batchfx.cli.local_worker_child"


@contextmanager
def local_worker(
    settings: Settings, store: Store, processes: int, screen: Screen
) -> Iterator[None]:
    """Let a worker run meanwhile, with a credential of its own."""
    _require_packages()
    name = f"serve-{new_worker()}"
    every = frozenset({EVERY})
    secret = issue(store, name, every, every, lifetime=LIFETIME)
    try:
        worker = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", CHILD, *_arguments(settings, processes)],
            stdin=subprocess.PIPE,  # its end tells the worker that the page has ended
            env=os.environ | {SECRET: secret, "BATCHFX_DATABASE_URL": settings.url},
            start_new_session=True,  # Ctrl-C comes to it from here
        )
        ended = threading.Event()
        threading.Thread(
            target=_watch, args=(worker, ended, screen), daemon=True
        ).start()
        try:
            yield
        finally:
            ended.set()
            _end(worker)
    finally:
        with suppress(StoreError), store.write() as connection:
            access.revoke(connection, name)


def _require_packages() -> None:
    missing = [each for each in PACKAGES if find_spec(each) is None]
    if missing:
        message = (
            f"The page's own worker needs the package {missing[0]}, which is missing: "
            "pip install 'batchfx[workers]', or leave the work to others with "
            "--workers 0."
        )
        raise UsageError(message)


def _arguments(settings: Settings, processes: int) -> list[str]:
    # The address of the database is in the environment: it may hold a password.
    importers = [word for name in settings.importers for word in ("--importers", name)]
    return [
        *("worker", "--processes", str(processes), "--grace", str(GRACE)),
        *importers,
    ]


def _watch(
    worker: subprocess.Popen[bytes], ended: threading.Event, screen: Screen
) -> None:
    """Say so when the worker ends before the page does."""
    code = worker.wait()
    if not ended.is_set():
        screen.say(
            f"The worker has ended (exit code {code}): batches wait until there is "
            "one ('batchfx worker', or start this anew).",
            "yellow",
        )


def _end(worker: subprocess.Popen[bytes]) -> None:
    with worker:  # closes its input only then: that would be a second signal
        worker.terminate()
        try:
            worker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
