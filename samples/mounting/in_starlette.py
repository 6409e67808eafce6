"""The imports of a Starlette application.

uvicorn samples.mounting.in_starlette:app
"""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

import importers  # noqa: F401 - what can be imported
from batchfx.web import create_app
from samples.mounting.signing_in import DATABASE, principal


def read_shop(request: Request) -> JSONResponse:
    """Return what the shop has of its own."""
    del request
    return JSONResponse({"imports": "/imports/"})


app = Starlette(
    routes=[
        Route("/", read_shop),
        Mount("/imports", create_app(DATABASE, authenticate=principal)),
    ]
)
