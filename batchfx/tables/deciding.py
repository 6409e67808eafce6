"""A chunk's sound rows into the table: every row its verdict.

Rows are written in rounds. In each, those that nothing holds up are matched with the
table's records, checked against what is unique there, and written; then come those that
named a record which has just been made, or wanted a value which was just given up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.context import Context
from batchfx.model.issues import Issue
from batchfx.model.verdicts import Decision, Outcome, Verdict
from batchfx.pipeline.validate import Validated
from batchfx.tables.declaration import TableImporter
from batchfx.tables.driver import record_ids
from batchfx.tables.ledger import Ledger
from batchfx.tables.lookups import (
    Made,
    accuse_lost,
    any_made,
    circle,
    let_pass,
    look_up,
    stranded,
)
from batchfx.tables.matching import (
    Matched,
    compared,
    match,
    require_keys,
    require_unique,
)
from batchfx.tables.reading import read_rows, require_storable
from batchfx.tables.refusals import refusal
from batchfx.tables.target import Errors, Key
from batchfx.tables.writing import insert, update


def write_rows(
    importer: TableImporter[Any],
    validated: Validated,
    mask: pl.Series,
    context: Context,
    *,
    dry_run: bool,
    last_round: bool,
    mapped: Collection[str] | None = None,
    made: Made = any_made,
) -> Decision:
    """Decide the rows of *mask*, and write those that are good.

    Args:
        importer: Whose rows they are.
        validated: The chunk.
        mask: True for each row that is to be written.
        context: With a session in the chunk's transaction.
        dry_run: Write nothing; only rows that are not good get an outcome. The name of
            a record that a row of another chunk makes passes, but in the last round.
        last_round: No other row can make what rows still wait for: they are invalid.
        mapped: The fields that the file has; all when left out. The others are left as
            they are in a record that exists.
        made: Tells, in a dry run, which of the given values of a field the file has.

    """
    fields = validated.plan.fields if mapped is None else mapped
    connection = context.session.connection()
    ledger, errors = read_rows(
        type(importer), validated, mask, fields, connection.dialect
    )
    for place, error in errors.items():
        ledger.accuse(place, refusal(ledger, place, error))
    if connection.dialect.name == "postgresql":
        require_storable(ledger)
    require_keys(ledger)
    look_up(connection, ledger)
    if dry_run and not last_round:
        let_pass(ledger, made)
    places = ledger.places()
    while places:
        written = settle(connection, ledger, places, dry_run=dry_run)
        places = [*ledger.release(written), *ledger.take_again()]
    decision = conclude(ledger, final=last_round, dry_run=dry_run)
    lost = _lost(connection, type(importer), validated, ~validated.sound)
    return replace(decision, issues=[*decision.issues, *lost]) if lost else decision


def _lost(
    connection: Connection,
    importer: type[TableImporter[Any]],
    validated: Validated,
    faulty: pl.Series,
) -> list[Issue]:
    """Return what is wrong with the names in rows that are faulty anyway.

    A person is told of all that is wrong with a row at once.
    """
    if not importer.target.lookups or not faulty.any():
        return []
    ledger, _ = read_rows(importer, validated, faulty, (), connection.dialect)
    accuse_lost(connection, ledger)
    return [issue for issues in ledger.issues.values() for issue in issues]


def settle(
    connection: Connection, ledger: Ledger, places: Sequence[int], *, dry_run: bool
) -> dict[int, Key]:
    """Decide rows that nothing holds up; return the keys of the records written."""
    matched = match(connection, ledger, places)
    mode = ledger.target.mode
    if mode == "create" and matched.records:
        if not dry_run:
            _skip(connection, ledger, matched)
        matched = replace(matched, records={}, differing={}, changed=[], alike=[])
    if mode == "update":
        _accuse_unmatched(ledger, matched)
        matched = replace(matched, new=[])
    require_unique(connection, ledger, matched, wait=not dry_run)
    if dry_run:
        return dict.fromkeys(ledger.good([*matched.new, *matched.changed]), (None,))
    alike = ledger.good(matched.alike)
    keys = [matched.records[place].key for place in alike]
    ledger.decide(Verdict.UNCHANGED, alike, _ids(connection, ledger, keys))
    return _update(connection, ledger, matched) | _insert(connection, ledger, matched)


def conclude(ledger: Ledger, *, final: bool, dry_run: bool) -> Decision:
    """Decide what is left: rows that still wait, and rows that are not good."""
    _strand(ledger, final=final or dry_run)
    for place, issues in ledger.issues.items():
        failed = any(issue.is_failure for issue in issues)
        ledger.decide(Verdict.FAILED if failed else Verdict.INVALID, [place])
        ledger.found += issues
    waiting = [ledger.numbers[place] for place in (*ledger.waits, *ledger.blocked)]
    return Decision(
        outcomes=sorted(ledger.outcomes, key=itemgetter(0)),
        issues=sorted(ledger.found, key=lambda issue: issue.row or 0),
        waiting=sorted(waiting),
    )


def _strand(ledger: Ledger, *, final: bool) -> None:
    """Accuse the rows that wait for what can't come; the others go on waiting."""
    for place, (owner, issue) in list(ledger.blocked.items()):
        if final or owner not in ledger.waits:
            del ledger.blocked[place]
            ledger.accuse(place, issue)
    turning = circle(ledger) if final else set()
    for place in list(ledger.waits):
        if final:
            for issue in stranded(ledger, place, turning):
                ledger.accuse(place, issue)
        if place in ledger.issues:
            del ledger.waits[place]


