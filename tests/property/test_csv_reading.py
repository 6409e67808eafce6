"""Laws of the CSV reader: fast and careful, whole and in pieces, it reads the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files import csv_piece
from batchfx.files import open as files
from batchfx.files.csv import read_csv
from batchfx.files.csv_judge import judge
from batchfx.files.csv_notes import BLANKS, is_total
from batchfx.files.csv_plan import Plan
from batchfx.files.csv_record import LEADING, LONG, Cutter, cut_all
from batchfx.files.text import ANY, LF_CR, UNDECODABLE, Mark, Piece, read_piece
from batchfx.model.blocks import (
    FAULTS,
    KINDS,
    ROW,
    WARNINGS,
    Block,
    dump_faults,
    load_faults,
)
from batchfx.model.sources import Layout

HEADER = ("one", "two", "three")

TOKENS = st.sampled_from(
    [
        *('"', '""', '"', ",", ",", ";", "'", "\n", "\n", "\r\n", "\r", "=", '="'),
        *("a", "b", "é", "漢", " ", "\xa0", "\ufeff", "\\", "Total", "sum:", "\t"),
        *("a,b,c\n\r", "\n\r", "\x00", "\x1a", "\x85", "\x0b", "\u2028", "\ufdd0"),
        *("a,b,c\n", '"a","b","c"\n', ",,\n", '"x\ny",', 'a","b\n', ",,,,"),
        *("a,b,c\r\n", "a\rb,c,d\n", "a,\x00,c\n", "Total,,3\n", '="",="",=""\n'),
        *("\\", '\\"', "\\,", "||", "|", "::", "\x1f", "one", "two", "three"),
        *("one,two,three\n", '"one",\ufefftwo , three\n', "---,---,---\n", "Note: x"),
        *('"say \\"a\\", b",c,d\n', "Page 1 of 2,,\n", "Total (EUR),,3\n", "----"),
        *("1||2||3\n", '1||"a||b"||3\n', "1::2::3\n", "one||two||three\n"),
        *('\ufeff"a",b,c\n', '"a\rb",c,d\r', "\x1a\r\n", "\x1a\x1a\n", '"\r\ufeff'),
        *('"a", "b", c\n', ' "', ', "x, y"', '  "a","b" , c\n', ' "a\nb",c, d\n'),
        *('"a""b","c,d",e\n', "a,b,c,,\n", ',"x\n', ' ,"",\n', '="1","=""2""",3\n'),
    ]
)
TEXTS = st.lists(TOKENS, max_size=40).map("".join)
JUNK = st.sampled_from([b"\xff", b"\xe9", b"\xc3", b"\xe6\xbc", b"\x80"])
CONTENTS = st.lists(TEXTS.map(str.encode) | JUNK, max_size=6).map(b"".join)
SIZES = st.sampled_from([1, 2, 3, 5, 8, 13, 40, 200])
SETTINGS = st.fixed_dictionaries(
    {
        "encoding": st.sampled_from(["utf-8", "utf-8", "cp1252"]),
        "delimiter": st.sampled_from(
            [",", ",", ",", ";", "\t", "|", None, "||", "::", "\x1f"]
        ),
        "quote": st.sampled_from(['"', '"', '"', "'", None]),
        "escape": st.sampled_from([None, None, "\\"]),
        "skip_initial_space": st.sampled_from([None, None, True, False]),
        "newline": st.sampled_from(["\n", "\n", "\n", "\r", ANY, LF_CR]),
        "start": st.just(0),
        "line": st.just(2),
    }
)
HEADERS = st.sampled_from([HEADER, HEADER, HEADER, ("one",), ("one", "", "three", "")])
LAYOUTS = st.builds(lambda header, s: Layout("csv", header, 1, s), HEADERS, SETTINGS)

Seen = tuple[list[tuple[Any, ...]], int]


def seen(blocks: Iterable[Block]) -> Seen:
    """Return all rows, and how many blank ones there were."""
    rows: list[tuple[Any, ...]] = []
    blank = 0
    for block in blocks:
        rows += block.frame.rows()
        blank += block.blank
    return rows, blank


def whole(content: bytes, plan: Plan) -> Piece:
    """Return the content as one piece."""
    source, size = io.BytesIO(content), len(content) + 1
    return read_piece(source, plan.encoding, plan.newline, Mark(0, 2), size)


