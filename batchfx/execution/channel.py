"""What a supervisor and its handler say to each other: lines of JSON over a socket.

Not over the standard streams, which are the application's: whatever its code prints
disturbs nothing.
"""

from __future__ import annotations

import json
import select
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from batchfx.store.claims import Claim
from batchfx.store.schema import BatchKey

PIECE = 65_536  # bytes that are taken from the socket at once

Message = Mapping[str, Any]


class Channel:
    """One end of the conversation; it takes ownership of *end*."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._begun = b""
        self._waiting: deque[Message] = deque()
        self.is_open = True

    def fileno(self) -> int:
        """Return the descriptor, for a selector."""
        return self._socket.fileno()

    def send(self, kind: str, **content: Any) -> None:
        """Send a message of a *kind*.

        Raises:
            OSError: The other side is gone, or takes nothing any more.

        """
        message = json.dumps({"kind": kind, **content})
        self._socket.sendall(f"{message}\n".encode())

    def receive(self) -> Message | None:
        """Wait for the next message; None when the other side is gone."""
        while not self._waiting and self.is_open:
            self._take()
        return self._waiting.popleft() if self._waiting else None

    def pending(self) -> list[Message]:
        """Return what has come, without waiting."""
        while self.is_open and select.select([self._socket], [], [], 0)[0]:
            self._take()
        found = list(self._waiting)
        self._waiting.clear()
        return found

    def close(self) -> None:
        """Say no more."""
        self.is_open = False
        self._socket.close()

    def _take(self) -> None:
        try:
            piece = self._socket.recv(PIECE)
        except ConnectionError:
            piece = b""
        self.is_open = bool(piece)
        *lines, self._begun = (self._begun + piece).split(b"\n")
        try:
            self._waiting.extend(_message(line) for line in lines)
        except ValueError:  # somebody else has written to it
            self.is_open = False


def _message(line: bytes) -> Message:
    message = json.loads(line)
    if isinstance(message, dict) and "kind" in message:
        return message
    raise ValueError(line)


def written(claim: Claim) -> dict[str, Any]:
    """Return *claim* as plain data."""
    return asdict(claim)


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Return the claim that was `written`."""
    return Claim(**{**content, "key": BatchKey(**content["key"])})
