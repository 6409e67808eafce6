"""Rows: found, changed, left out or taken as they are; and their issues."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from batchfx.execution import browse, edits
from batchfx.web.answers import OF_BATCH, OF_BODY, answers
from batchfx.web.bodies import EditBody, ExcludeBody, FixBody, RowsBody
from batchfx.web.callers import LARGEST, Editor, Filter, Number, Reader
from batchfx.web.shapes import (
    ChangedShape,
    IssueGroupsShape,
    RowHistoryShape,
    RowPageShape,
    RowShape,
    RowVerdict,
)
from batchfx.web.showing import group_shape, history_shape, page_shape, row_shape

RowNumber = Annotated[int, Path(ge=1, le=LARGEST, description="As in the file.")]

router = APIRouter(prefix="/api/batches/{number}", tags=["rows"])


@router.get("/rows", responses=answers(*OF_BATCH))
async def list_rows(
    caller: Reader,
    number: Number,
    *,
    verdict: RowVerdict | None = None,
    code: Filter = None,
    field: Filter = None,
    text: Filter = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> RowPageShape:
    """Return rows in the file's order, all or those that are as it is said."""
    page = await caller.of_batch(
        number,
        browse.page,
        verdict=verdict,
        code=code,
        field=field,
        text=text,
        after=after,
        limit=limit,
    )
    return page_shape(page, caller.language)


@router.get("/rows/{row:int}", responses=answers(*OF_BATCH))
async def read_row(caller: Reader, number: Number, row: RowNumber) -> RowHistoryShape:
    """Return a row with everything that was done to it."""
    history = await caller.of_batch(number, browse.history, row)
    return history_shape(history, caller.language)


@router.patch("/rows/{row:int}", responses=answers(*OF_BATCH, *OF_BODY))
async def edit_row(
    caller: Editor, number: Number, row: RowNumber, body: EditBody
) -> RowShape:
    """Change a row's values and check it at once."""
    view = await caller.change(
        number,
        edits.edit,
        row,
        body.values,
        version=body.version,
        who=caller.principal.user,
    )
    return row_shape(view, caller.language)


@router.post("/rows/exclude", responses=answers(*OF_BATCH, *OF_BODY))
async def exclude_rows(
    caller: Editor, number: Number, body: ExcludeBody
) -> ChangedShape:
    """Let rows not be imported, for good."""
    changed = await caller.change(
        number, edits.exclude, body.rows, caller.principal.user, body.reason
    )
    return ChangedShape(changed=changed)


@router.post("/rows/approve", responses=answers(*OF_BATCH, *OF_BODY))
async def approve_rows(caller: Editor, number: Number, body: RowsBody) -> ChangedShape:
    """Take rows as they are: nothing more is tried with them."""
    changed = await caller.change(
        number, edits.approve, body.rows, caller.principal.user
    )
    return ChangedShape(changed=changed)


@router.get("/issues", responses=answers(*OF_BATCH))
async def list_issues(caller: Reader, number: Number) -> IssueGroupsShape:
    """Return what is wrong by cause, the most frequent first."""
    found = await caller.of_batch(number, browse.groups)
    groups = [group_shape(each, caller.language) for each in found]
    return IssueGroupsShape(groups=groups)


@router.post("/issues/fix", responses=answers(*OF_BATCH, *OF_BODY))
async def fix_issues(caller: Editor, number: Number, body: FixBody) -> ChangedShape:
    """Put one value in another's place, in every row that has this issue with it."""
    changed = await caller.change(
        number,
        edits.fix,
        code=body.code,
        field=body.field,
        value=body.value,
        replacement=body.replacement,
        who=caller.principal.user,
    )
    return ChangedShape(changed=changed)
