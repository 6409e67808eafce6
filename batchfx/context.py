"""What a processor gets beside its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import Session

from batchfx.errors import ContractError
from batchfx.model.effects import Asked, Effects


class Context:
    """What a processor may use beside its row.

    Attributes:
        tenant: Whose batch this is.
        batch: The batch's number.
        attempt: 1 for the first run, then one more for each rerun.
        row: The number of the row that is processed, as a person sees it in the file.
        session: A session in the chunk's transaction. Add, query and flush with it; the
            framework commits.

    """

    def __init__(
        self,
        tenant: str,
        batch: int,
        attempt: int,
        session: Session,
        effects: Effects | None = None,
    ) -> None:
        self.tenant = tenant
        self.batch = batch
        self.attempt = attempt
        self.session = session
        self.row: int | None = None
        self._effects = effects
        self.calls: list[tuple[int | None, Callable[[], object]]] = []

    def after_commit(self, call: Callable[[], object]) -> None:
        """Have *call* run once the chunk is committed, if this row went well.

        A process that dies in between leaves it undone: for what must not be lost,
        write a record that says so instead.
        """
        self.calls.append((self.row, call))

    def effect(
        self,
        key: str,
        payload: Any,
        run: Callable[[str], Any],
        *,
        idempotent: bool = False,
    ) -> Any:
        """Have *run* act on the world, once for the tenant; return what it returned.

        For importers with ``effects = True``. The key, written ``kind:what``, and the
        payload are the same at each attempt; *run* is given the key. What it returns is
        plain data, which is kept; `Invalid` raised by it says that the far side refused
        for good. Whatever else it raises leaves the row unknown. A row of which that
        was not recorded is unknown as well, unless *idempotent* says that the far side
        does what comes twice under one key once: then *run* is called again; or the
        importer has a ``reconcile_<kind>``, which is asked with the key how it ended.

        Raises:
            ContractError: The importer has no effects, or the key or payload is none.
            EffectError: The payload has changed, or nobody knows how it ended.

        """
        if self._effects is None or self.row is None:
            message = (
                "context.effect works in process, of an importer that says "
                "effects = True."
            )
            raise ContractError(message)
        self.session.flush()
        asked = Asked.of(key, payload, run, is_idempotent=idempotent)
        return self._effects.result(asked, self.row)
