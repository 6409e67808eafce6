"""Answers compressed for those who accept it.

Files are packed once, when they are read. Of the rest, only JSON that is whole and
larger than a packet is: never a stream of events, which must not wait for more to pack,
never a problem document, which repeats what was asked. No token is in a body, so that
no length of a packed one tells anything of it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

GZIP = "gzip"
VARY = "Accept-Encoding"
SMALLEST = 1_024  # bytes: less is sent in one packet either way
QUICK, BEST = 1, 9
JSON = "application/json"


def packed_once(content: bytes) -> bytes:
    """Return *content* as small as can be; the same content is the same bytes."""
    return gzip.compress(content, BEST, mtime=0)


def accepts_gzip(headers: Headers) -> bool:
    """Tell whether whoever sent the *headers* takes gzip (RFC 9110, 12.5.3)."""
    weights = dict(_weights(headers.get("accept-encoding", "")))
    return weights.get(GZIP, weights.get("*", 0.0)) > 0


class Packing:
    """The application with its larger JSON answers packed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        if scope["type"] == "http" and accepts_gzip(Headers(scope=scope)):
            send = _Packed(send).send
        await self._app(scope, receive, send)


class _Packed:
    """An answer whose beginning waits until its body is seen, if it may be packed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start" and _is_json(message):
            self._start = message
            return
        start, self._start = self._start, None
        if start is not None:
            headers = MutableHeaders(raw=list(start["headers"]))
            headers.add_vary_header(VARY)
            if _is_worth_it(message):
                message = _repacked(message, headers)
            await self._send({**start, "headers": headers.raw})
        await self._send(message)


def _is_worth_it(message: Message) -> bool:
    is_whole = not message.get("more_body", False)
    return is_whole and len(message.get("body", b"")) >= SMALLEST


def _repacked(message: Message, headers: MutableHeaders) -> Message:
    body = gzip.compress(message["body"], QUICK, mtime=0)
    headers["Content-Encoding"] = GZIP
    headers["Content-Length"] = str(len(body))
    return {**message, "body": body}


def _is_json(message: MutableMapping[str, Any]) -> bool:
    headers = Headers(raw=list(message.get("headers", [])))
    kind = headers.get("content-type", "").partition(";")[0].strip()
    return kind == JSON and "content-encoding" not in headers


def _weights(said: str) -> Iterator[tuple[str, float]]:
    """Yield each coding that is named, with its weight; 0 forbids it."""
    for part in said.split(","):
        name, _, weight = part.lower().partition(";")
        _, _, digits = weight.partition("=")
        try:
            yield name.strip(), float(digits) if digits.strip() else 1.0
        except ValueError:
            yield name.strip(), 0.0
