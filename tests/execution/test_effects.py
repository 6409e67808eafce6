"""What a row does outside happens once, or the row says that nobody knows."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.engine import Connection
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from batchfx import Context, Importer, Invalid
from batchfx.errors import (
    ContractError,
    DeclarationError,
    EffectHeldError,
    LeaseLostError,
)
from batchfx.execution.effects import Recorded, Rows, Tried, run_ahead
from batchfx.execution.process import ChunkSession, process_rows
from batchfx.model.effects import Effects, EffectState, digest_of
from batchfx.model.states import ChunkState
from batchfx.model.switches import SwitchScope
from batchfx.model.verdicts import Decision, Verdict
from batchfx.store import effects, switches
from batchfx.store.claims import Claim
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import CHUNK, EFFECT, BatchKey
from tests.store.entered import a_batch, a_chunk

CREATED, FAILED, INVALID, UNKNOWN = (
    Verdict.CREATED,
    Verdict.FAILED,
    Verdict.INVALID,
    Verdict.UNKNOWN,
)


class Base(DeclarativeBase):
    pass


class Sale(Base):
    __tablename__ = "sale"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    receipt: Mapped[str]


class Order(BaseModel):
    code: str
    amount: int = 10


def time_out() -> str:
    raise TimeoutError


def refuse() -> str:
    code = "no_credit"
    raise Invalid(code, "Pay first.")


class World:
    """What is outside: it keeps every call, and fails where a test says so."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.answers: dict[str, Callable[[], Any]] = {}

    def call(self, key: str) -> Any:
        self.calls.append(key)
        return self.answers.get(key, lambda: f"receipt of {key}")()


class Charging(Importer[Order]):
    """Charges each order, and keeps it with its receipt."""

    name = "charging"
    effects = True
    is_idempotent = False

    def __init__(self, world: World) -> None:
        self.world = world

    def process(self, row: Order, context: Context) -> Any:
        receipt = context.effect(
            f"charge:{row.code}",
            {"amount": row.amount},
            self.world.call,
            idempotent=self.is_idempotent,
        )
        sale = Sale(code=row.code, receipt=receipt)
        context.session.add(sale)
        return sale


class Repeating(Charging):
    """The same where the far side knows its keys."""

    name = "repeating"
    is_idempotent = True


class Reconciling(Charging):
    """The same where the far side can be asked what it has."""

    name = "reconciling"

    def reconcile_charge(self, key: str) -> Any:
        return self.world.call(f"asked {key}")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def claim(store: Store) -> Claim:
    """A claim of a chunk with rows 2 to 11, in a database that has the records."""
    with store.write() as connection:
        Base.metadata.create_all(connection)
    return claimed(store)


def claimed(store: Store, worker: str = "w1") -> Claim:
    key = a_batch(store)
    with store.read() as connection:
        until = connection.execute(sa.select(now_epoch())).scalar_one() + 60
    a_chunk(
        store,
        key,
        state=ChunkState.LEASED,
        worker=worker,
        fence=1,
        lease_until=until,
    )
    return Claim(key, 0, worker, 1, 2, 11, 10, 0, None, "charging", 0, 0)


def of(key: BatchKey, connection: Connection, recorded: Effects) -> Context:
    session = ChunkSession(bind=connection, join_transaction_mode="rollback_only")
    return Context(key.tenant, key.number, 1, session, recorded)


def run(
    store: Store, claim: Claim, importer: Importer[Any], *rows: BaseModel
) -> Decision:
    """Run the rows as a chunk does: their effects, then their records."""
    pairs = list(enumerate(rows, start=2))
    make = functools.partial(of, claim.key)
    tried = run_ahead(store, Rows(claim, importer, pairs, make))
    with store.write() as connection:
        context = make(connection, Recorded(connection, claim.key.tenant, tried))
        decision = process_rows(importer, pairs, context)
        Session.close(context.session)
    return decision


def verdicts(decision: Decision) -> list[Verdict]:
    return [outcome.verdict for outcome in decision.outcomes]


def codes(decision: Decision) -> list[str]:
    return [issue.code for issue in decision.issues]


