"""Uploads: taken as they come, never whole in memory, and gone when they are refused.

A body of its own or the one file of a form goes into a temporary file, with its digest
computed on the way. A file's name is a label: nothing on this machine is called by it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from multipart import (
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)
from starlette.requests import ClientDisconnect, Request

from batchfx.web.problems import half
from batchfx.web.refusals import (
    ContentTypeError,
    DiskFullError,
    MalformedError,
    NoFileError,
    too_large,
)
from batchfx.web.site import Site

RAW, FORM = "application/octet-stream", "multipart/form-data"
PIECE = 1 << 20  # bytes that are written at once
IN_MEMORY = 1 << 20  # a smaller file needs no disk
MOST_PARTS = 50
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
LONGEST_NAME = 200
UNNAMED = "upload"
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that has arrived: seekable, at its beginning."""

    source: BinaryIO
    name: str
    digest: str  # SHA-256, hex
    size: int


class Basket:
    """A temporary file that is filled piece by piece."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._limit = file, limit
        self._digest = hashlib.sha256()
        self._waiting = bytearray()
        self.size = 0

    @property
    def is_heavy(self) -> bool:
        """True when so much waits that it should be written."""
        return len(self._waiting) >= PIECE

    def add(self, piece: bytes | bytearray) -> None:
        """Let *piece* wait to be written.

        Raises:
            TooLargeError: There is more than the limit by now.

        """
        self.size += len(piece)
        if self.size > self._limit:
            raise too_large(self._limit)
        self._waiting += piece

    def write(self) -> None:
        """Write what waits.

        Raises:
            DiskFullError: There is no room for it.

        """
        with _room():
            self._digest.update(self._waiting)
            self._file.write(self._waiting)
        self._waiting.clear()

    def close(self, name: str) -> Upload:
        """Write the rest, and return the file."""
        self.write()
        with _room():
            self._file.seek(0)
        source = cast("BinaryIO", self._file)
        return Upload(source, label(name), self._digest.hexdigest(), self.size)


@contextlib.asynccontextmanager
async def received(
    site: Site, request: Request, name: str | None
) -> AsyncIterator[Upload]:
    """Take the file that *request* brings; *name* counts more than that in a form.

    Raises:
        ContentTypeError: The body is neither a file nor a form with one.
        DiskFullError: There is no room for it.
        HalfUploadError: It broke off.
        MalformedError: It is no form, though it says so.
        NoFileError: It is a form without a file, or with several.
        TooLargeError: It is larger than the limit.

    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    _require_small(request, site.max_upload)
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        basket = Basket(cast("IO[bytes]", file), site.max_upload)
        if kind == RAW:
            await _take_raw(site, request, basket)
        elif kind == FORM:
            in_form = await _take_form(site, request, basket, options)
            name = name or in_form
        else:
            message = (
                f"A file is sent as {RAW}, or in a form as {FORM}; this is "
                f"'{kind or 'nothing'}'."
            )
            raise ContentTypeError(message)
        yield await site.in_thread(basket.close, name or UNNAMED)


@contextlib.contextmanager
def named(upload: Upload) -> Iterator[Path]:
    """Keep an upload as a file in a folder of its own, for what reads by path."""
    with tempfile.TemporaryDirectory(prefix="batchfx-upload-") as folder:
        path = Path(folder) / (upload.name.lstrip(".") or UNNAMED)
        with _room(), path.open("wb") as file:
            while piece := upload.source.read(PIECE):
                file.write(piece)
        yield path


def label(name: str) -> str:
    """Return what a file is called, without folders and what can't be shown."""
    last = re.split(r"[/\\]", name.encode("utf-8", "replace").decode())[-1]
    shown = CONTROLS.sub("", last).strip()
    short = shown if len(shown) <= LONGEST_NAME else shown[-LONGEST_NAME:]
    while len(short.encode()) > LONGEST_NAME:
        short = short[1:]
    return UNNAMED if short in {"", ".", ".."} else short


def _require_small(request: Request, limit: int) -> None:
    """Refuse a body that says to be too large before any of it is read."""
    announced = request.headers.get("content-length", "")
    is_form = request.headers.get("content-type", "").startswith(FORM)
    around = PIECE if is_form else 0  # what a form has beside the file
    if announced.isdecimal() and int(announced) > limit + around:
        raise too_large(limit)


async def _take_raw(site: Site, request: Request, basket: Basket) -> None:
    async for piece in _pieces(request):
        basket.add(piece)
        if basket.is_heavy:
            await site.in_thread(basket.write)


async def _take_form(
    site: Site, request: Request, basket: Basket, options: dict[str, str]
) -> str:
    """Take the form's one file; return its name."""
    form = _Form(basket)
    try:
        with PushMultipartParser(
            options.get("boundary", ""), max_segment_count=MOST_PARTS
        ) as parser:
            async for piece in _pieces(request):
                for part in parser.parse(piece):
                    form.take(part)
                if basket.is_heavy:
                    await site.in_thread(basket.write)
                if basket.size + form.beside > site.max_upload + PIECE:
                    raise too_large(site.max_upload)
    except MultipartError as error:
        message = f"The form can't be read: {error}."
        raise MalformedError(message) from error
    if form.name is None:
        message = "The form has no file. Put one into a part with a file name."
        raise NoFileError(message)
    return form.name


class _Form:
    """A form that is gone through: the one file is kept, fields are passed over."""

    def __init__(self, basket: Basket) -> None:
        self._basket = basket
        self._is_file = False
        self.name: str | None = None
        self.beside = 0  # bytes that are no part of the file

    def take(self, part: MultipartSegment | bytes | bytearray | None) -> None:
        """Take a part's beginning, a piece of it, or its end."""
        if isinstance(part, MultipartSegment):
            self._is_file = part.filename is not None
            if self._is_file and self.name is not None:
                message = "The form has several files; send each in a request."
                raise NoFileError(message)
            if part.filename is not None:
                self.name = part.filename
        elif part is not None and self._is_file:
            self._basket.add(part)
        elif part is not None:
            self.beside += len(part)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            if piece:
                yield piece
    except ClientDisconnect:
        raise half() from None


@contextlib.contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        message = (
            "There is no room on the server to keep the upload. Nothing of it was "
            "kept; tell whoever runs this, and try again then."
        )
        raise DiskFullError(message) from error
