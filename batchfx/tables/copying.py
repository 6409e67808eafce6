"""Sets of rows by PostgreSQL's COPY, which tells at which row it was refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import length_hint
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from batchfx.store.bulk import copy_rows
from batchfx.tables.isolating import Places, Refused, Write
from batchfx.tables.target import require_all

# What the driver says of a value by itself: no type that it knows, no text in UTF-8.
OF_A_VALUE = (TypeError, ValueError, OverflowError)

# "COPY item, line 3, column code: ..." in the server's language.
LINE = re.compile(r"^COPY .*?, \S+ (?P<line>\d+)", re.MULTILINE)


def copying(
    connection: Connection,
    table: sa.TableClause,
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> Write:
    """Return what copies some of *rows*, values of the columns *names*, into *table*.

    Raises:
        StoreError: A row was left out in silence.

    """

    def write(places: Places) -> Refused | None:
        left = iter([rows[place] for place in places])
        try:
            stored = copy_rows(connection, table, names, left)
        except (DBAPIError, *OF_A_VALUE) as error:
            return Refused(error, _at(error, len(places) - length_hint(left) - 1))
        require_all(len(places), stored)
        return None

    return write


def _at(error: Exception, last: int) -> int | None:
    """Return the row that was refused: the server's word, or the *last* one sent."""
    diagnosis = getattr(getattr(error, "orig", None), "diag", None)
    if diagnosis is None or diagnosis.sqlstate is None:
        return last
    found = LINE.search(diagnosis.context or "")
    return None if found is None else int(found["line"]) - 1
