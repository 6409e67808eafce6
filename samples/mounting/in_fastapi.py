"""The imports of a FastAPI application.

uvicorn samples.mounting.in_fastapi:app
"""

from __future__ import annotations

from fastapi import FastAPI

import importers  # noqa: F401 - what can be imported
from batchfx.web import create_app
from samples.mounting.signing_in import DATABASE, principal

app = FastAPI(title="Shop")


@app.get("/")
def read_shop() -> dict[str, str]:
    """Return what the shop has of its own."""
    return {"imports": "/imports/"}


app.mount("/imports", create_app(DATABASE, authenticate=principal))
