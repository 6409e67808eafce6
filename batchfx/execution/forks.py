"""Forks of a handler: what the application's code forks must not come back.

A fork that returns into the framework would run the chunk a second time, over the same
connection and the same socket. So in a fork neither works any more, and it ends as soon
as the framework's code would go on in it. A fork that ends itself, as a process of a
pool does, is not disturbed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from batchfx.execution.channel import Channel
from batchfx.store.engine import cut_off

EXIT_CODE = 70  # EX_SOFTWARE of sysexits.h

Cut = Callable[[], None]
_CUTS: list[Cut] = []


def end_forks(channel: Channel) -> None:
    """See to it that no fork of this process goes on in the framework's code.

    In a fork *channel* is cut, and what is given to `cut_in_forks`.
    """
    cut_in_forks(lambda: cut_off(channel.fileno()))
    os.register_at_fork(after_in_child=_in_fork)


def cut_in_forks(cut: Cut) -> None:
    """Have *cut* called in each fork, before anything else runs in it."""
    _CUTS.append(cut)


def _in_fork() -> None:
    for cut in _CUTS:
        cut()
    frame = _framework(sys._getframe(1))  # noqa: SLF001 - who forked
    if frame is not None:
        frame.f_trace = _end
        frame.f_trace_opcodes = True
        sys.settrace(_pass)  # only then are frames that have one traced


def _framework(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the framework, at or above *frame*."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] == "batchfx":
            return frame
        frame = frame.f_back
    return None


def _end(frame: FrameType, event: str, argument: Any) -> None:
    del frame, event, argument
    os._exit(EXIT_CODE)


def _pass(frame: FrameType, event: str, argument: Any) -> None:
    del frame, event, argument
