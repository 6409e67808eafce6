"""Payments: effects on a far side that keeps, in transactions of its own, what it did.

The far side is a table that takes a key any number of times, so it shows whether one
was paid twice. Its connection is another one than the batch's: what a worker did there
stays, wherever that dies.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel

from batchfx import BatchKey, Context, Importer, Options, Store, import_source
from batchfx.model.effects import EffectState, digest_of
from batchfx.store import effects
from batchfx.store.engine import connect
from batchfx.store.schema import EFFECT
from tests.faults.ledgers import KEPT

ROWS = 3
KEYS = [f"pay:P{number}" for number in range(ROWS)]
CONTENT = "code\n" + "".join(f"P{number}\n" for number in range(ROWS))
PAYLOAD = {"amount": 7}

PAID = sa.Table(
    "paid",
    KEPT,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String, nullable=False),
)
_PLACES: list[str] = []  # the address of the far side, last


class PaymentRow(BaseModel):
    """A payment."""

    code: str


class PaymentImporter(Importer[PaymentRow]):
    """Pays; nobody can ask the far side whether it has."""

    name = "payments"
    effects = True

    def process(self, row: PaymentRow, context: Context) -> str:
        """Pay once; the record is the receipt."""
        return str(context.effect(f"pay:{row.code}", PAYLOAD, pay))


class AskingImporter(PaymentImporter):
    """The same where the far side can be asked."""

    name = "asking-payments"

    def reconcile_pay(self, key: str) -> str | None:
        """Return the receipt if it was paid."""
        return receipt(key) if paid()[key] else None


NAMES = [PaymentImporter.name, AskingImporter.name]


def be_at(url: str) -> None:
    """Have the far side in the database at *url*."""
    _PLACES[:] = [url]


def far_side() -> Store:
    """Return the far side's own connection."""
    return connect(_PLACES[-1])


def receipt(key: str) -> str:
    """Return what the far side answers."""
    return f"receipt of {key}"


def pay(key: str) -> str:
    """Pay, on the far side."""
    far = far_side()
    with far.write() as connection:
        connection.execute(sa.insert(PAID).values(key=key))
    far.close()
    return receipt(key)


def paid() -> Counter[str]:
    """Return how often each key was paid."""
    far = far_side()
    with far.read() as connection:
        found = Counter(connection.scalars(sa.select(PAID.c.key)))
    far.close()
    return found


def submit(store: Store, importer: type[Importer[Any]], tenant: str) -> None:
    """Enter a batch of payments; its preparation waits."""
    source = io.BytesIO(CONTENT.encode())
    options = Options(tenant=tenant)
    import_source(store, importer, source, name="p.csv", options=options, detached=True)


def leave_in_the_middle(store: Store, key: BatchKey, worker: str) -> None:
    """Have two effects claimed by a dead worker, which had paid the first of them."""
    pay(KEYS[0])
    entered = [
        {
            "tenant": key.tenant,
            "key": name,
            "name": "pay",
            "digest": digest_of(name, PAYLOAD),
            "state": EffectState.CLAIMED,
            "batch": key.number,
            "row": 2 + number,
            "worker": worker,
            "claimed_at": 1.0 + number,
        }
        for number, name in enumerate(KEYS[:2])
    ]
    with store.write() as connection:
        connection.execute(sa.insert(EFFECT), entered)


def states(store: Store) -> dict[str, tuple[str, Any]]:
    """Return the state and the result of each effect, by its key."""
    columns = (EFFECT.c.key, EFFECT.c.state, EFFECT.c.result)
    with store.read() as connection:
        rows = connection.execute(sa.select(*columns)).all()
    return {row.key: (row.state, row.result) for row in rows}


def settle_all(store: Store, tenant: str) -> None:
    """Do what a person does: look outside, and say what was found."""
    outside = paid()
    with store.write() as connection:
        for doubt in effects.listing(connection, tenant, 100):
            effects.settle(
                connection,
                tenant,
                doubt.key,
                happened=bool(outside[doubt.key]),
                result=receipt(doubt.key),
            )


def check(store: Store) -> None:
    """Hold what is recorded to what has happened outside.

    Nothing was paid twice; what is done was paid and has its receipt; of what is not
    recorded as claimed nothing was paid.
    """
    outside, recorded = paid(), states(store)
    assert set(outside.values()) <= {1}, outside
    assert set(outside) <= set(recorded), (outside, recorded)
    for key, (state, result) in recorded.items():
        assert state in {"claimed", "done", "unknown"}, recorded
        if state == "done":
            assert outside[key] == 1, (key, recorded)
            assert result == receipt(key), (key, recorded)
