"""What a person does to a batch that is under way, on both databases."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import sqlalchemy as sa

from batchfx import (
    BatchKey,
    Options,
    Report,
    Store,
    cancel,
    import_source,
    open_store,
    pause,
    report,
    rerun,
    resume,
    revive,
)
from batchfx.errors import (
    IllegalMoveError,
    LeaseLostError,
    NotFoundError,
    UsageError,
)
from batchfx.execution.chunk import Checked, check_chunk, commit_chunk
from batchfx.execution.job import job_of
from batchfx.execution.operate import dead
from batchfx.execution.run import Ending, run_claim
from batchfx.execution.sweep import Swept, sweep
from batchfx.model.states import BatchState
from batchfx.store import batches, claims, events
from batchfx.store.claims import Claim, Failure
from batchfx.store.engine import now_epoch
from batchfx.store.schema import CHUNK, PREPARATION
from tests.execution.test_imports import people, store, stored, verdicts
from tests.oracle import check_batch, states_of
from tests.people import Base, PersonImporter

__all__ = ["store"]

ROWS = people("A,Ann,1", "B,Ben,2", "C,Cyd,x", "D,Dan,4", "E,Eve,5", "F,Fay,6")
BROKE = Failure("disk_full", "commit", "The disk is full.")
TTL = 30.0

Act = Callable[[Store, BatchKey], object]


def entered(store: Store, content: bytes = ROWS, **options: object) -> BatchKey:
    """Enter an import of three chunks of two rows, for workers to run."""
    options = {"chunk_size": 2} | options
    entry = import_source(
        store,
        PersonImporter,
        io.BytesIO(content),
        name="people.csv",
        options=Options(**options),  # type: ignore[arg-type] # the tests name them
        detached=True,
    )
    return entry.key


def claimed(store: Store, key: BatchKey, *, preparation: bool = False) -> Claim | None:
    with store.write() as connection:
        return claims.of_batch(connection, key, "w1", TTL, preparation=preparation)


def prepared(store: Store, content: bytes = ROWS, **options: object) -> BatchKey:
    """Enter an import and make its chunks ready."""
    key = entered(store, content, **options)
    claim = claimed(store, key, preparation=True)
    assert claim is not None
    assert run_claim(store, claim) is Ending.DONE
    return key


def begun(store: Store, key: BatchKey) -> Claim:
    claim = claimed(store, key)
    assert claim is not None
    return claim


def work(store: Store, key: BatchKey) -> int:
    """Run what waits of the batch; return how many chunks that were."""
    count = 0
    while (claim := claimed(store, key)) is not None:
        run_claim(store, claim)
        count += 1
    return count


def states(store: Store, key: BatchKey) -> dict[str, int]:
    """Return how many chunks are in each state, without the preparation."""
    with store.read() as connection:
        counts = states_of(connection, key)
        mine = sa.select(CHUNK.c.state).where(
            CHUNK.c.batch == key.number, CHUNK.c.ordinal == PREPARATION
        )
        counts[connection.execute(mine).scalar_one()] -= 1
    return {state: count for state, count in counts.items() if count}


def kinds(store: Store, key: BatchKey) -> list[str]:
    """Return what has happened, without the progress."""
    with store.read() as connection:
        found = [str(event.kind) for event in events.since(connection, key, 0, 100)]
    return [kind for kind in found if kind != "progressed"]


def kill(store: Store, key: BatchKey, ordinal: int | None = None) -> None:
    """Let a chunk break until it is dead."""
    which = [] if ordinal is None else [CHUNK.c.ordinal == ordinal]
    for _ in range(claims.TRIES):
        claim = claimed(store, key, preparation=ordinal == PREPARATION)
        assert claim is not None
        with store.write() as connection:
            claims.fail(connection, claim, BROKE)
            connection.execute(
                sa.update(CHUNK)
                .where(CHUNK.c.state == "retrying", *which)
                .values(due_at=now_epoch() - 1)
            )
        sweep(store)


def facts(found: Report) -> tuple[str, int, int, int]:
    """Return (state, created, invalid, pending)."""
    tally = found.tally
    return found.batch.state.value, tally.created, tally.invalid, tally.pending


# --- Detached -------------------------------------------------------------------------


def test_a_detached_import_is_entered_and_waits_for_workers(store: Store) -> None:
    key = entered(store)
    found = report(store, key)
    assert facts(found) == ("staging", 0, 0, 0)
    assert (found.is_queued, found.is_waiting, found.at_work) == (True, True, ())
    assert (found.has_workers, found.is_orphaned) == (False, True)
    assert stored(store) == []
    assert claimed(store, key) is None

    claim = claimed(store, key, preparation=True)
    assert claim is not None
    assert run_claim(store, claim) is Ending.DONE
    assert facts(report(store, key)) == ("running", 0, 0, 6)
    assert work(store, key) == 3
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    assert kinds(store, key) == ["created", "staged", "completed"]
    check_batch(store, key)


def test_a_detached_rerun_is_entered_and_waits_for_workers(store: Store) -> None:
    key = prepared(store)
    work(store, key)
    again = rerun(store, key, detached=True)
    assert facts(again) == ("running", 5, 0, 1)
    assert states(store, key) == {"done": 2, "held": 1}

    claim = claimed(store, key, preparation=True)
    assert claim is not None
    run_claim(store, claim)
    assert work(store, key) == 1
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    assert report(store, key).batch.attempt == 2
    check_batch(store, key)


def test_a_detached_import_of_the_same_content_goes_on_with_the_first(
    store: Store,
) -> None:
    key = entered(store)
    assert entered(store) == key
    assert len(kinds(store, key)) == 2


def test_a_batch_that_waits_is_run_here_when_that_is_asked_for(store: Store) -> None:
    key = entered(store)
    found = rerun(store, key)
    assert facts(found) == ("completed", 5, 1, 0)
    check_batch(store, key)


# --- Pause and resume -----------------------------------------------------------------


def test_while_a_batch_is_paused_only_what_is_at_work_is_finished(
    store: Store,
) -> None:
    key = prepared(store)
    claim = begun(store, key)
    assert facts(pause(store, key)) == ("paused", 0, 0, 6)
    assert states(store, key) == {"leased": 1, "held": 2}
    assert claimed(store, key) is None

    assert run_claim(store, claim) is Ending.DONE
    assert facts(pause(store, key)) == ("paused", 2, 0, 4)
    assert facts(resume(store, key)) == ("running", 2, 0, 4)
    assert work(store, key) == 2
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    assert kinds(store, key) == ["created", "staged", "paused", "resumed", "completed"]
    check_batch(store, key)


def test_a_batch_paused_before_it_is_staged_goes_on_from_there(store: Store) -> None:
    key = entered(store)
    pause(store, key)
    assert claimed(store, key, preparation=True) is None
    assert facts(resume(store, key)) == ("staging", 0, 0, 0)

    claim = claimed(store, key, preparation=True)
    assert claim is not None
    run_claim(store, claim)
    work(store, key)
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    check_batch(store, key)


def test_a_batch_paused_while_it_is_prepared_holds_its_chunks(store: Store) -> None:
    key = entered(store)
    claim = claimed(store, key, preparation=True)
    assert claim is not None
    looks: list[None] = []

    def pause_once() -> bool:
        if not looks:
            pause(store, key)
        looks.append(None)
        return False

    run_claim(store, claim, is_interrupted=pause_once)
    assert facts(report(store, key)) == ("paused", 0, 0, 6)
    assert states(store, key) == {"held": 3}
    resume(store, key)
    assert work(store, key) == 3
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    check_batch(store, key)


def test_a_batch_whose_last_chunk_ended_while_it_was_paused_ends_when_resumed(
    store: Store,
) -> None:
    key = prepared(store, people("A,Ann,1"))
    claim = begun(store, key)
    pause(store, key)
    run_claim(store, claim)
    assert facts(report(store, key)) == ("paused", 1, 0, 0)

    assert facts(resume(store, key)) == ("completed", 1, 0, 0)
    assert kinds(store, key)[-3:] == ["paused", "resumed", "completed"]
    check_batch(store, key)


def test_what_has_ended_is_neither_paused_nor_resumed(store: Store) -> None:
    key = prepared(store, people("A,Ann,1"))
    with pytest.raises(IllegalMoveError, match=r"Batch 1 is running, not paused\."):
        resume(store, key)
    work(store, key)
    for act, message in (
        (pause, "Batch 1 is completed: there is nothing to pause."),
        (resume, "Batch 1 is completed, not paused."),
    ):
        with pytest.raises(IllegalMoveError) as caught:
            act(store, key)
        assert str(caught.value) == message
    assert facts(report(store, key)) == ("completed", 1, 0, 0)


def test_a_paused_batch_is_neither_rerun_nor_revived(store: Store) -> None:
    key = prepared(store)
    pause(store, key)
    with pytest.raises(IllegalMoveError, match="'batchfx resume 1' lets it go on"):
        rerun(store, key)
    with pytest.raises(IllegalMoveError, match=r"Batch 1 is paused: resume it first\."):
        revive(store, key)
    assert states(store, key) == {"held": 3}


# --- Cancel ---------------------------------------------------------------------------


def test_a_cancelled_batch_says_what_was_applied_and_takes_no_more(
    store: Store,
) -> None:
    key = prepared(store)
    run_claim(store, begun(store, key))
    late = begun(store, key)
    with store.read() as connection:
        job = job_of(store, batches.read(connection, key), PersonImporter)
    checked = check_chunk(job, late)

    found = cancel(store, key)
    assert facts(found) == ("cancelled", 2, 0, 4)
    assert (found.batch.reason, found.at_work) == ("A person cancelled it.", ())
    assert states(store, key) == {"done": 1, "cancelled": 2}

    with pytest.raises(LeaseLostError):
        commit_chunk(job, checked)
    with store.write() as connection:
        assert not claims.release(connection, late)
        assert claims.renew(connection, "w1", TTL) == set()
    assert stored(store) == [("A", "Ann", 1), ("B", "Ben", 2)]
    assert verdicts(store, key) == {
        **dict.fromkeys((2, 3), "created"),
        **dict.fromkeys((4, 5, 6, 7), "pending"),
    }
    assert facts(report(store, key)) == ("cancelled", 2, 0, 4)
    check_batch(store, key)


def test_a_cancelled_batch_never_turns_into_anything_else(store: Store) -> None:
    key = prepared(store)
    run_claim(store, begun(store, key))
    cancel(store, key)
    before = kinds(store, key)

    acts: list[Act] = [pause, resume, revive, rerun]
    for act in acts:
        with pytest.raises((IllegalMoveError, UsageError)):
            act(store, key)
    cancel(store, key)
    assert sweep(store) == Swept()
    assert facts(report(store, key)) == ("cancelled", 2, 0, 4)
    assert kinds(store, key) == before == ["created", "staged", "cancelled"]
    for move in ("begin", "complete", "rerun", "fail", "stop"):
        with pytest.raises(IllegalMoveError), store.write() as connection:
            batches.move(connection, key, move)
    check_batch(store, key)


@pytest.mark.parametrize("state", ["staging", "paused", "failed", "stopped", "checked"])
def test_a_batch_is_cancelled_from_every_state_but_complete(
    store: Store, state: str
) -> None:
    if state == "staging":
        key = entered(store)
    elif state == "checked":
        key = prepared(store, dry_run=True)
        work(store, key)
    elif state == "stopped":
        key = prepared(store, max_error_rate=0.0)
        work(store, key)
    else:
        key = prepared(store)
    if state == "paused":
        pause(store, key)
    if state == "failed":
        for ordinal in range(3):
            kill(store, key, ordinal)
    assert report(store, key).batch.state == state

    assert cancel(store, key).batch.state is BatchState.CANCELLED
    assert "held" not in states(store, key)
    check_batch(store, key)


def test_a_complete_batch_is_not_cancelled(store: Store) -> None:
    key = prepared(store, people("A,Ann,1"))
    work(store, key)
    with pytest.raises(IllegalMoveError) as caught:
        cancel(store, key)
    assert str(caught.value) == (
        "Batch 1 is complete: nothing is left to be cancelled."
    )
    assert facts(report(store, key)) == ("completed", 1, 0, 0)


def test_another_tenants_batch_is_not_there(store: Store) -> None:
    key = prepared(store)
    theirs = BatchKey("zeta", key.number)
    acts: list[Act] = [pause, resume, cancel, revive, report, rerun]
    for act in acts:
        with pytest.raises(NotFoundError) as caught:
            act(store, theirs)
        assert str(caught.value) == (
            "Tenant 'zeta' has no batch 1. 'batchfx status' lists the batches there "
            "are."
        )
    assert states(store, key) == {"queued": 3}
    assert dead(store, "zeta") == []


# --- Dead and revived -----------------------------------------------------------------


def test_a_batch_with_dead_chunks_fails_and_says_so_once_the_rest_is_done(
    store: Store,
) -> None:
    key = prepared(store)
    kill(store, key, 0)
    assert facts(report(store, key)) == ("running", 0, 0, 6)
    assert work(store, key) == 2

    found = report(store, key)
    assert facts(found) == ("failed", 3, 1, 2)
    assert found.batch.reason == "1 chunk is dead (disk_full): The disk is full."
    (unit,) = dead(store)
    assert (unit.key, unit.ordinal, unit.rows, unit.failures) == (key, 0, 2, 5)
    assert [each.ordinal for each in dead(store, "default")] == [0]
    check_batch(store, key)


def test_what_was_dead_is_tried_again_and_completes_the_batch(store: Store) -> None:
    key = prepared(store)
    kill(store, key, 0)
    work(store, key)
    assert revive(store, key) == 1

    found = report(store, key)
    assert (found.batch.state, found.batch.reason) == ("running", None)
    assert dead(store) == []
    assert work(store, key) == 1
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    assert kinds(store, key)[-3:] == ["failed", "revived", "completed"]
    check_batch(store, key)


def test_one_dead_chunk_is_revived_while_the_batch_runs(store: Store) -> None:
    key = prepared(store)
    kill(store, key, 0)
    kill(store, key, 1)
    with pytest.raises(UsageError) as caught:
        revive(store, key, 2)
    assert str(caught.value) == (
        "Nothing of batch 1 is dead. 'batchfx dead' lists what is."
    )
    assert revive(store, key, 1) == 1
    assert states(store, key) == {"dead": 1, "queued": 2}
    assert begun(store, key).failures == 0


def test_a_dead_preparation_fails_the_batch_and_can_be_revived(store: Store) -> None:
    key = entered(store)
    kill(store, key, PREPARATION)
    found = report(store, key)
    assert facts(found) == ("failed", 0, 0, 0)
    assert found.batch.reason == (
        "Its preparation is dead (disk_full): The disk is full."
    )

    assert revive(store, key) == 1
    assert report(store, key).batch.state is BatchState.STAGING
    claim = claimed(store, key, preparation=True)
    assert claim is not None
    run_claim(store, claim)
    work(store, key)
    assert facts(report(store, key)) == ("completed", 5, 1, 0)
    check_batch(store, key)


def test_a_rerun_takes_up_what_was_dead(store: Store) -> None:
    key = prepared(store)
    kill(store, key, 0)
    work(store, key)
    assert facts(rerun(store, key)) == ("completed", 5, 1, 0)
    check_batch(store, key)


# --- Two at once, on PostgreSQL -------------------------------------------------------


@pytest.fixture
def pair(postgresql: str) -> Iterator[Store]:
    """A store on PostgreSQL with the application's table."""
    opened = open_store(postgresql)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def at_once(*calls: Callable[[], object]) -> list[BaseException]:
    """Call all of them at the same moment; return what they raised."""
    barrier, raised = threading.Barrier(len(calls)), list[BaseException]()

    def call(what: Callable[[], object]) -> None:
        barrier.wait()
        try:
            what()
        except (IllegalMoveError, LeaseLostError) as error:
            raised.append(error)

    threads = [threading.Thread(target=call, args=(each,)) for each in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def last_two(store: Store) -> tuple[BatchKey, list[Callable[[], object]]]:
    """Return a batch and the commits of its last two chunks."""
    rows = people("A,Ann,1", "B,Ben,2")
    key = prepared(store, rows, chunk_size=1, again=True)
    with store.read() as connection:
        job = job_of(store, batches.read(connection, key), PersonImporter)
    checked = [check_chunk(job, begun(store, key)) for _ in range(2)]

    def commit(each: Checked) -> Callable[[], object]:
        return lambda: commit_chunk(job, each)

    return key, [commit(each) for each in checked]


def test_the_last_two_chunks_at_once_end_the_batch_exactly_once(pair: Store) -> None:
    for _ in range(10):
        with pair.write() as connection:
            connection.execute(sa.delete(Base.metadata.tables["person"]))
        key, commits = last_two(pair)
        assert at_once(*commits) == []
        assert facts(report(pair, key)) == ("completed", 2, 0, 0)
        assert kinds(pair, key).count("completed") == 1
        check_batch(pair, key)


def test_a_cancel_and_a_commit_at_once_leave_one_of_two_stories(pair: Store) -> None:
    told = set()
    for _ in range(10):
        with pair.write() as connection:
            connection.execute(sa.delete(Base.metadata.tables["person"]))
        key, commits = last_two(pair)
        raised = at_once(*commits, partial(cancel, pair, key))
        found = report(pair, key)
        told.add(found.batch.state)
        assert found.tally.created == len(stored(pair))
        if found.batch.state is BatchState.COMPLETED:
            assert [type(error) for error in raised] == [IllegalMoveError]
        else:
            assert found.batch.state is BatchState.CANCELLED
            assert {type(error) for error in raised} <= {LeaseLostError}
            assert found.tally.created == 2 - len(raised)
        check_batch(pair, key)
    assert told <= {BatchState.CANCELLED, BatchState.COMPLETED}


def test_chunks_of_one_batch_run_here_and_there_at_once(pair: Store) -> None:
    key = prepared(pair, people(*(f"A{n},Ann,1" for n in range(40))), chunk_size=2)
    assert at_once(lambda: work(pair, key), lambda: work(pair, key)) == []
    assert facts(report(pair, key)) == ("completed", 40, 0, 0)
    check_batch(pair, key)
