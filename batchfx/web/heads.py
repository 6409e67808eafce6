"""HEAD for all that can be asked with GET: the same answer, without its body.

Proxies and those who check links ask so. An answer that would go on for long, such as a
stream of events or a file that is made while it is sent, is ended after its headers.
"""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """The application, which need not know of HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; HEAD as GET, up to the body."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        head = _Head(send)
        try:
            await self._app({**scope, "method": "GET"}, receive, head.send)
        except (ClientDisconnect, OSError):
            if not head.has_ended:
                raise


class _Head:
    """An answer of which only the beginning is sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_ended = False

    async def send(self, message: Message) -> None:
        """Send the beginning; of a body, only that there is none."""
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        if not self.has_ended:
            self.has_ended = True
            await self._send({"type": "http.response.body", "body": b""})
        if message.get("more_body", False):
            raise OSError  # as if whoever asked had gone: no more need be made
