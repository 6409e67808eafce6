"""What the use cases return, in the shapes of the API."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, cast

from batchfx.execution.browse import ColumnView, RowHistory, RowPage
from batchfx.execution.draft_views import DraftView
from batchfx.execution.pace import Pace
from batchfx.execution.reports import Report
from batchfx.execution.snapshots import Snapshot, moves_of
from batchfx.execution.views import RowView
from batchfx.execution.waiting import Wait
from batchfx.importer import Importer
from batchfx.model.events import Event, Standing
from batchfx.model.issues import Issue
from batchfx.model.translation import Language, phrase_in, translated, words_in
from batchfx.store.outcomes import IssueGroup
from batchfx.web.access import Permission, Principal, Viewer
from batchfx.web.problems import OPTION, without_commands
from batchfx.web.shapes import (
    BatchShape,
    ChangeShape,
    ColumnShape,
    DraftRowShape,
    DraftShape,
    EventShape,
    FieldInFileShape,
    FieldShape,
    ImporterShape,
    IssueGroupShape,
    IssueShape,
    LayoutShape,
    Move,
    ProgressShape,
    RevisionShape,
    RowHistoryShape,
    RowPageShape,
    RowShape,
    RowVerdict,
    WaitsFor,
)

# Which switch operators turned, and why, is not for everybody to read.
WAITS: dict[Wait, WaitsFor] = {
    Wait.TURN: "turn",
    Wait.WORKER: "worker",
    Wait.IMPORTER: "worker",
    Wait.VERSION: "version",
    Wait.SWITCH: "switch",
    Wait.RESTART: "restart",
}
OF_MOVE = {"cancel": Permission.CANCEL, "edit": Permission.EDIT}  # others: run


def batch_shape(snapshot: Snapshot, viewer: Viewer) -> BatchShape:
    """Return the batch, with what the viewer may do to it now."""
    report = snapshot.report
    batch, tally = report.batch, report.tally
    return BatchShape(
        number=batch.key.number,
        importer=batch.importer,
        source_name=batch.source_name,
        created_by=batch.created_by,
        state=batch.state,
        reason=_reason(report, viewer.language),
        waits_for=_waits_for(report),
        at_work=len(report.at_work),
        moves=cast("list[Move]", moves_for(report, viewer.principal)),
        dry_run=batch.dry_run,
        attempt=batch.attempt,
        total=tally.total,
        tally=tally.counts(),
        faulty=tally.faulty,
        blank=batch.blank,
        progress=_progress(snapshot.pace),
        seconds=round(report.seconds, 3),
        created_at=moment(batch.created_at),
        started_at=moment(batch.started_at),
        ended_at=None if batch.ended_at is None else moment(batch.ended_at),
        file_issues=_issues(report.file_issues, viewer.language),
        seq=batch.event_seq,
        cursor=snapshot.cursor,
    )


def moves_for(report: Report, principal: Principal) -> list[str]:
    """Return what *principal* may do to the batch as it is now."""
    return [
        move
        for move in moves_of(report)
        if OF_MOVE.get(move, Permission.RUN) in principal.permissions
    ]


def event_shape(cursor: str, event: Event, pace: Pace | None) -> EventShape:
    """Return an event as its followers get it."""
    standing = Standing.of(event.content)
    known = () if standing is None else {*standing.content()}
    return EventShape(
        cursor=cursor,
        seq=event.seq,
        at=moment(event.at),
        kind=event.kind,
        state=None if standing is None else standing.state,
        total=None if standing is None else standing.tally.total,
        tally=None if standing is None else standing.tally.counts(),
        progress=None if pace is None else _progress(pace),
        more={k: v for k, v in event.content.items() if k not in known},
    )


def importer_shape(importer: type[Importer[Any]]) -> ImporterShape:
    """Return a kind of import with the fields that its files have."""
    model = importer.row_model
    own = vars(importer).get("__doc__")
    return ImporterShape(
        name=importer.name,
        summary=inspect.cleandoc(own).partition("\n\n")[0] if own else None,
        fields=[
            FieldInFileShape(
                name=name,
                header=importer.columns[name].header(name),
                aliases=list(importer.columns[name].aliases),
                is_required=field.is_required(),
                is_unique=importer.columns[name].unique,
                example=importer.columns[name].example,
            )
            for name, field in model.model_fields.items()
        ],
    )


def draft_shape(view: DraftView, snapshot: Snapshot, viewer: Viewer) -> DraftShape:
    """Return a draft as a person decides on it."""
    layout = view.layout
    return DraftShape(
        batch=batch_shape(snapshot, viewer),
        layout=LayoutShape(
            format=layout.format,
            header=list(layout.header),
            header_row=layout.header_row,
            settings=dict(layout.settings),
            reasons={
                name: _told(name, reason, viewer.language)
                for name, reason in layout.reasons.items()
            },
        ),
        warnings=_issues(view.warnings, viewer.language),
        settings=dict(view.settings),
        mapping=dict(view.mapping),
        fields=[
            FieldShape.model_validate(each, from_attributes=True)
            for each in view.fields
        ],
        unused=list(view.unused),
        left_out=list(view.left_out),
        missing=list(view.missing),
        questions=_issues(view.questions, viewer.language),
        rows=[
            DraftRowShape(
                row=each.row,
                cells=list(each.cells),
                issues=_issues(each.issues, viewer.language),
            )
            for each in view.rows
        ],
        imported_before=view.imported_before,
    )


def row_shape(view: RowView, language: Language) -> RowShape:
    """Return a row with its issues."""
    return RowShape(
        row=view.row,
        verdict=cast("RowVerdict", view.verdict),
        record_id=view.record_id,
        reason=view.reason and words_in(language, view.reason),
        attempt=view.attempt,
        values=dict(view.values),
        issues=_issues(view.issues, language),
        version=view.version,
    )


def page_shape(page: RowPage, language: Language) -> RowPageShape:
    """Return a page of rows."""
    return RowPageShape(
        rows=[row_shape(each, language) for each in page.rows],
        next=page.next,
        columns=_columns(page.columns),
    )


def history_shape(history: RowHistory, language: Language) -> RowHistoryShape:
    """Return a row with everything that was done to it."""
    return RowHistoryShape(
        row=row_shape(history.row, language),
        as_read=dict(history.as_read),
        revisions=[
            RevisionShape(
                version=each.version,
                action=each.action,
                who=each.who,
                at=moment(each.at),
                changes=_changes(each.changes),
            )
            for each in history.revisions
        ],
        columns=_columns(history.columns),
    )


def group_shape(group: IssueGroup, language: Language) -> IssueGroupShape:
    """Return issues of one cause."""
    said = without_commands(translated(group, language), but=OPTION)
    shape = IssueGroupShape.model_validate(group, from_attributes=True)
    return shape.model_copy(update={"message": said})


def moment(epoch: float) -> dt.datetime:
    """Return a moment in UTC."""
    return dt.datetime.fromtimestamp(epoch, dt.UTC)


def _reason(report: Report, language: Language) -> str | None:
    """Return why the batch ended early, which an issue of its file may tell, too."""
    reason = report.batch.reason
    for issue in report.file_issues:
        if issue.message == reason:
            return translated(issue, language)
    return reason if reason is None else words_in(language, reason)


def _told(name: str, reason: str, language: Language) -> str:
    """Return why a part of a layout is thought; a workbook's header is a row."""
    is_number = name == "header_row" and reason[:1].isdigit()
    return phrase_in(language, "reason", f"row {reason}" if is_number else reason)


