from __future__ import annotations

import time

import pytest

from batchfx.files.csv_judge import Record, Shape, free_text, is_blank, judge
from batchfx.files.csv_notes import is_total
from batchfx.files.csv_record import SPAN, Cut, Cutter, Dialect, Grammar, cut_all
from batchfx.files.text import UNDECODABLE
from batchfx.model.blocks import Fault

GRAMMAR = Grammar(Dialect())
SHAPE = Shape(3, 3)


def cutter(*lines: str, ended: bool = True) -> Cutter:
    return Cutter(lines, GRAMMAR, ended)


def cut(*lines: str) -> Cut | None:
    return cutter(*lines).cut(0)


def judged(line: str, shape: Shape = SHAPE) -> Record | None:
    found = cut(line)
    assert found
    return judge(found, 7, line, shape)


def faults(line: str, shape: Shape = SHAPE) -> list[Fault]:
    record = judged(line, shape)
    assert record
    return list(record.faults)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a,b,c", ("a", "b", "c")),
        ("a,b,c\r", ("a", "b", "c")),
        ("a,b,\r\r", ("a", "b", "")),
        ("", ("",)),
        (",", ("", "")),
        ('"a","b"', ("a", "b")),
        ('"a,b",c\r', ("a,b", "c")),
        ('"a\r",c', ("a\r", "c")),
        ('"say ""hi""",c', ('say "hi"', "c")),
        ('"""",""', ('"', "")),
        ('5" pipe,b"', ('5" pipe', 'b"')),
        (' "a" x,b', (' "a" x', "b")),
        ('="04507",x', ('="04507"', "x")),
        ('"a\\",b', ("a\\", "b")),
    ],
)
def test_a_line_is_cut_into_its_cells(line: str, cells: tuple[str, ...]) -> None:
    assert cut(line) == Cut(cells)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ('1, "a, b"', ("1", "a, b")),
        (' "a",b', ("a", "b")),
        ('a,  b , "c"\r', ("a", "b ", "c")),
        ('" a", "say ""hi"""', (" a", 'say "hi"')),
        ("a, , ", ("a", "", "")),
        ('a, 5" pipe', ("a", '5" pipe')),
    ],
)
def test_blanks_in_front_of_spaced_cells_are_no_part_of_them(
    line: str, cells: tuple[str, ...]
) -> None:
    spaced = Grammar(Dialect(spaced=True))

    assert Cutter([line], spaced, ended=True).cut(0) == Cut(cells)


def test_a_quoted_cell_behind_a_blank_is_noted_where_nobody_knows_what_that_is() -> (
    None
):
    line = 'x, "a",b'
    text = Grammar(Dialect(spaced=False))

    assert cut(line) == Cut(("x", ' "a"', "b"), apart=(1,))
    assert Cutter([line], text, ended=True).cut(0) == Cut(("x", ' "a"', "b"))


def test_a_quoted_cell_keeps_its_line_ends() -> None:
    assert cut('a,"one\r', "two,\r", '""three""",c\r', "next") == Cut(
        ("a", 'one\r\ntwo,\r\n"three"', "c"), lines=3
    )


def test_cells_with_a_line_end_outside_quotation_marks_are_noted() -> None:
    assert cut('a\rb,"c\rd",e\r') == Cut(("a\rb", "c\rd", "e"), stray=(0,))


@pytest.mark.parametrize("line", ['a,"b"c,d', 'a,"b" ,d', 'a,"b""c"d'])
def test_text_behind_a_closing_mark_is_a_flaw(line: str) -> None:
    assert cut(line, "next") == Cut((), flaw="bad_quote", column=1)


@pytest.mark.parametrize(
    "lines",
    [('a,"b', "c"), ('a,"b', 'c"d,e'), ('a,"b', 'c","d', "e"), ('a,"b""', "c")],
)
def test_a_quoted_cell_without_a_good_end_is_a_flaw_of_its_line(
    lines: tuple[str, ...],
) -> None:
    assert cut(*lines) == Cut((), flaw="unterminated_quote", column=1)


