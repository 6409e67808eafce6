"""Readers of formats that need foreign code, each run in a process of its own.

A damaged or hostile file can make such code allocate without end, loop or abort the
process (Rust libraries do, uncatchably). So it runs in a fresh interpreter that is
bounded in memory and time, and what it reads comes back through a pipe block by block.
Whatever happens to it, the parent only ever sees a `SourceError`.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from batchfx.errors import SourceError
from batchfx.files.guarded_frames import (
    BLOCK,
    ERROR,
    REQUEST,
    BrokenMessageError,
    Message,
    block_of,
    error_of,
    layout_of,
    receive,
    send,
)
from batchfx.model.blocks import Block
from batchfx.model.sources import Layout

CHILD = "batchfx.files.guarded_child"
COPY = 1024**2
GRACE = 5  # seconds for a process that has said its last word
OVERTIME = -signal.SIGXCPU if sys.platform != "win32" else None  # an exit code
THREADS = "2"  # of Polars, each of which takes memory


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process may take.

    Attributes:
        memory: Bytes beside those of the interpreter and its libraries.
        seconds: Of processor time, for the layout and for each block.
        patience: Seconds that the parent waits for the layout or a block.

    """

    memory: int = 1024**3
    seconds: int = 60
    patience: float = 120


LIMITS = Limits()


def inspect_guarded(
    reader: str, source: BinaryIO, *, limits: Limits = LIMITS, **options: Any
) -> Layout:
    """Return what the function ``inspect_inside`` of the module *reader* returns.

    It is called in a process of its own, with the source and the *options*, which are
    plain data.

    Raises:
        SourceError: The reader's own; ``corrupt`` when it failed in another way or
            ended its process; ``unsafe_file`` when it took too much memory or time.

    """
    request = {"layout": None, "options": options}
    with _Process(reader, source, request, limits) as process:
        message = process.receive()
        process.finish()
    return layout_of(message.content)


def read_guarded(
    reader: str,
    source: BinaryIO,
    layout: Layout,
    rows: int,
    position: Mapping[str, Any] | None = None,
    *,
    limits: Limits = LIMITS,
) -> Iterator[Block]:
    """Yield what the function ``read_inside`` of the module *reader* yields.

    It is called in a process of its own, which ends with this generator.

    Raises:
        SourceError: As `inspect_guarded`, while the blocks are taken.

    """
    known = None if position is None else dict(position)
    options = {"rows": rows, "position": known}
    request = {"layout": asdict(layout), "options": options}
    with _Process(reader, source, request, limits) as process:
        while (message := process.receive()).kind == BLOCK:
            yield process.block(message, len(layout.header))
        process.finish()


class _Process:
    """A running reader, to be used as a context; it ends with that at the latest."""

    def __init__(
        self, reader: str, source: BinaryIO, request: Mapping[str, Any], limits: Limits
    ) -> None:
        self._reader = reader
        self._source = source
        self._request = request
        self._limits = limits
        self._stack = ExitStack()
        self._late = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            place = stack.enter_context(_lent(self._source))
            self._process = _started(place)
            stack.callback(self._end)
            self._ask(place)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def receive(self) -> Message:
        """Return the next message.

        Raises:
            SourceError: It is an error, or there is none.

        """
        assert self._process.stdout is not None  # noqa: S101 - as it was asked for
        timer = threading.Timer(self._limits.patience, self._lose_patience)
        timer.start()
        try:
            message = receive(self._process.stdout)
        except (BrokenMessageError, ValueError):
            raise self._failure() from None
        finally:
            timer.cancel()
        if message.kind == ERROR:
            raise error_of(message.content)
        return message

    def block(self, message: Message, width: int) -> Block:
        """Return the block in *message*."""
        try:
            return block_of(message, width)
        except BrokenMessageError:
            raise self._failure() from None

    def finish(self) -> None:
        """Let the process end by itself, having said all it had to say."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)

    def _ask(self, place: int | str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - as it was asked for
        request = {
            **self._request,
            "reader": self._reader,
            "source": place,
            "memory": self._limits.memory,
            "seconds": self._limits.seconds,
        }
        with suppress(OSError):  # it is dead already: there will be no answer
            send(self._process.stdin, Message(REQUEST, request))

    def _lose_patience(self) -> None:
        self._late = True
        self._process.kill()

    def _failure(self) -> SourceError:
        """Return the error for a process that ended without a word."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self._late or code == OVERTIME:
            message = (
                "Reading the file takes longer than is allowed. It is damaged or was "
                "made to do harm; split it, if it is a real one."
            )
            return SourceError("unsafe_file", message)
        message = (
            "Reading the file broke the program that reads it (which was kept apart, "
            f"and ended with {code}). It is damaged, was made to do harm, or needs "
            "more memory than is allowed. Export it again, or as .csv."
        )
        return SourceError("unsafe_file", message, exit_code=code)

    def _end(self) -> None:
        process = self._process
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not sent any more
                    stream.close()


def _started(place: int | str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-P", "-m", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            pass_fds=(place,) if isinstance(place, int) else (),
            start_new_session=True,
        )
    except OSError as error:
        message = (
            "The file is of a format that is read in a process of its own, which "
            f"can't be started: {error.strerror}. Try again, or export it as .csv."
        )
        raise SourceError("unreadable_file", message) from error


@contextmanager
def _lent(source: BinaryIO) -> Iterator[int | str]:
    """Make *source* a file that another process can read: a descriptor or a path.

    The position in an open file is shared by all who have the descriptor, so that it
    is opened anew; where that can't be, it is copied.
    """
    descriptor = _opened_again(source)
    if descriptor is not None:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory(prefix="batchfx-") as folder:
        path = Path(folder, "source")
        with path.open("wb") as copy:
            source.seek(0)
            while chunk := source.read(COPY):
                copy.write(chunk)
        yield str(path)


def _opened_again(source: BinaryIO) -> int | None:
    # Only of these is it known that the descriptor is of the very bytes they give.
    raw: object = source
    if isinstance(source, io.BufferedReader | io.BufferedRandom):
        raw = source.raw
    if not isinstance(raw, io.FileIO) or not sys.platform.startswith("linux"):
        return None
    source.flush()
    try:
        return os.open(f"/proc/self/fd/{raw.fileno()}", os.O_RDONLY)
    except OSError:
        return None


def _environment() -> dict[str, str]:
    """Return the environment, in which modules are found as they are here."""
    paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - as Python does
    known = {"PYTHONPATH": os.pathsep.join(paths), "POLARS_MAX_THREADS": THREADS}
    return {**os.environ, **known}
