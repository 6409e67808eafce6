"""A corrected file: its values take the place of those of rows that are not finished.

A row of it names the row it corrects by number, in a column called ``row``, or else by
the importer's key. Rows that are terminal are left alone, and rows that the batch does
not have are refused; both are said. A column that the corrected file has not keeps its
values.

The file may be the one of faulty rows that a person was handed: its column of errors is
no matter, and the apostrophes that keep a spreadsheet from taking a text for a formula
are taken off again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.errors import SourceError, UsageError
from batchfx.execution import row_cells
from batchfx.execution.doubts import Cells, Doubts, is_asked
from batchfx.execution.downloads import titles
from batchfx.files import open as files
from batchfx.importer import Importer
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Kind,
    column_name,
    dump_faults,
    load_faults,
)
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.names import folded
from batchfx.model.settings import Settings
from batchfx.model.sources import Layout
from batchfx.pipeline.headers import Saved, listed
from batchfx.pipeline.mapping import find
from batchfx.store import chunks, outcomes, revisions
from batchfx.store.batches import Batch

ROW_HEADERS = frozenset({"row", "rownumber", "rowno", "batchfxrow"})
ERROR_HEADERS = frozenset({"error", "errors", "batchfxerrors"})
# An apostrophe before these guards a text (OWASP, "CSV Injection").
GUARD, GUARDED = "'", frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
# The codes of what is said of the rows and columns of a corrected file.
CODES = (FINISHED, UNKNOWN_ROW, REPEATED, UNKNOWN_COLUMN) = (
    "correction_of_finished_row",
    "correction_of_unknown_row",
    "correction_repeated",
    "correction_of_unknown_column",
)
# What is said of one such row, and of several.
WHAT = {
    FINISHED: ("belongs to a finished row", "belong to finished rows"),
    UNKNOWN_ROW: ("belongs to no row of the batch", "belong to no row of the batch"),
    REPEATED: ("corrects a row a second time", "correct a row a second time"),
}
NUMBER = re.compile(r"([0-9]{1,15})(?:[.,]0+)?")  # 7.0 is what spreadsheets make of 7
LARGEST = 2**31 - 1
BLOCK_ROWS = 5_000
SHOWN = 5  # row numbers named in a sentence


@dataclass(frozen=True, slots=True)
class Corrected:
    """How a corrected file's columns stand to the batch's.

    *fields* gives, for each field that both have, its position in the corrected file
    and in the batch. *key* are the positions, here and there, of what names a row;
    there it is empty when rows are named by number. It *is_whole* when it has every
    field that the batch has. Columns of a *known* name are no surprise: the batch has
    them too, or they say what is wrong.
    """

    layout: Layout
    fields: Mapping[str, tuple[int, int]]
    key: tuple[int, ...]
    batch_key: tuple[int, ...]
    is_whole: bool
    known: frozenset[str]

    @property
    def left_out(self) -> list[str]:
        """The columns that are no field of the batch, nor say anything else."""
        used = {*self.key, *(here for here, _ in self.fields.values())}
        return [
            name
            for position, name in enumerate(self.layout.header)
            if name and position not in used and folded(name) not in self.known
        ]


@dataclass
class Account:
    """What became of the rows of the corrected file *name*, by their numbers in it.

    *columns* are those of its columns that correct nothing.
    """

    name: str
    columns: list[str] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)  # rows of the batch
    finished: list[int] = field(default_factory=list)
    strange: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)

    def issues(self) -> list[Issue]:
        """Return what a person should know of, as warnings about the file."""
        rows = {
            FINISHED: self.finished,
            UNKNOWN_ROW: self.strange,
            REPEATED: self.repeated,
        }
        about_rows = [
            _warning(code, f"{self.name}: {_told(code, found)}", len(found))
            for code, found in rows.items()
            if found
        ]
        return [*about_rows, *self._about_columns()]

    def _about_columns(self) -> list[Issue]:
        if not self.columns:
            return []
        many = len(self.columns) > 1
        message = (
            f"{self.name}: {listed(self.columns)} {'correct' if many else 'corrects'} "
            "nothing, the batch has no such field; "
            f"{'they were' if many else 'it was'} left out."
        )
        return [_warning(UNKNOWN_COLUMN, message, len(self.columns))]


def apply(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    name: str,
    source: BinaryIO,
    *,
    said: Settings | None = None,
) -> Account:
    """Keep the corrected cells of every row that is not terminal.

    Args:
        connection: In a writing transaction that holds the batch.
        batch: The batch, wholly staged.
        importer: Its importer.
        name: The corrected file's name, for messages.
        source: Its content.
        said: What is said now: of how it is laid out and its values are written.

    Raises:
        SourceError: It can't be read, or corrects nothing.
        UsageError: Nothing in it says which rows it corrects.

    """
    expected = [batch.layout.header[position] for position in batch.mapping.values()]
    # Guards are taken off below, where what was read before tells which they are.
    given = {"expected_columns": expected, "guards": "keep"}
    found = files.inspect(source, given, **(said.layout if said else {}))
    corrected = _understand(importer, batch, found, name)
    account = Account(name, corrected.left_out)
    doubts = Doubts.of(batch, importer, said)
    for block in files.read(source, corrected.layout, BLOCK_ROWS):
        if block.frame.height:
            doubts.take(_keep(connection, batch, corrected, block.frame, account))
    if not account.taken and not account.finished:
        message = (
            f"{name} corrects no row of batch {batch.key.number}. Its rows are "
            f"matched by {_matched_by(importer, corrected)}."
        )
        raise SourceError("no_row_corrected", message)
    doubts.settle(connection, name)
    return account


def _understand(
    importer: type[Importer[Any]], batch: Batch, layout: Layout, name: str
) -> Corrected:
    there = batch.mapping
    as_read = {
        batch.layout.header[position]: field for field, position in there.items()
    }
    search = find(importer.columns, layout.header, saved=Saved(name, 0, as_read))
    here = search.positions
    fields = {each: (here[each], there[each]) for each in here if each in there}
    if not fields:
        message = (
            f"{name} has no column of batch {batch.key.number}. It has: "
            f"{listed(layout.header)}; the batch has: {listed(list(as_read))}."
        )
        raise SourceError("no_column_corrected", message)
    is_whole = fields.keys() == there.keys()
    handed_out = titles(batch, range(len(batch.layout.header)))
    known = ERROR_HEADERS.union(map(folded, handed_out))
    for position, header in enumerate(layout.header):
        if folded(header) in ROW_HEADERS and position not in here.values():
            return Corrected(layout, fields, (position,), (), is_whole, known)
    for key in reversed(importer.unique_together()):
        if all(name in fields for name in key):
            pairs = [fields[name] for name in key]
            here_key, there_key = zip(*pairs, strict=True)
            return Corrected(layout, fields, here_key, there_key, is_whole, known)
    message = (
        "Nothing says which rows the corrected file corrects. Give it a column 'row' "
        "with their numbers. 'batchfx rows' shows these."
    )
    raise UsageError(message)


def _targets(
    connection: Connection, batch: Batch, corrected: Corrected, frame: pl.DataFrame
) -> list[list[int]]:
    """Return, for each row of *frame*, the rows of the batch that it names."""
    if not corrected.batch_key:
        cells = frame[column_name(corrected.key[0])].to_list()
        return [_number(cell) for cell in cells]
    wanted = _keys(frame, corrected.key)
    plain = [tuple(cell and without_guard(cell) for cell in key) for key in wanted]
    rows_of: dict[tuple[str | None, ...], list[int]]
    rows_of = {key: [] for key in (*wanted, *plain)}
    for ordinal in range(chunks.count(connection, batch.key)):
        current = row_cells.block(connection, batch.key, ordinal)
        keys = _keys(current, corrected.batch_key)
        for number, key in zip(current[ROW].to_list(), keys, strict=True):
            if key in rows_of and None not in key:
                rows_of[key].append(number)
    pairs = zip(wanted, plain, strict=True)
    return [rows_of[key] or rows_of[unguarded] for key, unguarded in pairs]


def _number(cell: str | None) -> list[int]:
    found = NUMBER.fullmatch((cell or "").strip())
    return [int(found[1])] if found and int(found[1]) <= LARGEST else []


def _keys(
    frame: pl.DataFrame, positions: Sequence[int]
) -> list[tuple[str | None, ...]]:
    return frame.select([column_name(position) for position in positions]).rows()


def _keep(
    connection: Connection,
    batch: Batch,
    corrected: Corrected,
    frame: pl.DataFrame,
    account: Account,
) -> list[tuple[int, Cells, Cells]]:
    """Keep the corrected cells; return each row's with those before."""
    targets = _targets(connection, batch, corrected, frame)
    named = {number for rows in targets for number in rows}
    ended = outcomes.terminal_among(connection, batch.key, named)
    current = row_cells.of_rows(connection, batch.key, named - ended)
    kept: list[tuple[int, Cells, Cells]] = []
    for new, rows in zip(frame.iter_rows(named=True), targets, strict=True):
        open_rows = [number for number in rows if number in current]
        if any(number in ended for number in rows):
            account.finished.append(new[ROW])
        elif len(open_rows) != 1:
            account.strange.append(new[ROW])
        elif open_rows[0] in account.taken:
            account.repeated.append(new[ROW])
        else:
            (row,) = open_rows
            account.taken.add(row)
            kept.append((row, current[row], _merge(current[row], new, corrected)))
    added = [(row, cells) for row, _, cells in kept]
    revisions.add(connection, batch.key, account.name, added)
    return kept


