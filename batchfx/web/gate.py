"""What every request passes: no other site may have sent it, and its body is bounded.

A browser says where a request comes from (Sec-Fetch-Site, Origin). What changes
something must also be a request that a form on another site can't make: with a header
of its own, a token, or a content type that forms have not.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from batchfx.web.problems import of_error, refuse_size
from batchfx.web.refusals import CrossSiteError, LengthRequiredError

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HEADER = "x-batchfx"  # its value doesn't matter: no form can send it
OF_FORMS = frozenset(
    {"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
)
UPLOADS = re.compile(r"/api/batches(/[0-9]+/rerun)?/?$")
LARGEST_BODY = 8 << 20  # bytes, of what is no upload
PROTECTION = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}


class Gate:
    """The application behind the checks that are the same for every request."""

    def __init__(self, app: ASGIApp, allowed_origins: Collection[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        protected = _protected(send)
        if scope["method"] not in SAFE:
            try:
                refuse_foreign(Headers(scope=scope), self._allowed)
                receive = await _not_lost(scope, receive)
            except (CrossSiteError, LengthRequiredError) as error:
                await of_error(error)(scope, receive, protected)
                return
        if UPLOADS.search(scope["path"]):
            await self._app(scope, receive, protected)
        else:
            bounded = _Bounded(scope, receive, protected)
            await self._app(scope, bounded.receive, bounded.send)


def refuse_foreign(headers: Headers, allowed: Collection[str] = ()) -> None:
    """Refuse a change that another site may have made the browser ask for.

    Raises:
        CrossSiteError: That may be so.

    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_allowed = origin is not None and origin in allowed
    if site in {"cross-site", "same-site"} and not is_allowed:
        message = f"The request comes from {origin or 'another site'}, not from here."
        raise CrossSiteError(message)
    is_told = site is not None or origin is None or is_allowed
    if not is_told and urlsplit(origin).netloc != headers.get("host"):
        message = f"The request comes from {origin}, not from here."
        raise CrossSiteError(message)
    if not _is_deliberate(headers):
        message = (
            "A form on any site could have sent this. Send the header 'X-Batchfx: 1', "
            "or a bearer token, with what changes something."
        )
        raise CrossSiteError(message)


async def _not_lost(scope: Scope, receive: Receive) -> Receive:
    """Return what receives the body, unless that is lost.

    A server that doesn't pass bodies in pieces (chunks) on hands over an empty one.

    Raises:
        LengthRequiredError: That has happened.

    """
    headers = Headers(scope=scope)
    is_said = headers.get("content-length", "").isdecimal()
    if is_said or "transfer-encoding" not in headers:
        return receive
    first = await receive()
    if not first.get("body") and not first.get("more_body", False):
        message = (
            "Nothing of the body has come through: it was sent in pieces, which what "
            "is in front of this application doesn't pass on. Send it with its length "
            "(Content-Length)."
        )
        raise LengthRequiredError(message)
    waiting = [first]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


def _is_deliberate(headers: Headers) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    by_header = HEADER in headers or "authorization" in headers
    return by_header or kind not in OF_FORMS


def _protected(send: Send) -> Send:
    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            known = {name.lower() for name, _ in headers}
            headers += [each for each in PROTECTION.items() if each[0] not in known]
            if b"cache-control" not in known:
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await send(message)

    return protected


class _Bounded:
    """A request whose body is cut off, and its answer replaced, if it is too large."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._size = 0
        self._is_refused = False

    async def receive(self) -> Message:
        """Return the next part of the body, or its end once it is too large."""
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, or the refusal instead of the whole."""
        if self._size <= LARGEST_BODY:
            await self._send(message)
        elif not self._is_refused:
            self._is_refused = True
            await refuse_size(LARGEST_BODY)(self._scope, self._receive, self._send)
