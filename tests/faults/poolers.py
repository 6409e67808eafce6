"""A pooler before PostgreSQL that does what PgBouncer does in its transaction mode.

A client has a connection to the server for a transaction only, and never the same one
twice in a row. What a client leaves in a session (settings, locks, prepared statements,
temporary tables) stays there, for whoever comes next, and is missing where the client
comes next: nothing is discarded, so that whoever counts on a session is found out.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import psycopg
from sqlalchemy.engine import make_url

PROTOCOL, CANCEL, TLS, GSS = 196_608, 80_877_102, 80_877_103, 80_877_104
TERMINATE, READY, IDLE = b"X", b"Z", b"I"
ANSWERED = b"QSF"  # a query, a sync, a call: each is answered by a READY
PIECE = 65_536
SAID = (
    "server_version",
    "server_encoding",
    "client_encoding",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
)


class Messages:
    """One end of a conversation, cut into the messages of PostgreSQL's protocol."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._bytes = b""

    def first(self) -> tuple[int, bytes]:
        """Return the code and the content of a message of the start, of no kind."""
        (length,) = struct.unpack("!i", self._exactly(4))
        content = self._exactly(length - 4)
        return struct.unpack("!i", content[:4])[0], content[4:]

    def next(self) -> tuple[bytes, bytes]:
        """Return the kind of the next message, and all of it."""
        head = self._exactly(5)
        (length,) = struct.unpack("!i", head[1:])
        return head[:1], head + self._exactly(length - 4)

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self.end.fileno()

    def is_ready(self) -> bool:
        """Tell whether something of a message has come already."""
        return bool(self._bytes)

    def _exactly(self, count: int) -> bytes:
        while len(self._bytes) < count:
            piece = self.end.recv(PIECE)
            if not piece:
                raise ConnectionResetError
            self._bytes += piece
        found, self._bytes = self._bytes[:count], self._bytes[count:]
        return found


class Session:
    """A connection to the server, made and let in by psycopg and then its own."""

    def __init__(self, url: str) -> None:
        self._driver = psycopg.connect(url, autocommit=True)
        self.said = {
            name: value
            for name in SAID
            if (value := self._driver.info.parameter_status(name)) is not None
        }
        end = socket.fromfd(self._driver.fileno(), -1, -1)
        end.setblocking(True)  # noqa: FBT003 - the only way to say it
        self.messages = Messages(end)

    def close(self) -> None:
        """End it, whatever it is at."""
        with suppress(OSError):
            self.messages.end.shutdown(socket.SHUT_RDWR)
        self.messages.end.close()
        self._driver.close()


class Pooler:
    """Gives each transaction of each client one of *size* sessions, in turn.

    Attributes:
        leases: How many transactions there were.
        repeats: How many of them had the session of the client's last one: none.

    """

    def __init__(self, url: str, size: int = 6) -> None:
        self._url = url.replace("postgresql+psycopg://", "postgresql://")
        self._idle = deque(Session(self._url) for _ in range(size))
        self._is_idle = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._clients: set[socket.socket] = set()
        self.leases = self.repeats = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the pooler, with the database behind it."""
        port = self._listener.getsockname()[1]
        place = make_url(self._url).set(port=port)
        return place.render_as_string(hide_password=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A thread that waits is not woken by close() alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in list(self._clients):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5.0)
        for session in self._idle:
            session.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.add(client)
            thread = threading.Thread(target=self._serve, args=[client], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            messages = Messages(client)
            if self._welcome(messages):
                self._pass_on(messages)
        self._clients.discard(client)

    def _welcome(self, client: Messages) -> bool:
        """Let a client in, as if it had shown its password."""
        code, _ = client.first()
        while code in {TLS, GSS}:
            client.end.sendall(b"N")
            code, _ = client.first()
        if code != PROTOCOL:
            return False
        with self._is_idle:
            self._is_idle.wait_for(lambda: self._idle)
            said = self._idle[0].said
        told = [_message(b"R", struct.pack("!i", 0))]
        told += [_message(b"S", f"{k}\0{v}\0".encode()) for k, v in said.items()]
        told += [_message(b"K", struct.pack("!ii", 1, 1)), _message(READY, IDLE)]
        client.end.sendall(b"".join(told))
        return True

    def _pass_on(self, client: Messages) -> None:
        last: Session | None = None
        while True:
            kind, message = client.next()
            if kind == TERMINATE:
                return
            session = self._lease(last)
            is_over = False
            try:
                _transaction(client, session.messages, kind, message)
                is_over = True
            finally:
                self._take_back(session, is_over=is_over)
            last = session

    def _lease(self, last: Session | None) -> Session:
        with self._is_idle:
            self._is_idle.wait_for(lambda: any(each is not last for each in self._idle))
            session = next(each for each in self._idle if each is not last)
            self._idle.remove(session)
            self.leases += 1
            self.repeats += session is last
        return session

    def _take_back(self, session: Session, *, is_over: bool) -> None:
        if not is_over:  # its client is gone: the server rolls back what was begun
            session.close()
            session = Session(self._url)
        with self._is_idle:
            self._idle.append(session)
            self._is_idle.notify_all()


def _transaction(
    client: Messages, server: Messages, kind: bytes, message: bytes
) -> None:
    """Pass on what is said, from the first *message*, to the end of a transaction."""
    due = int(kind in ANSWERED)
    server.end.sendall(message)
    while True:
        ready = [each for each in (client, server) if each.is_ready()]
        ready = ready or select.select([client, server], [], [])[0]
        if client in ready:
            kind, message = client.next()
            if kind == TERMINATE:
                raise ConnectionResetError
            due += kind in ANSWERED
            server.end.sendall(message)
        if server in ready:
            kind, message = server.next()
            client.end.sendall(message)
            due -= kind == READY
            if kind == READY and due == 0 and message[5:] == IDLE:
                return


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content