def _merge(old: Cells, new: Mapping[str, Any], corrected: Corrected) -> Cells:
    """Return the old cells with those of the corrected row in their place."""
    cells = dict(old)
    width = sum(name.startswith("c") for name in old)
    kinds = list(old[KINDS] or Kind.TEXT * width)
    for here, there in corrected.fields.values():
        cells[column_name(there)] = _as_meant(
            new[column_name(here)], old[column_name(there)]
        )
        kind = new[KINDS][here] if new[KINDS] else Kind.TEXT
        is_same = cells[column_name(there)] == old[column_name(there)]
        if kind != Kind.TEXT or not is_same:  # text may stand for what was no text
            kinds[there] = kind
    is_text = all(kind in {Kind.TEXT, Kind.EMPTY} for kind in kinds)
    cells[KINDS] = None if is_text else "".join(kinds)
    cells[FAULTS] = _faults(old, new, cells, corrected)
    return cells


def _as_meant(new: str | None, old: str | None) -> str | None:
    """Return a corrected cell; one that is what was read is left as it is."""
    return new if new is None or new == old else without_guard(new)


def without_guard(text: str) -> str:
    """Return *text* without the apostrophe that guards it from being a formula."""
    is_guarded = text[:1] == GUARD and text[1:2] in GUARDED
    return text[1:] if is_guarded else text


