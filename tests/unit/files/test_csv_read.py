from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from batchfx.errors import SourceError
from batchfx.files.csv import read_csv
from batchfx.files.csv_layout import Given, inspect_csv
from batchfx.files.csv_piece import ENOUGH
from batchfx.files.csv_record import SPAN
from batchfx.files.text import LIMIT, PIECE
from batchfx.model.blocks import FAULTS, KINDS, ROW, Block, block_schema, load_faults

Row = tuple[Any, ...]


def blocks_of(content: str | bytes, rows: int = 1_000, **given: Any) -> list[Block]:
    source = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return list(read_csv(source, inspect_csv(source, Given(**given)), rows))


def rows_of(blocks: Sequence[Block]) -> list[Row]:
    """Return the rows' numbers and cells."""
    return [row for each in blocks for row in each.frame.drop(FAULTS, KINDS).rows()]


def codes_of(blocks: Sequence[Block]) -> list[tuple[int, list[str]]]:
    """Return the number of each faulty row, with the codes of its faults."""
    return [
        (row, [fault.code for fault in load_faults(faults)])
        for block in blocks
        for row, faults in block.frame[[ROW, FAULTS]].rows()
        if faults
    ]


def test_a_block_is_a_frame_of_text_with_row_numbers() -> None:
    (block,) = blocks_of('sku,name,qty\r\nA,"b, c",\r\n')

    assert block.frame.schema == block_schema(3)
    assert block.frame.rows() == [(2, "A", "b, c", None, None, None)]
    assert (block.blank, block.position) == (0, {"offset": 25, "line": 3})


def test_blocks_have_as_many_rows_as_asked_for_but_the_last() -> None:
    blocks = blocks_of("a,b\n1,2\n3,4\n5,6\n", rows=2)

    assert [block.frame.height for block in blocks] == [2, 1]
    assert [block.position["line"] for block in blocks] == [4, 5]


def test_a_header_alone_yields_no_block() -> None:
    assert blocks_of("a,b\n") == []


def test_blank_records_are_counted_in_the_block_before_the_next_record() -> None:
    blocks = blocks_of("a,b\n\n1,2\n ,\n,,,\n3,4\n5,6\n\n\n", rows=1)

    assert [block.blank for block in blocks] == [3, 0, 2]
    assert [block.frame[ROW].to_list() for block in blocks] == [[3], [6], [7]]
    assert [block.position for block in blocks] == [
        {"offset": 16, "line": 6},
        {"offset": 20, "line": 7},
        {"offset": 26, "line": 10},
    ]


@pytest.mark.parametrize("size", [1, 9, 20])
def test_blank_records_are_counted_once_when_pieces_end_between(size: int) -> None:
    source = io.BytesIO(b"a,b\n1,2\n\n,\n\n3,4\n5,6\n7,8\n\n9,9\n")
    layout = inspect_csv(source, Given())

    blocks = list(read_csv(source, layout, 1, size=size))

    assert [block.blank for block in blocks] == [3, 0, 0, 1, 0]


@pytest.mark.parametrize("line", ["", " ", ",,,", '"",', '" ","\t"', '="",="\xa0"'])
def test_a_record_in_which_nothing_can_be_seen_is_blank(line: str) -> None:
    (block,) = blocks_of(f"a,b\n{line}\n1,2\n")

    assert (block.frame[ROW].to_list(), block.blank) == ([3], 1)


def test_blank_records_alone_are_counted_in_an_empty_block() -> None:
    (block,) = blocks_of("a,b\n,\n\n")

    assert (block.frame.height, block.blank) == (0, 2)
    assert block.frame.schema == block_schema(2)


def test_reading_goes_on_behind_a_block() -> None:
    source = io.BytesIO('\ufeffa,b\r\n1,"x\r\ny"\r\n3,4\r\n5,6\r\n'.encode("utf-16-le"))
    layout = inspect_csv(source, Given())

    first = next(read_csv(source, layout, 1))
    position = json.loads(json.dumps(first.position))
    rest = list(read_csv(source, layout, 5, position))

    assert rows_of([first]) == [(2, "1", "x\r\ny")]
    assert position == {"offset": 32, "line": 4}
    assert rows_of(rest) == [(4, "3", "4"), (5, "5", "6")]


