"""A proxy before PostgreSQL that loses the answer to a COMMIT."""

from __future__ import annotations

import select
import socket
import threading
from types import TracebackType
from typing import Self

from sqlalchemy.engine import make_url

QUERY, COMMIT = b"Q", b"COMMIT\0"  # a simple query: Q, its length, its text
SIZE = 65_536


class LosingProxy:
    """Passes everything on, until `lose_at` COMMITs later it cuts the connection.

    The COMMIT that is counted down to is handed to the server, and its answer is
    awaited, so that it has taken effect; the client only sees that the connection
    broke.
    """

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._left: int | None = None
        self._lock = threading.Lock()
        self.lost = 0
        thread = threading.Thread(target=self._accept, daemon=True)
        thread.start()

    @property
    def url(self) -> str:
        """The address of the proxy, with the database behind it."""
        port = self._listener.getsockname()[1]
        place = self._target.set(port=port)
        return place.render_as_string(hide_password=False)

    def lose_at(self, count: int) -> None:
        """Lose the answer to the COMMIT number *count* from now; 0: to none."""
        with self._lock:
            self._left = count or None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A thread that waits in accept() is not woken by close() alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5.0)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            address = (str(self._target.host), int(self._target.port or 5432))
            server = socket.create_connection(address)
            thread = threading.Thread(
                target=self._pass_on, args=(client, server), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [], 1.0)
                if client in ready:
                    told = client.recv(SIZE)
                    if not told:
                        return
                    server.sendall(told)
                    if self._is_lost(told):
                        server.recv(SIZE)
                        return
                if server in ready:
                    told = server.recv(SIZE)
                    if not told:
                        return
                    client.sendall(told)

    def _is_lost(self, told: bytes) -> bool:
        if not (told.startswith(QUERY) and told.endswith(COMMIT)):
            return False
        with self._lock:
            if self._left is None:
                return False
            self._left -= 1
            if self._left > 0:
                return False
            self._left = None
            self.lost += 1
        return True
