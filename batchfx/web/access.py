"""Who sent a request, and what that allows.

The host says so: its `authenticate` is asked for each request. The tenant is the
principal's, whatever the request says.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request

from batchfx.errors import ContractError
from batchfx.model.translation import Language
from batchfx.web.refusals import ForbiddenError, NotSignedInError


class Permission(StrEnum):
    """What somebody may do."""

    UPLOAD = "upload"  # bring files in, as drafts
    READ = "read"  # see batches, rows and issues
    EDIT = "edit"  # say how a draft is read; change, exclude and approve rows
    RUN = "run"  # start, pause, resume, run again
    CANCEL = "cancel"
    EXPORT = "export"  # download rows
    ADMINISTER = "administer"  # let what is dead be tried again


EVERYTHING = frozenset(Permission)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whoever sent a request: a *user* of a *tenant*, with permissions."""

    tenant: str
    user: str
    permissions: frozenset[Permission] = EVERYTHING

    def __post_init__(self) -> None:
        """Take permissions by their names, too.

        Raises:
            ContractError: The tenant or the user is none, or a permission is unknown.

        """
        parts: tuple[object, object] = (self.tenant, self.user)
        if not all(isinstance(part, str) and part for part in parts):
            message = "A Principal needs a tenant and a user, as texts."
            raise ContractError(message)
        try:
            named = frozenset(map(Permission, self.permissions))
        except (TypeError, ValueError) as error:
            known = ", ".join(Permission)
            message = f"A Principal's permissions are a set of: {known}."
            raise ContractError(message) from error
        object.__setattr__(self, "permissions", named)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whoever is shown something, and the language that they asked for."""

    principal: Principal
    language: Language = Language.ENGLISH


Answer = Principal | None
Authenticate = Callable[[Request], Answer | Awaitable[Answer]]


async def principal_of(request: Request, authenticate: Authenticate) -> Principal:
    """Return who sent the request.

    Raises:
        ContractError: The host's function returned something else.
        NotSignedInError: It knows nobody.

    """
    answer = authenticate(request)
    found: object = await answer if inspect.isawaitable(answer) else answer
    if found is None:
        message = "Sign in first: this can't be told to just anybody."
        raise NotSignedInError(message)
    if not isinstance(found, Principal):
        message = "authenticate must return a Principal or None."
        raise ContractError(message)
    return found


def require(principal: Principal, permission: Permission) -> None:
    """Refuse whoever has not the permission.

    Raises:
        ForbiddenError: That is so.

    """
    if permission not in principal.permissions:
        message = f"You may not do this: it needs the permission to {permission}."
        raise ForbiddenError(message, permission=str(permission))
