"""`batchfx serve` as a process of its own, and one client that stays connected."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.benchmarks.runs import ROOT, peak_memory

SCRIPT = Path(sys.executable).with_name("batchfx")
PATIENCE = 60.0  # seconds until it listens
PRINTED = re.compile(r"(http://\S+?)/sign-in#token=(\S+)")


@dataclass(frozen=True, slots=True)
class Served:
    """A page that was started, and the connection that is kept to it."""

    pid: int
    client: http.client.HTTPConnection
    token: str

    @property
    def peak(self) -> float:
        """The most memory that the process has had, in MiB."""
        return peak_memory(self.pid)

    @property
    def cpu(self) -> float:
        """The seconds of processor time that the process has had."""
        used = psutil.Process(self.pid).cpu_times()
        return float(used.user + used.system)

    def get(self, path: str) -> float:
        """Ask for *path*; return the milliseconds until the first byte came."""
        started = time.perf_counter()
        self.client.request("GET", path, headers=self._let_in())
        answer = self.client.getresponse()
        late = (time.perf_counter() - started) * 1e3
        content = answer.read()
        assert answer.status == http.HTTPStatus.OK, content
        return late

    def upload(self, importer: str, pieces: Iterable[bytes]) -> None:
        """Send a file as a draft, piece by piece."""
        self.client.request(
            "POST",
            f"/api/batches?importer={importer}&name=large.csv",
            body=iter(pieces),
            headers=self._let_in() | {"Content-Type": "application/octet-stream"},
            encode_chunked=True,
        )
        answer = self.client.getresponse()
        content = answer.read()
        assert answer.status == http.HTTPStatus.CREATED, content

    def _let_in(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Accept-Encoding": "gzip",  # as browsers do
        }


@contextmanager
def served(url: str) -> Iterator[Served]:
    """Start the page on the database at *url*, without a worker; end it after."""
    command = [SCRIPT, "serve", "--port", "0", "--workers", "0"]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [*map(str, command), "--importers", "importers"],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "BATCHFX_DATABASE_URL": url},
            stdout=said,
            stderr=said,
        )
        try:
            place, token = _printed(process, said.fileno())
            client = http.client.HTTPConnection(urlsplit(place).netloc, timeout=600)
            yield Served(process.pid, client, token)
            client.close()
        finally:
            process.kill()
            process.wait()


def _printed(process: subprocess.Popen[bytes], said: int) -> tuple[str, str]:
    """Return the address and the token, once they are printed."""
    deadline = time.monotonic() + PATIENCE
    while True:
        text = os.pread(said, 10_000, 0).decode()
        if (found := PRINTED.search(text)) and "Ctrl-C" in text:
            return found[1], found[2]
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"batchfx serve did not start:\n{text}")
        time.sleep(0.02)
