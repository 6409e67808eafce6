"""What becomes of work when a process dies, hangs or is held up."""

from __future__ import annotations

import os
import signal
import time

import psutil

from batchfx.execution.operate import cancel
from batchfx.model.events import EventKind
from batchfx.model.switches import SwitchScope
from batchfx.store import access, claims, events, switches
from batchfx.store.schema import BatchKey
from tests.oracle import check_batch
from tests.workers.fleet import Fleet, Running, wait_for
from tests.workers.troubles import SLEEPER, LimitedImporter


def begun(fleet: Fleet, key: BatchKey) -> int:
    """Wait until a worker is at the batch's first chunk; return its fence."""
    wait_for(lambda: fleet.states(key)[:1] == ["leased"])
    fence: int = fleet.chunks(key)[0].fence
    return fence


def daemons(worker: Running) -> list[psutil.Process]:
    """Return the processes that a row has left running below *worker*."""
    return [p for p in worker.tree() if _sleeps(p)]


def _sleeps(process: psutil.Process) -> bool:
    try:
        return SLEEPER in process.cmdline()
    except psutil.NoSuchProcess:  # it has just ended; a zombie is one too
        return False


def gone(processes: list[psutil.Process]) -> bool:
    """Tell whether none of *processes* runs any more."""
    return not any(
        p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes
    )


def test_a_handler_that_holds_the_interpreter_keeps_its_lease(fleet: Fleet) -> None:
    key = fleet.submit("hold:5")
    worker = fleet.start(ttl=1.5)
    fence = begun(fleet, key)
    fleet.wait(key)
    (chunk,) = fleet.chunks(key)
    assert (chunk.fence, chunk.failures, chunk.losses) == (fence, 0, 0)
    assert "lease lost" not in worker.log


def test_a_chunk_that_kills_three_handlers_is_dead_and_no_neighbour_suffers(
    fleet: Fleet,
) -> None:
    key = fleet.submit("crash", "nothing", "nothing")
    worker = fleet.start(processes=2)
    fleet.wait(key, "failed")
    poison, *others = fleet.chunks(key)
    assert (poison.state, poison.losses, poison.failures) == ("dead", 3, 0)
    assert (poison.reason, poison.place) == (
        "poison",
        "its process was ended by SIGSEGV",
    )
    assert [chunk.state for chunk in others] == ["done", "done"]
    assert worker.process.poll() is None
    assert len(wait_for(lambda: len(worker.handlers()) == 2 and worker.handlers())) == 2
    check_batch(fleet.store, key)


def test_a_handler_that_exits_is_replaced_and_its_chunk_tried_again(
    fleet: Fleet,
) -> None:
    key = fleet.submit("crash_once:1")
    fleet.start()
    fleet.wait(key)
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.losses, chunk.failures) == ("done", 1, 0)
    check_batch(fleet.store, key)


def test_handlers_die_with_a_killed_supervisor_and_another_worker_goes_on(
    fleet: Fleet,
) -> None:
    key = fleet.submit("sleep_once:30", "nothing")
    first = fleet.start()
    begun(fleet, key)
    wait_for(fleet.fell_asleep)
    handlers = first.handlers()
    first.send(signal.SIGKILL)
    wait_for(lambda: gone(handlers), 1)
    fleet.start()
    fleet.wait(key)
    assert [chunk.losses for chunk in fleet.chunks(key)] == [1, 0]
    check_batch(fleet.store, key)


def test_a_supervisor_that_was_stopped_aborts_what_it_has_lost(fleet: Fleet) -> None:
    key = fleet.submit("sleep_once:30")
    first = fleet.start()
    fence = begun(fleet, key)
    wait_for(fleet.fell_asleep)
    handlers = first.handlers()
    first.send(signal.SIGSTOP)
    second = fleet.start()
    taken = fence + 3  # lost, due again, claimed
    wait_for(lambda: fleet.chunks(key)[0].fence == taken)
    first.send(signal.SIGCONT)
    wait_for(lambda: gone(handlers), 3)
    fleet.wait(key)
    assert f"lease lost: batch {key.number}, chunk 0" in first.log
    assert "lease lost" not in second.log
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.fence, chunk.losses) == ("done", taken, 1)
    check_batch(fleet.store, key)


def test_a_cancelled_batch_leaves_no_process_behind(fleet: Fleet) -> None:
    key = fleet.submit("daemon:60")
    worker = fleet.start()
    found = wait_for(lambda: len(daemons(worker)) == 2 and daemons(worker))
    cancel(fleet.store, key)
    wait_for(lambda: gone(found), 2)
    assert fleet.state(key) == "cancelled"
    assert fleet.states(key) == ["cancelled"]
    assert f"lease lost: batch {key.number}, chunk 0" in worker.log
    other = fleet.submit("nothing")
    fleet.wait(other)
    check_batch(fleet.store, key)


