"""Saved mappings: a tenant's own, each version kept as it was saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from batchfx.store import bulk
from batchfx.store.engine import now_epoch
from batchfx.store.inserts import insert_into
from batchfx.store.schema import MAPPING


@dataclass(frozen=True, slots=True)
class SavedMapping:
    """One version of a mapping; *saved_at* is in seconds since 1970-01-01 UTC."""

    tenant: str
    importer: str
    name: str
    version: int
    content: Mapping[str, Any]
    saved_at: float


def save(
    connection: Connection,
    tenant: str,
    importer: str,
    name: str,
    content: Mapping[str, Any],
) -> SavedMapping:
    """Keep *content*, plain JSON data, as the next version of the mapping.

    The newest version is returned as it is when it has this content already. The
    transaction must be a writing one.
    """
    wanted = bulk.kept(connection, dict(content))
    while True:
        newest = find(connection, tenant, importer, name)
        if newest is not None and newest.content == wanted:
            return newest
        version = 1 if newest is None else newest.version + 1
        added = _insert(connection, (tenant, importer, name, version), wanted)
        if added is not None:  # else another process has just saved this version
            return added


def find(
    connection: Connection,
    tenant: str,
    importer: str,
    name: str,
    version: int | None = None,
) -> SavedMapping | None:
    """Return the mapping, its newest version when none is named; None if missing."""
    statement = _select(tenant).where(
        MAPPING.c.importer == importer, MAPPING.c.name == name
    )
    if version is not None:
        statement = statement.where(MAPPING.c.version == version)
    newest = statement.order_by(MAPPING.c.version.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return None if row is None else _mapping(row)


def listing(
    connection: Connection, tenant: str, importer: str | None = None
) -> Sequence[SavedMapping]:
    """Return every version of the tenant's mappings, the newest of a mapping first."""
    statement = _select(tenant)
    if importer is not None:
        statement = statement.where(MAPPING.c.importer == importer)
    ordered = statement.order_by(
        MAPPING.c.importer, MAPPING.c.name, MAPPING.c.version.desc()
    )
    return [_mapping(row) for row in connection.execute(ordered)]


def _insert(
    connection: Connection, key: tuple[str, str, str, int], content: dict[str, Any]
) -> SavedMapping | None:
    columns = (*MAPPING.primary_key.columns, MAPPING.c.content, MAPPING.c.saved_at)
    values = dict(zip(columns, (*key, content, now_epoch()), strict=True))
    insert = insert_into(connection, MAPPING).values(values)
    statement = insert.on_conflict_do_nothing().returning(*MAPPING.c)
    row = connection.execute(statement).one_or_none()
    return None if row is None else _mapping(row)


def _select(tenant: str) -> sa.Select[Any]:
    return sa.select(MAPPING).where(MAPPING.c.tenant == tenant)


def _mapping(row: Row[Any]) -> SavedMapping:
    return SavedMapping(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public accessor
