"""A corrected file: its values take the place of those of rows that are not finished.

A row of it names the row it corrects by number, in a column called ``row``, or else by
the importer's key. Rows that are terminal are left alone, and rows that the batch does
not have are refused; both are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl
from sqlalchemy.engine import Connection

from batchfx.errors import SourceError, UsageError
from batchfx.files import open as files
from batchfx.importer import Importer
from batchfx.model.blocks import FAULTS, KINDS, ROW, Kind, column_name
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout
from batchfx.pipeline.mapping import folded, match
from batchfx.store import chunks, outcomes, revisions
from batchfx.store.batches import Batch

ROW_HEADERS = frozenset({"row", "rownumber", "rowno", "batchfxrow"})
BLOCK_ROWS = 5_000
SHOWN = 5  # row numbers named in a sentence


@dataclass(frozen=True, slots=True)
class Corrected:
    """How a corrected file's columns stand to the batch's.

    *fields* gives, for each field that both have, its position in the corrected file
    and in the batch. *key* are the positions, here and there, of what names a row;
    there it is empty when rows are named by number.
    """

    layout: Layout
    fields: Mapping[str, tuple[int, int]]
    key: tuple[int, ...]
    batch_key: tuple[int, ...]


@dataclass
class Account:
    """What became of the rows of the corrected file *name*, by their numbers in it."""

    name: str
    taken: set[int] = field(default_factory=set)  # rows of the batch
    finished: list[int] = field(default_factory=list)
    strange: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)

    def issues(self) -> list[Issue]:
        """Return what a person should know of, as warnings about the file."""
        told = [
            ("correction_of_finished_row", self.finished, "belong to finished rows"),
            (
                "correction_of_unknown_row",
                self.strange,
                "belong to no row of the batch",
            ),
            ("correction_repeated", self.repeated, "correct a row a second time"),
        ]
        return [
            Issue(
                code=code,
                message=f"{self.name}: {len(rows)} rows ({_listed(rows)}) {what}; "
                "they were left out.",
                phase=Phase.FILE,
                level=Level.WARNING,
                parameters={"count": len(rows)},
            )
            for code, rows, what in told
            if rows
        ]


def apply(
    connection: Connection,
    batch: Batch,
    importer: type[Importer[Any]],
    name: str,
    source: BinaryIO,
) -> Account:
    """Keep the corrected cells of every row that is not terminal.

    Args:
        connection: In a writing transaction that holds the batch.
        batch: The batch, wholly staged.
        importer: Its importer.
        name: The corrected file's name, for messages.
        source: Its content.

    Raises:
        SourceError: It can't be read, or has not the importer's columns.
        UsageError: Nothing in it says which rows it corrects.

    """
    corrected = _understand(importer, batch, source)
    account = Account(name)
    for block in files.read(source, corrected.layout, BLOCK_ROWS):
        if block.frame.height:
            _keep(connection, batch, corrected, block.frame, account)
    if not account.taken and not account.finished:
        message = (
            f"{name} corrects no row of batch {batch.key.number}. Its rows are "
            f"matched by {_matched_by(importer, corrected)}."
        )
        raise SourceError("no_row_corrected", message)
    return account


def _understand(
    importer: type[Importer[Any]], batch: Batch, source: BinaryIO
) -> Corrected:
    layout = files.inspect(source)
    here = match(importer.row_model, importer.columns, layout.header).positions
    there = batch.mapping
    fields = {name: (here[name], there[name]) for name in here if name in there}
    for position, name in enumerate(layout.header):
        if folded(name) in ROW_HEADERS and position not in here.values():
            return Corrected(layout, fields, (position,), ())
    for key in reversed(importer.unique_together()):
        if all(name in fields for name in key):
            pairs = [fields[name] for name in key]
            return Corrected(
                layout, fields, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
            )
    message = (
        "Nothing says which rows the corrected file corrects. Give it a column 'row' "
        "with the numbers that 'batchfx rows' shows."
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
    rows_of: dict[tuple[str | None, ...], list[int]] = {key: [] for key in wanted}
    for ordinal in range(chunks.count(connection, batch.key)):
        current = _current(connection, batch, ordinal)
        keys = _keys(current, corrected.batch_key)
        for number, key in zip(current[ROW].to_list(), keys, strict=True):
            if key in rows_of and None not in key:
                rows_of[key].append(number)
    return [rows_of[key] for key in wanted]


def _number(cell: str | None) -> list[int]:
    text = (cell or "").strip()
    return [int(text)] if text.isascii() and text.isdigit() else []


def _keys(
    frame: pl.DataFrame, positions: Sequence[int]
) -> list[tuple[str | None, ...]]:
    return frame.select([column_name(position) for position in positions]).rows()


def _current(connection: Connection, batch: Batch, ordinal: int) -> pl.DataFrame:
    frame = chunks.read_block(connection, batch.key, ordinal)
    first, last = frame[ROW][0], frame[ROW][-1]
    return revisions.lay_over(
        frame, revisions.latest(connection, batch.key, first, last)
    )


def _keep(
    connection: Connection,
    batch: Batch,
    corrected: Corrected,
    frame: pl.DataFrame,
    account: Account,
) -> None:
    targets = _targets(connection, batch, corrected, frame)
    named = {number for rows in targets for number in rows}
    ended = outcomes.terminal_among(connection, batch.key, named)
    current = _cells_of(connection, batch, named - ended)
    kept: list[tuple[int, dict[str, str | None]]] = []
    for new, rows in zip(frame.iter_rows(named=True), targets, strict=True):
        open_rows = [number for number in rows if number in current]
        if any(number in ended for number in rows):
            account.finished.append(new[ROW])
        elif len(open_rows) != 1:
            account.strange.append(new[ROW])
        elif open_rows[0] in account.taken:
            account.repeated.append(new[ROW])
        else:
            account.taken.add(open_rows[0])
            kept.append((open_rows[0], _merge(current[open_rows[0]], new, corrected)))
    revisions.add(connection, batch.key, account.name, kept)


def _cells_of(
    connection: Connection, batch: Batch, rows: set[int]
) -> dict[int, dict[str, str | None]]:
    """Return the present cells of *rows*; those that the batch has not are left out."""
    ordinals = {chunks.find(connection, batch.key, row) for row in rows} - {None}
    found: dict[int, dict[str, str | None]] = {}
    for ordinal in sorted(ordinals, key=lambda n: n or 0):
        frame = _current(connection, batch, ordinal or 0)
        for cells in _named(frame.filter(pl.col(ROW).is_in(list(rows)))):
            found[cells.pop(ROW)] = cells
    return found


def _named(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return frame.iter_rows(named=True)


def _merge(
    old: Mapping[str, str | None], new: Mapping[str, Any], corrected: Corrected
) -> dict[str, str | None]:
    """Return the old cells with those of the corrected row in their place."""
    cells = dict(old)
    width = sum(name.startswith("c") for name in old)
    kinds = list(old[KINDS] or Kind.TEXT * width)
    for here, there in corrected.fields.values():
        cells[column_name(there)] = new[column_name(here)]
        kinds[there] = new[KINDS][here] if new[KINDS] else Kind.TEXT
    is_text = all(kind in {Kind.TEXT, Kind.EMPTY} for kind in kinds)
    cells[KINDS] = None if is_text else "".join(kinds)
    cells[FAULTS] = new[FAULTS]
    return cells


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


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(str(row) for row in rows[:SHOWN])
    return f"{shown}, …" if len(rows) > SHOWN else shown
