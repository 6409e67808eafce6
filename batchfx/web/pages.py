"""The site's pages and the files of the widgets, as they are in the package.

A page is a shell without data, so it is shown to everybody; what it then asks the API
for is not. Files are kept by browsers for a year under an address that has their
contents' digest in it, and are asked for anew each time under the address without.
"""

from __future__ import annotations

import hashlib
import html
import mimetypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Template
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from starlette.requests import Request
from starlette.responses import Response

from batchfx.web.languages import language_of
from batchfx.web.refusals import NoSuchPageError

HERE = Path(__file__).parent
STATIC, PAGES = HERE / "static", HERE / "pages"
FOR_A_YEAR = "public, max-age=31536000, immutable"
EACH_TIME = "no-cache"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def show_batches(request: Request) -> Response:
    """Show the list of batches."""
    return page(request, "index")


@router.get("/new")
def show_new(request: Request) -> Response:
    """Show where a file is brought in."""
    return page(request, "new")


@router.get("/sign-in")
def show_sign_in(request: Request) -> Response:
    """Show where the token is taken."""
    return page(request, "sign-in")


@router.get("/batches/{number}")
def show_batch(request: Request, number: Annotated[int, InPath(ge=1)]) -> Response:
    """Show one batch."""
    del number  # the page reads it from its own address
    return page(request, "batch")


@router.get("/batches/{number}/rows/{row}")
def show_row(
    request: Request,
    number: Annotated[int, InPath(ge=1)],
    row: Annotated[int, InPath(ge=1)],
) -> Response:
    """Show one row."""
    del number, row
    return page(request, "row")


@router.get("/static/{path:path}")
def send_file(request: Request, path: str) -> Response:
    """Send a file of the widgets.

    Raises:
        NoSuchPageError: There is none at that path.

    """
    version, _, rest = path.partition("/")
    is_versioned = version == digest() and bool(rest)
    name = rest if is_versioned else path
    if name not in files():
        message = f"There is no file '{path}'."
        raise NoSuchPageError(message)
    content = files()[name]
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {
        "Cache-Control": FOR_A_YEAR if is_versioned else EACH_TIME,
        "ETag": tag,
        "Content-Security-Policy": POLICY,
    }
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_type_of(name))


def page(request: Request, name: str) -> Response:
    """Return a page, with where it is mounted and where its files are.

    Raises:
        NoSuchPageError: There is none of that name.

    """
    path = PAGES / f"{name}.html"
    if not path.is_file():
        message = f"There is no page '{name}' here."
        raise NoSuchPageError(message)
    base = html.escape(request.scope.get("root_path", "").rstrip("/"))
    text = Template(path.read_text("utf-8")).safe_substitute(
        base=base, static=f"{base}/static/{digest()}", lang=language_of(request)
    )
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": EACH_TIME,
        "Vary": "Accept-Language",
    }
    return Response(text, headers=headers, media_type="text/html")


@cache
def files() -> dict[str, bytes]:
    """Return what may be sent, by path: read once, so that no path leads elsewhere."""
    return dict(_files())


@cache
def digest() -> str:
    """Return what changes whenever one of the files does."""
    told = hashlib.sha256()
    for name, content in files().items():
        told.update(f"{name}\0{len(content)}\0".encode())
        told.update(content)
    return told.hexdigest()[:12]


def _files() -> Iterator[tuple[str, bytes]]:
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            yield path.relative_to(STATIC).as_posix(), path.read_bytes()


def _type_of(name: str) -> str:
    known = TYPES.get(Path(name).suffix)
    return known or mimetypes.guess_type(name)[0] or "application/octet-stream"