def kept(store: Store) -> list[tuple[str, str]]:
    with store.read() as connection:
        rows = connection.execute(
            sa.select(EFFECT.c.key, EFFECT.c.state).order_by(EFFECT.c.key)
        )
        return [(row.key, row.state) for row in rows]


def sales(store: Store) -> list[tuple[str, str]]:
    with store.read() as connection:
        rows = connection.execute(sa.select(Sale.code, Sale.receipt).order_by(Sale.id))
        return [(row.code, row.receipt) for row in rows]


def enter(store: Store, claim: Claim, key: str, **values: Any) -> None:
    """Enter an effect that somebody claimed before."""
    row = {
        "tenant": claim.key.tenant,
        "key": key,
        "name": "charge",
        "digest": digest_of(key, {"amount": 10}),
        "state": EffectState.CLAIMED,
        "batch": claim.key.number,
        "row": 2,
        "worker": "dead",
        "claimed_at": now_epoch() - 100,
        **values,
    }
    with store.write() as connection:
        connection.execute(sa.insert(EFFECT).values(**row))


def test_each_row_gets_the_result_of_its_own_effect(
    store: Store, claim: Claim, world: World
) -> None:
    decision = run(store, claim, Charging(world), Order(code="a"), Order(code="b"))

    assert verdicts(decision) == [CREATED, CREATED]
    assert world.calls == ["charge:a", "charge:b"]
    assert kept(store) == [("charge:a", "done"), ("charge:b", "done")]
    assert sales(store) == [
        ("a", "receipt of charge:a"),
        ("b", "receipt of charge:b"),
    ]


def test_nothing_is_open_in_the_database_while_an_effect_runs(
    store: Store, claim: Claim, world: World
) -> None:
    def write() -> str:
        with store.write() as connection:
            found = effects.find(connection, claim.key.tenant, "charge:a")
            assert found is not None
            assert (found.state, found.is_held) == (EffectState.CLAIMED, True)
            return "written"

    world.answers["charge:a"] = write
    run(store, claim, Charging(world), Order(code="a"))

    assert sales(store) == [("a", "written")]


def test_a_chunk_that_is_run_again_takes_the_results_that_were_recorded(
    store: Store, claim: Claim, world: World
) -> None:
    order = Order(code="a")
    make = functools.partial(of, claim.key)
    run_ahead(store, Rows(claim, Charging(world), [(2, order)], make))
    assert sales(store) == []

    decision = run(store, claim, Charging(world), order)
    assert (world.calls, verdicts(decision)) == (["charge:a"], [CREATED])


def test_two_rows_of_one_key_act_once(store: Store, claim: Claim, world: World) -> None:
    decision = run(store, claim, Charging(world), Order(code="a"), Order(code="a"))

    assert world.calls == ["charge:a"]
    assert verdicts(decision) == [CREATED, FAILED]  # the code is unique


def test_another_payload_under_a_key_is_that_rows_failure(
    store: Store, claim: Claim, world: World
) -> None:
    rows = (Order(code="a"), Order(code="a", amount=99), Order(code="b"))
    decision = run(store, claim, Charging(world), *rows)

    assert verdicts(decision) == [CREATED, FAILED, CREATED]
    assert codes(decision) == ["effect_changed"]
    assert world.calls == ["charge:a", "charge:b"]


def test_a_refusal_is_kept_and_makes_the_row_invalid(
    store: Store, claim: Claim, world: World
) -> None:
    def refuse() -> str:
        code = "no_credit"
        raise Invalid(code, "Pay first.", field="amount")

    world.answers["charge:a"] = refuse
    for _ in range(2):
        decision = run(store, claim, Charging(world), Order(code="a"))
        assert verdicts(decision) == [INVALID]
        (issue,) = decision.issues
        assert (issue.code, issue.message) == ("no_credit", "Pay first.")
        assert issue.field == "amount"
    assert world.calls == ["charge:a"]
    assert kept(store) == [("charge:a", "refused")]


