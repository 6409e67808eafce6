"""Downloads: files that are made while they are sent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.responses import StreamingResponse

from batchfx.execution.downloads import FORMATS, faulty_rows, file_name
from batchfx.execution.reports import report
from batchfx.web.answers import answers
from batchfx.web.callers import Exporter, Number
from batchfx.web.site import Site

Format = Annotated[Literal["csv", "xlsx", "json"], Path()]
BINARY = {"schema": {"type": "string", "format": "binary"}}
RECORDS = {"schema": {"type": "array", "items": {"type": "object"}}}
CONTENT: dict[str, Any] = {
    **{kind.partition(";")[0]: BINARY for kind in FORMATS.values()},
    FORMATS["json"]: RECORDS,
}

router = APIRouter(prefix="/api/batches/{number}/downloads", tags=["files"])


@router.get(
    "/faulty.{format}",
    response_class=StreamingResponse,
    responses={
        **answers(404, 409),
        200: {"description": "A file that a rerun reads back.", "content": CONTENT},
    },
)
async def download_faulty(
    caller: Exporter,
    number: Number,
    format: Format,  # noqa: A002 - its name in the address
) -> StreamingResponse:
    """Return the faulty rows, each with what is wrong with it."""
    found = await caller.of_batch(number, report)
    pieces = await caller.of_batch(number, faulty_rows, format)
    return StreamingResponse(
        _sent(caller.site, pieces),
        media_type=FORMATS[format],
        headers={"Content-Disposition": _attached(file_name(found.batch, format))},
    )


async def _sent(site: Site, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Make each piece in a thread, and the next one only when this one is sent."""
    while (piece := await site.in_thread(next, pieces, None)) is not None:
        yield piece


def _attached(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
