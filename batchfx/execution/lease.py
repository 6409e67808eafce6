"""Who works on a batch: a new identity for each process, and its leases renewed.

A lease is about liveness: it lets others go on when its worker is gone. Safety is the
fence's work: whatever a worker commits names the fence it was given, so a worker that
lost its lease without noticing commits nothing.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from batchfx.errors import StoreError
from batchfx.store import batches, chunks
from batchfx.store.engine import Store

TTL = 30.0  # seconds


def new_worker() -> str:
    """Return a name for this run of this process: host, process number, and a UUID."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"


def is_dead(worker: str | None) -> bool:
    """Tell whether *worker* certainly runs no more.

    Only a process of this machine can be asked after, and only where asking is
    harmless; of all others this says False, and their leases run out by the clock.
    """
    host, _, rest = (worker or "").partition("/")
    number = rest.partition("/")[0]
    if os.name != "posix" or host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(number) == os.getpid() and worker not in _OWN


_OWN: set[str] = set()


@contextmanager
def renewed(store: Store, worker: str, ttl: float = TTL) -> Iterator[None]:
    """Renew everything that *worker* holds, three times in each *ttl* seconds."""
    ended = threading.Event()
    thread = threading.Thread(
        target=_renew_until, args=(store, worker, ttl, ended), daemon=True
    )
    _OWN.add(worker)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _OWN.discard(worker)


def _renew_until(store: Store, worker: str, ttl: float, ended: threading.Event) -> None:
    while not ended.wait(ttl / 3):
        try:
            with store.write() as connection:
                batches.renew(connection, worker, ttl)
                chunks.renew(connection, worker, ttl)
        except StoreError:
            # Locked: this worker's own chunk is being written, and nobody else can
            # claim anything meanwhile. Anything worse meets the chunk's own commit.
            continue
