"""The wire between browser and server, which a test can narrow and cut."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PIECE = 16_384  # bytes


@dataclass
class Wire:
    """Connections to a server, all by way of this process.

    *rate* is how many bytes a second go to the server, as many as can if it is None.
    """

    port: int
    listener: socket.socket
    rate: float | None = None
    is_cut: bool = False
    ends: list[socket.socket] = field(default_factory=list)

    @property
    def site(self) -> str:
        """The address of the browser's end."""
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def cut(self) -> None:
        """Cut every connection, and let none come about."""
        self.is_cut = True
        for end in self.ends:
            _shut(end)
        self.ends.clear()

    def join(self) -> None:
        """Let connections come about again."""
        self.is_cut = False

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                browser, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                browser.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.port))
            self.ends += browser, server
            for pair in ((browser, server), (server, browser)):
                is_upload = pair[0] is browser
                threading.Thread(
                    target=self._carry, args=(*pair, is_upload), daemon=True
                ).start()

    def _carry(self, source: socket.socket, target: socket.socket, up: bool) -> None:  # noqa: FBT001 - a thread's
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if up and self.rate is not None:
                    time.sleep(len(piece) / self.rate)
                target.sendall(piece)
        _shut(source)
        _shut(target)
        source.close()  # the target is closed by the thread that reads from it


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    """Lay a wire to the server at *port*."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)  # nothing hoards
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    wire = Wire(port, listener)
    thread = threading.Thread(target=wire.serve)
    thread.start()
    yield wire
    _shut(listener)
    listener.close()
    thread.join()
    wire.cut()
