"""The interpreter's collector of garbage, paused where nothing is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector, for all threads, while the objects of a chunk come and go.

    They would set it off again and again, and it would find all of them in use: a tenth
    of the time of an import went there. They must be gone when the pause ends, or it
    goes through them then.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
