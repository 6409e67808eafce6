"""A process that writes events to several batches, and gives up some transactions."""

from __future__ import annotations

import random
import time

from batchfx.model.events import EventKind
from batchfx.store import events
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import BatchKey

SLOW = 0.02  # seconds between an event's number and its commit, now and then


def write_events(url: str, writer: int, keys: list[BatchKey], count: int) -> list[str]:
    """Write *count* events and as many that are rolled back now and then.

    Returns:
        What was committed, a text each: the batch and the event's mark.

    """
    store, dice = open_store(url), random.Random(writer)  # noqa: S311 - repeatable
    try:
        return [
            f"{key.number}:{mark}"
            for number in range(count)
            for key, mark in [(dice.choice(keys), f"{writer}.{number}")]
            if _is_written(store, key, mark, dice)
        ]
    finally:
        store.close()


def _is_written(store: Store, key: BatchKey, mark: str, dice: random.Random) -> bool:
    with store.write() as connection:
        events.add(connection, key, EventKind.PROGRESSED, {"mark": mark})
        if dice.random() < 0.1:
            time.sleep(SLOW)
        if is_given_up := dice.random() < 0.2:
            connection.rollback()
    return not is_given_up
