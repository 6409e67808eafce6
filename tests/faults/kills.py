"""Kill every operation with SIGKILL at its points, let it be finished, and judge.

    python -m tests.faults.kills --spread 0 --rounds 1 --moments 100

Kills at so many points of each operation on both databases (0: at each), spread evenly
and others in each round, and some imports at random moments. Prints a JSON object of
how many kills there were at each kind of point; "never" is one that did not come again.
All is done in forks of this process, which itself never uses Polars, so that a trial
costs no start of an interpreter.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import click

from batchfx.errors import AlreadyImportedError
from samples.servers import start_postgres
from tests.faults import worlds
from tests.faults.forks import ended, fork, in_fork, killed_at, points_of
from tests.faults.operations import STATES, begun, finish
from tests.faults.worlds import Place


@dataclass
class Killing:
    """Kills on one kind of database, counted by place."""

    place: Place
    counts: Counter[str] = field(default_factory=Counter)
    made: dict[str, str] = field(default_factory=dict)

    def copy(self, state: str) -> str:
        """Return the address of a new database in *state*."""
        if state not in self.made:
            url = self.place.empty()
            assert in_fork(partial(worlds.make, url, state)) == 0, state
            self.made[state] = url
        return self.place.copy(self.made[state])

    def points(self, name: str) -> list[str]:
        """Return the points of the operation *name*."""
        url = self.copy(STATES[name])
        found = points_of(partial(begun, name, url))
        self.place.drop(url)
        return found

    def kill(self, name: str, spread: int, turn: int) -> None:
        """Kill the operation at so many of its points, or at all of them."""
        points = self.points(name)
        for number in spread_over(len(points), spread, turn):
            url = self.copy(STATES[name])
            is_killed = killed_at(partial(begun, name, url), number)
            code = in_fork(partial(finish, name, url))
            assert code == 0, (self.place.name, name, number, points[number])
            self.place.drop(url)
            place = points[number] if is_killed else "never"
            self.counts[f"{self.place.name}: {name}: {place}"] += 1

    def kill_at_moments(self, times: int, seed: int) -> None:
        """Kill the import, and the one that goes on with it, at random moments."""
        dice = Random(seed)  # noqa: S311 - the same moments in every run
        for _ in range(times):
            url = self.copy("tables")
            for _ in range(dice.randint(1, 3)):
                child = fork(partial(run_import, url))
                time.sleep(dice.uniform(0.0, 0.25))
                os.kill(child, signal.SIGKILL)
                is_killed = ended(child) != 0
                what = "a moment" if is_killed else "never"
                self.counts[f"{self.place.name}: import: {what}"] += 1
                if not is_killed:
                    break
            assert in_fork(partial(finish, "import", url)) == 0, seed
            self.place.drop(url)


def spread_over(count: int, wanted: int, turn: int) -> list[int]:
    """Return *wanted* of the numbers below *count*, others at each *turn*."""
    if not 0 < wanted < count:
        return list(range(count))
    step = count / wanted
    shift = (turn * 0.381966) % 1.0  # of the golden ratio: no turn is like another
    return [int((each + shift) * step) for each in range(wanted)]


def run_import(url: str) -> None:
    """Import the content here, or go on with it; it may have come to its end."""
    with suppress(AlreadyImportedError):
        worlds.submit(worlds.opened(url), detached=False)


@contextmanager
def places(kinds: tuple[str, ...]) -> Iterator[list[Place]]:
    """Make a folder and a server for databases, as far as they are wanted."""
    folder = Path(tempfile.mkdtemp(prefix="batchfx-kills-"))
    folder.chmod(0o711)
    found = [Place(folder)] if "sqlite" in kinds else []
    try:
        if "postgresql" not in kinds:
            yield found
            return
        with start_postgres(folder / "postgres", safe=False) as server:
            yield [*found, Place(folder, server.url)]
    finally:
        shutil.rmtree(folder)


@click.command()
@click.option("--spread", default=0, help="Points of each operation; 0: all.")
@click.option("--rounds", default=1, help="Go through all of it so many times.")
@click.option("--moments", default=0, help="Random moments on each database.")
@click.option("--seed", default=1, help="Of these moments.")
@click.option("--database", "kinds", multiple=True, default=["sqlite", "postgresql"])
@click.option("--operation", "names", multiple=True, default=list(STATES))
@click.option("--by-point/--by-operation", default=True)
def main(
    *,
    spread: int,
    rounds: int,
    moments: int,
    seed: int,
    kinds: tuple[str, ...],
    names: tuple[str, ...],
    by_point: bool,
) -> None:
    """Kill, finish, judge; print what was done."""
    gc.freeze()
    killings: list[Killing] = []
    try:
        with places(kinds) as found:
            killings += map(Killing, found)
            for killing in killings:
                for each in range(rounds):
                    for name in names:
                        killing.kill(name, spread, each + seed)
                killing.kill_at_moments(moments, seed)
    finally:  # also when a person ends it: what was done was done
        counts = sum((killing.counts for killing in killings), Counter[str]())
        json.dump(counts if by_point else _by_operation(counts), sys.stdout, indent=1)
        print()


def _by_operation(counts: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in counts.items():
        database, operation, place = name.split(": ", 2)
        kind = "never" if place == "never" else "killed"
        found[f"{database}: {operation}: {kind}"] += count
    return found


if __name__ == "__main__":
    main()