def _waits_for(report: Report) -> WaitsFor | None:
    """Return what the batch waits for; a moment until an idle worker looks is none."""
    wait = report.waits_for
    if wait is None or (wait is Wait.TURN and not report.is_crowded):
        return None
    return WAITS[wait]


def _progress(pace: Pace) -> ProgressShape:
    return ProgressShape(
        examined=pace.examined,
        share=pace.share,
        rate=pace.rate,
        seconds_left=pace.seconds_left,
    )


def _issues(issues: Iterable[Issue], language: Language) -> list[IssueShape]:
    return [_issue(each, language) for each in issues]


def _issue(issue: Issue, language: Language) -> IssueShape:
    return IssueShape(
        code=issue.code,
        message=without_commands(translated(issue, language), but=OPTION),
        phase=issue.phase,
        level=issue.level,
        row=issue.row,
        field=issue.field,
        value=issue.value,
        suggestion=issue.suggestion,
        parameters=dict(issue.parameters),
        is_failure=issue.is_failure,
    )


def _columns(columns: Iterable[ColumnView]) -> list[ColumnShape]:
    return [ColumnShape.model_validate(each, from_attributes=True) for each in columns]


def _changes(
    changes: Mapping[str, tuple[str | None, str | None]],
) -> dict[str, ChangeShape]:
    return {
        name: ChangeShape(before=before, after=after)
        for name, (before, after) in changes.items()
    }
