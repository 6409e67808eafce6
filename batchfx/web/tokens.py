"""How one person gets in on their own machine: a token that was printed at the start.

It is shown once, by POST, and exchanged for a cookie; programs send it with each
request instead. Neither it nor the cookie's value is in an address or in a log.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from batchfx.web.access import Principal
from batchfx.web.refusals import WrongTokenError

BYTES = 24
MOST_SESSIONS = 1_000


class LocalToken:
    """The token of one run of the page, and who has shown it."""

    def __init__(self, principal: Principal, token: str | None = None) -> None:
        self._token = token or secrets.token_urlsafe(BYTES)
        self._principal = principal
        # Of its own for each start: cookies are shared by all ports of a machine.
        self.cookie = f"batchfx_{secrets.token_hex(4)}"
        self._sessions: dict[bytes, None] = {}

    @property
    def text(self) -> str:
        """The token, to be printed once."""
        return self._token

    def __call__(self, request: Request) -> Principal | None:
        """Return the one who sent *request*, by bearer token or by cookie.

        Raises:
            WrongTokenError: It has another token.

        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._let_in(token.strip())
        session = request.cookies.get(self.cookie, "")
        is_known = _digest(session) in self._sessions  # by digest: no time tells of it
        return self._principal if is_known else None

    def sign_in(self, token: str, request: Request, response: Response) -> Principal:
        """Exchange the token for a cookie, which *response* takes along.

        Raises:
            WrongTokenError: It is another one.

        """
        principal = self._let_in(token)
        session = secrets.token_urlsafe(BYTES)
        self._sessions[_digest(session)] = None
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        response.set_cookie(
            self.cookie,
            session,
            path=request.scope.get("root_path") or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return principal

    def sign_out(self, request: Request, response: Response) -> None:
        """Forget the session of *request*."""
        self._sessions.pop(_digest(request.cookies.get(self.cookie, "")), None)
        response.delete_cookie(
            self.cookie,
            path=request.scope.get("root_path") or "/",
            httponly=True,
            samesite="strict",
        )

    def _let_in(self, token: str) -> Principal:
        if hmac.compare_digest(_digest(token), _digest(self._token)):
            return self._principal
        message = (
            "This is not the token that was printed when the page was started. Copy it "
            "anew from there; each start prints another one."
        )
        raise WrongTokenError(message)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
