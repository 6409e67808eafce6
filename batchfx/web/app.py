"""`create_app`: the whole of the web as one application, to be run or mounted.

It needs no start and no end: what it uses is opened when it is asked for, so it works
under hosts that never tell a mounted application about either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from batchfx.errors import BatchfxError, DeclarationError
from batchfx.importer import Importer
from batchfx.store.engine import Store
from batchfx.web import batches, files, pages, problems, rows, sessions, stream
from batchfx.web.access import Authenticate
from batchfx.web.gate import Gate
from batchfx.web.languages import language_of
from batchfx.web.shapes import EventShape, ProblemShape, RerunBody, SnapshotShape
from batchfx.web.site import Site
from batchfx.web.tokens import LocalToken

MOST_BYTES = 2 << 30  # of an upload, unless it is said otherwise
REFERENCE = "#/components/schemas/{model}"
SAID_IN_WORDS = (EventShape, ProblemShape, RerunBody, SnapshotShape)
TITLE = "batchfx"
DESCRIPTION = (
    "Batch import in which every row has its own fate. What changes something must "
    "carry a bearer token or the header `X-Batchfx`."
)


def create_app(
    store: Store | str,
    *,
    importers: Iterable[type[Importer[Any]]] | None = None,
    authenticate: Authenticate | LocalToken | None = None,
    max_upload: int = MOST_BYTES,
    allowed_origins: Collection[str] = (),
    hint: Callable[[], object] | None = None,
) -> FastAPI:
    """Return the application, to be run alone or mounted under any path.

    Args:
        store: The open database, or its address; that is opened by the first request.
        importers: What files may be uploaded for; everything that is defined if None.
        authenticate: Returns who sends a request, as a `Principal`, or None. It is
            called in the event loop: what waits in it must be awaited. There is no
            application without it.
        max_upload: The most bytes of a file.
        allowed_origins: Other sites (``https://example.com``) whose pages may send
            what changes something, where the host lets browsers do so (CORS).
        hint: Called in a thread after every change, to tell workers that there may be
            work; they find it by themselves, too.

    Raises:
        DeclarationError: Nobody says who sends a request, or no upload could be.

    """
    if not callable(authenticate):
        message = (
            "create_app needs authenticate: a function of the request that returns a "
            "Principal or None."
        )
        raise DeclarationError(message)
    if max_upload < 1:
        message = f"max_upload = {max_upload} bytes lets no file in."
        raise DeclarationError(message)
    kinds = None if importers is None else {each.name: each for each in importers}
    token = authenticate if isinstance(authenticate, LocalToken) else None
    site = Site(store, authenticate, max_upload, kinds, token, hint)
    return _assembled(site, allowed_origins)


def _assembled(site: Site, allowed_origins: Collection[str]) -> FastAPI:
    app = FastAPI(
        title=TITLE,
        description=DESCRIPTION,
        version=version("batchfx"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page takes scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Gate, allowed_origins=allowed_origins)],
    )
    app.state.site = site
    for part in (sessions, batches, rows, files, stream, pages):
        app.include_router(part.router)
    _handle_errors(app)
    _describe(app)
    return app


def _handle_errors(app: FastAPI) -> None:
    app.add_exception_handler(BatchfxError, _of_error)
    app.add_exception_handler(RequestValidationError, _of_invalid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_fault)


async def _of_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BatchfxError)  # noqa: S101 - as it was registered
    return problems.of_error(error, language_of(request))


async def _of_invalid(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    return problems.of_invalid(error.errors())


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    return problems.of_http(error, request.url.path)


async def _of_fault(request: Request, error: Exception) -> Response:
    del request, error
    return problems.of_fault()


def _describe(app: FastAPI) -> None:
    """Add to the document what no operation's signature says."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        parts = document.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for model in SAID_IN_WORDS:
            schema = model.model_json_schema(ref_template=REFERENCE)
            schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
        if app.state.site.token is not None:  # a host's own scheme isn't known
            bearer = {"type": "http", "scheme": "bearer"}
            parts["securitySchemes"] = {"bearer": bearer}
            document["security"] = [{"bearer": []}]
        return document

    vars(app)["openapi"] = openapi  # in the place of the method, as FastAPI wants it
