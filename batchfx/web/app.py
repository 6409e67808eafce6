"""`create_app`: the whole of the web as one application, to be run or mounted.

It needs no start and no end: what it uses is opened when it is asked for, so it works
under hosts that never tell a mounted application about either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route

from batchfx.errors import BatchfxError, DeclarationError
from batchfx.importer import Importer
from batchfx.store.engine import Store
from batchfx.web import batches, files, pages, problems, rows, sessions, stream
from batchfx.web.access import Authenticate
from batchfx.web.bodies import RerunBody
from batchfx.web.gate import HEADER, Gate
from batchfx.web.heads import Heads
from batchfx.web.languages import language_of
from batchfx.web.packing import Packing
from batchfx.web.shapes import EventShape, ProblemShape, SnapshotShape
from batchfx.web.site import Site
from batchfx.web.tokens import LocalToken

MOST_BYTES = 2 << 30  # of an upload, unless it is said otherwise
REFERENCE = "#/components/schemas/{model}"
PARTS = (sessions, batches, rows, files, stream, pages)
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
    sign_in: str | None = None,
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
        sign_in: Where the host signs people in, such as ``/login?next={next}``; the
            page sends them there, with where to come back to as ``{next}``.

    Raises:
        DeclarationError: Nobody says who sends a request, no upload could be, or
            *sign_in* is no address of a page.

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
    if sign_in is not None and not sign_in.startswith(("/", "https://", "http://")):
        message = f"sign_in = '{sign_in}' is no address: it begins with / or https://."
        raise DeclarationError(message)
    kinds = None if importers is None else {each.name: each for each in importers}
    token = authenticate if isinstance(authenticate, LocalToken) else None
    site = Site(store, authenticate, max_upload, kinds, token, hint, sign_in)
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
        middleware=[
            Middleware(Heads),
            Middleware(Packing),
            Middleware(Gate, allowed_origins=allowed_origins),
        ],
    )
    app.state.site = site
    for part in PARTS:
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
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    return pages.missing(request) or problems.of_invalid(error.errors())


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    is_none = error.status_code == HTTPStatus.NOT_FOUND
    base = request.scope.get("root_path", "")
    if is_none and request.scope["path"] == base:  # mounted, without a slash behind
        return RedirectResponse(f"{base}/")
    if is_none and (shown := pages.missing(request)) is not None:
        return shown
    return problems.of_http(error, request.url.path, _methods_at(request))


def _methods_at(request: Request) -> set[str]:
    """Return every method that the address of *request* can be asked with."""
    found: set[str] = set()
    parts = (route for part in PARTS for route in part.router.routes)
    for route in (*request.app.routes, *parts):
        if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE:
            found |= route.methods or set()
    return found | ({"HEAD"} if "GET" in found else set())


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
        _say_who_is_let_in(document, parts, app.state.site.token)
        return document

    vars(app)["openapi"] = openapi  # in the place of the method, as FastAPI wants it


def _say_who_is_let_in(
    document: dict[str, Any], parts: dict[str, Any], token: LocalToken | None
) -> None:
    """Describe how a request says who sent it; a host's own way isn't known here."""
    deliberate = {
        "type": "apiKey",
        "in": "header",
        "name": HEADER.title(),
        "description": "With any value: no form on another site can send it. What "
        "changes something needs it where it has no bearer token and its body is none "
        "or of a kind that forms send.",
    }
    schemes: dict[str, Any] = {"deliberate": deliberate}
    if token is not None:
        schemes["bearer"] = {"type": "http", "scheme": "bearer"}
        schemes["session"] = {"type": "apiKey", "in": "cookie", "name": token.cookie}
        document["security"] = [{"bearer": []}, {"session": [], "deliberate": []}]
    parts["securitySchemes"] = schemes
