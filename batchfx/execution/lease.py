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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from batchfx.errors import StoreError
from batchfx.store import claims
from batchfx.store.claims import Holder
from batchfx.store.engine import Store

TTL = 30.0  # seconds


def new_worker() -> str:
    """Return a name for this run of this process: host, process, and a UUID."""
    number = os.getpid()
    return f"{socket.gethostname()}/{number}.{_started(number) or 0}/{uuid.uuid4()}"


def is_dead(worker: str | None) -> bool:
    """Tell whether *worker* certainly runs no more.

    Only a process of this machine can be asked after, and only where asking is
    harmless; of all others this says False, and their leases run out by the clock.
    """
    number, started = _process(worker)
    if number is None:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    if number == os.getpid():
        return worker not in _OWN
    return started != 0 and _started(number) not in {None, started}


def is_alive(worker: str | None) -> bool:
    """Tell whether *worker* certainly still runs, even if its lease has run out.

    A chunk that takes longer than a lease keeps SQLite's write lock meanwhile, and the
    lease can't be renewed: nobody else could take the chunk either.
    """
    number, started = _process(worker)
    if number is None or started == 0 or is_dead(worker):
        return False
    return _started(number) == started


def living(holders: Iterable[Holder]) -> list[Holder]:
    """Return those that may still be at work."""
    return [
        each
        for each in holders
        if is_alive(each.worker) or (each.ends_in > 0 and not is_dead(each.worker))
    ]


def _process(worker: str | None) -> tuple[int | None, int]:
    """Return the number of a process of this machine, and its start (0: not known)."""
    host, _, rest = (worker or "").partition("/")
    number, _, started = rest.partition("/")[0].partition(".")
    if os.name != "posix" or host != socket.gethostname() or not number.isdigit():
        return None, 0
    return int(number), int(started or 0)


def _started(number: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if not known.

    See proc(5), /proc/[pid]/stat, field 22; other systems than Linux have no such file.
    """
    try:
        stat = Path(f"/proc/{number}/stat").read_text("ascii", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


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
                claims.renew(connection, worker, ttl)
        except StoreError:
            # Locked: this worker's own chunk is being written, and nobody else can
            # claim anything meanwhile. Anything worse meets the chunk's own commit.
            continue