def test_no_answer_leaves_the_row_unknown_and_is_not_tried_again(
    store: Store, claim: Claim, world: World
) -> None:
    world.answers["charge:a"] = time_out
    first = run(store, claim, Charging(world), Order(code="a"), Order(code="b"))
    again = run(store, claim, Charging(world), Order(code="a"))

    assert verdicts(first) == [UNKNOWN, CREATED]
    assert codes(first) == ["effect_unknown"]
    assert "TimeoutError" in str(first.issues[0].detail)
    assert verdicts(again) == [UNKNOWN]
    assert world.calls == ["charge:a", "charge:b"]
    assert kept(store) == [("charge:a", "unknown"), ("charge:b", "done")]


def test_where_the_far_side_knows_its_keys_it_is_asked_again(
    store: Store, claim: Claim, world: World
) -> None:
    world.answers["charge:a"] = time_out
    first = run(store, claim, Repeating(world), Order(code="a"))
    del world.answers["charge:a"]
    again = run(store, claim, Repeating(world), Order(code="a"))

    assert (verdicts(first), verdicts(again)) == ([UNKNOWN], [CREATED])
    assert world.calls == ["charge:a", "charge:a"]
    assert kept(store) == [("charge:a", "done")]


def test_what_a_dead_worker_had_claimed_is_unknown(
    store: Store, claim: Claim, world: World
) -> None:
    enter(store, claim, "charge:a")
    decision = run(store, claim, Charging(world), Order(code="a"))

    assert (verdicts(decision), world.calls) == ([UNKNOWN], [])
    assert kept(store) == [("charge:a", "unknown")]


def test_what_a_dead_worker_had_claimed_is_done_again_with_its_key(
    store: Store, claim: Claim, world: World
) -> None:
    enter(store, claim, "charge:a")
    decision = run(store, claim, Repeating(world), Order(code="a"))

    assert (verdicts(decision), world.calls) == ([CREATED], ["charge:a"])


def test_what_the_same_worker_left_claimed_in_its_chunk_is_not_waited_for(
    store: Store, claim: Claim, world: World
) -> None:
    enter(store, claim, "charge:a", worker=claim.worker)
    decision = run(store, claim, Repeating(world), Order(code="a"))

    assert (verdicts(decision), world.calls) == ([CREATED], ["charge:a"])


@pytest.mark.parametrize("state", [EffectState.CLAIMED, EffectState.UNKNOWN])
@pytest.mark.parametrize(
    ("answer", "verdict", "calls", "ended"),
    [
        (lambda: "found there", CREATED, [], "done"),
        (lambda: None, CREATED, ["charge:a"], "done"),
        (refuse, INVALID, [], "refused"),
        (time_out, UNKNOWN, [], "unknown"),
        (lambda: {1, 2}, FAILED, [], "done"),
    ],
)
def test_what_a_dead_worker_had_claimed_is_asked_for_before_it_is_done_again(
    store: Store,
    claim: Claim,
    world: World,
    *,
    state: EffectState,
    answer: Callable[[], Any],
    verdict: Verdict,
    calls: list[str],
    ended: str,
) -> None:
    enter(store, claim, "charge:a", state=state)
    world.answers["asked charge:a"] = answer
    decision = run(store, claim, Reconciling(world), Order(code="a"), Order(code="b"))

    assert verdicts(decision) == [verdict, CREATED]
    assert world.calls == ["asked charge:a", *calls, "charge:b"]
    assert kept(store) == [("charge:a", ended), ("charge:b", "done")]
    if verdict is CREATED:
        assert sales(store)[0] == (
            "a",
            "receipt of charge:a" if calls else "found there",
        )


def test_no_answer_is_asked_for_in_the_next_attempt_and_not_before(
    store: Store, claim: Claim, world: World
) -> None:
    world.answers["charge:a"] = time_out
    first = run(store, claim, Reconciling(world), Order(code="a"))
    assert (verdicts(first), world.calls) == ([UNKNOWN], ["charge:a"])
    world.answers["asked charge:a"] = lambda: "it had happened"
    second = run(store, claim, Reconciling(world), Order(code="a"))

    assert (verdicts(second), world.calls[1:]) == ([CREATED], ["asked charge:a"])
    assert sales(store) == [("a", "it had happened")]


