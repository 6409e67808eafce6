"""Processes that leave nobody behind: a process ended with all that it ever started.

Killing a process alone leaves its children, killing its group leaves those that went
into a session of their own, and walking from parents to children misses those whose
parent has ended. So whoever supervises is a *subreaper*: the kernel makes it the parent
of each process below it that loses its own. What is killed is the group, what can be
walked to, and what became a child of the supervisor that way; again until nothing of it
is left. Systems other than Linux know no subreaper: there, a process that left both its
group and its parent escapes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

import psutil

# Of prctl(2).
SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36

PAUSE = 0.01  # seconds between two strikes
PATIENCE = 10.0  # seconds for the kernel to end what was killed


def become_subreaper() -> None:
    """Become the parent of every process below this one that loses its own parent."""
    _prctl(SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the process *parent* ends.

    To be exact: when the thread of it ends that started this process.
    """
    _prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it was asked
        os.kill(os.getpid(), signal.SIGKILL)


def children() -> frozenset[int]:
    """Return the numbers of the processes whose parent this process is."""
    return frozenset(child.pid for child in psutil.Process().children())


class Tree:
    """A child of this process that is to end, with everything below it.

    Args:
        pid: The child, the leader of its own session. It may have ended, if nobody
            has asked for its exit code since.
        spared: Returns the children of this process that have nothing to do with it.

    """

    def __init__(
        self, pid: int, spared: Callable[[], Collection[int]] = frozenset
    ) -> None:
        self._spared = spared
        self._root = _process(pid)
        self._known: set[psutil.Process] = set()

    def strike(self) -> bool:
        """Kill what is there now; return True once nothing is left.

        It never waits. Call it again after a moment until it returns True: the kernel
        takes a while, and what was just being started is only seen the next time.
        """
        members = self._members()
        for process in members:
            with suppress(psutil.Error):
                process.kill()
        if self._root is not None:
            _kill_group(self._root)
        _reap(members)
        # A zombie counts: while one of its threads hangs it can't be reaped.
        self._known = {process for process in members if process.is_running()}
        return not self._known and not any(p.is_running() for p in self._members())

    def _members(self) -> set[psutil.Process]:
        """Return what is there now: the root, its orphans and all below them."""
        by_parent = _by_parent()
        found = set(self._known) if self._root is None else {self._root, *self._known}
        found.update(self._orphans(by_parent))
        waiting = list(found)
        while waiting:
            below = set(by_parent.get(waiting.pop().pid, ())) - found
            found.update(below)
            waiting.extend(below)
        return found

    def _orphans(
        self, by_parent: Mapping[int, list[psutil.Process]]
    ) -> list[psutil.Process]:
        """Return the children of this process that it never started.

        A subreaper got them from a process below it that has ended.
        """
        spared = self._spared()
        return [
            child for child in by_parent.get(os.getpid(), ()) if child.pid not in spared
        ]


def end(tree: Tree, patience: float = PATIENCE) -> bool:
    """Strike *tree* until nothing of it is left; False when *patience* ran out.

    *patience* is in seconds. What is left then hangs in the kernel, killed already.
    """
    until = time.monotonic() + patience
    while not tree.strike():
        if time.monotonic() > until:
            return False
        time.sleep(PAUSE)
    return True


def _process(pid: int) -> psutil.Process | None:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid)
    return None


def _by_parent() -> dict[int, list[psutil.Process]]:
    found: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.setdefault(process.ppid(), []).append(process)
    return found


def _kill_group(leader: psutil.Process) -> None:
    """Kill the group of *leader*, whose number nobody else has while it is not reaped.

    The group of a process that leads none (yet) is somebody else's: it is left alone.
    """
    with suppress(psutil.Error, ProcessLookupError, PermissionError):
        if leader.is_running() and os.getpgid(leader.pid) == leader.pid:
            os.killpg(leader.pid, signal.SIGKILL)


def _reap(processes: Iterable[psutil.Process]) -> None:
    """Take the exit codes that nobody else will ask for."""
    for process in processes:
        with suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
