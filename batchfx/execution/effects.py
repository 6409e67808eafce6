"""Effects of a chunk's rows: they happen first; its transaction finds the results.

No transaction is open while something happens outside. So the rows are gone through
beforehand, in a transaction that is rolled back, until each asks for an effect that
has no end yet. These are claimed, run and recorded one after the other, and the rows
are gone through again, with the results at hand, until they ask for no more. Then the
chunk's own transaction calls each row a last time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlalchemy.engine import Connection

from batchfx.context import Context
from batchfx.errors import (
    ContractError,
    EffectChangedError,
    EffectHeldError,
    EffectUnknownError,
    Invalid,
)
from batchfx.execution.process import end_session
from batchfx.importer import Importer, reconcilers
from batchfx.model.effects import Asked, Effects, EffectState
from batchfx.pipeline.checks import Pairs
from batchfx.pipeline.failures import BROKEN
from batchfx.store import claims, effects
from batchfx.store.claims import Claim
from batchfx.store.effects import Effect
from batchfx.store.engine import Store, is_system_fault

MOST = 100  # effects of one row, one after the other

MakeContext = Callable[[Connection, Effects], Context]
Ask = Callable[[str], Any]


class EffectPending(BaseException):
    """A row asks for an effect that is still to be run.

    No `Exception`, so that a processor which catches those lets it pass.
    """

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked.key)
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Tried:
    """The effects that were run for a chunk now; each is run once, whatever came of it.

    *errors* has what those raised of which nobody knows whether they have happened, and
    *asks* what asks outside how an effect of a kind ended.
    """

    asks: Mapping[str, Ask] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    errors: dict[str, BaseException] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """The right to run an effect; *is_again*: somebody may have run it before."""

    claimed_at: float
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of the effects, as the rows of one transaction see it."""

    connection: Connection
    tenant: str
    tried: Tried
    is_final: bool = True

    def result(self, asked: Asked, row: int) -> Any:
        """Return the recorded result.

        Raises:
            EffectChangedError: The key was used for something else before.
            EffectPending: It is still to be run.
            EffectUnknownError: Nobody knows whether it has happened.
            Invalid: The far side refused it.

        """
        found = effects.find(self.connection, self.tenant, asked.key)
        if found is None:
            self._ask(asked, row)
        if found.digest != asked.digest:
            message = (
                f"The effect '{asked.key}' was asked for before with another payload. "
                "Give it a key of its own, or the payload it had."
            )
            raise EffectChangedError(message)
        if found.state is EffectState.DONE:
            return self._done(asked, found)
        if found.state is EffectState.REFUSED:
            raise Invalid(**found.result)
        if self._may_be_run(asked, found):
            self._ask(asked, row)
        raise EffectUnknownError(_doubt(asked)) from self.tried.errors.get(asked.key)

    def _done(self, asked: Asked, found: Effect) -> Any:
        error = self.tried.errors.get(asked.key)
        if isinstance(error, ContractError):
            raise error
        return found.result

    def _may_be_run(self, asked: Asked, found: Effect) -> bool:
        if asked.key in self.tried.keys:
            return False
        is_found_out = asked.is_idempotent or asked.name in self.tried.asks
        return is_found_out or found.state is EffectState.CLAIMED

    def _ask(self, asked: Asked, row: int) -> NoReturn:
        if self.is_final:
            message = (
                f"process asked for the effect '{asked.key}' of row {row} only when "
                "the rows were committed: it must ask for the same ones each time."
            )
            raise ContractError(message)
        raise EffectPending(asked)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a claimed chunk, and how each transaction's context is made."""

    claim: Claim
    importer: Importer[Any]
    pairs: Pairs
    make_context: MakeContext


def run_ahead(store: Store, rows: Rows) -> Tried:
    """Run every effect that the rows ask for; return what the commit has to know.

    Raises:
        ContractError: A row asks for more and more.
        EffectHeldError: An effect is switched off, or another worker is at it.
        LeaseLostError: Another worker has the chunk now.
        StoreError: The database gave out; what was recorded is kept.

    """
    tried = Tried(reconcilers(rows.importer))
    for _ in range(MOST):
        pending = _pending(store, rows, tried)
        if not pending:
            return tried
        for row, asked in pending:
            if asked.key not in tried.keys:
                _carry_out(store, rows.claim, row, asked, tried)
    message = (
        f"The importer '{rows.importer.name}' asks for new effects without end: a key "
        "must be the same each time that process is called for its row."
    )
    raise ContractError(message)