def test_what_is_switched_off_is_not_asked_for(
    store: Store, claim: Claim, world: World
) -> None:
    enter(store, claim, "charge:a")
    with store.write() as connection:
        switches.turn(
            connection, SwitchScope.EFFECT, "charge", is_off=True, reason="", who="ann"
        )
    with pytest.raises(EffectHeldError):
        run(store, claim, Reconciling(world), Order(code="a"))
    assert (world.calls, kept(store)) == ([], [("charge:a", "claimed")])


def test_what_asks_how_an_effect_ended_is_declared_so_that_it_can_work() -> None:
    def ask(self: Any, key: str) -> None:
        del self, key

    def odd(self: Any) -> None:
        del self

    with pytest.raises(DeclarationError, match=r"write reconcile_mail\(self, key\)"):
        type("Odd", (Charging,), {"reconcile_mail": odd, "name": "odd"})
    values = {"reconcile_mail": ask, "effects": False, "name": "odd"}
    with pytest.raises(DeclarationError, match="reconcile_mail is for an importer"):
        type("Odd", (Charging,), values)


@pytest.mark.parametrize("importer", [Charging, Repeating])
def test_what_another_worker_is_at_holds_the_chunk_back(
    store: Store, claim: Claim, world: World, importer: type[Charging]
) -> None:
    other = claimed(store, worker="w2")
    enter(store, other, "charge:a", worker="w2")

    with pytest.raises(EffectHeldError, match="is being run by another worker"):
        run(store, claim, importer(world), Order(code="a"))
    assert (world.calls, kept(store)) == ([], [("charge:a", "claimed")])


def test_a_switch_holds_back_what_has_not_begun_and_nothing_is_claimed(
    store: Store, claim: Claim, world: World
) -> None:
    run(store, claim, Charging(world), Order(code="a"))
    enter(store, claim, "charge:b")
    with store.write() as connection:
        switches.turn(
            connection,
            SwitchScope.EFFECT,
            "charge",
            is_off=True,
            reason="a test",
            who="ann",
        )
    with pytest.raises(EffectHeldError, match="is switched off"):
        run(store, claim, Charging(world), Order(code="c"))
    with pytest.raises(EffectHeldError, match="is switched off"):
        run(store, claim, Repeating(world), Order(code="b"))

    assert kept(store) == [("charge:a", "done"), ("charge:b", "claimed")]
    make = functools.partial(of, claim.key)
    rows = Rows(claim, Charging(world), [(2, Order(code="a"))], make)
    assert run_ahead(store, rows).keys == set()


def test_who_lost_the_chunk_runs_no_effect_any_more(
    store: Store, claim: Claim, world: World
) -> None:
    def lose() -> str:
        with store.write() as connection:
            connection.execute(sa.update(CHUNK).values(fence=2))
        return "charged"

    world.answers["charge:a"] = lose
    with pytest.raises(LeaseLostError):
        run(store, claim, Charging(world), Order(code="a"), Order(code="b"))

    assert world.calls == ["charge:a"]
    assert kept(store) == [("charge:a", "done")]


def listed(store: Store, tenant: str | None = None) -> list[str]:
    with store.read() as connection:
        return [each.key for each in effects.listing(connection, tenant, limit=10)]


def settle(store: Store, key: str, *, happened: bool, tenant: str = "acme") -> bool:
    with store.write() as connection:
        return effects.settle(
            connection, tenant, key, happened=happened, result="found by hand"
        )


def test_what_dead_workers_left_is_marked_and_listed_and_what_is_at_work_is_not(
    store: Store, claim: Claim
) -> None:
    enter(store, claim, "charge:dead")
    enter(store, claim, "charge:live", worker=claim.worker)
    enter(store, claim, "charge:done", state=EffectState.DONE)
    enter(store, claim, "charge:old", state=EffectState.UNKNOWN, claimed_at=1.0)
    assert listed(store) == ["charge:old", "charge:dead"]

    with store.write() as connection:
        assert effects.abandon(connection, limit=10) == 1
        assert effects.abandon(connection, limit=10) == 0
    assert kept(store) == [
        ("charge:dead", "unknown"),
        ("charge:done", "done"),
        ("charge:live", "claimed"),
        ("charge:old", "unknown"),
    ]
    assert listed(store, "acme") == ["charge:old", "charge:dead"]
    assert listed(store, "zeta") == []


