"""Who one is, and the exchange of the printed token for a cookie."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from starlette.requests import Request

from batchfx.web.access import Principal
from batchfx.web.answers import OF_BODY, answers
from batchfx.web.bodies import TokenBody
from batchfx.web.callers import SignedIn, site_of
from batchfx.web.refusals import NoSuchPageError
from batchfx.web.shapes import SessionShape
from batchfx.web.tokens import LocalToken

OPEN: dict[str, Any] = {"security": []}  # for those who are not signed in yet

router = APIRouter(prefix="/api/session", tags=["session"])


@router.get("", responses=answers())
async def read_session(caller: SignedIn) -> SessionShape:
    """Return who sends the request, and what that allows."""
    return _shape(caller.principal, caller.site.token)


@router.post("", responses=answers(404, *OF_BODY), openapi_extra=OPEN)
async def sign_in(
    body: TokenBody, request: Request, response: Response
) -> SessionShape:
    """Exchange the token that `batchfx serve` printed for a cookie."""
    token = _token(request)
    return _shape(token.sign_in(body.token, request, response), token)


@router.delete("", status_code=204, responses=answers(404), openapi_extra=OPEN)
async def sign_out(request: Request, response: Response) -> None:
    """Forget the cookie."""
    _token(request).sign_out(request, response)


def _token(request: Request) -> LocalToken:
    token = site_of(request).token
    if token is None:
        message = "There is no token here: the application signs people in itself."
        raise NoSuchPageError(message)
    return token


def _shape(principal: Principal, token: LocalToken | None) -> SessionShape:
    return SessionShape(
        tenant=principal.tenant,
        user=principal.user,
        permissions=sorted(principal.permissions),
        can_sign_out=token is not None,
    )
