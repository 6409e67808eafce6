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
from batchfx.execution.job import Job, read_cells, values_in_file
from batchfx.execution.lease import TTL
from batchfx.execution.process import ChunkSession, Tick, end_session, process_rows
from batchfx.importer import Context, Importer
from batchfx.model.blocks import ROW
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.verdicts import Decision, Outcome, Verdict
from batchfx.pipeline import checks
from batchfx.pipeline.failures import BROKEN, issue_of
from batchfx.pipeline.validate import Validated, declared
from batchfx.store import batches, chunks, outcomes
from batchfx.store.chunks import Claim


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
    validated = declared(job.plan, cells, job.positions)
    validated = validated.with_issues(_repeated(validated, repeated))
    validated, pairs = _check(job, importer, validated)
    return Checked(claim, importer, validated, pairs)


def commit_chunk(
    job: Job, checked: Checked, tick: Tick = lambda _: None
) -> Claim | None:
    """Decide the chunk's rows and write everything about them; claim the next chunk.

    Both are one transaction, which saves one for each chunk. *tick* is told after each
    row that a method processes how many were gone through.

    Raises:
        LeaseLostError: Another worker has the chunk now; nothing was written.
        StoreError: The database gave out; nothing was written.

    """
    with job.store.write() as connection:
        context = _context(job, connection)
        decision = _decide(job, checked, context, tick)
        _write(connection, job, checked.validated, decision)
        waited_at = _decided(connection, job) if decision.waiting else None
        chunks.commit(connection, checked.claim, waited_at)
        end_session(context.session)
        upcoming = chunks.claim(connection, job.key, job.hold.worker, TTL)
    _after_commit(job, context)
    return upcoming


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


def _context(job: Job, connection: Connection) -> Context:
    session = ChunkSession(bind=connection, join_transaction_mode="rollback_only")
    return Context(job.key.tenant, job.key.number, job.attempt, session)


def _decide(job: Job, checked: Checked, context: Context, tick: Tick) -> Decision:
    importer, validated, claim = checked.importer, checked.validated, checked.claim
    if isinstance(importer, tables.TableImporter):
        last_round = claim.waited_at is not None and (
            claim.waited_at == _decided(context.session.connection(), job)
        )
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
    pairs = checked.pairs if is_built else checks.pairs_of(validated)
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