@pytest.mark.parametrize(
    ("happened", "calls", "receipt"),
    [(True, 1, "found by hand"), (False, 2, "receipt of charge:a")],
)
def test_a_row_goes_on_from_what_a_person_found_out(
    store: Store, claim: Claim, *, happened: bool, calls: int, receipt: str
) -> None:
    world = World()
    world.answers["charge:a"] = time_out
    run(store, claim, Charging(world), Order(code="a"))
    with store.write() as connection:
        connection.execute(sa.update(CHUNK).values(worker="w3"))
    assert not settle(store, "charge:a", happened=happened, tenant="zeta")
    assert settle(store, "charge:a", happened=happened)
    with store.write() as connection:
        connection.execute(sa.update(CHUNK).values(worker=claim.worker))

    del world.answers["charge:a"]
    decision = run(store, claim, Charging(world), Order(code="a"))
    assert verdicts(decision) == [CREATED]
    assert (len(world.calls), sales(store)) == (calls, [("a", receipt)])


def test_what_is_done_or_at_work_cant_be_settled(store: Store, claim: Claim) -> None:
    enter(store, claim, "charge:live", worker=claim.worker)
    enter(store, claim, "charge:done", state=EffectState.DONE)

    for key in ("charge:live", "charge:done", "charge:none"):
        assert not settle(store, key, happened=False)
    assert kept(store) == [("charge:done", "done"), ("charge:live", "claimed")]


def test_a_row_that_is_wrong_without_its_effect_has_none(
    store: Store, claim: Claim, world: World
) -> None:
    class Careful(Charging):
        name = "careful"

        def process(self, row: Order, context: Context) -> Any:
            if row.amount > 50:
                code = "too_much"
                raise Invalid(code, "Ask first.")
            context.session.add(Sale(code=row.code, receipt=""))
            context.effect(f"charge:{row.code}", {}, self.world.call)
            return row.code

    with store.write() as connection:
        connection.execute(sa.insert(Sale).values(code="b", receipt=""))
    rows = (Order(code="a", amount=99), Order(code="b"), Order(code="c"))
    decision = run(store, claim, Careful(world), *rows)

    assert verdicts(decision) == [INVALID, FAILED, CREATED]
    assert world.calls == ["charge:c"]


def test_one_effect_may_need_another_and_a_row_may_need_an_earlier_row(
    store: Store, claim: Claim, world: World
) -> None:
    class Chained(Charging):
        name = "chained"

        def process(self, row: Order, context: Context) -> Any:
            count = sa.select(sa.func.count()).select_from(Sale)
            before = context.session.execute(count).scalar_one()
            if before != row.amount:
                code = "out_of_turn"
                raise Invalid(code, "An earlier row is missing.")
            first = context.effect(f"reserve:{row.code}", {}, self.world.call)
            second = context.effect(f"charge:{row.code}", first, self.world.call)
            context.session.add(Sale(code=row.code, receipt=second))
            return row.code

    rows = (Order(code="a", amount=0), Order(code="b", amount=1))
    decision = run(store, claim, Chained(world), *rows)

    assert verdicts(decision) == [CREATED, CREATED]
    assert world.calls == ["reserve:a", "charge:a", "reserve:b", "charge:b"]


def test_a_processor_that_catches_everything_does_not_swallow_the_question(
    store: Store, claim: Claim, world: World
) -> None:
    class Catching(Charging):
        name = "catching"

        def process(self, row: Order, context: Context) -> Any:
            try:
                return super().process(row, context)
            except Exception:  # noqa: BLE001 - what is tested
                return "caught"

    decision = run(store, claim, Catching(world), Order(code="a"))
    assert decision.outcomes[0].record_id != "caught"
    assert sales(store) == [("a", "receipt of charge:a")]


