"""Until when a worker believes that it has a claim, and what it says to handlers."""

from __future__ import annotations

import math
import socket

import pytest

from batchfx.execution.channel import Channel, claim_of, written
from batchfx.execution.handlers import end_told
from batchfx.execution.holdings import Holdings, Timing, name_of
from batchfx.execution.settlements import (
    Breakdown,
    Loss,
    Release,
    after_outage,
    told,
)
from batchfx.store.claims import Claim, Failure
from batchfx.store.schema import BatchKey

TIMING = Timing(ttl=30.0)


def claim(ordinal: int = 0, fence: int = 1) -> Claim:
    """Return a claim of batch 7."""
    return Claim(
        key=BatchKey("acme", 7),
        ordinal=ordinal,
        worker="w",
        fence=fence,
        first_row=1,
        last_row=5,
        rows=5,
        round=0,
        waited_at=None,
        importer="people",
        failures=0,
        losses=0,
        is_granted=True,
    )


def test_a_deadline_counts_from_before_the_question_and_keeps_a_margin() -> None:
    held = Holdings(TIMING)
    held.add(claim(), asked_at=100.0)
    assert held.left(claim(), now=100.0) == 27.0
    assert held.left(claim(), now=127.0) == 0.0


def test_a_renewal_prolongs_from_before_its_own_question() -> None:
    held = Holdings(TIMING)
    held.add(claim(), asked_at=100.0)
    held.confirm([claim()], {name_of(claim())}, (), asked_at=110.0)
    assert held.left(claim(), now=110.0) == 27.0


def test_what_a_renewal_does_not_return_is_lost() -> None:
    held = Holdings(TIMING)
    held.add(claim(), asked_at=100.0)
    held.confirm([claim()], (), (), asked_at=110.0)
    assert held.left(claim(), now=110.0) == -math.inf
    assert held.leased() == ()


def test_what_a_renewal_misses_because_it_is_committed_needs_no_lease() -> None:
    held = Holdings(TIMING)
    held.add(claim(), asked_at=100.0)
    held.confirm([claim()], (), {name_of(claim())}, asked_at=110.0)
    assert held.left(claim(), now=1e9) == math.inf
    assert held.leased() == ()


def test_an_answer_says_nothing_of_what_was_claimed_after_the_question() -> None:
    held = Holdings(TIMING)
    held.add(claim(1), asked_at=100.0)
    asked = held.leased()
    held.add(claim(2), asked_at=101.0)
    held.confirm(asked, {name_of(claim(1))}, (), asked_at=100.5)
    assert held.left(claim(2), now=101.0) == 27.0


def test_an_answer_that_is_late_does_not_bring_back_what_has_ended() -> None:
    held = Holdings(TIMING)
    held.add(claim(), asked_at=100.0)
    asked = held.leased()
    held.drop(claim())
    held.confirm(asked, {name_of(claim())}, (), asked_at=101.0)
    assert held.names() == frozenset()


def test_the_same_chunk_under_another_fence_is_another_claim() -> None:
    held = Holdings(TIMING)
    held.add(claim(fence=3), asked_at=100.0)
    assert held.left(claim(fence=2), now=100.0) == -math.inf


def test_a_channel_gives_messages_whole_however_they_come() -> None:
    here, there = socket.socketpair()
    with there:
        channel = Channel(here)
        text = '{"kind": "a"}\n{"kind": "b", "text": "ä"}\n{"kind"'.encode()
        for place in range(0, len(text), 7):
            there.sendall(text[place : place + 7])
        assert channel.receive() == {"kind": "a"}
        assert channel.pending() == [{"kind": "b", "text": "ä"}]
        assert channel.pending() == []
        there.sendall(b': "c"}\n')
        assert channel.receive() == {"kind": "c"}
    assert channel.receive() is None
    assert not channel.is_open
    channel.close()


@pytest.mark.parametrize("text", [b"more\n", b"[1]\n", b"{}\n", b"\xff\n"])
def test_a_channel_that_somebody_else_wrote_to_is_heard_no_more(text: bytes) -> None:
    here, there = socket.socketpair()
    with there:
        channel = Channel(here)
        there.sendall(b'{"kind": "a"}\n' + text + b'{"kind": "b"}\n')
        assert channel.pending() == [{"kind": "a"}]
        assert not channel.is_open
        channel.close()


def test_a_claim_comes_through_a_channel_as_it_was() -> None:
    here, there = socket.socketpair()
    sender, receiver = Channel(here), Channel(there)
    sender.send("claim", claim=written(claim(3)))
    message = receiver.receive()
    assert message is not None
    assert claim_of(message["claim"]) == claim(3)
    sender.close()
    receiver.close()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "its process ended itself with exit code 3"),
        (-11, "its process was ended by SIGSEGV"),
        (-200, "its process was ended by signal 200"),
    ],
)
def test_an_end_is_told_in_words(code: int, text: str) -> None:
    assert end_told(code) == text


def test_only_a_failure_of_the_database_is_forgiven_in_an_outage() -> None:
    its_own = Breakdown(claim(), Failure("exception", "x", "y"))
    lost = Loss(claim(), "gone")
    assert after_outage(its_own) is its_own
    assert after_outage(lost) is lost
    of_the_store = Breakdown(claim(), Failure("store", "x", "y"))
    assert after_outage(of_the_store) == Release(claim())


def test_work_is_named_by_batch_and_chunk() -> None:
    assert told(claim(4)) == "batch 7, chunk 4"
    assert told(claim(-1)) == "batch 7, preparation"
