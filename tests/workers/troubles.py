"""An importer whose rows say what befalls the process that works on them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
from pydantic import BaseModel

from batchfx import Column, Context, Importer

RECORDS = "trouble_records"
SLEEPER = "import time; time.sleep(600)"


class TroubleRow(BaseModel):
    """A row: its code, what is to happen, and with what."""

    code: Annotated[str, Column("Code", unique=True)]
    act: Annotated[str, Column("Act")]
    value: Annotated[float, Column("Value")] = 0.0


class TroubleImporter(Importer[TroubleRow]):
    """Does what each row says."""

    name = "troubles"
    chunk_size = 1

    def process(self, row: TroubleRow, context: Context) -> str:
        """Do it; the record's id is the row's code."""
        if row.act == "after":
            context.after_commit(partial(time.sleep, row.value))
        else:
            ACTS[row.act](row.value)
        return row.code


class LimitedImporter(TroubleImporter):
    """The same with a limit to a chunk's time."""

    name = "limited"
    time_limit = 0.7


class RecordingImporter(TroubleImporter):
    """The same with a record in a table of the application's for each row."""

    name = "recording"
    chunk_size = 2

    def process(self, row: TroubleRow, context: Context) -> str:
        """Do what the row says, then keep its code."""
        ACTS[row.act](row.value)
        insert = sa.text(f"INSERT INTO {RECORDS} VALUES (:code)")  # noqa: S608 - our own
        context.session.execute(insert, {"code": row.code})
        return row.code


def _fork(value: float) -> None:
    """Fork, and let both go on; the fork a little later or, below 0, with an error."""
    if os.fork() == 0:
        time.sleep(abs(value))
        if value < 0:
            raise ValueError


def _fork_and_stay(seconds: float) -> None:
    if os.fork() == 0:
        time.sleep(seconds)
        os._exit(0)


def _nothing(value: float) -> None:
    del value


def _hold_interpreter(seconds: float) -> None:
    """Sleep in C without letting any other thread of this process run."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def _crash(value: float) -> None:
    del value
    ctypes.string_at(0)


def _crash_once(value: float) -> None:
    if _is_first("crash", value):
        ctypes.string_at(0)


def _sleep_once(seconds: float) -> None:
    if _is_first("sleep", seconds):
        time.sleep(seconds)


def _is_first(what: str, value: float) -> bool:
    """Tell whether this test asks for the first time."""
    mark = Path(os.environ["TROUBLES"]) / f"{what}-{value}"
    was_there = mark.exists()
    mark.touch()
    return not was_there


def _exit(code: float) -> None:
    os._exit(int(code))


def _start_daemon(seconds: float) -> None:
    """Leave a process in a session of its own, and of no parent, then sleep."""
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen([sys.executable, "-S", "-c", SLEEPER])
        os._exit(0)
    subprocess.Popen([sys.executable, "-S", "-c", SLEEPER], start_new_session=True)
    time.sleep(seconds)


def _talk(value: float) -> None:
    sys.stdout.write('{"kind": "ended", "ending": "done"}\n')
    sys.stdout.flush()
    os.write(1, b"more\n" * int(value))
    sys.stderr.write("and more\n")


def _run_out(value: float) -> None:
    raise MemoryError


def _burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


ACTS = {
    "nothing": _nothing,
    "sleep": time.sleep,
    "sleep_once": _sleep_once,
    "hold": _hold_interpreter,
    "crash": _crash,
    "crash_once": _crash_once,
    "exit": _exit,
    "daemon": _start_daemon,
    "talk": _talk,
    "burn": _burn,
    "memory": _run_out,
    "fork": _fork,
    "fork_and_stay": _fork_and_stay,
}