def test_all_kinds_of_lines_stay_in_the_order_of_the_file() -> None:
    lines = [
        "1,plain,x",
        '2,"quo""ted",x',
        "3,short",
        '4,"two\nlines",x',
        "6,,",
        '7,"bad"x,x',
        '="008",long,x,,',
        '9,"=""009""",x',
        "Total,,",
        '11,"open,x',
    ]

    blocks = blocks_of("n,text,end\n" + "\n".join(lines))

    assert rows_of(blocks) == [
        (2, "1", "plain", "x"),
        (3, "2", 'quo"ted', "x"),
        (4, None, None, None),
        (5, "4", "two\nlines", "x"),
        (7, "6", None, None),
        (8, None, None, None),
        (9, "008", "long", "x"),
        (10, "9", "009", "x"),
        (11, None, None, None),
        (12, None, None, None),
    ]
    assert codes_of(blocks) == [
        (4, ["field_count"]),
        (8, ["bad_quote"]),
        (11, ["not_a_record"]),
        (12, ["unterminated_quote"]),
    ]


def test_one_cell_may_have_several_faults() -> None:
    content = b"city;n\nZ\xc3\xbcrich;1\n\xc3\x84;2\nM\xe1\x00laga;\xff\n"

    (block,) = blocks_of(content)

    faults = load_faults(block.frame[FAULTS][2])
    assert [(fault.code, fault.column) for fault in faults] == [
        ("encoding", 0),
        ("control_character", 0),
        ("encoding", 1),
    ]
    assert block.frame.row(2)[:3] == (4, "M\ufffd\x00laga", "\ufffd")


def test_a_cr_within_a_line_is_no_text() -> None:
    blocks = blocks_of("a,b\n1,x\ry\n3,4\n")

    assert rows_of(blocks) == [(2, "1", "x\ry"), (3, "3", "4")]
    assert codes_of(blocks) == [(2, ["control_character"])]


def test_lines_may_end_in_cr_alone_and_cells_hold_lf() -> None:
    assert rows_of(blocks_of('a,b\r1,"x\ny"\r2,z\r')) == [
        (2, "1", "x\ny"),
        (3, "2", "z"),
    ]


def test_line_ends_may_be_mixed_and_doubled() -> None:
    assert rows_of(blocks_of("a,b\r\n1,2\n3,4\r\r\n5,6")) == [
        (2, "1", "2"),
        (3, "3", "4"),
        (4, "5", "6"),
    ]


@pytest.mark.parametrize("cell", ["x" * 140_400, "x, " * 50_000, "x\n" * 100_000])
def test_a_cell_may_be_long(cell: str) -> None:
    quoted = f'"{cell}"' if "," in cell or "\n" in cell else cell

    assert rows_of(blocks_of(f"id,body\n1,{quoted}\n2,short\n"))[0] == (2, "1", cell)


def test_a_file_may_be_wide() -> None:
    header = ",".join(f"c{number}" for number in range(10_000))
    values = ",".join(map(str, range(10_000)))

    (row,) = rows_of(blocks_of(f"{header}\n{values}\n"))

    assert row == (2, *map(str, range(10_000)))


def test_a_file_of_many_pieces_is_read_whole() -> None:
    lines = [f'{n},"note {n}, two\nlines",{n}' if n % 7 == 0 else f"{n},note {n},{n}"
             for n in range(150_000)]  # fmt: skip
    content = "id,note,again\n" + "\n".join(lines) + "\n"

    blocks = blocks_of(content, rows=20_000)

    frame = pl.concat(block.frame for block in blocks)
    numbers = [str(number) for number in range(150_000)]
    assert len(content) > 3 * PIECE
    assert frame["c0"].to_list() == numbers
    assert frame["c2"].to_list() == numbers
    assert frame[ROW][-1] == 171_430
    assert frame[FAULTS].count() == 0


