"""Corrected values that may be written otherwise than the batch's values are.

How a column of the batch is written was decided over its own values. A corrected file
is another file: where its values tell of another decimal mark, or another order of
dates, those that hang on it are not read until a person says what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.execution.job import said_of_fields
from batchfx.execution.mappings import given_of, notations_of
from batchfx.importer import Importer
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    Fault,
    Kind,
    column_name,
    dump_faults,
    load_faults,
)
from batchfx.model.notations import Notation
from batchfx.model.revisions import Action
from batchfx.model.settings import Settings
from batchfx.pipeline import decisions
from batchfx.pipeline.decisions import Evidence
from batchfx.pipeline.plan import RowPlan, plan_of
from batchfx.pipeline.reading import Complaint
from batchfx.pipeline.texts import prepared
from batchfx.store import chunks, revisions
from batchfx.store.batches import Batch

Cells = dict[str, str | None]

QUESTION = "question"  # the parameter of a fault that a person's answer takes away
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass
class Doubts:
    """What the corrected values of a batch say of how they are written.

    *read* is how each field of the batch is read, *unsaid* how as far as its importer
    says, and *answered* the questions, by field, that a person has just answered.
    """

    batch: Batch
    plan: RowPlan
    read: Mapping[str, Notation]
    unsaid: Mapping[str, Notation]
    answered: Mapping[str, frozenset[str]]
    evidence: Evidence = field(default_factory=Evidence)
    changed: dict[str, set[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, batch: Batch, importer: type[Importer[Any]], said: Settings | None
    ) -> Doubts:
        """Return what is asked before the first corrected value was seen."""
        plan = plan_of(importer.row_model).only(batch.mapping)
        unsaid = decisions.stated(
            plan, importer.notation, source_format=batch.layout.format
        )
        read = said_of_fields(plan, batch, importer)
        plan = plan.only(decisions.undecided(plan, unsaid))
        answered = _answered(batch, importer, plan, said)
        return cls(batch, plan, read, unsaid, answered)

    def take(self, rows: Sequence[tuple[int, Cells, Cells]]) -> None:
        """Note the cells that changed: (row, cells before, cells now)."""
        for name in self.plan.fields if rows else ():
            place = self.batch.mapping[name]
            column = column_name(place)
            texts = {
                row: now[column]
                for row, old, now in rows
                if now[column] != old[column] and _kind(now, place) == Kind.TEXT
            }
            self.changed.setdefault(name, set()).update(texts)
            self.evidence += decisions.gather(
                self.plan.only([name]),
                pl.DataFrame({name: list(texts.values())}, schema={name: pl.String}),
                {},
                self.unsaid,
            )

    def settle(self, connection: Connection, origin: str) -> None:
        """Refuse the changed cells that hang on what the corrected file contradicts."""
        asked = {
            name: question
            for name, question in decisions.contradicted(
                self.plan, self.evidence, self.read, self.unsaid
            ).items()
            if question.name not in self.answered.get(name, ())
        }
        rows = sorted({row for name in asked for row in self.changed[name]})
        for current in _revised(connection, self.batch, rows):
            kept = []
            for row, cells in current.items():
                doubted = self._doubted(asked, row, cells)
                if doubted != cells:
                    kept.append((row, doubted))
            revisions.add(connection, self.batch.key, origin, kept, Action.DOUBTED)

    def _doubted(
        self, asked: Mapping[str, decisions.Question], row: int, cells: Cells
    ) -> Cells:
        faults = load_faults(cells[FAULTS] or "[]")
        for name, question in asked.items():
            place = self.batch.mapping[name]
            text = cells[column_name(place)]
            if text is None or row not in self.changed[name]:
                continue
            meant = self._meant(name, text, question)
            if len(meant) > 1:
                faults.append(self._fault(name, text, question))
            elif None in meant and PLAIN_NUMBER.fullmatch(text.strip()):
                # Read as such: no other number can be meant by it.
                cells = {**cells, KINDS: _with_kind(cells, place, Kind.NUMBER)}
        return {**cells, FAULTS: dump_faults(faults) if faults else None}

    def _meant(self, name: str, text: str, question: decisions.Question) -> set[Any]:
        """Return the values that a text may be; None alone if the batch has no such."""
        plan, now = self.plan.fields[name], self.read[name]
        frame = pl.DataFrame({name: [text]}, schema={name: pl.String})
        (ready,) = frame.select(prepared(pl.col(name), now, trims=True))[name]
        if ready is None:
            return set()
        own = plan.written(now).reader.read(ready, Kind.TEXT)
        if isinstance(own, Complaint):
            return {None}
        others = [
            plan.written(replace(now, **each)).reader.read(ready, Kind.TEXT)
            for each in question.others
        ]
        return {own, *(each for each in others if not isinstance(each, Complaint))}

    def _fault(self, name: str, text: str, question: decisions.Question) -> Fault:
        header = self.plan.columns[name].header(name)
        answers = " or ".join(
            f'--set "{question.name}.{header}={each}"' for each in question.choices
        )
        message = (
            f"The corrected file writes '{header}' {question.found}, but the batch is "
            f"read {question.read}: this value can be read both ways. Say which it is "
            f"when you run the batch again: {answers}"
        )
        parameters = {QUESTION: question.name, "choices": list(question.choices)}
        place = self.batch.mapping[name]
        return Fault(question.code, message, place, text, parameters)


def is_asked(fault: Fault) -> bool:
    """Tell whether *fault* is a doubt about a corrected value."""
    return QUESTION in fault.parameters


def forget(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    said: Settings | None,
) -> None:
    """Take away the doubts about corrected values that *said* answers."""
    plan = plan_of(importer.row_model).only(batch.mapping)
    answered = _answered(batch, importer, plan, said)
    if not answered:
        return
    names = {place: name for name, place in batch.mapping.items()}

    def is_open(fault: Fault) -> bool:
        name = None if fault.column is None else names.get(fault.column)
        return not is_asked(fault) or (
            fault.parameters[QUESTION] not in answered.get(name or "", ())
        )

    for stored in chunks.stored_tallies(connection, batch.key):
        first, last = stored.first_row, stored.last_row
        current = revisions.latest(connection, batch.key, first, last)
        kept = list(_without(current, is_open))
        revisions.add(connection, batch.key, "", kept, Action.DOUBTED)


def _without(
    current: Mapping[int, Cells], is_open: Callable[[Fault], bool]
) -> Iterator[tuple[int, Cells]]:
    for row, cells in current.items():
        faults = load_faults(cells.get(FAULTS) or "[]")
        left = [fault for fault in faults if is_open(fault)]
        if len(left) < len(faults):
            yield row, {**cells, FAULTS: dump_faults(left) if left else None}


def _answered(
    batch: Batch,
    importer: type[Importer[Any]],
    plan: RowPlan,
    said: Settings | None,
) -> dict[str, frozenset[str]]:
    """Return the questions that *said* answers, for each field that it is about."""
    if said is None:
        return {}
    given = given_of(importer, said, batch.layout.header, batch.mapping)
    user, columns = notations_of(given)
    answers = {
        name: frozenset(columns.get(name, Notation()).over(user).dump())
        for name in plan.fields
    }
    return {name: found for name, found in answers.items() if found}


def _revised(
    connection: Connection, batch: Batch, rows: Sequence[int]
) -> Iterator[dict[int, Cells]]:
    wanted = set(rows)
    for stored in chunks.stored_tallies(connection, batch.key) if rows else ():
        first, last = stored.first_row, stored.last_row
        if first <= rows[-1] and last >= rows[0]:
            current = revisions.latest(connection, batch.key, first, last)
            yield {row: current[row] for row in current if row in wanted}


def _kind(cells: Cells, place: int) -> str:
    kinds = cells[KINDS]
    return kinds[place] if kinds else Kind.TEXT


def _with_kind(cells: Cells, place: int, kind: str) -> str:
    width = sum(name.startswith("c") for name in cells)
    kinds = list(cells[KINDS] or Kind.TEXT * width)
    kinds[place] = kind
    return "".join(kinds)
