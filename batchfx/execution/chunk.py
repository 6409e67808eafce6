"""One chunk: claimed, validated outside any transaction, then committed once.

Whatever ends the process in between leaves the chunk as it was: the records, the
outcomes, the issues, the tally and the end of the claim are one transaction, whose last
statement must find the fence that the claim was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx import tables
from batchfx.context import Context
from batchfx.execution.effects import Recorded, Rows, Tried, run_ahead
from batchfx.execution.job import Job, read_cells, values_in_file
from batchfx.execution.lease import TTL
from batchfx.execution.process import ChunkSession, Tick, end_session, process_rows
from batchfx.execution.standing import end_early, settle
from batchfx.importer import Importer
from batchfx.model.blocks import ROW
from batchfx.model.effects import Effects
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.verdicts import Decision, Outcome, Verdict
from batchfx.pipeline import checks
from batchfx.pipeline.failures import BROKEN, issue_of
from batchfx.pipeline.validate import Validated, declared
from batchfx.store import batches, chunks, claims, lanes, outcomes, units
from batchfx.store.claims import Claim


@dataclass(frozen=True, slots=True)
class Checked:
    """A claimed chunk, validated: nothing of it is written yet.

    *pairs* are the sound rows as model instances, or none when no check needed them.
    """

    claim: Claim
    importer: Importer[Any]
    validated: Validated
    pairs: checks.Pairs


def check_chunk(job: Job, claim: Claim) -> Checked:
    """Validate every row of the chunk that has no outcome yet, in no transaction."""
    importer = job.importer()
    first, last = claim.first_row, claim.last_row
    with job.store.read() as connection:
        cells = read_cells(connection, job.key, claim.ordinal, job.positions)
        decided = outcomes.decided_rows(connection, job.key, first, last)
        repeated = outcomes.duplicates(connection, job.key, first, last)
    if decided:
        cells = cells.filter(~pl.col(ROW).is_in(decided))
    validated, pairs = validate(job, importer, cells, repeated)
    return Checked(claim, importer, validated, pairs)


def validate(
    job: Job, importer: Importer[Any], cells: pl.DataFrame, repeated: pl.DataFrame
) -> tuple[Validated, checks.Pairs]:
    """Validate rows, of which *repeated* says what earlier rows have already."""
    validated = declared(job.plan, cells, job.positions)
    validated = validated.with_issues(_repeated(validated, repeated))
    return _check(job, importer, validated)


def judge(
    connection: Connection, job: Job, cells: pl.DataFrame, repeated: pl.DataFrame
) -> tuple[list[Outcome], list[Issue]]:
    """Return what a dry run finds of rows, outside of any claim; nothing is written."""
    importer, job = job.importer(), replace(job, dry_run=True)
    validated, pairs = validate(job, importer, cells, repeated)
    context = _context(job, connection)
    decision = _decided_by(job, importer, validated, pairs, context)
    end_session(context.session)
    refused = [issue for issue in validated.issues if issue.row is not None]
    return (
        [*_refusals(refused), *decision.outcomes],
        [*refused, *decision.issues],
    )


def commit_chunk(
    job: Job,
    checked: Checked,
    tick: Tick = lambda _: None,
    *,
    takes_next: bool = False,
    reason: str | None = None,
) -> Claim | None:
    """Decide the chunk's rows and write everything about them, in one transaction.

    Args:
        job: The attempt.
        checked: The chunk.
        tick: Told after each row that a method processes how many were gone through.
        takes_next: The batch's next chunk is claimed in the same transaction, which
            saves one for each chunk, and returned.
        reason: Why the batch ends with this chunk; it goes on when None.

    Raises:
        LeaseLostError: Another worker has the chunk now; nothing was written.
        StoreError: The database gave out; nothing was written.

    """
    claim, tried = checked.claim, _run_effects(job, checked)
    with job.store.write() as connection:
        if reason is not None:
            units.lock_units(connection, job.key)
        recorded = (
            None if tried is None else Recorded(connection, job.key.tenant, tried)
        )
        context = _context(job, connection, recorded)
        decision = _decide(job, checked, context, tick)
        _write(connection, job, checked.validated, decision)
        waited_at = _decided(connection, job) if decision.waiting else None
        chunks.commit(connection, claim, waited_at)
        end_session(context.session)
        _go_on(connection, job, reason)
        if waited_at is not None:
            lanes.wake(connection, job.key.tenant)
        upcoming = _next(connection, claim) if takes_next else None
    _after_commit(job, context)
    return upcoming


def _go_on(connection: Connection, job: Job, reason: str | None) -> None:
    if reason is None:
        settle(connection, job.key)
    else:
        end_early(connection, job.key, "stop", reason)


def _next(connection: Connection, claim: Claim) -> Claim | None:
    return claims.of_batch(connection, claim.key, claim.worker, TTL)


def _check(
    job: Job, importer: Importer[Any], validated: Validated
) -> tuple[Validated, checks.Pairs]:
    pairs = checks.pairs_of(validated) if checks.needs_rows(job.importer) else []
    if type(importer).prepare is not Importer.prepare and pairs:
        with job.store.read() as connection:
            context = _context(job, connection)
            try:
                importer.prepare([row for _, row in pairs], context)
            except BROKEN as error:
                failed = [issue_of(error, Phase.CHECK, row=n) for n, _ in pairs]
                return validated.with_issues(failed), []
            finally:
                end_session(context.session)
    return checks.checked(importer, validated, pairs)


def _context(
    job: Job, connection: Connection, recorded: Effects | None = None
) -> Context:
    session = ChunkSession(bind=connection, join_transaction_mode="rollback_only")
    return Context(job.key.tenant, job.key.number, job.attempt, session, recorded)


def _run_effects(job: Job, checked: Checked) -> Tried | None:
    """Let what the rows do outside happen, before the chunk's transaction begins."""
    if not job.importer.effects or job.dry_run:
        return None
    is_built = checks.needs_rows(job.importer)
    pairs = checked.pairs if is_built else checks.pairs_of(checked.validated)
    rows = Rows(checked.claim, checked.importer, pairs, partial(_context, job))
    return run_ahead(job.store, rows)