def _faults(
    old: Cells, new: Mapping[str, Any], cells: Cells, corrected: Corrected
) -> str | None:
    """Return the faults of the corrected record, by the batch's columns.

    Those of the record that was read stay where it was not corrected, and so do doubts
    about a value that is still the same.
    """
    there_of = dict(corrected.fields.values())
    faults = [
        replace(fault, column=None if fault.column is None else there_of[fault.column])
        for fault in load_faults(new[FAULTS] or "[]")
        if fault.column is None or fault.column in there_of
    ]
    mended = set(there_of.values())
    for fault in load_faults(old[FAULTS] or "[]"):
        is_kept = fault.column not in mended and not corrected.is_whole
        if is_kept or (is_asked(fault) and fault.value == _at(cells, fault.column)):
            faults.append(fault)
    return dump_faults(faults) if faults else None


def _at(cells: Cells, position: int | None) -> str | None:
    return None if position is None else cells[column_name(position)]


def _matched_by(importer: type[Importer[Any]], corrected: Corrected) -> str:
    if not corrected.batch_key:
        return (
            f"the numbers in its column '{corrected.layout.header[corrected.key[0]]}'"
        )
    names = [
        name
        for name, (_, there) in corrected.fields.items()
        if there in corrected.batch_key
    ]
    return "its column " + " and ".join(
        f"'{importer.columns[n].header(n)}'" for n in names
    )


def _warning(code: str, message: str, count: int) -> Issue:
    return Issue(
        code=code,
        message=message,
        phase=Phase.FILE,
        level=Level.WARNING,
        parameters={"count": count},
    )


def _told(code: str, rows: Sequence[int]) -> str:
    one, many = WHAT[code]
    if len(rows) == 1:
        return f"1 row ({rows[0]}) {one}; it was left out."
    return f"{len(rows)} rows ({_listed(rows)}) {many}; they were left out."


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(str(row) for row in rows[:SHOWN])
    return f"{shown}, …" if len(rows) > SHOWN else shown