def test_an_open_cell_at_the_end_waits_for_more_lines_if_there_are_any() -> None:
    assert cutter('a,"b', "c", ended=False).cut(0) is None


def test_after_a_flaw_the_next_line_starts_a_record() -> None:
    lines = ('1,"a', "2,b", '3,"c"', '4,"d"x', "5,e")

    assert [(index, each.flaw) for index, each in cut_all(cutter(*lines))] == [
        (0, "unterminated_quote"),
        (1, None),
        (2, None),
        (3, "bad_quote"),
        (4, None),
    ]


def test_a_quoted_cell_may_go_on_for_so_long_and_no_longer() -> None:
    first = '"' + "x" * (SPAN // 2)
    second = "y" * (SPAN - len(first))

    assert cut(first, second, '"') == Cut((f"{first[1:]}\n{second}\n",), lines=3)
    assert cut(first, second + "y", '"') == Cut((), flaw="unterminated_quote", column=0)
    assert cutter(first, second + "y", ended=False).cut(0) == Cut(
        (), flaw="unterminated_quote", column=0
    )


# Lines that open a cell, and go on with one that is open to open it again: from each
# of them, the cell has no good end until the last line.
CHAIN = 'a","b'


@pytest.mark.parametrize("end", ["", '"x', '"'])
def test_many_open_cells_take_linear_time(end: str) -> None:
    lines = [CHAIN] * 50_000 + [end]
    started = time.process_time()

    cuts = list(cut_all(cutter(*lines)))

    # Some 0.1 s; to follow each cell to the end would be 1,250,000,000 steps.
    assert time.process_time() - started < 10
    assert sum(each.lines for _, each in cuts) == len(lines)
    assert (len(cuts) == 1) == (end == '"')


def test_a_chain_that_is_too_long_from_its_start_may_end_well_from_further_on() -> None:
    lines = [CHAIN] * (SPAN // len(CHAIN) + 10) + ['"']

    cuts = list(cut_all(cutter(*lines)))

    assert {each.flaw for _, each in cuts[:-1]} == {"unterminated_quote"}
    assert len(cuts) == 11
    assert cuts[-1][1].lines == len(lines) - 10


@pytest.mark.parametrize("cells", [[], [""], [" ", "\t", "\xa0"], ["\u200b", "\ufeff"]])
def test_cells_in_which_nothing_can_be_seen_are_blank(cells: list[str]) -> None:
    assert is_blank(cells)
    assert not is_blank([*cells, "0"])


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        (["All orders:", "", "", "", "4.00"], True),
        (["All orders:", "", "", "4.00"], False),
        (["Total", "", "", "", "5"], True),
        (["Total", "", "", "", "Paris"], False),
        (["Total", "", "", "5"], False),
        (["Total", "", "5"], False),
        (["", "Grand total ", ""], True),
        (["SUMME", "", "", ""], True),
        (["Total Wine", "", "", ""], False),
        (["Total", "1", "2"], False),
        (["Note:", "a", "b", "c"], False),
        (["Note:", ""], False),
        (["", "", ""], False),
    ],
)
def test_a_line_of_totals_is_told_by_its_label_and_its_gaps(
    cells: list[str],
    total: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    assert is_total(cells, len(cells)) is total


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('="04507"', "04507"),
        ('="say ""hi"""', 'say "hi"'),
        ('=""', ""),
        ('="a"&"b"', '="a"&"b"'),
        ("=A1", "=A1"),
        ('"a"', '"a"'),
    ],
)
def test_only_a_formula_that_is_a_text_is_taken_for_the_text(
    cell: str, text: str
) -> None:
    assert free_text(cell) == text


def test_an_empty_cell_is_none_and_a_blank_one_is_kept() -> None:
    assert judged("a,, ") == Record(7, ("a", None, " "))


