"""Credentials and the workers that were let in with them.

Only the digest of a secret is kept. What a worker may work on stands in rows, so that
claims, renewals and commits can name it in their own conditions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row
from sqlalchemy.exc import IntegrityError

from batchfx.errors import NotFoundError, UsageError
from batchfx.model.access import EVERY, Identity
from batchfx.model.states import ChunkState
from batchfx.store.engine import now_epoch
from batchfx.store.schema import CHUNK, CREDENTIAL, GRANT, WORKER

TENANT, IMPORTER = "tenant", "importer"
SILENCE = 60.0  # seconds after which nobody counts on a worker any more

Name = sa.ColumnElement[str] | str
# The version of each importer, as it was dumped; None of one that can't work.
Installed = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential without its secret; times are seconds since 1970-01-01 UTC."""

    id: int
    name: str
    digest: str = field(repr=False)  # SHA-256 of the secret, hex
    tenants: frozenset[str]
    importers: frozenset[str]
    created_at: float
    expires_at: float
    revoked_at: float | None
    is_expired: bool

    @property
    def is_valid(self) -> bool:
        """True while it lets a worker in."""
        return self.revoked_at is None and not self.is_expired


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that was let in; *silent_for* are the seconds since it was seen."""

    id: str
    identity: str
    version: str
    started_at: float
    seen_at: float
    expires_at: float
    silent_for: float
    is_allowed: bool  # its right to work has not ended
    tenants: frozenset[str]
    importers: frozenset[str]


def issue(
    connection: Connection,
    name: str,
    digest: str,
    tenants: Collection[str],
    importers: Collection[str],
    *,
    lifetime: float,
) -> int:
    """Enter a credential that is good for *lifetime* seconds; return its id.

    Raises:
        UsageError: There is one of that name already, or it would allow nothing.

    """
    if not tenants or not importers or lifetime <= 0:
        message = (
            "A credential needs tenants, importers and a lifetime: write the names, "
            f"or '{EVERY}' for all of them."
        )
        raise UsageError(message)
    values = {
        "name": name,
        "digest": digest,
        "scope": {"tenants": sorted(tenants), "importers": sorted(importers)},
        "created_at": now_epoch(),
        "expires_at": now_epoch() + lifetime,
    }
    try:
        inserted = connection.execute(
            sa.insert(CREDENTIAL).values(**values).returning(CREDENTIAL.c.id)
        )
    except IntegrityError as error:
        message = (
            f"There is a credential '{name}' already, and its name is never used "
            "again; take another one."
        )
        raise UsageError(message) from error
    number: int = inserted.scalar_one()
    return number


def revoke(connection: Connection, name: str) -> None:
    """End the credential, and the right of every worker that came in with it.

    Raises:
        NotFoundError: There is none of that name.

    """
    named = sa.update(CREDENTIAL).where(CREDENTIAL.c.name == name)
    first = sa.func.coalesce(CREDENTIAL.c.revoked_at, now_epoch())
    if connection.execute(named.values(revoked_at=first)).rowcount == 0:
        message = (
            f"There is no credential '{name}'. 'batchfx credential list' lists them."
        )
        raise NotFoundError(message)


def listing(connection: Connection) -> Sequence[Credential]:
    """Return every credential, by name."""
    found = connection.execute(_credentials().order_by(CREDENTIAL.c.name))
    return [_credential(row) for row in found]


def find(connection: Connection, digest: str) -> Credential | None:
    """Return the credential with the secret of *digest*, valid or not."""
    found = connection.execute(_credentials().where(CREDENTIAL.c.digest == digest))
    row = found.first()
    return None if row is None else _credential(row)


def enter(
    connection: Connection, worker: str, identity: Identity, version: str
) -> None:
    """Let *worker*, a name that was never used before, work as *identity*."""
    values = {
        "id": worker,
        "credential": identity.credential,
        "identity": identity.name,
        "version": version,
        "started_at": now_epoch(),
        "seen_at": now_epoch(),
        "expires_at": identity.expires_at,
    }
    connection.execute(sa.insert(WORKER).values(**values))
    grants = [
        *_grants(worker, TENANT, identity.tenants),
        *_grants(worker, IMPORTER, identity.importers),
    ]
    if grants:
        connection.execute(sa.insert(GRANT), grants)


def seen(
    connection: Connection, worker: str, installed: Installed | None = None
) -> None:
    """Keep that *worker* was at work just now, with which importers *installed*."""
    values = {} if installed is None else {"installed": dict(installed)}
    connection.execute(_present(worker).values(seen_at=now_epoch(), **values))


def leave(connection: Connection, worker: str) -> None:
    """End the right of *worker* to work: it has shut down."""
    connection.execute(_present(worker).values(ended_at=now_epoch()))


def forget(connection: Connection, kept_for: float, limit: int) -> int:
    """Remove workers that ended, or were last seen, so many seconds ago; count them.

    With their grants; not while a unit of work is said to be theirs.
    """
    is_at_work = sa.exists().where(
        CHUNK.c.state == ChunkState.LEASED, CHUNK.c.worker == WORKER.c.id
    )
    last = sa.func.coalesce(WORKER.c.ended_at, WORKER.c.seen_at)
    old = (
        sa.select(WORKER.c.id)
        .where(last < now_epoch() - kept_for, ~is_at_work)
        .order_by(WORKER.c.id)
        .limit(limit)
        .with_for_update(of=WORKER, skip_locked=True)
    )
    names = connection.execute(old).scalars().all()
    if names:
        connection.execute(sa.delete(GRANT).where(GRANT.c.worker.in_(names)))
        connection.execute(sa.delete(WORKER).where(WORKER.c.id.in_(names)))
    return len(names)


def workers(connection: Connection) -> Sequence[WorkerRow]:
    """Return the workers that have not said that they left, the latest first."""
    rights: dict[tuple[str, str], set[str]] = {}
    for worker, kind, name in connection.execute(
        sa.select(GRANT.c.worker, GRANT.c.kind, GRANT.c.name)
        .join(WORKER)
        .where(WORKER.c.ended_at.is_(None))
    ):
        rights.setdefault((worker, kind), set()).add(name)
    return [_worker(row, rights) for row in connection.execute(_workers())]


def has_workers(connection: Connection, tenant: str, importer: str) -> bool:
    """Tell whether some worker that was seen lately may work for the tenant, and can.

    It can't without the importer; one that has not said what it has may have it.
    """
    found = installed(connection, tenant, importer)
    return any(names is None or importer in names for names in found)


def has_idle_workers(connection: Connection, tenant: str, importer: str) -> bool:
    """Tell whether a worker that was seen lately and is allowed has nothing at work."""
    is_at_work = sa.exists().where(
        CHUNK.c.state == ChunkState.LEASED, CHUNK.c.worker == WORKER.c.id
    )
    statement = (
        sa.select(WORKER.c.id)
        .where(
            WORKER.c.seen_at > now_epoch() - SILENCE,
            ~is_at_work,
            is_allowed(WORKER.c.id, sa.literal(tenant), sa.literal(importer)),
        )
        .limit(1)
    )
    return connection.execute(statement).first() is not None


def installed(
    connection: Connection, tenant: str, importer: str
) -> list[Installed | None]:
    """Return which importers each worker has that was seen lately and is allowed.

    None for one that has not said it yet.
    """
    statement = sa.select(WORKER.c.installed).where(
        WORKER.c.seen_at > now_epoch() - SILENCE,
        is_allowed(WORKER.c.id, sa.literal(tenant), sa.literal(importer)),
    )
    return list(connection.execute(statement).scalars())


def is_allowed(worker: Name, tenant: Name, importer: Name) -> sa.ColumnElement[bool]:
    """Return as SQL whether *worker* may work on *importer*'s rows of *tenant* now.

    Its row has neither ended nor expired, the credential it came in with is neither
    revoked nor expired, and it has a grant for the tenant and one for the importer.
    """
    return sa.and_(
        is_present(worker),
        _is_granted(worker, TENANT, tenant),
        _is_granted(worker, IMPORTER, importer),
    )


def is_present(worker: Name) -> sa.ColumnElement[bool]:
    """Return as SQL whether *worker* was let in and its right has not ended."""
    return _exists(
        sa.select(sa.literal_column("1", sa.Integer))
        .select_from(_WORKER.outerjoin(_CREDENTIAL))
        .where(_WORKER.c.id == worker, *_has_right()),
        _WORKER,
        _CREDENTIAL,
    )


_WORKER = WORKER.alias("worker_let_in")
_CREDENTIAL = CREDENTIAL.alias("credential_shown")
_GRANT = GRANT.alias("grant_given")


def _has_right() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _WORKER.c.ended_at.is_(None),
        _WORKER.c.expires_at > now_epoch(),
        sa.or_(
            _WORKER.c.credential.is_(None),
            sa.and_(
                _CREDENTIAL.c.revoked_at.is_(None),
                _CREDENTIAL.c.expires_at > now_epoch(),
            ),
        ),
    )


def _is_granted(worker: Name, kind: str, name: Name) -> sa.ColumnElement[bool]:
    # Two look-ups by the whole primary key. The first depends on no row that is
    # claimed, so the database evaluates it once.
    return sa.or_(_has_grant(worker, kind, EVERY), _has_grant(worker, kind, name))


def _has_grant(worker: Name, kind: str, name: Name) -> sa.ColumnElement[bool]:
    return _exists(
        sa.select(sa.literal_column("1", sa.Integer))
        .select_from(_GRANT)
        .where(_GRANT.c.worker == worker, _GRANT.c.kind == kind, _GRANT.c.name == name),
        _GRANT,
    )


def _exists(select: sa.Select[int], *own: sa.FromClause) -> sa.ColumnElement[bool]:
    return select.correlate_except(*own).exists()


def _present(worker: str) -> sa.Update:
    return sa.update(WORKER).where(WORKER.c.id == worker, WORKER.c.ended_at.is_(None))


def _grants(worker: str, kind: str, names: Iterable[str]) -> list[dict[str, str]]:
    return [{"worker": worker, "kind": kind, "name": name} for name in sorted(names)]


def _workers() -> sa.Select[Any]:
    silent = (now_epoch() - WORKER.c.seen_at).label("silent_for")
    return (
        sa.select(WORKER, silent, is_present(WORKER.c.id).label("is_allowed"))
        .where(WORKER.c.ended_at.is_(None))
        .order_by(WORKER.c.started_at.desc(), WORKER.c.id)
    )


def _worker(row: Row[Any], rights: dict[tuple[str, str], set[str]]) -> WorkerRow:
    return WorkerRow(
        id=row.id,
        identity=row.identity,
        version=row.version,
        started_at=row.started_at,
        seen_at=row.seen_at,
        expires_at=row.expires_at,
        silent_for=row.silent_for,
        is_allowed=bool(row.is_allowed),
        tenants=frozenset(rights.get((row.id, TENANT), ())),
        importers=frozenset(rights.get((row.id, IMPORTER), ())),
    )


def _credentials() -> sa.Select[Any]:
    is_expired = (CREDENTIAL.c.expires_at <= now_epoch()).label("is_expired")
    return sa.select(CREDENTIAL, is_expired)


def _credential(row: Row[Any]) -> Credential:
    return Credential(
        id=row.id,
        name=row.name,
        digest=row.digest,
        tenants=frozenset(row.scope["tenants"]),
        importers=frozenset(row.scope["importers"]),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        is_expired=bool(row.is_expired),
    )