def _pending(store: Store, rows: Rows, tried: Tried) -> list[tuple[int, Asked]]:
    """Go through the rows, write nothing, and return what each asks for next."""
    found: list[tuple[int, Asked]] = []
    with store.write() as connection:
        tenant = rows.claim.key.tenant
        recorded = Recorded(connection, tenant, tried, is_final=False)
        context = rows.make_context(connection, recorded)
        for number, row in rows.pairs:
            context.row = number
            asked = _asked(rows.importer, row, context)
            if asked is not None:
                found.append((number, asked))
        end_session(context.session)
        connection.rollback()
    return found


def _asked(importer: Importer[Any], row: Any, context: Context) -> Asked | None:
    savepoint = context.session.begin_nested()
    try:
        importer.process(row, context)
        context.session.flush()
    except EffectPending as pending:
        savepoint.rollback()
        return pending.asked
    except BROKEN as error:
        if is_system_fault(error):
            raise
        savepoint.rollback()  # it gets this error once more where that is kept
    else:
        savepoint.commit()
    return None


def _carry_out(
    store: Store, claim: Claim, row: int, asked: Asked, tried: Tried
) -> None:
    taken = _claim(store, claim, row, asked, tried)
    if taken is None:
        return
    tried.keys.add(asked.key)
    state, result = _run(asked, tried, taken)
    with store.write() as connection:
        effects.finish(
            connection,
            claim.key.tenant,
            asked.key,
            worker=claim.worker,
            claimed_at=taken.claimed_at,
            state=state,
            result=result,
        )


def _claim(
    store: Store, claim: Claim, row: int, asked: Asked, tried: Tried
) -> Taken | None:
    """Claim the effect; None when it has an end already, or nobody may know it."""
    with store.write() as connection:
        claims.require(connection, claim)
        claimed_at = effects.claim(connection, claim, row, asked)
        if claimed_at is not None:
            return Taken(claimed_at)
        found = effects.find(connection, claim.key.tenant, asked.key)
        if found is None:
            raise EffectHeldError(_held(asked, "is switched off"))
        is_open = found.state in {EffectState.CLAIMED, EffectState.UNKNOWN}
        if found.digest != asked.digest or not is_open:
            return None
        if found.is_held and not found.is_of(claim):
            raise EffectHeldError(_held(asked, "is being run by another worker"))
        if not (asked.is_idempotent or asked.name in tried.asks):
            _give_up(connection, claim, asked, found)
            return None
        claimed_at = effects.reclaim(connection, claim, row, asked, found)
        if claimed_at is None:
            raise EffectHeldError(_held(asked, "is switched off, or was taken over"))
        return Taken(claimed_at, is_again=True)


def _give_up(connection: Connection, claim: Claim, asked: Asked, found: Effect) -> None:
    """Keep that nobody knows whether the effect of a dead holder has happened."""
    effects.finish(
        connection,
        claim.key.tenant,
        asked.key,
        worker=found.worker,
        claimed_at=found.claimed_at,
        state=EffectState.UNKNOWN,
    )


def _run(asked: Asked, tried: Tried, taken: Taken) -> tuple[EffectState, Any]:
    """Make the effect happen; return how it ended and what is kept of that.

    What may have happened before is asked for first, where the importer can.
    """
    ask = tried.asks.get(asked.name) if taken.is_again else None
    try:
        result = None if ask is None else ask(asked.key)
        if result is None:
            result = asked.run(asked.key)
    except Invalid as refusal:
        return EffectState.REFUSED, _refusal(refusal)
    except BROKEN as error:
        tried.errors[asked.key] = error
        return EffectState.UNKNOWN, None
    try:
        return EffectState.DONE, json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        message = (
            f"The effect '{asked.key}' has happened, but what it returned can't be "
            "kept: return a text, a number, or lists and mappings of them."
        )
        tried.errors[asked.key] = ContractError(message)
        return EffectState.DONE, None


def _refusal(refusal: Invalid) -> dict[str, Any]:
    return {
        "code": str(refusal.code),
        "message": str(refusal.message),
        "field": refusal.field,
        "suggestion": refusal.suggestion,
    }


def _doubt(asked: Asked) -> str:
    return (
        f"Nobody knows whether the effect '{asked.key}' has happened: whoever ran it "
        "got no answer, or died. Look there before the row is tried again."
    )


def _held(asked: Asked, why: str) -> str:
    return f"The effect '{asked.key}' {why}; its chunk is tried again later."
