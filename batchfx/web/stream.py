"""The event stream of a batch (server-sent events)."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from batchfx.errors import CursorExpiredError, CursorUnknownError
from batchfx.execution.follow import newest_of, place_of
from batchfx.execution.pace import Pacer
from batchfx.execution.snapshots import Snapshot, snapshot
from batchfx.model.events import ENDINGS
from batchfx.store.schema import BatchKey
from batchfx.web.answers import answers
from batchfx.web.callers import Caller, Number, Reader
from batchfx.web.feeds import Follower, Page, Told, message, read_page, tell
from batchfx.web.shapes import SnapshotShape
from batchfx.web.showing import batch_shape

HEARTBEAT = 15.0  # seconds of silence after which a comment is sent
LONGEST = 900.0  # seconds of a stream; whoever goes on is asked again who it is
RETRY = b"retry: 2000\n\n"  # milliseconds until a browser connects again
COMMENT = b": nothing new\n\n"
EARLIEST = "earliest"
SSE = "text/event-stream"

# One message, as OpenAPI has streams: its fields, and in `data` the JSON of a shape.
MESSAGE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["snapshot", "reset", "end"]},
        "id": {"type": "string", "description": "The cursor to go on from."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {
                "anyOf": [
                    {"$ref": "#/components/schemas/EventShape"},
                    {"$ref": "#/components/schemas/SnapshotShape"},
                ]
            },
        },
    },
    "required": ["id", "data"],
}

router = APIRouter(prefix="/api/batches/{number}", tags=["events"])


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        **answers(404, 409),
        200: {
            "description": "Events as they happen, until the batch ends: snapshot or "
            "reset, events of the batch as EventShape, then end.",
            "content": {SSE: {"schema": MESSAGE}},
        },
        204: {"description": "It has ended, and nothing came after the cursor."},
    },
)
async def follow_batch(
    caller: Reader,
    number: Number,
    *,
    after: Annotated[str | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Follow a batch from a cursor on: what was, then what comes."""
    said = last_event_id or after or None
    key = caller.key(number)
    newest, has_ended = await caller.site.at_store(newest_of, key)
    if said == newest and has_ended:
        return Response(status_code=204)
    return StreamingResponse(
        _messages(caller, key, said),
        media_type=SSE,
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _messages(
    caller: Caller, key: BatchKey, said: str | None
) -> AsyncGenerator[bytes, None]:
    """Yield the stream: listen first, then say what was, then what comes."""
    yield RETRY
    feeds = caller.site.feeds
    async with feeds.followed(key) as follower:
        seq, opening = await _opening(caller, key, said)
        yield opening
        async with aclosing(_replay(caller, key, seq)) as replayed:
            async for told in replayed:
                seq = told.seq
                yield told.text
        async with aclosing(_live(follower, seq)) as live:
            async for text in live:
                yield text
        if follower.is_slow or feeds.is_ending:
            return  # it goes on with its cursor
    found = await caller.site.at_store(snapshot, key)
    if found.report.batch.state in ENDINGS:
        yield _snapshot(caller, found, "end")


async def _opening(
    caller: Caller, key: BatchKey, said: str | None
) -> tuple[int, bytes]:
    """Return the number to go on after, and what is to be said before that."""
    name = "snapshot"
    if said is not None:
        try:
            place = await caller.site.at_store(
                place_of, key, None if said == EARLIEST else said
            )
        except (CursorExpiredError, CursorUnknownError):
            name = "reset"
        else:
            return place.seq, b""
    found = await caller.site.at_store(snapshot, key)
    return found.report.batch.event_seq, _snapshot(caller, found, name)


async def _replay(
    caller: Caller, key: BatchKey, seq: int
) -> AsyncGenerator[Told, None]:
    """Yield what has happened after number *seq*."""
    pacer, is_behind = Pacer(), True
    while is_behind:
        page: Page = await caller.site.at_store(read_page, key, seq)
        for event in page.events:
            yield tell(key, event, pacer)
            seq = event.seq
        is_behind = page.is_behind


async def _live(follower: Follower, seq: int) -> AsyncGenerator[bytes, None]:
    """Yield what comes after number *seq*, and a sign of life where nothing does."""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        try:
            told = await follower.next(HEARTBEAT)
        except TimeoutError:
            yield COMMENT
            continue
        if told is None:
            return
        if told.seq > seq:
            seq = told.seq
            yield told.text


def _snapshot(caller: Caller, found: Snapshot, name: str) -> bytes:
    shape = SnapshotShape(batch=batch_shape(found, caller.viewer))
    return message(shape.model_dump_json(), name=name, cursor=found.cursor)