def test_what_is_switched_off_ends_within_one_renewal_and_waits(fleet: Fleet) -> None:
    key = fleet.submit("sleep_once:60")
    worker = fleet.start()
    begun(fleet, key)
    wait_for(fleet.fell_asleep)
    handlers = worker.handlers()
    turn(fleet, is_off=True)
    wait_for(lambda: gone(handlers), 3)
    wait_for(lambda: fleet.states(key) == ["queued"], 3)
    time.sleep(1)
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.failures, chunk.losses) == ("queued", 0, 0)
    assert f"lease lost: batch {key.number}, chunk 0" in worker.log
    turn(fleet, is_off=False)
    fleet.wait(key)
    check_batch(fleet.store, key)


def turn(fleet: Fleet, *, is_off: bool) -> None:
    """Turn the switch of the importer."""
    with fleet.store.write() as connection:
        switches.turn(
            connection,
            SwitchScope.IMPORTER,
            "troubles",
            is_off=is_off,
            reason="a test",
            who="it",
        )


def test_a_chunk_that_takes_too_long_is_ended_with_all_it_started(fleet: Fleet) -> None:
    key = fleet.submit("daemon:60", importer=LimitedImporter)
    worker = fleet.start()
    found = wait_for(lambda: len(daemons(worker)) == 2 and daemons(worker))
    wait_for(lambda: fleet.states(key) == ["retrying"], 3)
    assert gone(found)
    (chunk,) = fleet.chunks(key)
    assert (chunk.failures, chunk.losses, chunk.reason) == (1, 0, "time_limit")
    assert (
        chunk.error == "It took longer than the 0.7 seconds that its importer allows."
    )


def test_what_runs_after_the_commit_needs_no_lease(fleet: Fleet) -> None:
    key = fleet.submit("after:4")
    worker = fleet.start(ttl=1.5)
    fleet.wait(key)
    (handler,) = worker.handlers()
    time.sleep(3)
    assert handler.is_running()
    other = fleet.submit("nothing")
    fleet.wait(other)
    assert handler.is_running()
    assert "lease lost" not in worker.log


def test_a_claim_whose_answer_was_lost_is_given_back_uncharged(fleet: Fleet) -> None:
    key = fleet.submit("sleep:5")
    worker = fleet.start()
    begun(fleet, key)
    other = fleet.submit("nothing")
    with fleet.store.write() as connection:
        (row,) = access.workers(connection)
        (lost,) = claims.fair(connection, row.id, ["troubles"], 1.5)
    assert lost.key == other
    assert lost.is_preparation
    fleet.start()
    fleet.wait(other)
    with fleet.store.read() as connection:
        kinds = [event.kind for event in events.since(connection, other, 0, 100)]
    assert EventKind.LEASE_LOST not in kinds  # a loss would have been charged
    fleet.wait(key)
    assert "lease lost" not in worker.log


def test_what_a_killed_handler_left_running_is_ended(fleet: Fleet) -> None:
    key = fleet.submit("daemon:60")
    worker = fleet.start()
    found = wait_for(lambda: len(daemons(worker)) == 2 and daemons(worker))
    (handler,) = worker.handlers()
    handler.kill()
    wait_for(lambda: gone(found), 2)
    wait_for(lambda: fleet.states(key) == ["retrying"], 3)
    (chunk,) = fleet.chunks(key)
    assert (chunk.losses, chunk.place) == (1, "its process was ended by SIGKILL")


def test_a_signal_to_all_processes_of_a_service_lets_chunks_finish(
    fleet: Fleet,
) -> None:
    key = fleet.submit("sleep:1")
    worker = fleet.start()
    begun(fleet, key)
    for number in [*(handler.pid for handler in worker.handlers()), worker.process.pid]:
        os.kill(number, signal.SIGTERM)
    assert worker.process.wait(10) == 0
    assert fleet.states(key) == ["done"]


def test_running_chunks_finish_after_the_first_signal_and_no_more_begin(
    fleet: Fleet,
) -> None:
    key = fleet.submit("sleep:1", "nothing")
    worker = fleet.start()
    begun(fleet, key)
    below = worker.tree()
    assert worker.stop() == 0
    assert fleet.states(key) == ["done", "queued"]
    assert gone(below)
    assert "Stopping: 1 at work may finish within 10 seconds." in worker.log
    assert worker.log.endswith("The worker has ended.\n")


def test_what_does_not_finish_in_time_is_given_back_uncharged(fleet: Fleet) -> None:
    key = fleet.submit("daemon:60")
    worker = fleet.start(grace=0.5)
    found = wait_for(lambda: len(daemons(worker)) == 2 and daemons(worker))
    assert worker.stop() == 0
    assert gone(found)
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.failures, chunk.losses) == ("queued", 0, 0)
    assert chunk.worker is None


def test_the_second_signal_ends_everything_at_once(fleet: Fleet) -> None:
    key = fleet.submit("daemon:60")
    worker = fleet.start()
    found = wait_for(lambda: len(daemons(worker)) == 2 and daemons(worker))
    worker.send(signal.SIGTERM)
    time.sleep(0.3)
    worker.send(signal.SIGTERM)
    assert worker.process.wait(20) == 128 + signal.SIGTERM
    assert gone(found)
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.losses) == ("queued", 0)
