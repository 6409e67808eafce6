"""An importer's `process`, called for each row, so that one row's error is its own.

Rows are processed in groups, each under one savepoint. When a row raises, its group is
rolled back, and then the rows before it, the row alone, and the rows after it are three
groups: those before it are repeated, it gets the error that is its own, and the others
go on. An error that only shows when the group is flushed has no row yet, so the group
is halved until it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import InstanceState, Session, SessionTransaction

from batchfx.context import Context
from batchfx.errors import (
    ContractError,
    EffectUnknownError,
    Invalid,
    Skip,
    TransactionEndedError,
)
from batchfx.importer import Importer
from batchfx.model.issues import Issue, Phase
from batchfx.model.verdicts import (
    Created,
    Decision,
    Outcome,
    Unchanged,
    Updated,
    Verdict,
)
from batchfx.pipeline.checks import Pairs
from batchfx.pipeline.failures import BROKEN, issue_of, storable
from batchfx.store.engine import is_open, is_system_fault

ENDED = (
    "A processor ended the transaction of its chunk: records of it may be stored that "
    "have no outcome. Take every commit, rollback and close out of process, also of "
    "context.session.connection(), and run the batch again."
)

VERDICTS = {
    Created: Verdict.CREATED,
    Updated: Verdict.UPDATED,
    Unchanged: Verdict.UNCHANGED,
}


class ChunkSession(Session):
    """The session that importers get: the framework alone ends its transaction."""

    def commit(self) -> None:
        """Refuse: the chunk is committed once, by the framework."""
        raise _refused("commit")

    def rollback(self) -> None:
        """Refuse: what a row did is undone by the framework when the row raises."""
        raise _refused("rollback")

    def close(self) -> None:
        """Refuse: the framework closes the session after the chunk."""
        raise _refused("close")


def end_session(session: Session) -> None:
    """Let go of everything that *session* holds; its transaction goes on."""
    Session.close(session)


@dataclass(frozen=True, slots=True)
class Trial:
    """A group that was processed: its outcomes, or the error and the row it came at.

    *at* counts from the group's first row; the number of its rows means that the error
    came when everything was flushed.
    """

    outcomes: list[Outcome]
    error: BaseException | None = None
    at: int = 0


Tick = Callable[[int], None]


def process_rows(
    importer: Importer[Any],
    pairs: Pairs,
    context: Context,
    tick: Tick = lambda _: None,
) -> Decision:
    """Process every row; return an outcome for each, in the order of rows.

    *tick* is told after each row how many were gone through.

    Raises:
        TransactionEndedError: `process` ended the chunk's transaction, by a way around
            the session that it was given.
        Exception: The database gave out (`is_system_fault`); no row is to blame.

    """
    transaction = context.session.connection().get_transaction()
    outcomes: list[Outcome] = []
    issues: list[Issue] = []
    size = 1 if importer.savepoints == "row" else max(1, len(pairs))
    waiting = [pairs[i : i + size] for i in range(0, len(pairs), size)][::-1]
    while waiting:
        group = waiting.pop()
        trial = _try(importer, group, context, transaction, _after(tick, len(outcomes)))
        if trial.error is None:
            outcomes += trial.outcomes
        elif len(group) == 1:
            outcome, issue = _verdict(group[0][0], trial.error)
            outcomes.append(outcome)
            issues += issue
        else:
            waiting += _parts(group, trial.at)[::-1]
    return Decision(outcomes, issues)


def _parts(group: Pairs, at: int) -> list[Pairs]:
    """Cut a group in which the row *at* raised, or the flush after all of them."""
    if at == len(group):
        return [group[: at // 2], group[at // 2 :]]
    parts = [group[:at], group[at : at + 1], group[at + 1 :]]
    return [part for part in parts if part]


def _try(
    importer: Importer[Any],
    group: Pairs,
    context: Context,
    transaction: RootTransaction | None,
    tick: Tick,
) -> Trial:
    """Process a group under one savepoint, which is rolled back at the first error."""
    calls = len(context.calls)
    results: list[Any] = []
    outcomes: list[Outcome] = []
    reached: list[Any] = results  # as long as the number of rows gone through so far
    savepoint = context.session.begin_nested()
    try:
        for context.row, row in group:
            results.append(importer.process(row, context))
            tick(len(results))
        context.session.flush()
        _require_open(transaction)
        reached = outcomes
        for (number, _), result in zip(group, results, strict=True):
            outcomes.append(_outcome(number, result))
        savepoint.commit()
    except BROKEN as error:
        if is_system_fault(error):
            raise
        _require_open(transaction)
        _roll_back(savepoint)
        del context.calls[calls:]
        return Trial([], error, len(reached))
    return Trial(outcomes)


def _after(tick: Tick, done: int) -> Tick:
    return lambda count: tick(done + count)


def _roll_back(savepoint: SessionTransaction) -> None:
    try:
        savepoint.rollback()
    except InvalidRequestError as closed:
        raise TransactionEndedError(ENDED) from closed


def _require_open(transaction: RootTransaction | None) -> None:
    if not is_open(transaction):
        raise TransactionEndedError(ENDED)


def _outcome(number: int, result: Any) -> Outcome:
    verdict = VERDICTS.get(type(result), Verdict.CREATED)
    record = result.record if type(result) in VERDICTS else result
    return Outcome(number, verdict, _identity(record))


def _identity(record: Any) -> str:
    """Return the id that a processor gave, or that a flushed record has, as text."""
    if (
        isinstance(record, int | str | UUID)
        and not isinstance(record, bool)
        and record != ""
    ):
        return storable(str(record))
    state = sa.inspect(record, raiseerr=False)
    if isinstance(state, InstanceState) and state.identity:
        return ",".join(str(part) for part in state.identity)
    if record is None:
        message = "process returned nothing: return the record or its id."
    else:
        message = (
            f"process returned {record!r}: return the record that was added to the "
            "session, or its id (a number, a text or a UUID), or one of Created, "
            "Updated, Unchanged with it."
        )
    raise ContractError(message)


def _verdict(number: int, error: BaseException) -> tuple[Outcome, list[Issue]]:
    if isinstance(error, Skip):
        reason = storable(str(error.reason))
        return Outcome(number, Verdict.SKIPPED, reason=reason), []
    issue = issue_of(error, Phase.PROCESS, row=number)
    return Outcome(number, _verdict_of(error)), [issue]


def _verdict_of(error: BaseException) -> Verdict:
    if isinstance(error, EffectUnknownError):
        return Verdict.UNKNOWN
    return Verdict.INVALID if isinstance(error, Invalid) else Verdict.FAILED


def _refused(name: str) -> ContractError:
    return ContractError(
        f"A processor must not call session.{name}(): batchfx commits the whole chunk "
        "once, with its outcomes. Use flush() to send what was added."
    )
