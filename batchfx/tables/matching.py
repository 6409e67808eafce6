"""Which record each row is about, and whether another record has its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from batchfx.model.issues import Issue
from batchfx.tables.driver import record_ids, same
from batchfx.tables.finding import find
from batchfx.tables.ledger import Ledger, Record

Records = Mapping[int, Record]


@dataclass(frozen=True, slots=True)
class Matched:
    """Places by what is to be done with them; *changed* and *alike* have a record.

    *differing* are the fields in which a row differs from its record.
    """

    records: Records
    differing: Mapping[int, tuple[str, ...]]
    new: list[int]
    changed: list[int]
    alike: list[int]

    def changes(self, place: int, names: Sequence[str]) -> bool:
        """Tell whether the row changes one of *names* in its record."""
        return any(name in names for name in self.differing.get(place, ()))


def match(connection: Connection, ledger: Ledger, places: Sequence[int]) -> Matched:
    """Find the record of each row, by one query."""
    names = compared(ledger)
    records = _records(connection, ledger, places, names)
    if not records:
        return Matched(records, {}, list(places), [], [])
    for index, name in enumerate(names):
        missing = [p for p in ledger.missing.get(name, ()) if p in records]
        if missing:
            ledger.keep(name, {p: records[p].values[index] for p in missing})
    differing = _differing(connection, ledger, records, names)
    return Matched(
        records,
        differing,
        new=[p for p in places if p not in records],
        changed=[p for p in places if p in records and p in differing],
        alike=[p for p in places if p in records and p not in differing],
    )


def compared(ledger: Ledger) -> list[str]:
    """Return the fields that a row and its record are compared in."""
    target = ledger.target
    return [f for f in target.columns if f in ledger.mapped and f not in target.match]


def require_keys(ledger: Ledger) -> None:
    """Accuse the rows without a value by which their record is found or named."""
    target = ledger.target
    keys = [name for name in target.key_fields if name in ledger.mapped]
    for name in dict.fromkeys((*target.match, *keys)):
        cells = ledger.cells[name]
        for place in [p for p, cell in enumerate(cells) if cell is None]:
            message = "It says which record the row is about, so it must have a value."
            ledger.accuse(place, ledger.issue(place, "missing", name, message))


def _records(
    connection: Connection, ledger: Ledger, places: Sequence[int], names: Sequence[str]
) -> dict[int, Record]:
    target = ledger.target
    if not target.match:
        return {}
    columns = [target.columns[name] for name in target.match]
    returned = [*target.key, *(target.columns[name] for name in names)]
    wanted = ledger.tuples(target.match, places)
    split = 1 + len(target.key)
    records: dict[int, Record] = {}
    for row in find(connection, target.table, columns, wanted, returned):
        place = places[row[0]]
        if place in records:
            _accuse_ambiguous(ledger, place)
        records[place] = Record(tuple(row[1:split]), tuple(row[split:]))
    return records


def _accuse_ambiguous(ledger: Ledger, place: int) -> None:
    if any(issue.code == "ambiguous" for issue in ledger.issues.get(place, ())):
        return
    name = ledger.target.match[0]
    message = (
        f"Several records in {ledger.target.table.name} have these values of "
        f"{', '.join(ledger.target.match)}; the row must be about one."
    )
    ledger.accuse(place, ledger.issue(place, "ambiguous", name, message))


def _differing(
    connection: Connection, ledger: Ledger, records: Records, names: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    lists = [ledger.values[name] for name in names]
    columns = ledger.target.columns
    alike = [same(columns[name], connection.dialect) for name in names]
    differing: dict[int, tuple[str, ...]] = {}
    for place, record in records.items():
        own = tuple([values[place] for values in lists])
        if own == record.values:
            continue
        pairs = zip(names, alike, own, record.values, strict=True)
        found = tuple(n for n, is_same, one, other in pairs if not is_same(one, other))
        if found:
            differing[place] = found
    return differing


def require_unique(
    connection: Connection, ledger: Ledger, matched: Matched, *, wait: bool
) -> None:
    """Refuse the rows that want a value which another record has.

    Where the other record is that of another row of the chunk, which gives the value
    up, the row is blocked until that is done; without *wait* it passes.
    """
    owners = {record.key: place for place, record in matched.records.items()}
    for names in ledger.target.unique:
        asked = _asking(ledger, matched, names)
        if not asked:
            continue
        target = ledger.target
        columns = [target.columns[name] for name in names]
        wanted = ledger.tuples(names, asked)
        for row in find(connection, target.table, columns, wanted, target.key):
            place, key = asked[row[0]], tuple(row[1:])
            record = matched.records.get(place)
            if record is not None and record.key == key:
                continue
            issue = _taken(connection, ledger, place, names, key)
            owner = owners.get(key)
            if owner is None or not matched.changes(owner, names):
                ledger.refuse(place, issue)
            elif wait:
                ledger.block(place, owner, issue)


def _asking(ledger: Ledger, matched: Matched, names: Sequence[str]) -> list[int]:
    """Return the rows that want values of *names* which their record has not."""
    if not ledger.mapped.issuperset(names):
        return matched.new
    wanting = [place for place in matched.changed if matched.changes(place, names)]
    return sorted([*matched.new, *wanting]) if wanting else matched.new


def _taken(
    connection: Connection,
    ledger: Ledger,
    place: int,
    names: Sequence[str],
    key: tuple[Any, ...],
) -> Issue:
    target = ledger.target
    (owner,) = record_ids(target.key, connection.dialect, [key])
    headers = " and ".join(ledger.columns[name].header(name) for name in names)
    message = f"Another record in {target.table.name} has this {headers}: {owner}."
    return ledger.issue(
        place,
        "unique_violation",
        names[0],
        message,
        record_id=owner,
        fields=list(names),
    )
