"""Faults that others have had, each sown alone to see whether the tests find it.

A seed changes the product in the processes of one run of tests, and nowhere else: it is
sown as they start. `tests.faults.sowing` runs the tests and writes the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults import defects

FAULTS = "tests/faults"
DUELS = f"{FAULTS}/test_duels.py"
FENCES = f"{FAULTS}/test_fences.py"
ON_POSTGRESQL = (DUELS, "-k", "postgresql")  # where sessions overlap
EFFECTS = ("tests/workers/test_effects.py",)


@dataclass(frozen=True, slots=True)
class Seed:
    """A fault.

    Attributes:
        what: The fault in a sentence, and who had it where that is known.
        sow: Changes the product.
        tests: What pytest is to run; the first that fails has found it.
        number: Its number in the list of faults that other systems had.

    """

    what: str
    sow: Callable[[], None]
    tests: tuple[str, ...]
    number: int | None = None


def sow(name: str) -> None:
    """Change the product in this process."""
    SEEDS[name].sow()


WORKERS = "tests/workers"
SEEDS = {
    "ack by number": Seed(
        "A commit names the unit only (Oban)", defects.ack_by_number, (FENCES, DUELS), 1
    ),
    "ack by state": Seed(
        "A commit names the unit and its state (River)",
        defects.ack_by_state,
        (FENCES,),
        2,
    ),
    "reclaim unguarded": Seed(
        "The sweep ends by number what it saw before (River #1302)",
        defects.reclaim_unguarded,
        ON_POSTGRESQL,
        3,
    ),
    "end unasked": Seed(
        "A failure or release names neither worker nor fence (Graphile)",
        defects.end_unasked,
        (FENCES,),
        4,
    ),
    "ack by worker": Seed(
        "A commit names the worker, not the fence", defects.ack_by_worker, (FENCES,)
    ),
    "identity is host": Seed(
        "A worker is named after its machine (Oban #862)",
        defects.identity_is_host,
        (f"{FAULTS}/test_kills.py",),
        5,
    ),
    "leases of those present": Seed(
        "A worker's row goes before its leases (Procrastinate #1518)",
        defects.leases_of_those_present,
        (FENCES,),
        6,
    ),
    "sweep swallows": Seed(
        "Recovery swallows a fault of the database (DBOS #716)",
        defects.sweep_swallows,
        (f"{FAULTS}/test_restarts.py",),
        7,
    ),
    "failed claim counts": Seed(
        "Work begins on a claim that was not got (DBOS #742)",
        defects.failed_claim_counts,
        ON_POSTGRESQL,
        8,
    ),
    "event number read": Seed(
        "An event's number is read, not counted (serial cursors)",
        defects.event_number_read,
        ("tests/store/test_events.py",),
        9,
    ),
    "hints only": Seed(
        "Only a hint makes a worker look for work",
        defects.hints_only,
        (f"{WORKERS}/test_outages.py",),
        11,
    ),
    "renewal only logged": Seed(
        "A renewal that fails is only logged (stroom)",
        defects.renewal_only_logged,
        (f"{WORKERS}/test_outages.py",),
        12,
    ),
    "client clock": Seed(
        "Leases are told by the worker's clock (Dramatiq, db-scheduler)",
        defects.client_clock,
        (f"{FAULTS}/test_clocks.py",),
        13,
    ),
    "kill child only": Seed(
        "Only the child is killed, not what it started",
        defects.kill_child_only,
        (f"{WORKERS}/test_process_trees.py",),
        14,
    ),
    "lost is failed": Seed(
        "A worker that vanishes fails its unit (Solid Queue)",
        defects.lost_is_failed,
        (f"{FAULTS}/test_poison.py",),
        15,
    ),
    "losses uncounted": Seed(
        "What takes workers with it is not counted (Inngest #4060, Sidekiq)",
        defects.losses_uncounted,
        (f"{FAULTS}/test_poison.py",),
        16,
    ),
    "tables before lock": Seed(
        "Tables are made before the lock (OmniRoute)",
        defects.tables_before_lock,
        ("tests/store/test_migrations.py",),
        17,
    ),
    "deferred write": Seed(
        "SQLite reads first and then asks to write",
        defects.deferred_write,
        ("tests/store/test_engine.py",),
        18,
    ),
    "lane locked": Seed(
        "A claim locks the lanes that it chooses from",
        defects.lane_locked,
        (DUELS, "-k", "only_looked"),
        19,
    ),
    "settled unlocked": Seed(
        "The last two chunks miss each other",
        defects.settled_unlocked,
        (DUELS, "-k", "postgresql-commit-commit"),
    ),
    "tenant unasked": Seed(
        "A batch is found by its number alone", defects.tenant_unasked, (FENCES,)
    ),
    "answer not looked for": Seed(
        "A commit whose answer was lost counts as failed",
        defects.answer_not_looked_for,
        (f"{FAULTS}/test_lost_answers.py",),
    ),
    "no triggers": Seed(
        "The database lets final rows be changed",
        defects.no_triggers,
        ("tests/store/test_triggers.py",),
    ),
    "lock order turned": Seed(
        "Two transactions lock in opposite orders",
        defects.lock_order_turned,
        ON_POSTGRESQL,
    ),
    "effect done again": Seed(
        "An effect whose worker died is done again",
        defects.effect_done_again,
        EFFECTS,
    ),
    "effect not asked after": Seed(
        "An effect whose worker died is done again without a question",
        defects.effect_not_asked_after,
        EFFECTS,
    ),
}
