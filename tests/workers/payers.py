"""Importers that act on a far side and may die in the middle of it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

from batchfx import Context, Importer
from tests.workers.troubles import TroubleRow


class PayingImporter(Importer[TroubleRow]):
    """Pays; nobody can ask the far side whether it has."""

    name = "paying-somebody"
    effects = True
    chunk_size = 1

    def process(self, row: TroubleRow, context: Context) -> str:
        """Pay, as the row says."""
        key = f"pay:{row.code}"
        return str(context.effect(key, {"act": row.act}, partial(_pay, row.act)))


class AskingImporter(PayingImporter):
    """The same where the far side can be asked."""

    name = "asking-somebody"

    def reconcile_pay(self, key: str) -> str | None:
        """Return the receipt if it was paid."""
        folder = Path(os.environ["TROUBLES"])
        return f"receipt of {key}" if paid(folder)[key] else None


def paid(folder: Path) -> Counter[str]:
    """Return how often each key was paid."""
    book = folder / "paid"
    return Counter(book.read_text("utf-8").split()) if book.exists() else Counter()


def _pay(act: str, key: str) -> str:
    folder = Path(os.environ["TROUBLES"])
    mark = folder / f"died-{key}"
    was_there = mark.exists()
    mark.touch()
    if act == "die_before" and not was_there:
        os.kill(os.getpid(), signal.SIGKILL)
    with (folder / "paid").open("a", encoding="utf-8") as book:
        book.write(f"{key}\n")
    if act == "die_after":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"receipt of {key}"
