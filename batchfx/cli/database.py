"""The database of a command, opened."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from batchfx.cli.options import Settings
from batchfx.errors import NotFoundError
from batchfx.execution.control import DEFAULT_TENANT
from batchfx.store import batches
from batchfx.store.addresses import shown
from batchfx.store.engine import Store, open_store
from batchfx.store.schema import BatchKey

LARGEST = 2**31 - 1  # number of a batch that the column on PostgreSQL takes


@contextlib.contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    """Open the database, which is made if it is missing; close it in the end."""
    store = open_store(settings.url)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def found(settings: Settings) -> Iterator[Store]:
    """Open a database that is there already.

    Raises:
        NotFoundError: It is not, so there is no batch in it either.

    """
    if not exists(settings):
        message = (
            f"There is no database '{place(settings.url)}' yet; the first import makes "
            "it. Name another one with --database."
        )
        raise NotFoundError(message)
    with opened(settings) as store:
        yield store


def exists(settings: Settings) -> bool:
    """Return False when the database's file would have to be made first."""
    path = _file(settings.url)
    return path is None or path.exists()


def place(url: str) -> str:
    """Return where the database is, for a person: its file, or its address."""
    path = _file(url)
    return str(path.absolute()) if path else shown(url)


def key_of(store: Store, number: int, tenant: str | None) -> BatchKey:
    """Return the batch's key; without a tenant it is that of whoever owns the batch.

    Raises:
        NotFoundError: There is no batch of that number.

    """
    is_possible = number <= LARGEST
    if tenant is not None and is_possible:
        return BatchKey(tenant, number)
    owner = None
    if is_possible:
        with store.read() as connection:
            owner = batches.owner(connection, number)
    if owner is None:
        message = (
            f"There is no batch {number}. 'batchfx status' lists the batches there are."
        )
        raise NotFoundError(message)
    return BatchKey(owner, number)


def other_tenants(store: Store, tenant: str) -> list[str]:
    """Return the tenants that have batches beside *tenant*."""
    with store.read() as connection:
        return [name for name in batches.tenants(connection) if name != tenant]


def tenant_or_default(tenant: str | None) -> str:
    """Return the tenant to work for."""
    return tenant or DEFAULT_TENANT


def _file(url: str) -> Path | None:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: the port is no number
        return None
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database
    return Path(parsed.database) if is_file and parsed.database else None
