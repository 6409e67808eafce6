"""The imports of a Flask application, which runs as WSGI.

    flask --app samples.mounting.in_flask run

Each follower of a batch takes a thread of the server here; WSGI has no other way.
"""

from __future__ import annotations

from a2wsgi import ASGIMiddleware
from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware

import importers  # noqa: F401 - what can be imported
from batchfx.web import create_app
from samples.mounting.signing_in import DATABASE, principal

app = Flask(__name__)


@app.get("/")
def read_shop() -> dict[str, str]:
    """Return what the shop has of its own."""
    return {"imports": "/imports/"}


imports = ASGIMiddleware(create_app(DATABASE, authenticate=principal))
app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/imports": imports})
