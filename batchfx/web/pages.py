"""The site's pages and the files of the widgets, as they are in the package.

A page is a shell without data, so it is shown to everybody; what it then asks the API
for is not. Files are kept by browsers for a year under an address that has their
contents' digest in it, and are asked for anew each time under the address without. They
are sent packed to those who take that; packed and plain, a file has two tags.
"""

from __future__ import annotations

import hashlib
import html
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from string import Template
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from starlette.requests import Request
from starlette.responses import Response

from batchfx.web.callers import site_of
from batchfx.web.languages import language_of
from batchfx.web.packing import GZIP, VARY, accepts_gzip, packed_once
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
UNSENT = re.compile(rb"^[ \t]*//.*$|^[ \t]+", re.MULTILINE)  # remarks, indents
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2"}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Form:
    """A file as it is sent, plain or packed, with the tag of just these bytes."""

    content: bytes
    tag: str
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file that may be sent; *packed* is None where that isn't smaller."""

    plain: Form
    packed: Form | None

    def form(self, *, is_packed: bool) -> Form:
        """Return what is sent to those who take packed files, or don't."""
        return (self.packed if is_packed else None) or self.plain


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
    form = files()[name].form(is_packed=accepts_gzip(request.headers))
    headers = {
        "Cache-Control": FOR_A_YEAR if is_versioned else EACH_TIME,
        "ETag": form.tag,
        "Vary": VARY,
        "Content-Security-Policy": POLICY,
    }
    if _is_known(request, form):
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(len(form.content))
    if form.encoding is not None:
        headers["Content-Encoding"] = form.encoding
    return Response(form.content, headers=headers, media_type=_type_of(name))


def missing(request: Request) -> Response | None:
    """Return the page of addresses that are none, to a browser that wants a page."""
    is_page = "text/html" in request.headers.get("accept", "")
    scope = request.scope
    path = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))
    if not is_page or path.startswith(("/api/", "/static/")):
        return None
    return page(request, "missing", HTTPStatus.NOT_FOUND)


def page(request: Request, name: str, status: int = HTTPStatus.OK) -> Response:
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
        static=f"{base}/static/{digest()}",
        lang=language_of(request),
        sign_in=html.escape(site_of(request).way_in),
    )
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": EACH_TIME,
        "Vary": "Accept-Language",
    }
    return Response(text, status, headers=headers, media_type="text/html")


@cache
def files() -> dict[str, File]:
    """Return what may be sent, by path: read once, so that no path leads elsewhere."""
    return {name: _file(content) for name, content in _contents()}


@cache
def digest() -> str:
    """Return what changes whenever one of the files does."""
    told = hashlib.sha256()
    for name, file in files().items():
        told.update(f"{name}\0{len(file.plain.content)}\0".encode())
        told.update(file.plain.content)
    return told.hexdigest()[:12]


def _contents() -> Iterator[tuple[str, bytes]]:
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            yield path.relative_to(STATIC).as_posix(), _sent(path)


def _sent(path: Path) -> bytes:
    """Return a file without what only its readers want, line by line."""
    content = path.read_bytes()
    return UNSENT.sub(b"", content) if path.suffix == ".js" else content


def _file(content: bytes) -> File:
    mark = hashlib.sha256(content).hexdigest()[:16]
    packed = packed_once(content)
    is_smaller = len(packed) < len(content)
    return File(
        Form(content, f'"{mark}"'),
        Form(packed, f'"{mark}-{GZIP}"', GZIP) if is_smaller else None,
    )


def _is_known(request: Request, form: Form) -> bool:
    """Tell whether who asks has these very bytes (RFC 9110, 13.1.2)."""
    said = request.headers.get("if-none-match", "")
    tags = {part.strip().removeprefix("W/") for part in said.split(",")}
    return not tags.isdisjoint({form.tag, "*"})


def _type_of(name: str) -> str:
    known = TYPES.get(Path(name).suffix)
    return known or mimetypes.guess_type(name)[0] or "application/octet-stream"