def _skip(connection: Connection, ledger: Ledger, matched: Matched) -> None:
    """Leave out the rows whose record exists already, saying what differs."""
    places = ledger.good(matched.records)
    ids = _ids(connection, ledger, [matched.records[p].key for p in places])
    for place, record_id in zip(places, ids, strict=True):
        names = matched.differing.get(place, ())
        headers = ", ".join(ledger.columns[name].header(name) for name in names)
        differs = f"it differs in {headers}" if names else "it is the same"
        number, reason = ledger.numbers[place], f"exists already: {differs}"
        ledger.outcomes.append(Outcome(number, Verdict.SKIPPED, record_id, reason))


def _accuse_unmatched(ledger: Ledger, matched: Matched) -> None:
    target = ledger.target
    for place in matched.new:
        if any(ledger.cells[name][place] is None for name in target.match):
            continue
        named = ", ".join(
            f"{target.columns[name].name} '{ledger.shown(place, name)}'"
            for name in target.match
        )
        message = f"No record in {target.table.name} has the {named}."
        name = target.match[0]
        ledger.accuse(place, ledger.issue(place, "not_found", name, message))


def _update(connection: Connection, ledger: Ledger, matched: Matched) -> dict[int, Key]:
    places = ledger.good(matched.changed)
    if not places:
        return {}
    keys = [matched.records[place].key for place in places]
    changing = set().union(*map(matched.differing.__getitem__, places))
    names = [name for name in compared(ledger) if name in changing]
    values = {name: ledger.pick(name, places) for name in names}
    errors = update(connection, ledger.target, keys, values, ledger.mapped)
    pairs = enumerate(zip(places, keys, strict=True))
    written = {place: key for i, (place, key) in pairs if i not in errors}
    _accuse_refused(ledger, places, errors)
    return _account(connection, ledger, Verdict.UPDATED, written)


def _insert(connection: Connection, ledger: Ledger, matched: Matched) -> dict[int, Key]:
    places = ledger.good(matched.new)
    if not places:
        return {}
    values = {name: ledger.pick(name, places) for name in _given(ledger)}
    keys, errors = insert(connection, ledger.target, values)
    written = {places[i]: key for i, key in keys.items()}
    _accuse_refused(ledger, places, errors)
    return _account(connection, ledger, Verdict.CREATED, written)


def _accuse_refused(ledger: Ledger, places: Sequence[int], errors: Errors) -> None:
    for i, error in errors.items():
        ledger.refuse(places[i], refusal(ledger, places[i], error))


def _account(
    connection: Connection, ledger: Ledger, verdict: Verdict, written: dict[int, Key]
) -> dict[int, Key]:
    ids = _ids(connection, ledger, list(written.values()))
    ledger.decide(verdict, list(written), ids)
    return written


def _given(ledger: Ledger) -> list[str]:
    """Return the fields that a new record gets.

    Where the file has no column and the row model's default is None, the default of the
    table's column counts.
    """
    count = len(ledger.numbers)
    return [
        name
        for name, values in ledger.values.items()
        if name in ledger.mapped or values.count(None) < count
    ]


def _ids(connection: Connection, ledger: Ledger, keys: Sequence[Key]) -> list[str]:
    return record_ids(ledger.target.key, connection.dialect, keys)
