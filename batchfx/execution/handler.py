"""A handler's own side: the process in which the application's code runs.

It works on one claim at a time and says how each ended. Leases are not its concern: its
supervisor renews them, and ends this process and all below it when one is lost.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

from batchfx.errors import (
    BatchfxError,
    LeaseLostError,
    MisfitError,
    NotFoundError,
    StoreError,
)
from batchfx.execution.channel import Channel, Message, claim_of
from batchfx.execution.forks import cut_in_forks, end_forks
from batchfx.execution.process_trees import become_subreaper, end_with_parent
from batchfx.execution.quiet import silence_libraries
from batchfx.execution.run import run_claim
from batchfx.execution.versions import versions_of
from batchfx.importer import find_importer, registered
from batchfx.model.issues import Phase
from batchfx.pipeline.failures import issue_of
from batchfx.store.claims import Claim
from batchfx.store.engine import Store, cutter, open_store

TOLD_TO_ALL = (signal.SIGINT, signal.SIGTERM)  # to all processes of a service

Load = Callable[[Sequence[str]], None]


def serve(descriptor: int, supervisor: int, load: Load) -> None:
    """Do what the *supervisor* says over the socket *descriptor*, until it says leave.

    Args:
        descriptor: An inherited socket.
        supervisor: The process that started this one; this one ends with it.
        load: Imports the modules it is given, which define importers.

    """
    end_with_parent(supervisor)
    become_subreaper()
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - the only way to say it
    channel = Channel(socket.socket(fileno=descriptor))
    end_forks(channel)
    silence_libraries()
    greeting = channel.receive()
    if greeting is not None and _greet(channel, greeting, load):
        for number in TOLD_TO_ALL:  # after the imports, which may listen themselves
            signal.signal(number, _leave_to_supervisor)
        _work(channel, greeting["database"])


def _greet(channel: Channel, greeting: Message, load: Load) -> bool:
    """Import the importers; tell the supervisor which there are, or what is wrong."""
    try:
        load(greeting["importers"])
    except BatchfxError as error:
        channel.send("refused", error=str(error))
        return False
    channel.send("ready", importers=versions_of(registered()))
    return True


def _leave_to_supervisor(number: int, frame: FrameType | None) -> None:
    # It got the signal too and knows what may still be finished. Unlike a signal that
    # is ignored, one with a handler ends the programs that are started from here.
    del number, frame


def _work(channel: Channel, database: str) -> None:
    runner = _Runner(database)
    while (message := channel.receive()) is not None and message["kind"] == "claim":
        claim = claim_of(message["claim"])
        channel.send("started", time_limit=_time_limit(claim))
        channel.send("ended", **runner.run(claim))
    runner.close()


class _Runner:
    """Runs claims, in a store that stays open from one to the next."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._store: Store | None = None

    def run(self, claim: Claim) -> dict[str, Any]:
        """Run *claim*; return how it ended, as plain data."""
        try:
            if self._store is None:
                self._store = open_store(self._database)
                cut_in_forks(cutter(self._store))
        except BatchfxError as error:
            return {"ending": "unavailable", "error": str(error)}
        since = time.monotonic()  # the same clock as the supervisor's
        try:
            ending = run_claim(self._store, claim)
        except LeaseLostError:
            return {"ending": "lost"}
        except MisfitError as error:
            return {"ending": "misfit", "error": str(error)}
        except BaseException as error:  # noqa: BLE001 - the application's, a value now
            return {"ending": "failed", "since": since, **_failure(error)}
        return {"ending": ending.value}

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()


def _failure(error: BaseException) -> dict[str, str]:
    """Return what broke as plain data: the reason for machines, where, a sentence."""
    issue = issue_of(error, Phase.PROCESS, row=None)
    reason = "store" if isinstance(error, StoreError) else issue.code
    place = issue.parameters.get("cause", type(error).__name__)
    return {"reason": reason, "place": place, "error": issue.message}


def _time_limit(claim: Claim) -> float | None:
    """Return the seconds that a chunk may take; what comes before has no limit."""
    with suppress(NotFoundError):  # run_claim says so
        if not claim.is_preparation:
            return find_importer(claim.importer).time_limit
    return None
