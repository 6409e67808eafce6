"""Effects: something outside the transaction, such as a charge, a mail or a call."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from batchfx.errors import ContractError

SEPARATOR = ":"


class EffectState(StrEnum):
    """Where an effect is."""

    CLAIMED = "claimed"  # about to run, or running: whoever claimed it may have died
    DONE = "done"  # it has happened; its result is kept
    REFUSED = "refused"  # the far side said no, for good
    UNKNOWN = "unknown"  # nobody knows whether it has happened


TERMINAL_EFFECTS = frozenset({EffectState.DONE, EffectState.REFUSED})
"""States of an effect that nothing changes any more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An effect that a processor asks for.

    *run* makes it happen, given the key. With *is_idempotent* the far side does what
    comes twice under one key once.
    """

    key: str
    name: str
    digest: str
    run: Callable[[str], Any]
    is_idempotent: bool

    @classmethod
    def of(
        cls, key: str, payload: Any, run: Callable[[str], Any], *, is_idempotent: bool
    ) -> Asked:
        """Make one whose *key* is written as ``name:what``.

        Raises:
            ContractError: The key is not, or the payload is no plain data.

        """
        name, separator, what = key.partition(SEPARATOR)
        if not (name and separator and what):
            message = (
                f"'{key}' is no key of an effect: write the kind, a colon and what it "
                "is about, such as 'mail:42', the same at each attempt."
            )
            raise ContractError(message)
        return cls(key, name, digest_of(key, payload), run, is_idempotent)


class Effects(Protocol):
    """What has become of the effects that a processor asks for."""

    def result(self, asked: Asked, row: int) -> Any:
        """Return what the effect led to, as it was recorded."""
        ...


def digest_of(key: str, payload: Any) -> str:
    """Return the SHA-256 of *payload* as canonical JSON, hex.

    Raises:
        ContractError: It is no plain data, so it can't be compared with another.

    """
    try:
        text = json.dumps(
            payload,
            default=_plain,
            sort_keys=True,
            separators=(",", ":"),
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as error:
        message = (
            f"The payload of the effect '{key}' is no plain data: give texts, numbers, "
            "dates, and lists and mappings of them."
        )
        raise ContractError(message) from error
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> str:
    if isinstance(value, dt.date | dt.time | Decimal | UUID):
        return f"{type(value).__name__} {value}"
    raise TypeError
