"""A reader that does what readers of foreign formats do to files made to do harm."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import polars as pl

from batchfx.errors import SourceError, UsageError
from batchfx.model.blocks import Block, block_schema
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

FULL = 64 * 1024


def inspect_inside(source: BinaryIO, *, how: str = "", **known: Any) -> Layout:
    """Misbehave in the way called *how*; behave if there is none."""
    if how:
        misbehave(how)
    warning = Issue("odd", "Odd.", Phase.FILE, level=Level.WARNING)
    content = source.read().decode()
    return Layout("test", ("content",), 0, {"how": content, **known}, (warning,))


def read_inside(
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
) -> Iterator[Block]:
    """Yield a block, and then misbehave as the layout says."""
    start = (position or {}).get("row", 0)
    for number in range(start + 1, 1000):
        yield Block(_frame(number, rows, source.name), 0, {"row": number})
        misbehave(layout.settings["how"])


def misbehave(how: str) -> None:
    """Do what is called *how*; an unknown word is nothing."""
    if how in WAYS:
        WAYS[how]()


def _hoard() -> None:
    _kept = [bytes(1024**2) for _ in range(4096)]


def _loop() -> None:
    while True:
        pass


def _print() -> None:
    print("nothing that anybody asked for")  # noqa: T201 - what is tested
    os.write(1, b"noise")


def _fail() -> None:
    message = "index 7 is out of range"
    raise IndexError(message)


def _refuse() -> None:
    message = "It is empty."
    raise SourceError("empty_file", message, size=0)


def _misuse() -> None:
    message = "rows can't be negative."
    raise UsageError(message)


def _panic() -> None:
    message = "a panic"
    raise pl.exceptions.PanicException(message)


def _frame(number: int, rows: int, name: object) -> pl.DataFrame:
    cells = {"row": [number] * rows, "c0": [f"{name} {'x' * FULL}"] * rows}
    empty: list[None] = [None] * rows
    return pl.DataFrame({**cells, "faults": empty, "kinds": empty}, block_schema(1))


WAYS: Mapping[str, Callable[[], object]] = {
    "abort": os.abort,
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "allocate": _hoard,
    "loop": _loop,
    "sleep": lambda: time.sleep(60),
    "print": _print,
    "fail": _fail,
    "panic": _panic,
    "refuse": _refuse,
    "misuse": _misuse,
    "quit": sys.exit,
}
