"""Rows that look like records of a table and are none: its totals, its header again.

A line of totals is known by its word for a total, or by cells that are empty, but for
sure only by its numbers: they are the sums of their columns. To add these up, the table
is read once more; only where its last rows ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from batchfx.errors import SourceError
from batchfx.files.column_sums import Sums
from batchfx.files.csv_judge import Shape, is_header
from batchfx.files.csv_notes import BLANKS
from batchfx.files.total_rows import (
    DOUBT,
    Closing,
    Columns,
    Keys,
    closing_of,
    doubt_of,
    doubts,
)
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    Block,
    Fault,
    dump_faults,
    load_faults,
)
from batchfx.model.sources import Layout

TABLES = frozenset({"csv", "html", "ods", "xls", "xlsb", "xlsx"})  # made by people
HELD_ROWS = 100  # at the end, that may be totals and notes
TEXTS = "texts"  # the setting of a layout: places of columns that are said to be text


def without_strays(
    blocks: Iterable[Block],
    layout: Layout,
    again: Callable[[], Iterable[Block]],
    *,
    resumed: bool = False,
) -> Iterator[Block]:
    """Yield *blocks* with the fault ``not_a_record`` for what is no record for sure.

    A row called a total that isn't the sum of the records, or not the last, has the
    fault ``possible_total``, which is a warning.

    Args:
        blocks: What is read.
        layout: How it is laid out.
        again: Reads the table from its start.
        resumed: The *blocks* don't begin there.

    """
    if layout.format not in TABLES:
        yield from blocks
        return
    texts = layout.settings.get(TEXTS, ())
    columns = Columns.of(layout.format, len(layout.header), texts)
    shape = _shape(layout)
    held: list[Block] = []
    try:
        keys = Keys(again if resumed else None)
        for block in _marked(blocks, shape, columns, keys):
            yield from _passed(block, held, columns)
    except SourceError:  # what was read before the damage counts
        yield from held
        raise
    yield from _judged(held, columns, lambda: _marked(again(), shape, columns, Keys()))


def _marked(
    blocks: Iterable[Block], shape: Shape | None, columns: Columns, keys: Keys
) -> Iterator[Block]:
    """Yield *blocks* with faults for headers, and for what is called a total."""
    for found in blocks:
        block = _without_headers(found, shape, columns) if shape else found
        told = doubts(block.frame, columns, keys)
        keys.add(block.frame)
        yield _with_faults(block, told, columns.names)


def _passed(block: Block, held: list[Block], columns: Columns) -> Iterator[Block]:
    """Yield what is surely not the end of the table; the rest is *held*."""
    run = _closing_rows(block.frame, columns)
    goes_on = len(run) == block.frame.height
    if held and not (goes_on and _height(held) < HELD_ROWS):
        yield from held
        held.clear()
    if held or any(run):
        held.append(block)
    else:
        yield block


def _height(blocks: Sequence[Block]) -> int:
    return sum(block.frame.height for block in blocks[1:])


def _shape(layout: Layout) -> Shape | None:
    """Return what a repeated header is like; None where it needs no looking for."""
    rows = layout.settings.get("header_rows", 1)
    one_row = rows == 1 or (isinstance(rows, list) and len(rows) == 1)
    if layout.format == "csv" or not layout.header_row or not one_row:
        return None  # text is looked through line by line
    shape = Shape(len(layout.header), 0, layout.header)
    return shape if any(layout.header) and shape.key else None


def _without_headers(block: Block, shape: Shape, columns: Columns) -> Block:
    """Return *block* with a fault for the rows that repeat the header."""
    frame, names = block.frame, columns.names
    first = frame[names[shape.first]].str.strip_chars(BLANKS) == shape.key
    faults: dict[int, Fault] = {}
    for index in (first & frame[FAULTS].is_null()).arg_true().to_list():
        cells = columns.cells(frame, index)
        if is_header(cells, shape):
            message = "This row repeats the header; it is not a record."
            faults[frame.item(index, ROW)] = Fault(
                "not_a_record",
                message,
                parameters={"cause": "header"},
                fields=tuple(cells),
            )
    return _with_faults(block, faults, names)


def _closing_rows(frame: pl.DataFrame, columns: Columns) -> list[Closing | None]:
    """Return the last rows that may be totals, the last first; None for no records."""
    run: list[Closing | None] = []
    for index in reversed(range(frame.height)):
        if len(run) > HELD_ROWS:
            break
        if _is_faulty(frame.item(index, FAULTS)):
            run.append(None)
            continue
        closing = closing_of(frame, index, columns)
        if closing is None:
            break
        run.append(closing)
    return run


def _is_faulty(faults: str | None) -> bool:
    if faults is None or DOUBT not in faults:
        return faults is not None
    return [fault.code for fault in load_faults(faults)] != [DOUBT]


def _judged(
    held: Sequence[Block], columns: Columns, again: Callable[[], Iterable[Block]]
) -> Iterator[Block]:
    """Yield the blocks that were *held*, the end of the table, judged."""
    runs = [_closing_rows(block.frame, columns) for block in held]
    closing = [each for run in runs for each in run if each]
    if not closing:
        yield from held
        return
    sums = _sums(again(), closing, columns)
    faults = {each.row: fault for each in closing if (fault := _fault(each, sums))}
    for block in held:
        yield _with_faults(block, faults, columns.names)


def _sums(
    blocks: Iterable[Block], closing: Iterable[Closing], columns: Columns
) -> tuple[Sums, Sums]:
    """Return the sums over a whole table but for its closing rows.

    They are without the rows that are called totals further up, and with them.
    """
    added = list(dict.fromkeys(name for each in closing for name in each.numbers))
    first = columns.names[0]
    sums = Sums(first, added), Sums(first, added)
    held: list[pl.DataFrame] = []
    for block in blocks:
        frame = block.frame
        below = len(_closing_rows(frame, columns))
        if below < frame.height or sum(each.height for each in held) >= HELD_ROWS:
            for each in held:
                _add(each, sums)
            held.clear()
        _add(frame.head(frame.height - below), sums)
        held.append(frame.tail(below))
    return sums


def _add(frame: pl.DataFrame, sums: tuple[Sums, Sums]) -> None:
    own, every = sums
    own.add(frame)
    faults = pl.col(FAULTS)
    called = faults.str.contains(DOUBT, literal=True)
    every.add(frame.with_columns(pl.when(~called).then(faults).alias(FAULTS)))


def _fault(closing: Closing, sums: Iterable[Sums]) -> Fault | None:
    if not any(closing.is_total(each) for each in sums):
        return doubt_of(closing.label) if closing.marked and closing.label else None
    message = (
        "This is a line of totals, not a record: its numbers are the sums of the "
        "records above."
    )
    return Fault(
        "not_a_record",
        message,
        value=closing.label,
        parameters={"cause": "total"},
        fields=closing.cells,
    )


def _with_faults(
    block: Block, faults: Mapping[int, Fault], names: Sequence[str]
) -> Block:
    """Return *block* with *faults* by row; what is no record has no cells."""
    if not faults:
        return block
    texts = {row: dump_faults([fault]) for row, fault in faults.items()}
    gone = [row for row, fault in faults.items() if fault.code == "not_a_record"]
    number = pl.col(ROW)
    told = number.replace_strict(texts, default=None, return_dtype=pl.String)
    frame = block.frame.with_columns(
        pl.when(~number.is_in(gone)).then(pl.col([*names, KINDS])),
    ).with_columns(pl.coalesce(told, FAULTS).alias(FAULTS))
    return replace(block, frame=frame)
