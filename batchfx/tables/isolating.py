"""Rows as one set, and where the set is refused, each row with its own error.

PostgreSQL aborts the whole transaction at the first error, so every set is written
under a savepoint. A set that is refused is cut into smaller ones, at the row that the
database names where it names one, until each row that is refused is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from batchfx.store.engine import is_system_fault

SOME = 128  # rows; so many are repeated at most for one that is refused
PARTS = 8  # that a set is cut into when nobody knows which row was refused

# Classes of errors that are about the statement, whatever the row
# (https://www.postgresql.org/docs/current/errcodes-appendix.html): it is not supported,
# in a wrong transaction, or names what is not there or must not be written.
STATEMENT = frozenset({"0A", "25", "2D", "34", "3D", "3F", "42", "55"})
NO_RIGHT = "42501"

SAVE = "SAVEPOINT batchfx_set"
KEEP = f"RELEASE SAVEPOINT batchfx_set; {SAVE}"
UNDO = "ROLLBACK TO SAVEPOINT batchfx_set"
END = "RELEASE SAVEPOINT batchfx_set"


class Refused(NamedTuple):
    """Why a set was refused, and perhaps at which of its rows, counted from 0."""

    error: Exception
    at: int | None = None


Places = Sequence[int]
Write = Callable[[Places], Refused | None]


def isolate(
    connection: Connection, places: Places, write: Write, *, is_guarded: bool = False
) -> dict[int, Exception]:
    """Write the rows at *places*; return the error of each that is refused.

    Args:
        connection: In the writing transaction, which is never left aborted.
        places: In the order in which they are best written as one set. When they are
            refused, they are written in rising order, the first that wants a value
            has it.
        write: Writes rows as one set, or says why that was refused.
        is_guarded: A missing right is about the row: a policy of the table says so.

    Raises:
        DBAPIError: No row is to blame.

    """
    errors: dict[int, Exception] = {}
    waiting = [places] if places else []
    connection.exec_driver_sql(SAVE)
    while waiting:
        group = waiting.pop()
        refused = write(group)
        if refused is None:
            connection.exec_driver_sql(KEEP)
            continue
        if not _is_of_a_row(refused.error, is_guarded=is_guarded):
            raise refused.error
        connection.exec_driver_sql(UNDO)
        if len(group) == 1:
            errors[group[0]] = refused.error
        else:
            waiting += _parts(group, refused.at)[::-1]
    connection.exec_driver_sql(END)
    return errors


def _is_of_a_row(error: Exception, *, is_guarded: bool) -> bool:
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    if state == NO_RIGHT:
        return is_guarded
    if is_system_fault(error):
        return False
    return not isinstance(error, DBAPIError) or (state or "")[:2] not in STATEMENT


def _parts(group: Places, at: int | None) -> list[Places]:
    rising = sorted(group)
    if len(group) > SOME or rising != list(group):
        return _cut(rising, SOME)
    if at is None or at >= len(group):
        return _cut(group, max(1, len(group) // PARTS))
    parts = [group[:at], group[at : at + 1], group[at + 1 :]]
    return [part for part in parts if part]


def _cut(group: Places, size: int) -> list[Places]:
    return [group[i : i + size] for i in range(0, len(group), size)]
