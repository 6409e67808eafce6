"""Ctrl-C: the first asks the run to stop between chunks, the second ends it at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn, Self

STOPPING = "Stopping once the rows at hand are done. Ctrl-C again ends it at once."
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def ended_quietly(*, held_back: bool = False) -> Iterator[None]:
    """Give Ctrl-C outside of runs back to the system, whatever an import did to it.

    Polars listens for SIGINT from its import on, below Python's own handlers, and lets
    nothing end. With *held_back* a Ctrl-C waits until the imports inside are done;
    otherwise one that comes in their course would be lost.
    """
    if held_back and hasattr(signal, "pthread_sigmask"):  # not on Windows
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with ended_quietly():
                yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class Interruption:
    """Listens for SIGINT and SIGTERM as long as it is entered.

    The second signal calls *at_once* and ends the process without waiting for a thread
    or for the database: whatever ends it where, what was committed is kept.
    """

    def __init__(self, at_once: Callable[[], None]) -> None:
        self.signal: int | None = None
        self._at_once = at_once
        self._previous = {number: signal.getsignal(number) for number in SIGNALS}

    def __enter__(self) -> Self:
        """Begin to listen."""
        for number in SIGNALS:
            signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave signals to whoever had them before."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """The exit code of a process that the signal ended: 130 for Ctrl-C."""
        return 128 + (self.signal or signal.SIGINT)

    def is_set(self) -> bool:
        """Return True once a signal came."""
        return self.signal is not None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.signal is not None:
            self._end()
        self.signal = number
        if not sys.stderr.isatty():
            # Not through the stream: it may be in the middle of a line. On a terminal
            # the live display says it.
            with contextlib.suppress(OSError):
                os.write(2, f"{STOPPING}\n".encode())

    def _end(self) -> NoReturn:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # A RuntimeError is a stream that the signal found in the middle of a line.
        with contextlib.suppress(OSError, RuntimeError):
            self._at_once()
        os._exit(self.exit_code)
