"""Who sends a request, as the samples of mounting have it.

A proxy in front signs people in and says who it is in a header. An application with
sessions of its own looks into those here instead.
"""

from __future__ import annotations

import os

from starlette.requests import Request

from batchfx.web import Permission, Principal

DATABASE = os.environ.get("BATCHFX_DATABASE_URL", "sqlite:///batchfx.db")
CLERK = frozenset(Permission) - {Permission.ADMINISTER}


def principal(request: Request) -> Principal | None:
    """Return the clerk of the shop whom the proxy named, or None."""
    name = request.headers.get("x-remote-user")
    return None if not name else Principal(tenant="shop", user=name, permissions=CLERK)
