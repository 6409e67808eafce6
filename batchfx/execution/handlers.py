"""Handlers: the processes of the application's code, as their supervisor sees them.

A handler is a fresh interpreter, started and not forked: libraries with threads of
their own, Polars among them, hang in forks. It works on one claim at a time. Whatever
becomes of it, its supervisor only sees messages and an exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from batchfx.execution.access import STATIC_TOKEN
from batchfx.execution.channel import Channel, Message, written
from batchfx.execution.lease import new_worker
from batchfx.execution.leftovers import MARK
from batchfx.execution.process_trees import Tree
from batchfx.store.claims import Claim

SECRETS = ("BATCHFX_WORKER_CREDENTIAL", STATIC_TOKEN)
THREADS = "POLARS_MAX_THREADS"
TAKES = 5.0  # seconds for a message to be taken by a handler that reads


@dataclass(frozen=True, slots=True)
class Launch:
    """How a handler is started.

    Attributes:
        command: The program; the number of its socket and of this process are added.
        greeting: The first thing it is told: the database and the importers' modules.
        threads: What a library that computes in threads of its own may use of them.

    """

    command: Sequence[str]
    greeting: Mapping[str, Any] = field(repr=False)
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Work:
    """A claim in a handler, since a moment of the monotonic clock."""

    claim: Claim
    since: float


class Handler:
    """A running handler.

    Attributes:
        work: What it is at; None while it waits.
        is_ready: True once it has imported the application's importers.
        time_limit: Seconds that the work may take, as the importer has it.
        code: Its exit code, a signal's being negative; None while it runs.
        silent_at: When it was seen that it can't say anything more, and
        dismissed_at: when it was let go, by the monotonic clock.

    """

    def __init__(self, launch: Launch, spared: Callable[[], Collection[int]]) -> None:
        self.work: Work | None = None
        self.is_ready = False
        self.time_limit: float | None = None
        self.code: int | None = None
        self.silent_at: float | None = None
        self.dismissed_at: float | None = None
        self.since = time.monotonic()
        self._process, self._channel = _started(launch)
        self.tree = Tree(self._process.pid, spared)
        self._tell("begin", **launch.greeting)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of its socket, for a selector."""
        return self._channel.fileno()

    def begin(self, claim: Claim) -> None:
        """Give it a claim to work on."""
        self.work = Work(claim, time.monotonic())
        self.time_limit = None
        self._tell("claim", claim=written(claim))

    def dismiss(self) -> None:
        """Let it end by itself, now that it has nothing to do."""
        self.dismissed_at = time.monotonic()
        self._tell("leave")

    def hear(self) -> list[Message]:
        """Return what it has said, without waiting."""
        return self._channel.pending()

    def look(self) -> None:
        """Look whether it has ended."""
        if self.code is None:
            self.code = self._process.poll()
        if self.silent_at is None and not self._channel.is_open:
            self.silent_at = time.monotonic()

    def close(self) -> None:
        """Forget it; its process must have ended."""
        self._channel.close()
        self._process.poll()

    def _tell(self, kind: str, **content: Any) -> None:
        # To a process that is gone or hangs; its exit code or its lease will tell.
        with contextlib.suppress(OSError):
            self._channel.send(kind, **content)


def end_told(code: int) -> str:
    """Return how a process ended, in words."""
    if code >= 0:
        return f"its process ended itself with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process was ended by signal {-code}"


def _started(launch: Launch) -> tuple[subprocess.Popen[bytes], Channel]:
    here, there = socket.socketpair()
    here.settimeout(TAKES)
    environment = {**os.environ, THREADS: os.environ.get(THREADS, str(launch.threads))}
    environment[MARK] = new_worker()
    for name in SECRETS:  # the application's code has no use for them
        environment.pop(name, None)
    with there, contextlib.ExitStack() as failed:
        failed.callback(here.close)
        process = subprocess.Popen(  # noqa: S603 - this interpreter, or a test's
            [*launch.command, str(there.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            env=environment,
            pass_fds=[there.fileno()],
            start_new_session=True,
        )
        failed.pop_all()
    return process, Channel(here)
