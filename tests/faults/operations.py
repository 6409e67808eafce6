"""Every operation that may be killed: where it begins, what it does, and its end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from batchfx import BatchKey, cancel, pause, rerun, resume, revive
from batchfx.errors import AlreadyImportedError, IllegalMoveError, UsageError
from batchfx.execution import standing
from batchfx.execution.reports import report
from batchfx.execution.run import run_claim
from batchfx.execution.settlements import Breakdown, Loss, Release, Settlement, settle
from batchfx.execution.sweep import sweep
from batchfx.model.events import EventKind
from batchfx.store import claims, effects
from batchfx.store.claims import CLAIMED, Claim
from batchfx.store.engine import Store
from batchfx.store.schema import CHUNK
from tests.faults import payments
from tests.faults.worlds import (
    BROKE,
    GOOD,
    ROWS,
    TENANT,
    WORKER,
    claim,
    drain,
    has_batch,
    make_tables,
    opened,
    submit,
    the_batch,
)
from tests.oracle import check_batch, check_history, check_ledger, check_quiet
from tests.people import Person

Work = Callable[[Store], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a database in a state of `worlds`.

    Attributes:
        state: What it begins in.
        work: What it does.
        is_repeated: A person or a program whose process died does it once more; what a
            worker was at is left to the others.
        ends: The state that the batch comes to in the end.
        finish: Brings the database to its end and judges it, where that is another
            one than that of people.

    """

    state: str
    work: Work
    is_repeated: bool = False
    ends: str = "completed"
    finish: Callable[[Store], None] | None = None


def held(store: Store, ordinal: int = 0) -> Claim:
    """Return the claim on a chunk as its worker has it."""
    key = the_batch(store)
    statement = sa.select(*(CHUNK.c[name] for name in CLAIMED)).where(
        CHUNK.c.batch == key.number, CHUNK.c.ordinal == ordinal
    )
    with store.read() as connection:
        values = connection.execute(statement).mappings().one()
        return Claim(key, **values, is_granted=True)


def commit(store: Store) -> object:
    """Run and commit the first chunk."""
    return run_claim(store, held(store))


def prepare(store: Store) -> object:
    """Claim and run the preparation."""
    found = claim(store)
    assert found is not None
    return run_claim(store, found)


def renew(store: Store) -> object:
    """Prolong what the worker has, until a moment that is over."""
    with store.write() as connection:
        return claims.renew(connection, WORKER, -1.0, is_granted=True)


def settled(made: Callable[[Claim], Settlement]) -> Work:
    """Return what ends the claim on the first chunk as *made* says."""

    def work(store: Store) -> object:
        with store.write() as connection:
            return settle(connection, made(held(store)))

    return work


def tell(store: Store) -> None:
    """Write an event."""
    with store.write() as connection:
        standing.tell(connection, the_batch(store), EventKind.PROGRESSED)


def of_batch(work: Callable[[Store, BatchKey], object]) -> Work:
    """Return what does *work* with the only batch."""
    return lambda store: work(store, the_batch(store))


def abandon(store: Store) -> object:
    """Mark what a dead worker left as unknown."""
    with store.write() as connection:
        return effects.abandon(connection, 10)


def settle_effects(store: Store) -> None:
    """Say what has become of what a dead worker left."""
    payments.settle_all(store, TENANT)


def finish_payments(store: Store) -> None:
    """Bring the payments to their end, with a person where one is needed."""
    payments.check(store)
    drain(store)
    payments.check(store)
    ended = report(store, the_batch(store))
    assert ended.batch.state == "completed"
    open_ones = [name for name, (s, _) in payments.states(store).items() if s != "done"]
    assert ended.tally.unknown == len(open_ones)
    if open_ones:
        assert ended.batch.importer == payments.PaymentImporter.name  # nobody to ask
        payments.settle_all(store, TENANT)
        rerun(store, ended.key, detached=True)
        drain(store)
    check_batch(store, ended.key)
    check_quiet(store)
    payments.check(store)
    assert report(store, ended.key).tally.created == payments.ROWS
    done = {key: ("done", payments.receipt(key)) for key in payments.KEYS}
    assert payments.states(store) == done
    assert payments.paid() == dict.fromkeys(payments.KEYS, 1)


