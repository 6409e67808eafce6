"""Batches: brought in, looked at, decided on and moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import ValidationError
from starlette.requests import Request

from batchfx.execution import control, drafts, operate
from batchfx.execution.control import Options
from batchfx.execution.drafts import draft
from batchfx.execution.reports import Report
from batchfx.execution.settings import given_of
from batchfx.execution.snapshots import page, snapshot
from batchfx.importer import Importer
from batchfx.model.states import BatchState
from batchfx.store.batches import Wanted
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey
from batchfx.web.answers import OF_BATCH, OF_BODY, OF_FILE, answers, file_body
from batchfx.web.bodies import ODD, DraftBody, RerunBody, StartBody, odd_text
from batchfx.web.callers import (
    LARGEST,
    Administrator,
    Canceller,
    Editor,
    Filter,
    Number,
    Reader,
    Runner,
    Said,
    Uploader,
)
from batchfx.web.refusals import InvalidRequestError, NotNowError, too_large
from batchfx.web.shapes import BatchPageShape, BatchShape, DraftShape, ImportersShape
from batchfx.web.showing import batch_shape, draft_shape, importer_shape
from batchfx.web.uploads import Upload, named, received

JSON = "application/json"
LARGEST_JSON = 1 << 20

Name = Annotated[str | None, Query(max_length=1_000, description="Of the file.")]
DryRun = Annotated[
    bool | None, Query(description="Check the rows, or import them; as in the body.")
]
Key = Annotated[
    str | None,
    Header(pattern=r"^[!-~]{1,200}$", description="The same one finds the same batch."),
]

router = APIRouter(prefix="/api", tags=["batches"])


@router.get("/importers", responses=answers())
async def list_importers(caller: Reader) -> ImportersShape:
    """Return the kinds of import that there are."""
    kinds = caller.site.kinds()
    return ImportersShape(importers=[importer_shape(each) for each in kinds.values()])


@router.get("/batches", responses=answers())
async def list_batches(
    caller: Reader,
    *,
    state: Annotated[list[BatchState], Query()] = [],  # noqa: B006 - copied by FastAPI
    importer: Filter = None,
    text: Filter = None,
    before: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> BatchPageShape:
    """Return batches, the newest first."""
    wanted = Wanted(frozenset(state), importer, text, before)
    found, after = await caller.site.at_store(
        page, caller.principal.tenant, wanted, limit
    )
    shown = [batch_shape(each, caller.viewer) for each in found]
    return BatchPageShape(batches=shown, next=after)


@router.post(
    "/batches",
    status_code=201,
    responses=answers(*OF_FILE),
    openapi_extra=file_body(),
)
async def upload_batch(
    caller: Uploader,
    request: Request,
    response: Response,
    *,
    importer: Annotated[str, Query(max_length=1_000)],
    name: Name = None,
    mapping: Filter = None,
    said: Said = [],  # noqa: B006 - copied by FastAPI
    idempotency_key: Key = None,
) -> BatchShape:
    """Keep a file as a draft, looked into and with its columns mapped."""
    kind = caller.site.importer(importer)
    options = Options(
        tenant=caller.principal.tenant,
        saved_mapping=mapping,
        settings=_settings(said),
    )
    async with received(caller.site, request, name) as upload:
        report = await caller.site.at_store(
            _draft,
            kind,
            upload,
            options,
            user=caller.principal.user,
            idempotency_key=idempotency_key,
        )
    number = report.key.number
    response.headers["Location"] = (
        f"{request.scope.get('root_path', '')}/api/batches/{number}"
    )
    return await caller.shape(number)


@router.get("/batches/{number}", responses=answers(404))
async def read_batch(caller: Reader, number: Number) -> BatchShape:
    """Return where a batch is and what became of its rows."""
    return await caller.shape(number)


@router.get("/batches/{number}/draft", responses=answers(*OF_BATCH))
async def read_draft(caller: Reader, number: Number) -> DraftShape:
    """Return how a draft would be read, and its first rows."""
    view = await caller.of_batch(number, drafts.view)
    found = await caller.of_batch(number, snapshot)
    return draft_shape(view, found, caller.viewer)


@router.patch("/batches/{number}/draft", responses=answers(*OF_BATCH, *OF_BODY))
async def change_draft(caller: Editor, number: Number, body: DraftBody) -> DraftShape:
    """Say anew how a draft is read; what is given replaces what was said before."""
    view = await caller.change(
        number, drafts.redraft, settings=body.settings, mapping=body.mapping
    )
    found = await caller.of_batch(number, snapshot)
    return draft_shape(view, found, caller.viewer)


@router.post(
    "/batches/{number}/start", status_code=202, responses=answers(*OF_BATCH, *OF_BODY)
)
async def start_batch(
    caller: Runner, number: Number, body: StartBody | None = None
) -> BatchShape:
    """Begin a draft: check all of its rows, or import them."""
    body = body or StartBody()
    await caller.change(
        number, drafts.start, dry_run=body.dry_run, again=body.again, detached=True
    )
    return await caller.shape(number)


@router.post("/batches/{number}/pause", responses=answers(*OF_BATCH))
async def pause_batch(caller: Runner, number: Number) -> BatchShape:
    """Let nothing more of it be begun; what is at work is finished."""
    await caller.change(number, operate.pause)
    return await caller.shape(number)


@router.post("/batches/{number}/resume", responses=answers(*OF_BATCH))
async def resume_batch(caller: Runner, number: Number) -> BatchShape:
    """Let a paused batch go on."""
    await caller.change(number, operate.resume)
    return await caller.shape(number)


@router.post("/batches/{number}/cancel", responses=answers(*OF_BATCH))
async def cancel_batch(caller: Canceller, number: Number) -> BatchShape:
    """End it for good; what was imported stays."""
    await caller.change(number, operate.cancel)
    return await caller.shape(number)


@router.post("/batches/{number}/approve", status_code=202, responses=answers(*OF_BATCH))
async def approve_batch(caller: Runner, number: Number) -> BatchShape:
    """Import what was checked."""
    before = await caller.shape(number)
    if before.state is not BatchState.CHECKED:
        message = f"Batch {number} is {before.state}: only what was checked can be."
        raise NotNowError(message, state=str(before.state), possible=before.moves)
    await caller.change(number, control.rerun, dry_run=False, detached=True)
    return await caller.shape(number)


@router.post(
    "/batches/{number}/rerun",
    status_code=202,
    responses=answers(*OF_FILE),
    openapi_extra=file_body(is_optional=True),
)
async def rerun_batch(
    caller: Runner,
    number: Number,
    request: Request,
    *,
    name: Name = None,
    said: Said = [],  # noqa: B006 - copied by FastAPI
    dry_run: DryRun = None,
) -> BatchShape:
    """Try every row again that is not finished; with a file, with its values."""
    before = await caller.shape(number)  # before a file is taken for nothing
    asked = _Asked(_settings(said), dry_run)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in {"", JSON}:
        body = await _rerun_body(request)
        asked = asked.over(body).meant(before)
        await caller.change(
            number,
            control.rerun,
            settings=asked.settings,
            dry_run=asked.dry_run,
            detached=True,
        )
    else:
        async with received(caller.site, request, name) as upload:
            await caller.change(number, _rerun_with, upload, asked.meant(before))
    return await caller.shape(number)


@router.post("/batches/{number}/revive", responses=answers(*OF_BATCH))
async def revive_batch(caller: Administrator, number: Number) -> BatchShape:
    """Let what broke too often be tried again."""
    await caller.change(number, operate.revive)
    return await caller.shape(number)


def _settings(said: Sequence[str]) -> dict[str, Any]:
    """Return the settings that are said in the address.

    Raises:
        InvalidRequestError: One has text that can't be kept.
        UsageError: One is none.

    """
    given = given_of(said)
    if odd_text(given):
        message = f"The request can't be understood: set: {ODD}."
        raise InvalidRequestError(
            message, errors=[{"where": "query.set", "message": ODD}]
        )
    return given


def _draft(
    store: Store,
    kind: type[Importer[Any]],
    upload: Upload,
    options: Options,
    *,
    user: str,
    idempotency_key: str | None,
) -> Report:
    return draft(
        store,
        kind,
        upload.source,
        name=upload.name,
        options=options,
        created_by=user,
        idempotency_key=idempotency_key,
        digest=upload.digest,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is said of a new attempt."""

    settings: Mapping[str, Any]
    dry_run: bool | None

    def over(self, body: RerunBody) -> _Asked:
        """Return it with what the body says, which counts more."""
        is_dry = self.dry_run if body.dry_run is None else body.dry_run
        return _Asked({**self.settings, **body.settings}, is_dry)

    def meant(self, batch: BatchShape) -> _Asked:
        """Return it for a batch that may be checked only: that isn't imported by it."""
        is_only_checked = batch.dry_run and batch.state is BatchState.CHECKED
        if self.dry_run is None and is_only_checked:
            return _Asked(self.settings, dry_run=True)
        return self


def _rerun_with(store: Store, key: BatchKey, upload: Upload, asked: _Asked) -> Report:
    with named(upload) as path:
        return control.rerun(
            store,
            key,
            path,
            settings=asked.settings,
            dry_run=asked.dry_run,
            detached=True,
        )


async def _rerun_body(request: Request) -> RerunBody:
    text = bytearray()
    async for piece in request.stream():
        text += piece
        if len(text) > LARGEST_JSON:
            raise too_large(LARGEST_JSON)
    try:
        return RerunBody.model_validate_json(bytes(text)) if text else RerunBody()
    except ValidationError as error:
        found = [
            {
                "where": ".".join(["body", *map(str, each["loc"])]),
                "message": each["msg"],
            }
            for each in error.errors()
        ]
        message = f"The settings can't be read: {found[0]['message']}."
        raise InvalidRequestError(message, errors=found) from error