def read_carefully(content: bytes, layout: Layout) -> Seen:
    """Read every line the careful way, without blocks or pieces."""
    plan = Plan.of(layout)
    lines = plan.lines(whole(content, plan))
    rows: list[tuple[Any, ...]] = []
    blank = 0
    for index, cut in cut_all(Cutter(lines, plan.grammar, ended=True)):
        record = judge(cut, index + 2, lines[index], plan.shape)
        if record:
            faults = dump_faults(record.faults) if record.faults else None
            texts = (*record.cells, faults)
            whole_texts = (
                each and each.replace(LONG, plan.long or "") for each in texts
            )
            rows.append((record.row, *whole_texts, None))
        else:
            blank += 1
    return rows, blank


@given(CONTENTS, LAYOUTS)
def test_the_fast_way_reads_what_the_careful_way_reads(
    content: bytes, layout: Layout
) -> None:
    blocks = list(read_csv(io.BytesIO(content), layout, 1_000))

    assert seen(blocks) == read_carefully(content, layout)


@given(CONTENTS, LAYOUTS)
def test_many_columns_are_read_like_few(content: bytes, layout: Layout) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_piece, "WIDE", 2)
        blocks = list(read_csv(io.BytesIO(content), layout, 1_000))

    assert seen(blocks) == read_carefully(content, layout)


@given(CONTENTS, LAYOUTS, st.integers(1, 5), SIZES)
def test_the_sizes_of_blocks_and_pieces_change_nothing(
    content: bytes, layout: Layout, rows: int, size: int
) -> None:
    blocks = list(read_csv(io.BytesIO(content), layout, rows, size=size))

    assert seen(blocks) == read_carefully(content, layout)
    assert all(block.frame.height == rows for block in blocks[:-1])


@given(CONTENTS, LAYOUTS, st.integers(1, 4), st.lists(st.integers(1, 4)), SIZES)
def test_reading_goes_on_from_any_position_as_if_it_had_never_stopped(
    content: bytes, layout: Layout, rows: int, others: list[int], size: int
) -> None:
    source = io.BytesIO(content)
    blocks = []
    position = None
    for step in [*others, rows]:
        block = next(read_csv(source, layout, step, position, size=size), None)
        if block:
            blocks.append(block)
            position = json.loads(json.dumps(block.position))
    blocks += read_csv(source, layout, rows, position)

    assert seen(blocks) == read_carefully(content, layout)


@given(CONTENTS, LAYOUTS)
def test_every_line_belongs_to_one_record(content: bytes, layout: Layout) -> None:
    plan = Plan.of(layout)
    lines = plan.lines(whole(content, plan))

    cuts = list(cut_all(Cutter(lines, plan.grammar, ended=True)))

    assert [index for index, _ in cuts] == [
        sum(cut.lines for _, cut in cuts[:number]) for number in range(len(cuts))
    ]
    assert sum(cut.lines for _, cut in cuts) == len(lines)


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\"',\n\t=")
)


def is_kept(record: list[str]) -> bool:
    """Tell whether a record is one that reading leaves as it is."""
    blank = not "".join(record).strip(BLANKS)
    odd = any(cell.startswith('="') or UNDECODABLE in cell for cell in record)
    note = is_total(record, len(HEADER)) or tuple(record) == HEADER
    led = record[0].startswith(tuple(LEADING))
    return not blank and not odd and not note and not led


@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3).filter(is_kept), max_size=20),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
    st.sampled_from(",;\t|"),
)
def test_what_a_csv_writer_writes_is_read_back(
    records: list[list[str]], quoting: Any, end: str, encoding: str, delimiter: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=quoting, lineterminator=end, delimiter=delimiter)
    writer.writerows([HEADER, *records])
    source = io.BytesIO(text.getvalue().encode(encoding))

    layout = files.inspect(source, encoding=encoding, delimiter=delimiter, quote='"')
    rows, blank = seen(files.read(source, layout, 7))

    assert layout.header == HEADER
    assert [row[1:4] for row in rows] == [
        tuple(cell or None for cell in record) for record in records
    ]
    assert blank == 0
    told = [fault for row in rows for fault in load_faults(row[4] or "[]")]
    assert {fault.code for fault in told} <= WARNINGS


@given(st.binary(max_size=300) | CONTENTS)
@example(b"PK\x05\x06" + bytes(18))
@example(b"\xff\xfe\x00")
@example(b'"')
def test_any_bytes_are_read_or_refused_with_a_reason(content: bytes) -> None:
    source = io.BytesIO(content)
    blocks: list[Block] = []
    width = 0
    with suppress(SourceError):
        layout = files.inspect(source)
        width = len(layout.header)
        blocks += files.read(source, layout, 3)
    for block in blocks:
        assert block.frame.width == width + 3
        assert block.frame.columns[0] == ROW
        assert block.frame.columns[-2:] == [FAULTS, KINDS]
        assert block.frame.schema[ROW] == pl.UInt32
