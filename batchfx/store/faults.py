"""What an error of the database means: whose it is, and what a person can do.

An error is known by the code that the database gives it; only where a connection is
refused PostgreSQL's client has no code, and the words are all there is.
"""

from __future__ import annotations

from sqlalchemy.exc import (
    DBAPIError,
    OperationalError,
    PendingRollbackError,
    SQLAlchemyError,
    TimeoutError,  # noqa: A004 - SQLAlchemy's: no connection of the pool is free
)

# Of SQLite (https://sqlite.org/rescode.html): primary codes that are about the system
# and not about what was asked of it.
SQLITE_SYSTEM = {
    5: "another program is writing to it; try again when that has ended",  # BUSY
    6: "another program is writing to it; try again when that has ended",  # LOCKED
    7: "the machine is out of memory",  # NOMEM
    8: "the file or its folder can't be written; mend its permissions",  # READONLY
    9: "it was interrupted",  # INTERRUPT
    10: "the disk can't be read or written",  # IOERR
    11: "the file is damaged; restore a copy",  # CORRUPT
    13: "the disk is full; make room and run it again, what is done is kept",  # FULL
    14: "its folder must exist and allow writing",  # CANTOPEN
    15: "another program is writing to it; try again when that has ended",  # PROTOCOL
    26: "the file is something else; name another one",  # NOTADB
}
SQLITE_TRIGGER = 1811  # SQLITE_CONSTRAINT_TRIGGER

BROKEN = "the connection broke; it is made anew once the server is up"

# Of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), the
# first that fits: a code, or the class that is its first two characters.
POSTGRESQL_SYSTEM = {
    "25006": "it is read-only, as a standby is; name the primary in the address",
    "25P03": "a transaction did nothing for too long and was ended; see idle_timeout",
    "40001": "it collided with another transaction; try again",
    "40P01": "it collided with another transaction; try again",
    "42501": "its user has not the rights; have the owner grant them, or name another",
    "53100": "the server's disk is full; make room, what is done is kept",
    "53300": "no connection is left; raise max_connections or run fewer workers",
    "55P03": "another transaction holds what is needed; end that one or try again",
    "57014": "the statement was cancelled, by a person or a statement_timeout",
    "57P03": "the server is starting or stopping; try again in a moment",
    "08": BROKEN,
    "53": "the server is out of memory or of another means; give it more",
    "57": "the server ended the connection; it is made anew once the server is up",
    "58": "the server's disk can't be read or written",
    "XX": "the server is broken inside; look at its log",
}
REFUSED = "BX001"  # the SQLSTATE of batchfx's own triggers
UNREACHABLE = "is the server up, and are host and port right? Work waits until then"
CONNECTING = {
    "starting up": "the server is starting; try again in a moment",
    "shutting down": "the server is stopping; try again when it is up",
    "recovery mode": "the server is starting; try again in a moment",
    "password": "check the user and the password in the address",
    "authentication failed": "check the user and how the server lets it in",
    "pg_hba.conf": "the server lets this user not in from here; see its pg_hba.conf",
    "role ": "there is no such user; make it, or name another one",
    "permission denied": "its user has not the rights; have the owner grant them",
    "not currently accepting": "the server takes no connections to it; name another",
    "does not exist": "make it first, with createdb for instance, or name another one",
    "too many": "no connection is left; raise max_connections or run fewer workers",
    "connection slots": "no connection is left; raise max_connections",
    "resolve host": "check the host in the address",
    "translate host": "check the host in the address",
    "closed": BROKEN,
}
BAD_OPTION = "invalid connection option"
NO_CONNECTION = "8s2b"  # SQLAlchemy's: it was lost, and somebody went on


def is_system_fault(error: BaseException) -> bool:
    """Tell whether *error* means that the system gave out, and no row is to blame."""
    if isinstance(error, PendingRollbackError):
        return error.code == NO_CONNECTION
    if not isinstance(error, DBAPIError):
        return isinstance(error, MemoryError | TimeoutError)
    return error.connection_invalidated or bool(_hint(error))


def refusal(error: DBAPIError) -> str | None:
    """Return what a trigger of batchfx refused, as a sentence; None: it was no such."""
    told = " ".join(str(error.orig).partition("\n")[0].split())
    if getattr(error.orig, "sqlstate", None) == REFUSED:
        return told
    code = getattr(error.orig, "sqlite_errorcode", None)
    is_ours = code == SQLITE_TRIGGER and told.startswith(REFUSED)
    return told.removeprefix(f"{REFUSED}: ") if is_ours else None


def explain(error: SQLAlchemyError, place: str) -> str:
    """Return what is wrong with the database at *place* and what to do, in a sentence.

    Neither values of rows nor a password are in it.
    """
    if not isinstance(error, DBAPIError):
        is_lost = isinstance(error, PendingRollbackError)
        what = BROKEN if is_lost else "no connection to it is free; use fewer threads"
        return f"The database {place} can't be used: {what}."
    hint = _hint(error)
    if hint is None and BAD_OPTION in str(error.orig):
        hint = "check what follows the '?' in the address"
    return f"The database {place} can't be used: {_reason(error)}" + (
        f" ({hint})." if hint else "."
    )


def _reason(error: DBAPIError) -> str:
    diagnosis = getattr(error.orig, "diag", None)
    told = getattr(diagnosis, "message_primary", None) or str(error.orig)
    return " ".join(told.split()).rstrip(".")


def _hint(error: DBAPIError) -> str | None:
    """Return what to do about a fault of the system; None: it is none."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return SQLITE_SYSTEM.get(code & 0xFF)
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return POSTGRESQL_SYSTEM.get(state) or POSTGRESQL_SYSTEM.get(state[:2])
    if not (hasattr(error.orig, "sqlstate") and isinstance(error, OperationalError)):
        return None
    told = str(error.orig)
    found = (hint for sign, hint in CONNECTING.items() if sign in told)
    return next(found, UNREACHABLE)
