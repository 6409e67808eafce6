"""What a person does to rows: edit, fix many alike, exclude, approve.

Each is one transaction: the revisions, what the pipeline finds of the rows that it
changes, their chunks counted anew, the state of the batch and the event that tells.
A row that is finished is never touched, nor is one that a worker is at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import polars as pl

from batchfx.errors import (
    ConflictError,
    IllegalMoveError,
    NotFoundError,
    UsageError,
)
from batchfx.execution import row_cells
from batchfx.execution.chunk import judge
from batchfx.execution.desk import Desk, at_rows, keep_off, listed_rows, settle
from batchfx.execution.edited_cells import edited
from batchfx.execution.job import by_field, read_cells
from batchfx.execution.row_cells import Cells
from batchfx.execution.views import RowView, row_view
from batchfx.execution.whole_file import settle_repeats
from batchfx.model.blocks import ROW, block_schema, column_name
from batchfx.model.revisions import Action
from batchfx.model.verdicts import Outcome, Verdict
from batchfx.pipeline.mapping import require_field
from batchfx.store import (
    amendments,
    outcomes,
    revisions,
)
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey

ROWS_AT_ONCE = 5_000
DECIDING = {Action.EXCLUDED: "Excluded by", Action.APPROVED: "Approved as it is by"}
SHOWN = 5  # row numbers named in a sentence


def edit(
    store: Store,
    key: BatchKey,
    row: int,
    values: Mapping[str, str | None],
    *,
    version: int,
    who: str,
) -> RowView:
    """Put *values*, by field, in the place of those of a row, and check it at once.

    A sound row waits for the next run then; what is wrong with another is found anew.
    Values for every field of the file say that the record is right as a whole: what was
    wrong with it as a record goes, too.

    Args:
        store: Where the batch is.
        key: The batch, in its tenant's scope.
        row: The row's number.
        values: The new texts; None for none. The other fields keep theirs.
        version: How many revisions the editor has seen of it; 0: it is as it was read.
        who: Whose edit it is.

    Raises:
        NotFoundError: The tenant has no such batch, or that no such row.
        UsageError: A field is named that isn't, or that the file has no column for.
        ConflictError: The row was changed since; nothing was overwritten.
        IllegalMoveError: The row is finished, or is being worked on.

    """
    with at_rows(store, key, who) as desk:
        (before,) = _open_rows(desk, [row]).values()
        _require_version(desk, row, version)
        after = edited(before, _placed(desk, values), is_whole=_is_whole(desk, values))
        if after != before:
            _amend(desk, Action.EDITED, {row: before}, {row: after})
            settle(desk, Action.EDITED, 1)
    return row_view(store, key, row)


def fix(
    store: Store,
    key: BatchKey,
    *,
    code: str,
    field: str,
    value: str | None,
    replacement: str | None,
    who: str,
) -> int:
    """Replace a *value* in every row that has it with that issue; count the rows.

    Rows that are finished, and those that have the issue with another value, are left
    alone.

    Raises:
        NotFoundError: The tenant has no such batch.
        UsageError: The field is named that isn't, or that the file has no column for.
        IllegalMoveError: One of the rows is being worked on; nothing was changed.

    """
    fixed = 0
    with at_rows(store, key, who) as desk:
        places = _placed(desk, {field: replacement})
        (place,) = places
        name = next(n for n, at in desk.batch.mapping.items() if at == place)
        rows = amendments.rows_with(desk.connection, key, code, name)
        for part in _parts(rows):
            ended = outcomes.terminal_among(desk.connection, key, part)
            found = row_cells.of_rows(desk.connection, key, set(part) - ended)
            before = {r: c for r, c in found.items() if c[column_name(place)] == value}
            after = {row: edited(cells, places) for row, cells in before.items()}
            changed = {row for row in before if after[row] != before[row]}
            _amend(
                desk,
                Action.FIXED,
                {row: before[row] for row in changed},
                {row: after[row] for row in changed},
            )
            fixed += len(changed)
        if fixed:
            settle(desk, Action.FIXED, fixed)
    return fixed


def exclude(
    store: Store,
    key: BatchKey,
    rows: Collection[int],
    who: str,
    reason: str | None = None,
) -> int:
    """Decide that *rows* are not to be imported, for good; count them.

    Raises:
        NotFoundError: The tenant has no such batch, or that no such row.
        IllegalMoveError: One of the rows is finished, or is being worked on; nothing
            was changed.

    """
    return _decide(store, key, rows, Action.EXCLUDED, who=who, reason=reason)


def approve(store: Store, key: BatchKey, rows: Collection[int], who: str) -> int:
    """Decide that faulty *rows* are settled without being imported; count them.

    Raises:
        NotFoundError: The tenant has no such batch, or that no such row.
        IllegalMoveError: One of the rows is finished, is being worked on, or waits to
            be imported, so that there is nothing to settle; nothing was changed.

    """
    return _decide(store, key, rows, Action.APPROVED, who=who)


def _decide(
    store: Store,
    key: BatchKey,
    rows: Collection[int],
    action: Action,
    *,
    who: str,
    reason: str | None = None,
) -> int:
    numbers = sorted(set(rows))
    told = f"{DECIDING[action]} {who}" + (f": {reason}" if reason else "")
    with at_rows(store, key, who) as desk:
        for part in _parts(numbers):
            cells = _open_rows(desk, part)
            if action is Action.APPROVED:
                _require_faulty(desk, part)
            _amend(desk, action, cells, cells, told)
        if numbers:
            settle(desk, action, len(numbers))
    return len(numbers)


def _open_rows(desk: Desk, rows: Sequence[int]) -> dict[int, Cells]:
    """Return the present cells of *rows*, none of which may be finished or missing."""
    number = desk.key.number
    cells = row_cells.of_rows(desk.connection, desk.key, set(rows))
    lacking = sorted(set(rows) - cells.keys())
    if lacking:
        message = f"Batch {number} has no row {listed_rows(lacking)}."
        raise NotFoundError(message)
    ended = outcomes.terminal_among(desk.connection, desk.key, rows)
    if ended:
        message = (
            f"Row {listed_rows(sorted(ended))} of batch {number} is finished and can't "
            "be changed any more. Nothing was changed."
        )
        raise IllegalMoveError(message)
    return cells


def _require_faulty(desk: Desk, rows: Sequence[int]) -> None:
    waiting = set(rows) - outcomes.of_rows(desk.connection, desk.key, rows).keys()
    if waiting:
        message = (
            f"Row {listed_rows(sorted(waiting))} of batch {desk.key.number} isn't "
            "faulty, but waits to be imported: there is nothing to settle. Nothing was "
            "changed. Exclude what is not to be imported."
        )
        raise IllegalMoveError(message)


def _require_version(desk: Desk, row: int, version: int) -> None:
    seen = revisions.versions(desk.connection, desk.key, [row]).get(row, 0)
    if seen == version:
        return
    by = revisions.of_row(desk.connection, desk.key, row)[-1].origin if seen else ""
    what = f"was changed meanwhile by {by}" if by else "was changed meanwhile"
    if seen < version:
        what = "has fewer changes than you say"
    message = (
        f"Row {row} of batch {desk.key.number} {what} (it is at version {seen}, not "
        f"{version}). Nothing was overwritten: look at it again, then edit it."
    )
    raise ConflictError(message)


def _placed(desk: Desk, values: Mapping[str, str | None]) -> dict[int, str | None]:
    """Return *values* by the position of their field's column."""
    placed: dict[int, str | None] = {}
    for said, text in values.items():
        name = require_field(desk.job.importer.columns, said, f"The field '{said}'")
        if name not in desk.batch.mapping:
            message = (
                f"The file of batch {desk.key.number} has no column for '{name}': it "
                "can't be edited."
            )
            raise UsageError(message)
        placed[desk.batch.mapping[name]] = text
    if not placed:
        message = "An edit names at least one field and its new text."
        raise UsageError(message)
    return placed


