"""Cells that name a record of another row: the record's key in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from batchfx.model.issues import Issue
from batchfx.tables.finding import find
from batchfx.tables.ledger import Ledger, Wait
from batchfx.tables.target import Lookup

Edges = dict[int, set[int]]
Made = Callable[[str, set[str]], set[str]]
"""Tells which of some values of a field the file has."""


def look_up(connection: Connection, ledger: Ledger) -> None:
    """Put keys in the place of names, with one query for each field.

    What is not found is the row's issue, or holds the row up when a row of the same
    file may make it.
    """
    for field, lookup in ledger.target.lookups.items():
        missing = _look_up(connection, ledger, field)
        makers = _makers(ledger, lookup) if missing else {}
        for place, name in missing.items():
            if lookup.made_by is None:
                ledger.accuse(place, not_found(ledger, place, field))
            else:
                ledger.wait(Wait(place, field, makers.get(str(name))))


def accuse_lost(connection: Connection, ledger: Ledger) -> None:
    """Accuse rows, which are not to be written, of the names that no record has.

    A name that a row of the same file may give to its record is no matter.
    """
    for field, lookup in ledger.target.lookups.items():
        if lookup.made_by is None:
            for place in _look_up(connection, ledger, field):
                ledger.accuse(place, not_found(ledger, place, field))


def _look_up(connection: Connection, ledger: Ledger, field: str) -> dict[int, Any]:
    """Put keys in the place of a field's names; return those not found, by place."""
    names = ledger.values[field]
    if names.count(None) == len(names):
        return {}
    keys, doubtful = _keys(connection, ledger.target.lookups[field], names)
    ledger.values[field] = [keys.get(name) for name in names]
    lost = {p: n for p, n in enumerate(names) if n is not None and n not in keys}
    for place, name in lost.items():
        if name in doubtful:
            ledger.accuse(place, ambiguous(ledger, place, field))
    return {place: name for place, name in lost.items() if name not in doubtful}


def any_made(field: str, names: set[str]) -> set[str]:
    """Take every name for one that some row of the file makes."""
    del field
    return names


def let_pass(ledger: Ledger, made: Made) -> None:
    """Let rows pass that wait for what another chunk makes: no dry run will see it."""
    for field, lookup in ledger.target.lookups.items():
        if lookup.made_by is None:
            continue
        cells = ledger.cells[field]
        far = [
            place
            for place, waits in ledger.waits.items()
            if any(wait.field == field and wait.maker is None for wait in waits)
        ]
        there = made(lookup.made_by, {str(cells[place]) for place in far})
        for place in far:
            if str(cells[place]) in there:
                ledger.forgo(place, field)


def _keys(
    connection: Connection, lookup: Lookup, names: Sequence[Any]
) -> tuple[dict[Any, Any], set[Any]]:
    """Return the key of each name, and the names that several records have."""
    wanted = [name for name in dict.fromkeys(names) if name is not None]
    keys: dict[Any, Any] = {}
    doubtful: set[Any] = set()
    for place, key in find(
        connection, lookup.table, [lookup.attribute], wanted, [lookup.key]
    ):
        if wanted[place] in keys:
            doubtful.add(wanted[place])
        keys[wanted[place]] = key
    return {n: k for n, k in keys.items() if n not in doubtful}, doubtful


def _makers(ledger: Ledger, lookup: Lookup) -> dict[str, int]:
    """Return the row that makes the record of each name, the first where several do."""
    if lookup.made_by is None:
        return {}
    made = ledger.values[lookup.made_by]
    return {
        str(made[place]): place
        for place in range(len(made) - 1, -1, -1)
        if made[place] is not None
    }


def not_found(ledger: Ledger, place: int, field: str) -> Issue:
    """Make the issue of a cell that names no record."""
    lookup = ledger.target.lookups[field]
    return ledger.issue(
        place,
        "not_found",
        field,
        f"No record in {lookup.table.name} has the {lookup.attribute.name} "
        f"'{ledger.shown(place, field)}'.",
    )


def ambiguous(ledger: Ledger, place: int, field: str) -> Issue:
    """Make the issue of a cell that names several records."""
    lookup = ledger.target.lookups[field]
    return ledger.issue(
        place,
        "ambiguous",
        field,
        f"Several records in {lookup.table.name} have the {lookup.attribute.name} "
        f"'{ledger.shown(place, field)}'; the cell must name one.",
    )


def circle(ledger: Ledger) -> set[int]:
    """Return the waiting rows that wait, in the end, for themselves."""
    ahead = {
        place: {
            w.maker for w in waits if w.maker is not None and w.maker in ledger.waits
        }
        for place, waits in ledger.waits.items()
    }
    return set(_without_ends(_reversed(_without_ends(ahead))))


def _without_ends(edges: Edges) -> Edges:
    """Take away, again and again, what has no edge that leads on."""
    behind = _reversed(edges)
    left = {place: len(onward) for place, onward in edges.items()}
    ends = [place for place, number in left.items() if number == 0]
    for end in ends:
        for place in behind[end]:
            left[place] -= 1
            if left[place] == 0:
                ends.append(place)
    gone = set(ends)
    return {p: onward - gone for p, onward in edges.items() if p not in gone}


def _reversed(edges: Edges) -> Edges:
    turned: Edges = {place: set() for place in edges}
    for place, onward in edges.items():
        for other in onward:
            turned[other].add(place)
    return turned


def stranded(ledger: Ledger, place: int, turning: set[int]) -> list[Issue]:
    """Make the issues of a row that still waits when nothing more can come."""
    return [
        _cycle(ledger, place, wait.field, wait.maker)
        if wait.maker is not None and {place, wait.maker} <= turning
        else not_found(ledger, place, wait.field)
        for wait in ledger.waits[place]
    ]


def _cycle(ledger: Ledger, place: int, field: str, maker: int) -> Issue:
    name, number = ledger.shown(place, field), ledger.numbers[maker]
    message = (
        f"'{name}' is this row itself, which can't come before itself."
        if maker == place
        else f"'{name}' is row {number}, which waits for this row in its turn."
    )
    return ledger.issue(place, "cycle", field, message, maker=number)
