"""Who may work: a secret is shown at the start, and says for whom and at what.

Secrets are compared by their digests in constant time, and stand in no message, log or
representation. A refusal does not say what was wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import logging
import os
import secrets
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

import sqlalchemy as sa

from batchfx.errors import AccessError, ContractError, UsageError
from batchfx.model.access import EVERY, FOREVER, Identity
from batchfx.store import access
from batchfx.store.engine import Store, now_epoch

PREFIX = "bfx_"  # by which scanners, and people, recognise a secret
BYTES = 32  # of chance in a secret
SHORTEST = 16  # characters of a static token

VERIFIER = "BATCHFX_WORKER_VERIFIER"
STATIC_TOKEN = "BATCHFX_STATIC_TOKEN"  # noqa: S105 - the name of the variable with it
STATIC_TENANTS = "BATCHFX_STATIC_TENANTS"
STATIC_IMPORTERS = "BATCHFX_STATIC_IMPORTERS"

REFUSAL = (
    "The credential of this worker is not accepted; ask for a valid one "
    "('batchfx credential issue' makes one)."
)
NOBODY = "0" * 64  # compared with where there is no credential of a digest

_log = logging.getLogger("batchfx.access")


class Verifier(Protocol):
    """The host's own identity system, instead of batchfx's credentials."""

    def __call__(self, secret: str, /) -> Identity | None:
        """Return whose secret it is and what that allows; None when it is nobody's."""
        ...


def issue(
    store: Store,
    name: str,
    tenants: Collection[str],
    importers: Collection[str],
    *,
    lifetime: float,
) -> str:
    """Make a credential that is good for *lifetime* seconds; return its secret.

    The secret is kept nowhere: this is the only time that it can be seen.

    Raises:
        UsageError: There is one of that name already, or it would allow nothing.

    """
    secret = PREFIX + secrets.token_urlsafe(BYTES)
    with store.write() as connection:
        access.issue(
            connection, name, digest_of(secret), tenants, importers, lifetime=lifetime
        )
    return secret


def digest_of(secret: str) -> str:
    """Return what is kept of a secret: its SHA-256, hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def identify(
    store: Store,
    secret: str | None,
    verifier: Verifier | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Identity:
    """Return who shows *secret*, and what that allows.

    A verifier, given or named as ``module:function`` by BATCHFX_WORKER_VERIFIER,
    decides alone. Without one it is batchfx's credentials, and then the static token of
    BATCHFX_STATIC_TOKEN for the time before there are any.

    Raises:
        AccessError: It is not accepted.
        ContractError: The verifier returned what is no identity.
        UsageError: The verifier or the static token is not set up as it must be.

    """
    if not secret:
        message = (
            "A worker needs a credential: 'batchfx credential issue' makes one, and "
            "the variable BATCHFX_WORKER_CREDENTIAL hands it over. (To be let in by "
            f"the static token, hand over the text of {STATIC_TOKEN} there.)"
        )
        raise AccessError(message)
    verifier = verifier or named_verifier(environment.get(VERIFIER))
    if verifier is not None:
        return _of_verifier(store, verifier, secret)
    digest = digest_of(secret)
    found = _of_credential(store, digest) or _of_static_token(digest, environment)
    if found is None:
        raise AccessError(REFUSAL)
    return found


def named_verifier(place: str | None) -> Verifier | None:
    """Return the verifier that *place* names as ``module:function``; None for none.

    Raises:
        UsageError: There is no such function.

    """
    if not place:
        return None
    module, _, name = place.partition(":")
    try:
        found: Verifier = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"{VERIFIER} names no function that can be imported: '{place}'. "
            "Write it as module:function."
        )
        raise UsageError(message) from error
    return found


def names_in(text: str, what: str) -> frozenset[str]:
    """Return the names that *text* lists with commas, or the one that means all.

    Raises:
        UsageError: It lists none, or mixes '*' with names.

    """
    names = frozenset(name for part in text.split(",") if (name := part.strip()))
    is_mixed = any(EVERY in name for name in names) and names != {EVERY}
    if not names or is_mixed:
        message = (
            f"{what} '{text}' names nothing that could be allowed: list the names, "
            f"separated by commas, or write '{EVERY}' alone for all."
        )
        raise UsageError(message)
    return names


def _of_verifier(store: Store, verifier: Verifier, secret: str) -> Identity:
    try:
        found = verifier(secret)
    except Exception as error:  # noqa: BLE001 - the host's code; its text may hold the secret
        message = f"The verifier of workers failed with {type(error).__name__}."
        raise AccessError(message) from None
    if found is None:
        raise AccessError(REFUSAL)
    identity = _checked(found)
    with store.read() as connection:
        now = connection.execute(sa.select(now_epoch())).scalar_one()
    if identity.expires_at <= now:
        raise AccessError(REFUSAL)
    return identity


def _checked(found: object) -> Identity:
    if isinstance(found, Identity):
        scopes: tuple[object, object] = (found.tenants, found.importers)
        if all(isinstance(each, frozenset) and each for each in scopes):
            return replace(found, credential=None)
    message = (
        "The verifier of workers must return an Identity with a frozenset of tenants "
        f"and one of importers, neither of them empty, or None; '{EVERY}' means all."
    )
    raise ContractError(message)


def _of_credential(store: Store, digest: str) -> Identity | None:
    with store.read() as connection:
        found = access.find(connection, digest)
    is_same = hmac.compare_digest(found.digest if found else NOBODY, digest)
    if found is None or not is_same or not found.is_valid:
        return None
    return Identity(
        found.name, found.tenants, found.importers, found.expires_at, found.id
    )


def _of_static_token(digest: str, environment: Mapping[str, str]) -> Identity | None:
    token = environment.get(STATIC_TOKEN)
    if not token:
        return None
    if len(token) < SHORTEST:
        message = f"{STATIC_TOKEN} is too short; take {SHORTEST} characters or more."
        raise UsageError(message)
    tenants = names_in(environment.get(STATIC_TENANTS, ""), STATIC_TENANTS)
    importers = names_in(environment.get(STATIC_IMPORTERS, ""), STATIC_IMPORTERS)
    if not hmac.compare_digest(digest_of(token), digest):
        return None
    _log.warning(
        "This worker was let in by the static token of %s, which never expires and "
        "can't be revoked. Replace it with 'batchfx credential issue'.",
        STATIC_TOKEN,
    )
    return Identity("static token", tenants, importers, FOREVER)