def _is_whole(desk: Desk, values: Mapping[str, str | None]) -> bool:
    return len(_placed(desk, values)) == len(desk.batch.mapping)


def _amend(
    desk: Desk,
    action: Action,
    before: Mapping[int, Cells],
    after: Mapping[int, Cells],
    decided: str | None = None,
) -> None:
    """Keep the new cells of rows, and what holds now of them and of their likes.

    With *decided*, the reason of it, a person has decided the rows.
    """
    if not after:
        return
    connection, key = desk.connection, desk.key
    revisions.add(connection, key, desk.who, sorted(after.items()), action)
    was, now = _frame(desk, before), _frame(desk, after)
    ended = None if decided is None else after.keys()
    others = settle_repeats(connection, desk.job, was, now, ended) - after.keys()
    others -= outcomes.terminal_among(connection, key, others)
    keep_off(desk, {*after, *others})
    if decided is None:
        _judge(desk, {*after, *others})
        return
    amendments.clear_outcomes(connection, key, after.keys())
    verdicts = [Outcome(row, Verdict.SKIPPED, None, decided) for row in sorted(after)]
    outcomes.add(connection, key, desk.batch.attempt, verdicts)
    _judge(desk, others)


def _frame(desk: Desk, cells: Mapping[int, Cells]) -> pl.DataFrame:
    schema = block_schema(len(desk.batch.layout.header))
    rows = [{ROW: row, **each} for row, each in cells.items()]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return by_field(frame, desk.job.positions)


def _judge(desk: Desk, rows: Collection[int]) -> None:
    """Let the pipeline check *rows* again; what it finds replaces what was known."""
    connection, key, job = desk.connection, desk.key, desk.job
    ended = outcomes.terminal_among(connection, key, rows)
    if ended:  # by a worker, before its chunk was locked
        message = (
            f"Row {listed_rows(sorted(ended))} of batch {key.number} was finished "
            "meanwhile. Nothing was changed."
        )
        raise IllegalMoveError(message)
    for ordinal, numbers in row_cells.by_chunk(connection, key, rows).items():
        cells = read_cells(connection, key, ordinal, job.positions)
        cells = cells.filter(pl.col(ROW).is_in(numbers))
        repeated = outcomes.duplicates(connection, key, numbers[0], numbers[-1])
        verdicts, issues = judge(connection, job, cells, repeated)
        amendments.clear(connection, key, numbers)
        outcomes.add(connection, key, job.attempt, verdicts)
        outcomes.add_issues(connection, key, job.attempt, issues)


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    for at in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[at : at + ROWS_AT_ONCE]
