"""The real SQL, on both databases, does what a plain model of it says, step by step."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from batchfx.errors import BatchfxError, IllegalMoveError, LeaseLostError, UsageError
from batchfx.execution import operate
from batchfx.execution.reopen import Renewal, reopen
from batchfx.execution.standing import end_early, settle
from batchfx.execution.sweep import sweep
from batchfx.model.access import FOREVER, Identity
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState
from batchfx.model.switches import SwitchScope
from batchfx.model.verdicts import Outcome, Verdict
from batchfx.store import (
    access,
    batches,
    chunks,
    claims,
    events,
    lanes,
    outcomes,
    switches,
    units,
)
from batchfx.store.claims import Claim, Failure
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import BATCH, CHUNK, EVENT, OUTCOME, BatchKey
from tests.people import PersonImporter
from tests.property import chunk_model as model
from tests.property.chunk_model import PREPARATION, RefusedError, Unit
from tests.store.entered import a_batch, a_chunk

TTL = 3_600.0
WORKERS = ("w1", "w2")
MAPPING = {"code": 0, "name": 1, "age": 2}
BROKE = Failure("disk_full", "commit", "The disk is full.")
NUMBERS = itertools.count(1)
REFUSALS: dict[str, type[BatchfxError]] = {
    "move": IllegalMoveError,
    "usage": UsageError,
    "lost": LeaseLostError,
}
indices = st.integers(0, 11)
MOSTLY = 9  # below it, what is likely to go well is chosen
patterns = st.just(63) | st.integers(0, 63)  # of rows that are good, by bit
ACTS = ("pause", "resume", "stop", "revive", "revive", "rerun", "rerun", "cancel")

# Batches that it makes most sense for to do it to.
SUITED: dict[str, Callable[[model.Batch], bool]] = {
    "cancel": lambda batch: batch.state == "completed",
    "resume": lambda batch: batch.state == "paused",
    "revive": lambda batch: any(batch.in_states("dead")),
    "rerun": lambda batch: not batch.is_going and batch.state != "cancelled",
}

# What a run of the long form must have met, each this often.
FLOOR = 200
MET = {
    "claim preparation",
    "claim chunk",
    "claim nothing",
    "claim off",
    "fair chunk",
    "fair nothing",
    "prepare",
    "prepare paused",
    "commit",
    "commit late",
    "commit crashed",
    "defer",
    "defer late",
    "release",
    "release late",
    "renew",
    "renew missing",
    "require",
    "require late",
    "fail",
    "fail to death",
    "fail late",
    "lose",
    "lose to death",
    "lose late",
    "sweep lost",
    "sweep died",
    "sweep due",
    "sweep astray",
    "pause",
    "pause refused",
    "resume",
    "resume refused",
    "cancel",
    "cancel refused",
    "stop",
    "stop refused",
    "revive",
    "revive refused",
    "rerun",
    "rerun refused",
    "rerun needless",
    "end completed",
    "end checked",
    "end failed",
    "end stopped",
    "end cancelled",
}


class CrashError(Exception):
    """The process ends here; the transaction is never committed."""


class Machine(RuleBasedStateMachine):
    """Batches of two tenants, two workers, and whatever may happen to them."""

    def __init__(self, store: Store, met: Counter[str]) -> None:
        super().__init__()
        self.store = store
        self.met = met
        self.batches: list[model.Batch] = []
        self.held: list[Claim] = []
        self.off: set[str] = set()
        self.tenants: tuple[str, ...] = ()
        self.final: dict[tuple[str, int, int], tuple[Any, ...]] = {}
        self.fences: dict[tuple[int, int], int] = {}

    @initialize()
    def begin(self) -> None:
        """Have tenants of this run alone."""
        number = next(NUMBERS)
        self.tenants = (f"a{number}", f"b{number}")

    # --- What is there ---------------------------------------------------------------

    def batch(
        self, index: int, fits: Callable[[model.Batch], bool] | None = None
    ) -> model.Batch:
        """Return one of the batches, mostly one that goes on, or that *fits*."""
        fits = fits or (lambda batch: batch.is_going)
        fitting = [batch for batch in self.batches if fits(batch)]
        chosen = fitting if fitting and index < MOSTLY else self.batches
        return chosen[index % len(chosen)]

    def claim(self, index: int) -> tuple[Claim, model.Batch, Unit]:
        """Return one of the claims that some worker believes it has."""
        known = [self.about(claim) for claim in self.held]
        live = [each for each in known if self.is_live(each[0], each[2])]
        chosen = live if live and index < MOSTLY else known
        return chosen[index % len(chosen)]

    def about(self, claim: Claim) -> tuple[Claim, model.Batch, Unit]:
        """Return a claim with its batch and unit."""
        batch = next(b for b in self.batches if b.number == claim.key.number)
        return claim, batch, self.unit(batch, claim.ordinal)

    @staticmethod
    def unit(batch: model.Batch, ordinal: int) -> Unit:
        return batch.units[ordinal + 1]

    @staticmethod
    def key(batch: model.Batch) -> BatchKey:
        return BatchKey(batch.tenant, batch.number)

    @staticmethod
    def is_live(claim: Claim, unit: Unit) -> bool:
        """Tell whether the claim is still its worker's, as the model says."""
        is_same = (unit.fence, unit.worker) == (claim.fence, claim.worker)
        return unit.state == "leased" and is_same

    def end_of(self, state: str | None) -> None:
        if state is not None:
            self.met[f"end {state}"] += 1

    def refused(self, kind: str, what: Callable[[], object]) -> None:
        """Assert that *what* is refused."""
        with pytest.raises(REFUSALS[kind]):
            what()

    # --- Batches come ----------------------------------------------------------------

    @precondition(lambda self: len(self.batches) < 5)
    @rule(
        tenant=st.integers(0, 1),
        sizes=st.lists(st.integers(1, 2), min_size=1, max_size=3),
        kind=st.sampled_from(
            ["begun"] * 4 + ["begun dry", "new", "claimed", "paused", "paused early"]
        ),
    )
    def enqueue(self, tenant: int, sizes: list[int], kind: str) -> None:
        """Enter a batch of chunks of so many rows."""
        name = self.tenants[tenant]
        dry_run = kind.endswith("dry")
        key = a_batch(
            self.store,
            name,
            state=BatchState.STAGING,
            dry_run=dry_run,
            mapping=MAPPING,
        )
        made = [Unit(PREPARATION, range(0), "queued")]
        first = 1
        for ordinal, size in enumerate(sizes):
            made.append(Unit(ordinal, range(first, first + size)))
            first += size
        for unit in made:
            span = {"first_row": 1, "last_row": 0, "rows": len(unit.rows)}
            if unit.rows:
                span |= {"first_row": unit.rows[0], "last_row": unit.rows[-1]}
            a_chunk(self.store, key, unit.ordinal, state=unit.state, **span)
        with self.store.write() as connection:
            lanes.wake(connection, name)
            events.add(connection, key, EventKind.CREATED, {})
        self.batches.append(model.Batch(key.number, name, made, dry_run))
        batch = self.batches[-1]
        if kind.startswith("begun"):
            self.work_on_batch(batch, "w1", 0)
        elif kind != "new":
            self.claim_unit(batch, "w1", preparation=True)
        if kind.startswith("paused"):
            self.act_on(batch, "pause")
        if kind == "paused early" and batch.preparation.state == "leased":
            self.commit_claim(self.held[-1], 0, crashes=False)

    # --- Workers claim ---------------------------------------------------------------

    def had(self, claim: Claim, unit: Unit) -> None:
        """Note a claim; its fence is higher than any before."""
        assert claim.ordinal == unit.ordinal
        place = (claim.key.number, claim.ordinal)
        assert claim.fence > self.fences.get(place, 0)
        self.fences[place] = claim.fence
        unit.move("leased")
        unit.worker = claim.worker
        assert claim.fence == unit.fence
        assert (claim.failures, claim.losses) == (unit.failures, unit.losses)
        self.held.append(claim)

    @precondition(lambda self: self.batches)
    @rule(index=indices, worker=st.sampled_from(WORKERS), preparation=st.booleans())
    def claim_of_batch(self, index: int, worker: str, preparation: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Claim a unit of one batch."""
        self.claim_unit(self.batch(index), worker, preparation=preparation)

    def claim_unit(self, batch: model.Batch, worker: str, *, preparation: bool) -> None:
        """Claim in both."""
        expected = batch.next_unit(preparation=preparation)
        if expected is not None and batch.tenant in self.off:
            expected = None
            self.met["claim off"] += 1
        with self.store.write() as connection:
            claim = claims.of_batch(
                connection, self.key(batch), worker, TTL, preparation=preparation
            )
        if expected is None:
            assert claim is None
            self.met["claim nothing"] += 1
            return
        assert claim is not None
        self.had(claim, expected)
        self.met[f"claim {'preparation' if preparation else 'chunk'}"] += 1

    @precondition(lambda self: self.batches)
    @rule(worker=st.sampled_from(WORKERS))
    def claim_fairly(self, worker: str) -> None:
        """Claim a unit of whoever's turn it is."""
        with self.store.write() as connection:
            found = claims.fair(connection, worker, ["people"], TTL)
        if not found:
            for tenant in self.tenants:
                assert self.next_of(tenant) is None
            self.met["fair nothing"] += 1
            return
        (claim,) = found
        expected = self.next_of(claim.key.tenant)
        assert expected is not None
        assert claim.key.number == expected[0].number
        self.had(claim, expected[1])
        self.met["fair chunk"] += 1

    def next_of(self, tenant: str) -> tuple[model.Batch, Unit] | None:
        """Return what a fair claim takes of the tenant."""
        found = [
            (batch.number, unit.round, unit.ordinal, batch, unit)
            for batch in self.batches
            if batch.tenant == tenant and batch.is_going and tenant not in self.off
            for unit in batch.in_states("queued")
        ]
        if not found:
            return None
        *_, batch, unit = min(found, key=lambda each: each[:3])
        return batch, unit

    # --- Workers end what they have ---------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(index=indices, pattern=patterns, crashes=st.booleans())
    def commit(self, index: int, pattern: int, crashes: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Commit a unit, or die right before the end of that."""
        self.commit_claim(self.claim(index)[0], pattern, crashes=crashes)

    def commit_claim(self, claim: Claim, pattern: int, *, crashes: bool) -> None:
        """Commit in both; a claim that was lost is refused."""
        claim, batch, unit = self.about(claim)
        is_live = self.is_live(claim, unit)
        good = _good(pattern)
        write = self.preparation_of if claim.is_preparation else self.outcomes_of
        if not is_live:
            self.refused("lost", lambda: write(claim, batch, unit, pattern))
            self.met["commit late"] += 1
        elif crashes:
            with pytest.raises(CrashError):
                write(claim, batch, unit, pattern, crashes=True)
            self.met["commit crashed"] += 1
        else:
            ended = write(claim, batch, unit, pattern)
            if claim.is_preparation:
                self.met["prepare" if batch.is_going else "prepare paused"] += 1
                expected = batch.commit_preparation()
            else:
                self.met["commit"] += 1
                expected = batch.commit(unit, good)
            assert ended == expected
            self.end_of(expected)

    def preparation_of(
        self,
        claim: Claim,
        batch: model.Batch,
        unit: Unit,
        pattern: int,
        *,
        crashes: bool = False,
    ) -> BatchState | None:
        """Commit the preparation as it is done, without a source."""
        del batch, unit, pattern
        ended = None
        with self.store.write() as connection:
            chunks.commit_preparation(connection, claim)
            batches.lock(connection, claim.key)
            state = batches.read(connection, claim.key).state
            if state is BatchState.STAGING:
                batches.move(connection, claim.key, "begin", staged=True)
            else:
                batches.note(connection, claim.key, staged=True)
            units.queue(connection, claim.key)
            if state is BatchState.PAUSED:
                units.hold(connection, claim.key)
            ended = settle(connection, claim.key)
            lanes.wake(connection, claim.key.tenant)
            if crashes:
                raise CrashError
        return ended

    def outcomes_of(
        self,
        claim: Claim,
        batch: model.Batch,
        unit: Unit,
        pattern: int,
        *,
        crashes: bool = False,
    ) -> BatchState | None:
        """Commit a chunk as it is done, without rows."""
        decided = batch.verdicts_on(unit, _good(pattern))
        found = [Outcome(row, Verdict(name)) for row, name in decided.items()]
        with self.store.write() as connection:
            outcomes.add(connection, claim.key, batch.attempt, found)
            chunks.commit(connection, claim, None)
            ended = settle(connection, claim.key)
            if crashes:
                raise CrashError
        return ended

    @precondition(lambda self: self.batches)
    @rule(
        index=indices,
        worker=st.sampled_from(WORKERS),
        pattern=patterns,
        times=st.integers(1, 4),
    )
    def work_on(self, index: int, worker: str, pattern: int, times: int) -> None:
        """Claim and commit the next units of a batch."""
        batch = self.batch(index)
        for _ in range(times):
            self.work_on_batch(batch, worker, pattern)

    def work_on_batch(self, batch: model.Batch, worker: str, pattern: int) -> None:
        """Claim the next unit of a batch and commit it."""
        is_first = batch.preparation.state == "queued"
        before = len(self.held)
        self.claim_unit(batch, worker, preparation=is_first)
        if len(self.held) > before:
            self.commit_claim(self.held[-1], pattern, crashes=False)

    @precondition(lambda self: self.held)
    @rule(index=indices, first=st.booleans())
    def defer(self, index: int, first: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Decide one row at most and let the others wait for a later one."""
        claim, batch, unit = self.claim(index)
        if claim.is_preparation or len(batch.open_rows(unit)) < 1 + first:
            return
        rows = batch.open_rows(unit)[:first]

        def write() -> None:
            with self.store.write() as connection:
                found = [Outcome(row, Verdict.CREATED) for row in rows]
                outcomes.add(connection, claim.key, batch.attempt, found)
                chunks.commit(connection, claim, len(unit.verdicts) + len(rows))
                settle(connection, claim.key)
                lanes.wake(connection, claim.key.tenant)

        if not self.is_live(claim, unit):
            self.refused("lost", write)
            self.met["defer late"] += 1
            return
        write()
        unit.verdicts |= dict.fromkeys(rows, model.GOOD)
        batch.defer(unit)
        self.met["defer"] += 1

    @precondition(lambda self: self.held)
    @rule(index=indices)
    def release(self, index: int) -> None:
        """Give a unit back."""
        claim, _, unit = self.claim(index)
        with self.store.write() as connection:
            released = claims.release(connection, claim)
            lanes.wake(connection, claim.key.tenant)
        assert released == self.is_live(claim, unit)
        self.met["release" if released else "release late"] += 1
        if released:
            unit.move("queued")

    @precondition(lambda self: self.held)
    @rule(index=indices, is_loss=st.booleans())
    def charge(self, index: int, is_loss: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Charge a failure, or the loss of a handler."""
        self.charge_claim(self.claim(index)[0], is_loss=is_loss)

    def charge_claim(self, claim: Claim, *, is_loss: bool) -> None:
        """Charge in both; a claim that was lost is refused."""
        claim, batch, unit = self.about(claim)

        def write() -> BatchState | None:
            with self.store.write() as connection:
                if is_loss:
                    claims.lose(connection, claim, "handler")
                else:
                    claims.fail(connection, claim, BROKE)
                return settle(connection, claim.key)

        name = "lose" if is_loss else "fail"
        if not self.is_live(claim, unit):
            self.refused("lost", write)
            self.met[f"{name} late"] += 1
            return
        ended = write()
        expected = batch.charge(unit, is_loss=is_loss)
        assert ended == expected
        self.met[f"{name} to death" if unit.state == "dead" else name] += 1
        self.end_of(expected)

    @precondition(lambda self: self.held)
    @rule(index=indices)
    def require(self, index: int) -> None:
        """Make sure of a claim."""
        claim, _, unit = self.claim(index)

        def ask() -> None:
            with self.store.write() as connection:
                claims.require(connection, claim)

        if self.is_live(claim, unit):
            ask()
            self.met["require"] += 1
        else:
            self.refused("lost", ask)
            self.met["require late"] += 1

    @precondition(lambda self: self.held)
    @rule(worker=st.sampled_from(WORKERS), is_granted=st.booleans())
    def renew(self, worker: str, is_granted: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Renew everything that a worker has."""
        with self.store.write() as connection:
            renewed = claims.renew(connection, worker, TTL, is_granted=is_granted)
        leased = [
            (batch, unit)
            for batch in self.batches
            for unit in batch.in_states("leased")
            if unit.worker == worker and batch.tenant not in self.off
        ]
        expected = {(b.number, unit.ordinal, unit.fence) for b, unit in leased}
        assert renewed == expected
        for _, unit in leased:
            unit.is_expired = False
        mine = {
            (each.key.number, each.ordinal, each.fence)
            for each in self.held
            if each.worker == worker
        }
        self.met["renew"] += bool(renewed)
        self.met["renew missing"] += bool(mine - renewed)

    # --- Time passes, and units wear out ----------------------------------------------

    def alter(self, batch: model.Batch, unit: Unit, **values: Any) -> None:
        place = (CHUNK.c.batch == batch.number) & (CHUNK.c.ordinal == unit.ordinal)
        with self.store.write() as connection:
            connection.execute(sa.update(CHUNK).where(place).values(**values))

    def some(self, index: int, *states: str) -> tuple[model.Batch, Unit] | None:
        found = [(b, unit) for b in self.batches for unit in b.in_states(*states)]
        return found[index % len(found)] if found else None

    @precondition(lambda self: self.some(0, "leased", "retrying", "queued"))
    @rule(
        index=indices,
        what=st.sampled_from(["leased", "retrying", "queued"]),
        is_swept=st.booleans(),
    )
    def let_time_pass(self, index: int, what: str, is_swept: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Let a lease run out, a next try be due, or a unit have broken before."""
        if (found := self.some(index, what)) is None:
            return
        unit = found[1]
        if what == "leased":
            self.alter(*found, lease_until=now_epoch() - 1)
            unit.is_expired = True
        elif what == "retrying":
            self.alter(*found, due_at=now_epoch() - 1)
            unit.is_due = True
        else:  # once more is too often
            unit.failures, unit.losses = model.TRIES - 1, model.LOSSES - 1
            self.alter(*found, failures=unit.failures, losses=unit.losses)
        if is_swept:
            self.sweep()

    @precondition(lambda self: self.batches)
    @rule(index=indices, how=st.sampled_from(["fail", "lose", "vanish"]))
    def break_once_too_often(self, index: int, how: str) -> None:
        """Let the next unit of a batch die."""
        batch = self.batch(index)
        is_first = batch.preparation.state == "queued"
        unit = batch.next_unit(preparation=is_first)
        if unit is None or batch.tenant in self.off:
            return
        unit.failures, unit.losses = model.TRIES - 1, model.LOSSES - 1
        self.alter(batch, unit, failures=unit.failures, losses=unit.losses)
        self.claim_unit(batch, "w1", preparation=is_first)
        if how == "vanish":
            self.alter(batch, unit, lease_until=now_epoch() - 1)
            unit.is_expired = True
            self.sweep()
        else:
            self.charge_claim(self.held[-1], is_loss=how == "lose")

    @precondition(lambda self: self.batches)
    @rule()
    def sweep(self) -> None:
        """Mend what can be mended."""
        swept = asdict(sweep(self.store))
        before = [len(batch.endings) for batch in self.batches]
        expected = model.sweep(self.batches)
        assert {name: swept[name] for name in expected} == expected
        assert swept["woken"] == 0
        assert expected["ended"] == 0  # what ends a unit ends its batch, too
        for name in ("lost", "died", "due", "astray"):
            self.met[f"sweep {name}"] += bool(expected[name])
        for batch, count in zip(self.batches, before, strict=True):
            for state in batch.endings[count:]:
                self.end_of(state)

    # --- People act ------------------------------------------------------------------

    def act(
        self, name: str, real: Callable[[], Any], expected: Callable[[], Any]
    ) -> Any:
        """Do something in both; what the model refuses must be refused."""
        try:
            result = expected()
        except RefusedError as error:
            self.refused(error.kind, real)
            self.met[f"{name} refused"] += 1
            return None
        found = real()
        self.met[name] += 1
        return found, result

    @precondition(lambda self: self.batches)
    @rule(index=indices, act=st.sampled_from(ACTS))
    def person(self, index: int, act: str) -> None:
        """Do to a batch what a person may do."""
        self.act_on(self.batch(index, SUITED.get(act)), act)

    def act_on(self, batch: model.Batch, act: str) -> None:
        """Do it in both."""
        is_cancelled = batch.state == "cancelled"
        real: Callable[[model.Batch], Any] = getattr(self, f"really_{act}")
        done = self.act(act, partial(real, batch), getattr(batch, act))
        if done is None:
            return
        if act in {"revive", "rerun"}:
            assert done[0] == done[1]
        if act == "rerun":
            self.met["rerun needless"] += not done[1]
        elif act == "stop" or (act == "cancel" and not is_cancelled):
            self.end_of(batch.state)

    def really_pause(self, batch: model.Batch) -> None:
        operate.pause(self.store, self.key(batch))

    def really_resume(self, batch: model.Batch) -> None:
        operate.resume(self.store, self.key(batch))

    def really_cancel(self, batch: model.Batch) -> None:
        operate.cancel(self.store, self.key(batch))

    def really_revive(self, batch: model.Batch) -> int:
        return operate.revive(self.store, self.key(batch))

    def really_stop(self, batch: model.Batch) -> None:
        with self.store.write() as connection:
            end_early(connection, self.key(batch), "stop", "enough")

    def really_rerun(self, batch: model.Batch) -> bool:
        with self.store.write() as connection:
            found = batches.read(connection, self.key(batch))
            return reopen(connection, found, PersonImporter, Renewal())

    @precondition(lambda self: self.batches)
    @rule(tenant=st.integers(0, 1), is_sure=st.sampled_from([False, False, True]))
    def switch(self, tenant: int, is_sure: bool) -> None:  # noqa: FBT001 - Hypothesis names it
        """Turn a tenant's work off, or on again."""
        name = self.tenants[tenant]
        if not is_sure and name not in self.off:
            return
        is_off = name not in self.off
        with self.store.write() as connection:
            switches.turn(
                connection,
                SwitchScope.TENANT,
                name,
                is_off=is_off,
                reason="",
                who="",
            )
        self.off ^= {name}

    # --- What always holds -----------------------------------------------------------

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        """Compare units, batches and outcomes with the model."""
        numbers = [batch.number for batch in self.batches]
        if not numbers:
            return
        with self.store.read() as connection:
            found = self.found(connection, numbers)
            self.check_events(connection, numbers)
        for batch in self.batches:
            state, staged, attempt = found.batches[batch.number]
            assert (state, bool(staged)) == (batch.state, batch.staged)
            assert attempt == batch.attempt
            for unit in batch.units:
                self.check_unit(batch, unit, found.units[batch.number, unit.ordinal])
            expected = {
                row: verdict
                for unit in batch.units
                for row, verdict in unit.verdicts.items()
            }
            assert found.verdicts.get(batch.number, {}) == expected
        self.check_final(found)

    @staticmethod
    def check_unit(batch: model.Batch, unit: Unit, row: Any) -> None:
        place = (batch.number, unit.ordinal)
        assert (place, row.state, row.fence) == (place, unit.state, unit.fence)
        assert (row.worker, row.round) == (unit.worker, unit.round)
        assert (row.failures, row.losses) == (unit.failures, unit.losses)
        counted = {model.GOOD: row.created, model.BAD: row.invalid}
        assert {k: v for k, v in counted.items() if v} == {
            k: v for k, v in unit.counted.items() if v
        }
        assert (row.lease_until is not None) == (unit.state == "leased")
        assert (row.due_at is not None) == (unit.state == "retrying")

    def check_final(self, found: Found) -> None:
        """Assert that what was final once is as it was then."""
        for place, before in self.final.items():
            assert found.rows[place] == before
        for batch in self.batches:
            for unit in batch.units:
                if unit.is_final:
                    place = ("chunk", batch.number, unit.ordinal)
                    self.final.setdefault(place, found.rows[place])
                for row, verdict in unit.verdicts.items():
                    if verdict == model.GOOD:
                        place = ("outcome", batch.number, row)
                        self.final.setdefault(place, found.rows[place])

    def check_events(self, connection: sa.Connection, numbers: list[int]) -> None:
        """Assert that events are dense and tell each ending once, in order."""
        statement = (
            sa.select(EVENT.c.batch, EVENT.c.seq, EVENT.c.kind)
            .where(EVENT.c.batch.in_(numbers))
            .order_by(EVENT.c.batch, EVENT.c.seq)
        )
        told: dict[int, list[str]] = {number: [] for number in numbers}
        for number, seq, kind in connection.execute(statement):
            told[number].append(kind)
            assert seq == len(told[number])
        for batch in self.batches:
            kinds = told[batch.number]
            endings = [kind for kind in kinds if kind in ENDED]
            assert endings == batch.endings
            if batch.state in ENDED:
                assert kinds[-1] == batch.state

    @staticmethod
    def found(connection: sa.Connection, numbers: list[int]) -> Found:
        """Read everything of the batches."""
        found = Found()
        state = sa.select(BATCH.c.id, BATCH.c.state, BATCH.c.staged, BATCH.c.attempt)
        for number, *values in connection.execute(state.where(BATCH.c.id.in_(numbers))):
            found.batches[number] = tuple(values)
        for row in connection.execute(
            sa.select(CHUNK).where(CHUNK.c.batch.in_(numbers))
        ):
            found.units[row.batch, row.ordinal] = row
            found.rows["chunk", row.batch, row.ordinal] = tuple(row)
        for row in connection.execute(
            sa.select(OUTCOME).where(OUTCOME.c.batch.in_(numbers))
        ):
            verdicts = found.verdicts.setdefault(row.batch, {})
            assert row.row not in verdicts
            verdicts[row.row] = row.verdict
            found.rows["outcome", row.batch, row.row] = tuple(row)
        return found

    def teardown(self) -> None:
        """Leave nothing for the next run."""
        for batch in self.batches:
            if batch.state != "completed":
                operate.cancel(self.store, self.key(batch))


ENDED = {"completed", "checked", "stopped", "failed", "cancelled"}


class Found:
    """What is in the database."""

    def __init__(self) -> None:
        self.batches: dict[int, tuple[Any, ...]] = {}
        self.units: dict[tuple[int, int], Any] = {}
        self.verdicts: dict[int, dict[int, str]] = {}
        self.rows: dict[tuple[str, int, int], tuple[Any, ...]] = {}


def _good(pattern: int) -> Callable[[int], bool]:
    return lambda row: bool(pattern >> (row % 6) & 1)


@pytest.fixture
def let_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with two workers that may do everything; no retry is due by itself."""
    monkeypatch.setattr(claims, "BACKOFF", claims.LONGEST_BACKOFF)
    everything = Identity("fleet", frozenset({"*"}), frozenset({"*"}), FOREVER, None)
    with store.write() as connection:
        for worker in WORKERS:
            access.enter(connection, worker, everything, "1.0")
    return store


def run(store: Store, examples: int, steps: int) -> Counter[str]:
    """Run the machine; return how often each thing was met."""
    met: Counter[str] = Counter()
    run_state_machine_as_test(
        partial(Machine, store, met),  # type: ignore[arg-type] # it only calls it
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None
        ),
    )
    return met


def test_the_database_does_what_the_model_says(let_in: Store) -> None:
    met = run(let_in, examples=20, steps=30)
    assert set(met) <= MET
    assert met["commit"] > 0


@pytest.mark.slow
def test_everything_that_can_happen_has_happened_often(let_in: Store) -> None:
    met = run(let_in, examples=5_000, steps=50)
    print(dict(met.most_common()))  # noqa: T201 - the figures of the run
    assert {name: met[name] for name in MET if met[name] < FLOOR} == {}