@pytest.mark.parametrize("line", ["", ",,", ",,,,,", ' ,"","  "', '="",=""'])
def test_a_blank_record_is_none(line: str) -> None:
    assert judged(line) is None


@pytest.mark.parametrize("line", ["a,b,c,", "a,b,c,,,", "a,b,c, ,"])
def test_blank_cells_behind_the_columns_are_no_fault(line: str) -> None:
    assert judged(line) == Record(7, ("a", "b", "c"))


def test_columns_without_a_name_may_be_missing_at_the_end() -> None:
    shape = Shape(4, 2)

    assert judged("a,b", shape) == Record(7, ("a", "b", None, None))
    assert judged("a,b,c", shape) == Record(7, ("a", "b", "c", None))
    assert [each.code for each in faults("a", shape)] == ["field_count"]


@pytest.mark.parametrize(
    ("line", "fields"),
    [("a,b", ("a", "b")), ('a,b,"",d', ("a", "b", "", "d"))],
)
def test_a_wrong_number_of_cells_is_a_fault_that_keeps_them(
    line: str, fields: tuple[str, ...]
) -> None:
    record = judged(line)

    assert record
    assert record.cells == (None, None, None)
    (fault,) = record.faults
    assert (fault.code, fault.column, fault.fields) == ("field_count", None, fields)
    assert fault.parameters == {"expected": 3, "found": len(fields)}
    assert fault.message == (
        f"This row has {len(fields)} cells where the header has 3 columns. Look for a "
        "missing or stray delimiter, or a cell that needs quotation marks."
    )


def test_one_cell_is_counted_in_the_singular() -> None:
    (fault,) = faults("a", Shape(2, 2))

    assert fault.message.startswith(
        "This row has 1 cell where the header has 2 columns"
    )


def test_a_flaw_of_quotation_marks_is_a_fault_with_its_column_and_line() -> None:
    (bad,) = faults('a,"b"c,d\r')
    (open_one,) = faults('a,"b')

    assert (bad.code, bad.parameters["column"], bad.value) == (
        "bad_quote",
        2,
        'a,"b"c,d',
    )
    assert (open_one.code, open_one.parameters) == ("unterminated_quote", {"column": 2})
    assert bad.parameters == open_one.parameters == {"column": 2}
    assert "In column 2 text follows a closing quotation mark" in bad.message
    assert "quotation mark that opens column 2 isn't closed" in open_one.message


def test_a_line_of_totals_is_a_fault() -> None:
    (fault,) = faults("Total:,,")

    assert (fault.code, fault.value) == ("not_a_record", "Total:")
    assert fault.fields == ("Total:", "", "")


def test_undecodable_bytes_are_a_fault_of_their_cell_alone() -> None:
    record = judged(f"a,M{UNDECODABLE}laga,c")

    assert record
    assert record.cells == ("a", "M\ufffdlaga", "c")
    (fault,) = record.faults
    assert (fault.code, fault.column, fault.value) == ("encoding", 1, "M\ufffdlaga")


@pytest.mark.parametrize(
    ("line", "column", "character"),
    [
        ("a\x00,b,c", 0, "U+0000"),
        ('a,"b\x1b",c', 1, "U+001B"),
        ("a,b,c\x7f", 2, "U+007F"),
        ("a,b\x92s,c", 1, "U+0092"),
        ("a,b\rb,c", 1, "U+000D"),
    ],
)
def test_a_control_character_is_a_fault_of_its_cell(
    line: str, column: int, character: str
) -> None:
    (fault,) = faults(line)

    assert (fault.code, fault.column) == ("control_character", column)
    assert fault.parameters == {"character": character}


@pytest.mark.parametrize("line", ["a\t,b,c", 'a,"b\tb",c', 'a,"b\rb",c'])
def test_tabs_and_quoted_line_ends_are_text(line: str) -> None:
    assert faults(line) == []