def test_a_key_that_changes_with_each_call_is_found_out(
    store: Store, claim: Claim, world: World
) -> None:
    numbers: Iterator[int] = iter(range(10_000))

    class Restless(Charging):
        name = "restless"

        def process(self, row: Order, context: Context) -> Any:
            return context.effect(f"charge:{next(numbers)}", {}, self.world.call)

    with pytest.raises(ContractError, match="asks for new effects without end"):
        run(store, claim, Restless(world), Order(code="a"))


def test_an_effect_that_is_asked_for_only_at_the_end_is_not_run(
    store: Store, claim: Claim, world: World
) -> None:
    make = functools.partial(of, claim.key)
    with store.write() as connection:
        context = make(connection, Recorded(connection, claim.key.tenant, Tried()))
        decision = process_rows(Charging(world), [(2, Order(code="a"))], context)
        Session.close(context.session)

    assert (verdicts(decision), codes(decision)) == ([FAILED], ["broken_contract"])
    assert (world.calls, kept(store)) == ([], [])


def test_what_an_effect_returns_must_be_plain_data(
    store: Store, claim: Claim, world: World
) -> None:
    world.answers["charge:a"] = object
    decision = run(store, claim, Charging(world), Order(code="a"))

    assert (verdicts(decision), codes(decision)) == ([FAILED], ["broken_contract"])
    assert "has happened, but what it returned can't be kept" in (
        decision.issues[0].message
    )
    assert kept(store) == [("charge:a", "done")]


@pytest.mark.parametrize(
    ("key", "payload", "told"),
    [
        ("charge", {}, "no key of an effect"),
        (":a", {}, "no key of an effect"),
        ("charge:", {}, "no key of an effect"),
        ("charge:a", object(), "no plain data"),
        ("charge:a", float("nan"), "no plain data"),
    ],
)
def test_what_cant_be_told_apart_again_is_refused(
    store: Store, claim: Claim, *, key: str, payload: Any, told: str
) -> None:
    world = World()

    class Wrong(Charging):
        name = "wrong"

        def process(self, row: Order, context: Context) -> Any:
            return context.effect(key, payload, self.world.call)

    decision = run(store, claim, Wrong(world), Order(code="a"))
    assert verdicts(decision) == [FAILED]
    assert told in decision.issues[0].message
    assert (world.calls, kept(store)) == ([], [])


def test_an_importer_without_effects_may_not_ask_for_one(
    store: Store, claim: Claim, world: World
) -> None:
    with store.write() as connection:
        session = ChunkSession(bind=connection, join_transaction_mode="rollback_only")
        context = Context("acme", 1, 1, session)
        decision = process_rows(Charging(world), [(2, Order(code="a"))], context)
        Session.close(session)

    assert codes(decision) == ["broken_contract"]
    assert "effects = True" in decision.issues[0].message


def test_the_digest_is_of_the_data_and_not_of_its_order() -> None:
    day = dt.date(2026, 11, 30)
    first = digest_of("a:1", {"amount": Decimal("1.10"), "day": day, "to": ["x"]})

    assert first == digest_of(
        "a:1", {"to": ("x",), "day": day, "amount": Decimal("1.10")}
    )
    others = [
        {"amount": Decimal("1.1"), "day": day, "to": ["x"]},
        {"amount": "1.10", "day": day, "to": ["x"]},
        {"amount": Decimal("1.10"), "day": "2026-11-30", "to": ["x"]},
        {"amount": Decimal("1.10"), "day": day, "to": "x"},
    ]
    assert len({first, *(digest_of("a:1", other) for other in others)}) == 5


def test_chunks_with_effects_are_small_unless_their_size_is_said() -> None:
    class Sized(Charging):
        name = "sized"
        chunk_size = 5_000

    assert (Charging.chunk_size, Repeating.chunk_size, Sized.chunk_size) == (
        50,
        50,
        5_000,
    )
    with pytest.raises(DeclarationError, match="Write True or False"):
        type("Odd", (Charging,), {"effects": "yes", "name": "odd"})
