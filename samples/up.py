"""Everything that batchfx runs on across machines, on this one: to try it.

Starts PostgreSQL and Redis from packages, two workers, the sweep and the page, says how
to use them, and ends all of it with Ctrl-C. What they keep goes with them.

    make up
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from samples.servers import start_postgres, start_redis

ROOT = Path(__file__).resolve().parents[1]
WORKERS = 2
PATIENCE = 40.0  # seconds for the workers to let running chunks finish


def main() -> int:
    """Start everything, wait for Ctrl-C or a death, and end everything."""
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="batchfx-up-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)  # PostgreSQL may run as another user
        postgres = stack.enter_context(start_postgres(folder / "postgres"))
        redis = stack.enter_context(start_redis(folder / "redis"))
        address = {
            "BATCHFX_DATABASE_URL": postgres.url,
            "BATCHFX_REDIS_URL": redis.url,
        }
        environment = os.environ | address
        _batchfx(environment, "db", "upgrade")
        issue = ("credential", "issue", "up", "--tenants", "*", "--importers", "*")
        issued = _batchfx(environment, *issue, "--lifetime", "30d", "--json")
        let_in = {"BATCHFX_WORKER_CREDENTIAL": json.loads(issued)["secret"]}
        running = [
            _start(environment | let_in, "worker", "--processes", "1")
            for _ in range(WORKERS)
        ]
        running.append(_start(environment, "sweep", "--every", "5s"))
        running.append(_start(environment, "serve", "--workers", "0", "--port", "0"))
        stack.callback(_end, running)
        _say(address)
        while not told.wait(0.5):
            if any(process.poll() is not None for process in running):
                print("One of them has ended; ending the others.", file=sys.stderr)
                return 1
    return 0


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("batchfx")), *arguments]


def _batchfx(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        _command(*arguments),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def _start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    # In a group of its own: Ctrl-C comes to it from here, once.
    return subprocess.Popen(
        _command(*arguments), cwd=ROOT, env=environment, start_new_session=True
    )


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _say(address: dict[str, str]) -> None:
    exports = [f"  export {name}='{value}'" for name, value in address.items()]
    lines = [
        "",
        "PostgreSQL, Redis, two workers and the sweep are up, and the page at the",
        "address that it prints. In another terminal:",
        "",
        *exports,
        "  .venv/bin/batchfx import customers samples/customers.csv --detach",
        "  .venv/bin/batchfx watch 1",
        "",
        "Ctrl-C here ends everything.",
    ]
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    sys.exit(main())
