"""The process in which a risky format is read; started by `guarded`, never by hand.

It bounds itself before it looks at the file: its memory, its processor time (anew for
every message, so that a long file is no crime), the size of files it may write. It ends
when its parent does.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from batchfx.errors import SourceError, UsageError
from batchfx.files.guarded_frames import (
    END,
    Message,
    block_message,
    error_message,
    layout_message,
    layout_of,
    receive,
    send,
)

if sys.platform != "win32":
    import resource

WRITTEN_LIMIT = 256 * 1024**2  # bytes of a file
STATM = Path("/proc/self/statm")


def main() -> None:
    """Answer the one request on the standard input."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)  # meant for the parent, which ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is no answer
    request = receive(sys.stdin.buffer).content
    threading.Thread(target=_end_with_parent, daemon=True).start()
    reader = importlib.import_module(request["reader"])
    _bound_memory(request["memory"])
    renew = _processor_bound(request["seconds"])
    renew()
    for message in _answers(reader, request):
        send(answers, message)
        renew()


def _answers(reader: Any, request: Mapping[str, Any]) -> Iterator[Message]:
    try:
        with _source(request["source"]) as source:
            if request["layout"] is None:
                found = reader.inspect_inside(source, **request["options"])
                yield layout_message(found)
            else:
                layout = layout_of(request["layout"])
                options = request["options"]
                for block in reader.read_inside(source, layout, **options):
                    yield block_message(block)
    except GeneratorExit:
        raise
    except (SourceError, UsageError) as error:
        yield error_message(error)
        return
    except BaseException as error:  # noqa: BLE001 - a panic of Polars is no Exception
        yield error_message(_unforeseen(error))
        return
    yield Message(END, {})


def _source(place: int | str) -> BinaryIO:
    return os.fdopen(place, "rb") if isinstance(place, int) else Path(place).open("rb")


def _unforeseen(error: BaseException) -> SourceError:
    """Return the error for whatever a reader raises that isn't ours.

    It is the file's fault as far as anybody can tell; where it came up is kept for
    those who know better.
    """
    if isinstance(error, MemoryError):
        message = (
            "Reading the file takes more memory than is allowed. It is damaged or was "
            "made to do harm, or holds much in few rows: split it, if it is a real one."
        )
        return SourceError("unsafe_file", message)
    reason = str(error).partition("\n")[0][:200] or type(error).__name__
    message = f"The file is damaged: {reason}. Get or export it again."
    place = traceback.extract_tb(error.__traceback__)[-1]
    detail = f"{type(error).__name__} in {place.name}, line {place.lineno}"
    return SourceError("corrupt", message, detail=detail)


def _end_with_parent() -> None:
    os.read(0, 1)  # the end of it comes when the parent closes it or dies
    os._exit(1)


def _bound_memory(allowed: int) -> None:
    """Allow *allowed* bytes more than what the interpreter and its libraries take."""
    if sys.platform == "win32":  # which has no limits for a process
        return
    if STATM.exists():
        taken = int(STATM.read_text("ascii").split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, taken + allowed)
    _lower(resource.RLIMIT_FSIZE, WRITTEN_LIMIT)
    _lower(resource.RLIMIT_CORE, 0)


def _processor_bound(seconds: int) -> Callable[[], None]:
    """Return what allows *seconds* of processor time from when it is called."""
    if sys.platform == "win32":
        return lambda: None
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)

    def renew() -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        until = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
        known = hard != resource.RLIM_INFINITY
        soft = min(until, hard) if known else until
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))

    return renew


def _lower(limit: int, value: int) -> None:
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(limit)
    if hard == resource.RLIM_INFINITY or value < hard:
        resource.setrlimit(limit, (value, value))


if __name__ == "__main__":
    main()