def _decide(job: Job, checked: Checked, context: Context, tick: Tick) -> Decision:
    claim = checked.claim
    last_round = claim.waited_at is not None and (
        claim.waited_at == _decided(context.session.connection(), job)
    )
    return _decided_by(
        job,
        checked.importer,
        checked.validated,
        checked.pairs,
        context,
        tick=tick,
        last_round=last_round,
    )


def _decided_by(
    job: Job,
    importer: Importer[Any],
    validated: Validated,
    pairs: checks.Pairs,
    context: Context,
    *,
    tick: Tick = lambda _: None,
    last_round: bool = False,
) -> Decision:
    if isinstance(importer, tables.TableImporter):
        return tables.write_rows(
            importer,
            validated,
            validated.sound,
            context,
            dry_run=job.dry_run,
            last_round=last_round,
            mapped=job.positions,
            made=partial(values_in_file, job),
        )
    if job.dry_run:
        return Decision()
    is_built = checks.needs_rows(job.importer)
    pairs = pairs if is_built else checks.pairs_of(validated)
    return process_rows(importer, pairs, context, tick)


def _write(
    connection: Connection, job: Job, validated: Validated, decision: Decision
) -> None:
    refused = [issue for issue in validated.issues if issue.row is not None]
    verdicts = _refusals(refused)
    outcomes.add(connection, job.key, job.attempt, [*verdicts, *decision.outcomes])
    outcomes.add_issues(connection, job.key, job.attempt, [*refused, *decision.issues])


def _after_commit(job: Job, context: Context) -> None:
    """Run what the processor put off; what breaks is reported, the rows stay."""
    broken: list[Issue] = []
    for row, call in context.calls:
        context.row = row
        try:
            call()
        except BROKEN as error:
            issue = issue_of(error, Phase.PROCESS, row=row)
            broken.append(
                replace(issue, code="after_commit_failed", level=Level.WARNING)
            )
    if broken:
        with job.store.write() as connection:
            outcomes.add_issues(connection, job.key, job.attempt, broken)


def _refusals(issues: Iterable[Issue]) -> list[Outcome]:
    """Return invalid, or failed where the application's code broke, for each row."""
    verdicts: dict[int, Verdict] = {}
    for issue in issues:
        if issue.row is None or not issue.keeps_out:
            continue
        if issue.is_failure:
            verdicts[issue.row] = Verdict.FAILED
        else:
            verdicts.setdefault(issue.row, Verdict.INVALID)
    return [Outcome(row, verdict) for row, verdict in verdicts.items()]


def _repeated(validated: Validated, repeated: pl.DataFrame) -> list[Issue]:
    """Return an issue for each value that an earlier row of the file has already."""
    present = set(validated.frame[ROW].to_list()) if repeated.height else set()
    found: list[Issue] = []
    for row, fields, first in repeated.iter_rows():
        if row not in present:
            continue
        names = fields.split("+")
        headers = [validated.plan.columns[name].header(name) for name in names]
        found.append(
            Issue(
                code="duplicate_in_file",
                message=(
                    f"Row {first} has this {' and '.join(headers)} already; "
                    "each may be in the file once."
                ),
                phase=Phase.UNIQUE,
                row=row,
                field=names[0],
                parameters={"first_row": first, "fields": names},
            )
        )
    return found


def _decided(connection: Connection, job: Job) -> int:
    return batches.tally(connection, job.key).decided