def test_a_piece_may_have_any_number_of_faulty_rows() -> None:
    rows = 2 * ENOUGH + 10
    content = "a,b\n1,2\n" + "x\n" * (rows - 1)
    assert len(content) < PIECE

    blocks = blocks_of(content, rows=rows, delimiter=",")

    assert [block.frame.height for block in blocks] == [rows]
    assert blocks[0].frame[FAULTS].count() == rows - 1
    assert blocks[0].frame[ROW].to_list() == list(range(2, rows + 2))


def test_a_quotation_mark_that_is_never_closed_costs_one_row_of_a_long_file() -> None:
    line = f"5,{'6' * 50}\n"
    rows = 3 * SPAN // len(line)
    content = 'a,b\n1,2\n3,"open\n' + line * rows

    blocks = blocks_of(content, rows=rows)

    assert codes_of(blocks) == [(3, ["unterminated_quote"])]
    assert sum(block.frame.height for block in blocks) == rows + 2


def test_a_line_without_an_end_ends_the_reading() -> None:
    content = b"a,b\n" + b"1,2\n" * 100_000 + b"x" * (LIMIT + 1)

    with pytest.raises(SourceError, match="Line 100002 has more than") as caught:
        blocks_of(content)

    assert caught.value.code == "line_too_long"


def test_an_escape_takes_the_meaning_of_marks_and_is_text_otherwise() -> None:
    text = (
        "a,b\n"
        '1,"say \\"hi\\", ok"\n'
        "2,x\\,y\n"
        "3,\\N\n"
        "4,C:\\temp\n"
        '5,"end\\\\"\n'
        '6,"two\\\nlines"\n'
        '7,"a ""b"""\n'
        "8,plain\n"
        '9,"open\\"\n'
    )

    blocks = blocks_of(text, escape="\\")

    assert rows_of(blocks) == [
        (2, "1", 'say "hi", ok'),
        (3, "2", "x,y"),
        (4, "3", "\\N"),
        (5, "4", "C:\\temp"),
        (6, "5", "end\\"),
        (7, "6", "two\nlines"),
        (9, "7", 'a "b"'),
        (10, "8", "plain"),
        (11, None, None),
    ]
    assert codes_of(blocks) == [(11, ["unterminated_quote"])]


def test_a_backslash_is_text_when_it_is_not_said_to_be_the_escape() -> None:
    blocks = blocks_of('a,b\n1,"C:\\"\n2,"say \\"hi\\""\n')

    assert rows_of(blocks) == [(2, "1", "C:\\"), (3, None, None)]
    assert codes_of(blocks) == [(3, ["bad_quote"])]


def test_a_delimiter_of_several_characters_cuts_and_is_kept_within_quotes() -> None:
    text = 'a||b||c\n1||"x||y"||3\n2||p|q||3\n3||4\n4||"x"||y"||5\n'

    blocks = blocks_of(text, delimiter="||")

    assert rows_of(blocks)[:2] == [(2, "1", "x||y", "3"), (3, "2", "p|q", "3")]
    assert codes_of(blocks) == [(4, ["field_count"]), (5, ["field_count"])]
    faults = [load_faults(text) for text in blocks[0].frame[FAULTS].drop_nulls()]
    assert faults[1][0].fields == ("4", "x", 'y"', "5")


def test_the_header_once_more_is_no_record() -> None:
    text = 'id,name\n1,Ann\n\x0cid , name\n2,Ben\n\ufeffid,"name"\nid,Name\n'

    blocks = blocks_of(text)

    assert codes_of(blocks) == [(3, ["not_a_record"]), (5, ["not_a_record"])]
    assert rows_of(blocks)[-1] == (6, "id", "Name")


