"""The interpreter's collector of garbage, paused where nothing is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector, for all threads, while many objects of a chunk are made.

    They would set it off again and again, and it would find all of them in use: that
    takes a third of the time of writing a chunk, half of that of building its rows.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