def of_effects(state: str, work: Work, *, is_repeated: bool = False) -> Operation:
    """Return an operation on payments."""
    return Operation(state, work, is_repeated, finish=finish_payments)


OPERATIONS: dict[str, Operation] = {
    "submit": Operation("tables", submit, is_repeated=True),
    "import": Operation("tables", partial(submit, detached=False), is_repeated=True),
    "claim": Operation("prepared", claim),
    "prepare": Operation("submitted", prepare),
    "commit": Operation("leased", commit),
    "renew": Operation("leased", renew),
    "release": Operation("leased", settled(Release)),
    "fail": Operation("leased", settled(lambda held: Breakdown(held, BROKE))),
    "lose": Operation("leased", settled(lambda held: Loss(held, "a test"))),
    "event": Operation("leased", tell),
    "cancel": Operation("leased", of_batch(cancel), is_repeated=True, ends="cancelled"),
    "pause": Operation("leased", of_batch(pause), is_repeated=True),
    "resume": Operation("paused", of_batch(resume), is_repeated=True),
    "sweep": Operation("troubled", sweep),
    "revive": Operation("dead", of_batch(revive), is_repeated=True),
    "rerun": Operation(
        "completed", of_batch(partial(rerun, detached=True)), is_repeated=True
    ),
    "rerun here": Operation("completed", of_batch(rerun), is_repeated=True),
    "effects": of_effects("paying", commit),
    "effects asked for": of_effects("asking", commit),
    "effects abandoned": of_effects("doubtful", abandon),
    "effects settled": of_effects("doubtful", settle_effects, is_repeated=True),
}
BOOTSTRAP = "bootstrap"  # begins without tables, so there is no store yet
STATES = {BOOTSTRAP: "empty"} | {name: each.state for name, each in OPERATIONS.items()}


def begun(name: str, url: str) -> Callable[[], object]:
    """Return the operation, ready to be done on the database at *url*."""
    if name == BOOTSTRAP:
        return partial(opened, url)
    store = opened(url)
    return partial(OPERATIONS[name].work, store)


def finish(name: str, url: str) -> None:
    """Bring the database to the operation's end as its users would, and judge it."""
    store = opened(url)
    operation = OPERATIONS.get(name, Operation("empty", submit, is_repeated=True))
    if name == BOOTSTRAP:
        make_tables(store)
    if operation.is_repeated:
        with suppress(AlreadyImportedError, IllegalMoveError, UsageError):
            operation.work(store)
    if operation.finish is not None:
        operation.finish(store)
        store.close()
        return
    if not has_batch(store):
        submit(store)
    bring_to_end(store, operation.ends)
    judge(store, operation.ends)
    store.close()


def bring_to_end(store: Store, ends: str = "completed") -> None:
    """Let work go on; what is dead is revived."""
    key = the_batch(store)
    if report(store, key).batch.state == "paused":
        resume(store, key)
    drain(store)
    if report(store, key).batch.state == "failed" and ends == "completed":
        revive(store, key)
        drain(store)


def judge(store: Store, ends: str = "completed") -> None:
    """Hold the batch, which has come to its end, to the oracle."""
    key = the_batch(store)
    found = report(store, key)
    assert found.batch.state == ends, found
    check_batch(store, key)
    check_history(store, key)
    check_ledger(store, key)
    check_quiet(store)
    assert found.tally.total == ROWS
    with store.read() as connection:
        codes = sorted(connection.scalars(sa.select(Person.code)))
    assert len(codes) == found.tally.created
    if ends == "completed":
        assert codes == sorted(GOOD)
        assert (found.tally.failed, found.tally.invalid) == (1, 1), found.tally