def test_without_a_header_nothing_repeats_it() -> None:
    assert rows_of(blocks_of("1,2\n1,2\n", header_row=0)) == [
        (1, "1", "2"),
        (2, "1", "2"),
    ]


def test_a_value_may_be_called_like_the_only_column() -> None:
    assert rows_of(blocks_of("name\nAnn\nname\n")) == [(2, "Ann"), (3, "name")]


@pytest.mark.parametrize(
    "line",
    [
        "Total;;;",
        "Summe;;;",
        "Total (EUR);;;",
        "Total EUR;;;",
        ";;Gesamt:;",
        '"Grand total";;;',
        "Note: prices are net;;;",
        "Page 1 of 3",
        "Erstellt am 01.02.2026 von Ann;;;",
        "* without VAT;;;",
        "---;----;---;-----",
        "=====;=====;=====;=====",
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_totals_notes_and_rulers_are_no_records(
    line: str,
    last: bool,  # noqa: FBT001 - one of two
) -> None:
    record = "2026-01-01;Cup;1;1,50\n"
    end = "" if last else record

    blocks = blocks_of(f"day;item;count;sum\n{record}{line}\n{end}")

    assert codes_of(blocks) == [(3, ["not_a_record"])]
    assert [row for row, *_ in rows_of(blocks)] == ([2, 3] if last else [2, 3, 4])


@pytest.mark.parametrize(
    "line",
    [
        "Total Wine;a;b;c",
        "Stand by me;;;",
        "Total War;;;",
        "-;-;-;-",
        "---;x;---;---",
        "Notebook;;;",
        "Summer;;;1",
        "Total;;;123",
        ";;Gesamt:;5",
    ],
)
def test_records_that_look_a_little_like_notes_are_records(line: str) -> None:
    blocks = blocks_of(f"day;item;count;sum\n1;2;3;4\n{line}\n")

    assert codes_of(blocks) == []
    assert len(rows_of(blocks)) == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_faults_are_of_their_rows_however_the_file_is_written(
    delimiter: str, end: str, mark: str
) -> None:
    lines = [
        *("id,name,sum", '1,"A"x,1', "2", "3,a,b,c", '4,"two;lines",5', ""),
        *("5,\x00,6", "6,M\ufffelaga,7", "7,ok,8", "Total,,", '8,"open,9'),
    ]
    text = mark + end.join(lines).replace(";", end).replace(",", delimiter)
    content = text.encode().replace("\ufffe".encode(), b"\xe1")

    blocks = blocks_of("é".encode() + content if not mark else content, rows=2)

    assert codes_of(blocks) == [
        (2, ["bad_quote"]),
        (3, ["field_count"]),
        (4, ["field_count"]),
        (8, ["control_character"]),
        (9, ["encoding"]),
        (11, ["not_a_record"]),
        (12, ["unterminated_quote"]),
    ]
    assert rows_of(blocks)[3] == (5, "4", f"two{end}lines", "5")
    assert sum(block.blank for block in blocks) == 1


def test_a_file_of_control_characters_as_delimiters_goes_the_fast_way() -> None:
    rows = "".join(f"{at}\x01name {at}\x01{at}\n" for at in range(1_000))

    blocks = blocks_of(f"a\x01b\x01c\n{rows}")

    assert rows_of(blocks)[-1] == (1_001, "999", "name 999", "999")
    assert codes_of(blocks) == []


def test_a_row_of_utf_8_in_a_file_of_another_encoding_is_faulty() -> None:
    content = b"id,city\n1,Z\xc3\xbcrich\n2,M\xe1laga\n3,K\xf6ln\n"
    far = content + b"4,K\xf6ln\n" * 100_000 + "5,Łódź\n".encode()

    assert rows_of(blocks_of(content)) == [
        (2, "1", "Z\ufffdrich"),
        (3, "2", "Málaga"),
        (4, "3", "Köln"),
    ]
    assert codes_of(blocks_of(content)) == [(2, ["encoding"])]
    assert codes_of(blocks_of(far)) == [(2, ["encoding"]), (100_005, ["encoding"])]


def test_only_the_cells_of_such_a_row_that_are_not_plain_are_faulty() -> None:
    content = "a,b\r\n1,Köln\r\n2,Ulm\r\n".encode("cp1252") + "3,Zürich".encode()

    blocks = blocks_of(content, encoding="cp1252")

    assert rows_of(blocks)[-1] == (4, "3", "Z\ufffdrich")
    assert codes_of(blocks) == [(4, ["encoding"])]


def test_halves_of_a_pair_are_a_fault_of_their_row() -> None:
    blocks = blocks_of(b"id,city\n1,\xed\xa0\x80x\n2,\xc3\x9cber\n")

    assert rows_of(blocks)[1] == (3, "2", "Über")
    assert codes_of(blocks) == [(2, ["encoding"])]


def test_a_byte_order_mark_before_a_record_is_no_part_of_it() -> None:
    mark = "\ufeff"
    blocks = blocks_of(
        f'{mark}id,city\n1,x\n{mark}2,y\n{mark}"3","z"\n{mark}id,city\n{mark}4,"a\nb"\n'
    )

    assert rows_of(blocks) == [
        (2, "1", "x"),
        (3, "2", "y"),
        (4, "3", "z"),
        (5, None, None),
        (6, "4", "a\nb"),
    ]
    assert codes_of(blocks) == [(5, ["not_a_record"])]


def test_a_byte_order_mark_within_a_cell_is_kept() -> None:
    assert rows_of(blocks_of('a,b\n1,\ufeffx\n2,"y\n\ufeffz"\n')) == [
        (2, "1", "\ufeffx"),
        (3, "2", "y\n\ufeffz"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n3,4\r5,6\n7,8\n",
        "a,b\r1,2\r3,4\r\n5,6\n7,8\r",
        "a,b\r1,2\r3,4\n5,6\r7,8\r",
        "a,b\r\n1,2\r\n3,4\r5,6\r\n7,8",
    ],
)
def test_every_kind_of_line_end_ends_a_record_when_they_are_mixed(content: str) -> None:
    rows = [(2, "1", "2"), (3, "3", "4"), (4, "5", "6"), (5, "7", "8")]

    assert rows_of(blocks_of(content)) == rows
    assert rows_of(blocks_of(content, rows=1)) == rows


def test_a_cell_keeps_its_line_ends_when_they_are_mixed() -> None:
    content = 'a,b\n1,"x\ry"\n"v\r\nw",4\r5,6\n\r7,"8\r\ufeff"'

    assert rows_of(blocks_of(content)) == [
        (2, "1", "x\ry"),
        (4, "v\r\nw", "4"),
        (6, "5", "6"),
        (8, "7", "8\r\ufeff"),
    ]


def test_reading_goes_on_within_a_file_of_mixed_line_ends() -> None:
    source = io.BytesIO(b"a,b\n1,2\r3,4\r\n5,6\n7,8\r9,0\n")
    layout = inspect_csv(source, Given())
    first, *_ = read_csv(source, layout, 3)

    assert first.position == {"offset": 17, "line": 5}
    assert rows_of(list(read_csv(source, layout, 9, first.position))) == [
        (5, "7", "8"),
        (6, "9", "0"),
    ]


def test_a_row_that_a_cr_makes_too_long_is_told_so() -> None:
    content = "a,b\n1,2\n3,4\r5,6\n7,8\n".encode("utf-16")
    (fault,) = load_faults(blocks_of(content)[0].frame[FAULTS][1])

    assert fault.code == "field_count"
    assert "Within cell 2 is a line end of another kind" in fault.message


@pytest.mark.parametrize("end", ["\x1a", "\x1a\r\n", "\x1a\x1a\n", "\x1a\n\n\x1a\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_ctrl_z_ends_the_file_and_is_no_row(end: str, encoding: str, size: int) -> None:
    source = io.BytesIO(f"a,b\r\n1,2\r\n{end}".encode(encoding))
    layout = inspect_csv(source, Given())

    (block,) = read_csv(source, layout, 9, size=size)

    assert (block.frame.rows(), block.blank) == ([(2, "1", "2", None, None)], 0)


def test_ctrl_z_elsewhere_is_a_fault() -> None:
    assert codes_of(blocks_of("a,b\n1,\x1a\n\x1a,2\n3,4\n")) == [
        (2, ["control_character"]),
        (3, ["control_character"]),
    ]


def test_an_end_that_was_never_written_is_control_characters() -> None:
    blocks = blocks_of(b"a,b\n" + b"1,2\n" * 50 + bytes(20))

    assert codes_of(blocks) == [(52, ["control_character"])]


@pytest.mark.parametrize("nuls", [70_000, 5_000_000, 20_000_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_an_end_of_nothing_but_nuls_is_one_row_however_long(
    nuls: int, encoding: str
) -> None:
    mark = b"" if encoding == "utf-8" else "\ufeff".encode(encoding)
    content = mark + "a,b\n1,2\n3,4\n".encode(encoding) + bytes(nuls)
    source = io.BytesIO(content)
    layout = inspect_csv(source, Given())

    blocks = list(read_csv(source, layout, 2))
    rest = list(read_csv(source, layout, 2, blocks[0].position))

    assert rows_of(blocks) == [(2, "1", "2"), (3, "3", "4"), (4, None, None)]
    assert codes_of(blocks) == [(4, ["control_character"])]
    assert blocks[-1].position == {"offset": len(content), "line": 5}
    assert [each.frame.rows() for each in rest] == [blocks[1].frame.rows()]
    assert list(read_csv(source, layout, 2, blocks[-1].position)) == []


def test_a_record_that_ends_in_nuls_keeps_what_was_written_of_it() -> None:
    blocks = blocks_of(b"a,b\n1,2\n3,4" + bytes(2_000_000))

    assert [row[:2] for row in rows_of(blocks)] == [(2, "1"), (3, "3")]
    ((fault,),) = [
        load_faults(faults)
        for block in blocks
        for faults in block.frame[FAULTS]
        if faults
    ]
    assert (fault.code, fault.column) == ("control_character", 1)
    assert (fault.value or "").rstrip("\0") == "4"


def test_nuls_with_something_behind_them_are_no_end() -> None:
    source = io.BytesIO(b"a,b\n1,2\n" + bytes(LIMIT + 1) + b"3,4\n5,6\n")
    layout = inspect_csv(source, Given())
    blocks: list[Block] = []

    with pytest.raises(SourceError) as caught:
        blocks.extend(read_csv(source, layout, 10))

    assert (caught.value.code, caught.value.parameters["line"]) == ("line_too_long", 3)
    assert rows_of(blocks) == [(2, "1", "2")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_may_end_in_lf_and_cr(size: int, encoding: str) -> None:
    lines = ["a,b", "1,2", '"x\n\ry",4', "", "5,6", ""]
    source = io.BytesIO("\n\r".join(lines).encode(encoding))
    layout = inspect_csv(source, Given())

    blocks = list(read_csv(source, layout, 1, size=size))

    assert rows_of(blocks) == [(2, "1", "2"), (3, "x\n\ry", "4"), (6, "5", "6")]
    assert (sum(each.blank for each in blocks), codes_of(blocks)) == (1, [])
    assert layout.reasons["newline"].startswith("LF CR: the sample has ")
    for index, block in enumerate(blocks):
        rest = read_csv(source, layout, 1, block.position, size=size)
        assert rows_of(list(rest)) == rows_of(blocks[index + 1 :])


@pytest.mark.parametrize("end", ["2,b\n", "2"])
def test_half_a_character_at_the_end_is_no_text(end: str) -> None:
    content = f"id,näme\n1,a\n{end}".encode("utf-16") + b"1"

    assert [codes for _, codes in codes_of(blocks_of(content))] == [["encoding"]]
