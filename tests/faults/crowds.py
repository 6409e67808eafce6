"""Many processes that want the same at the same moment.

    python -m tests.faults.crowds --processes 8

Prints how many of each crowd did it, and how many were told that another one is at it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import Counter
from functools import partial

import click

from batchfx import cancel, rerun
from batchfx.errors import AlreadyImportedError, IllegalMoveError
from batchfx.execution.sweep import sweep
from tests.faults.forks import ended, fork, in_fork
from tests.faults.kills import Killing, places
from tests.faults.operations import STATES, Work, finish, of_batch
from tests.faults.worlds import OTHER, drain, opened, submit

TOLD = 7  # exit code: another one is at it, or has done it
CROWDS: dict[str, tuple[str, Work]] = {
    "import": ("tables", partial(submit, detached=False)),
    "submit": ("tables", submit),
    "rerun here": ("completed", of_batch(rerun)),
    "rerun": ("completed", of_batch(partial(rerun, detached=True))),
    "cancel": ("leased", of_batch(cancel)),
    "sweep": ("troubled", sweep),
    "claim": ("prepared", partial(drain, worker=OTHER)),
}


def one_of_many(url: str, name: str, start: int) -> None:
    """Do the crowd's work as soon as the pipe *start* is closed."""
    store = opened(url)
    os.read(start, 1)
    try:
        CROWDS[name][1](store)
    except (AlreadyImportedError, IllegalMoveError):
        os._exit(TOLD)


def crowd(killing: Killing, name: str, processes: int) -> None:
    """Let so many processes do the same, and judge what became of the batch."""
    url = killing.copy(CROWDS[name][0])
    reader, writer = os.pipe()

    def begin() -> None:
        os.close(writer)
        one_of_many(url, name, reader)

    children = [fork(begin) for _ in range(processes)]
    os.close(writer)
    codes = Counter(ended(child) for child in children)
    os.close(reader)
    assert set(codes) <= {0, TOLD}, (name, codes)
    assert codes[0] >= 1, (name, codes)
    assert name in STATES
    assert in_fork(partial(finish, name, url)) == 0, (killing.place.name, name)
    killing.place.drop(url)
    killing.counts[f"{killing.place.name}: {name}: done"] += codes[0]
    killing.counts[f"{killing.place.name}: {name}: told"] += codes[TOLD]


@click.command()
@click.option("--processes", default=8, help="In a crowd.")
@click.option("--rounds", default=1)
@click.option("--database", "kinds", multiple=True, default=["sqlite", "postgresql"])
def main(*, processes: int, rounds: int, kinds: tuple[str, ...]) -> None:
    """Let crowds come; print what became of them."""
    gc.freeze()
    with places(kinds) as found:
        killings = [Killing(place) for place in found]
        for killing in killings * rounds:
            for name in CROWDS:
                crowd(killing, name, processes)
    json.dump(sum((each.counts for each in killings), Counter[str]()), sys.stdout)
    print()


if __name__ == "__main__":
    main()
