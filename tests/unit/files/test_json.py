from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.json import inspect_json, is_sole_value, looks_like_json, read_json
from batchfx.model.blocks import FAULTS, KINDS, ROW, Fault, column_name, load_faults
from batchfx.model.sources import Layout

FOLDER = Path(__file__).parents[2] / "cases" / "files"


def layout_of(content: str | bytes, **overrides: Any) -> Layout:
    return inspect_json(as_file(content), **overrides)


def as_file(content: str | bytes) -> io.BytesIO:
    return io.BytesIO(content.encode() if isinstance(content, str) else content)


def cells(content: str | bytes, **overrides: Any) -> list[tuple[Any, ...]]:
    """Return the cells of all records."""
    source = as_file(content)
    layout = inspect_json(source, **overrides)
    return [
        row
        for block in read_json(source, layout, 2)
        for row in block.frame.drop(ROW, FAULTS, KINDS).rows()
    ]


def column(content: str | bytes, name: str) -> list[Any]:
    """Return what the block's column *name* holds."""
    source = as_file(content)
    layout = inspect_json(source)
    blocks = read_json(source, layout, 2)
    return [value for block in blocks for value in block.frame[name].to_list()]


def faults(content: str | bytes) -> dict[int, list[Fault]]:
    """Return the faults of each row that has some."""
    found = zip(column(content, ROW), column(content, FAULTS), strict=True)
    return {row: load_faults(text) for row, text in found if text}


def refusal(content: str | bytes, **overrides: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        cells(content, **overrides)
    return caught.value


# The reported cases.


def test_big_integers_keep_all_digits() -> None:
    content = (FOLDER / "json_big_integers.json").read_bytes()

    assert layout_of(content).header == ("id", "n")
    assert cells(content) == [
        ("9007199254740993", "1"),
        ("1733920486617702403", "2"),
        ("18446744073709551616", "3"),
        ("12345678901234567890123", "4"),
    ]
    assert column(content, KINDS) == ["nn"] * 4
    assert column(content, ROW) == [1, 2, 3, 4]


def test_null_and_missing_are_no_content_and_empty_is_a_text() -> None:
    content = (FOLDER / "json_null_missing_empty.json").read_bytes()

    assert layout_of(content).header == ("a", "b", "c", "extra")
    assert cells(content) == [
        (None, "1", None, None),
        (None, "2", None, None),
        (None, "3", "", None),
        (None, None, "x", "true"),
    ]
    assert column(content, KINDS) == ["-n-~", "-n~~", "~nt~", "~-tb"]


def test_a_name_that_comes_late_is_a_column() -> None:
    content = (FOLDER / "ndjson_late_key.ndjson").read_bytes()

    layout = layout_of(content)

    assert (layout.format, layout.header, layout.header_row) == (
        "ndjson",
        ("a", "b"),
        0,
    )
    expected = [(str(n), f"x{n}" if n >= 150 else None) for n in range(1, 201)]
    assert cells(content) == expected
    assert column(content, ROW) == list(range(1, 201))


# Where the records end.


@pytest.mark.parametrize(
    ("last", "column"),
    [
        ('{"a":', 6),
        ('{"a":3', 7),
        ('  {"a":"x', 8),
        ("{", 2),
        ('{"a":1.', 7),
        ('{"a":tr', 6),
    ],
)
def test_a_last_line_that_breaks_off_is_told_of_the_file(
    last: str, column: int
) -> None:
    content = '{"a":1}\n{"a":2}\n' + last

    error = refusal(content)
    layout = layout_of(content)

    assert (error.code, error.parameters) == (
        "truncated",
        {"line": 3, "column": column},
    )
    assert [each.code for each in layout.warnings] == ["truncated"]
    blocks = read_json(as_file(content), layout, 1)
    assert [next(blocks).frame[column_name(0)].to_list() for _ in "12"] == [
        ["1"],
        ["2"],
    ]
    with pytest.raises(SourceError):
        next(blocks)


@pytest.mark.parametrize("last", ["oops", '{"a":3}}', '{"a":\n'])
def test_a_last_line_that_is_wrong_but_whole_is_a_fault_of_its_row(last: str) -> None:
    found = faults('{"a":1}\n{"a":2}\n' + last)

    assert [(row, each.code) for row, (each,) in found.items()] == [(3, "invalid_json")]


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ('// hi\n[{"a":1}]', 1, 1),
        ('[ // x\n{"a":1}]', 1, 3),
        ('/* x */{"a":1}', 1, 1),
        ('[\n{"a":1}, /* x */\n{"a":2}]', 2, 10),
    ],
)
def test_comments_are_told_with_their_place(
    content: str, line: int, column: int
) -> None:
    assert looks_like_json(content.encode())
    error = refusal(content)

    assert (error.code, error.parameters) == (
        "invalid_json",
        {"line": line, "column": column},
    )
    assert "comments are no part of JSON" in str(error)


def test_many_comments_take_no_time() -> None:
    assert not looks_like_json(b"/*/**/" * 5_000 + b"x")


@pytest.mark.parametrize("content", ['{"a":1},\n{"a":2},\n', '{"a":1},{"a":2}'])
def test_commas_between_records_without_a_list_are_told(content: str) -> None:
    error = refusal(content)

    assert (error.code, error.parameters) == ("invalid_json", {"line": 1, "column": 8})
    assert "a comma follows the end of a record" in str(error)
    assert [each.code for each in layout_of(content).warnings] == ["invalid_json"]


def test_a_comma_at_the_end_of_a_line_is_told_of_its_row() -> None:
    ((fault,),) = faults('{"a":1}\n{"a":2},\n{"a":3}\n').values()

    assert (fault.code, fault.parameters) == ("invalid_json", {"column": 8})
    assert "a comma follows the end of a record" in fault.message


@pytest.mark.parametrize(
    ("content", "is_value"),
    [
        ("5", True),
        (" -1.5e3 \n", True),
        ("null", True),
        ('"abc"', True),
        ('"abc"\n', False),
        ('"a\nb"', False),
        ("5\n6", False),
        ("007", False),
        ("name", False),
        ("", False),
    ],
)
def test_one_value_alone_is_json_unless_it_may_be_a_header(
    content: str,
    is_value: bool,  # noqa: FBT001 - a case's answer
) -> None:
    assert is_sole_value(content.encode()) == is_value


# Where the records are.


@pytest.mark.parametrize(
    ("content", "form", "rows"),
    [
        ('[{"a":1},{"a":2},{"a":3}]', "json", [1, 2, 3]),
        ('[\n{"a":1},\n{"a":2},\n\n{"a":3}\n]', "json", [2, 3, 5]),
        ('[{"a":1},\n{"a":2},{"a":3}]', "json", [1, 2, 3]),
        ('[{\n"a":1\n}, {\n"a":2\n}, {\n"a":3\n}]', "json", [1, 3, 5]),
        ('{"a":1}\n{"a":2}\n{"a":3}', "ndjson", [1, 2, 3]),
        ('{"a":1}\r\n\r\n{"a":2}\r\n \r\n{"a":3}\r\n', "ndjson", [1, 3, 5]),
        ('{\n"a":1}\n{\n"a":2}\n{\n"a":3}', "json", [1, 3, 5]),
        ('{"data":{"items":[{"a":1},{"a":2},{"a":3}]}}', "json", [1, 2, 3]),
        ('{"a":\n{"b":\n{"c":[{"a":1},\n{"a":2},\n{"a":3}]}}}', "json", [3, 4, 5]),
        ('[["a"],[1],[2],[3]]', "json", [2, 3, 4]),
        ('["a"]\n[1]\n[2]\n[3]\n', "ndjson", [2, 3, 4]),
    ],
)
def test_records_are_found_and_numbered(
    content: str, form: str, rows: list[int]
) -> None:
    layout = layout_of(content)

    assert (layout.format, layout.header) == (form, ("a",))
    assert cells(content) == [("1",), ("2",), ("3",)]
    assert column(content, ROW) == rows


def test_what_is_beside_the_records_is_said_to_be_left_out() -> None:
    (warning,) = layout_of('{"total":1,"page":{"rows":[{"a":1}]}}').warnings

    assert warning.code == "records_found"
    assert warning.parameters == {"records": "page.rows", "beside": ["total"]}
    assert warning.message == (
        "The records were found under 'page.rows'. What is beside them ('total') is "
        "not read."
    )


TWO = '{"xs":[{"a":1}],"ys":[{"b":2}],"n":[1]}'


def test_several_lists_of_records_are_asked_about() -> None:
    error = refusal(TWO)

    assert (error.code, error.parameters) == (
        "choose_records",
        {"records": ["xs", "ys"]},
    )
    assert "'xs', 'ys'" in str(error)


def test_the_list_that_is_named_is_read() -> None:
    assert layout_of(TWO, records="ys").header == ("b",)
    assert cells(TWO, records="ys") == [("2",)]
    assert cells(TWO, records=".") == [('[{"a": 1}]', '[{"b": 2}]', "[1]")]


def test_a_list_that_is_not_there_is_told() -> None:
    error = refusal(TWO, records="zs")

    assert error.code == "no_such_records"
    assert error.parameters == {"records": ["xs", "ys", "n"]}


def test_lists_of_lists_beside_other_things_are_asked_about() -> None:
    content = '{"columns":["a"],"data":[["x"],[1]]}'

    assert refusal(content).code == "choose_records"
    assert layout_of(content, records="data").header == ("x",)


def test_a_single_object_is_a_record_with_a_warning() -> None:
    content = '{"id":7,"tags":["x","y"],"address":{"city":"Rome"}}'

    layout = layout_of(content)

    assert layout.header == ("id", "tags", "address.city")
    assert [warning.code for warning in layout.warnings] == ["single_record"]
    assert cells(content) == [("7", '["x", "y"]', "Rome")]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "empty_file"),
        (" \n ", "empty_file"),
        ("[]", "empty_file"),
        ("[1,2]", "no_records"),
        ("[{},{}]", "no_header"),
        ("[[null],[1]]", "no_header"),
        ("[[[1]],[1]]", "no_header"),
        ('[["a","a"],[1,2]]', "duplicate_header"),
        ("5", "no_records"),
        ("{'a': 1}", "invalid_json"),
        ("{a: 1}", "invalid_json"),
        ("[{", "truncated"),
    ],
)
def test_what_has_no_records_is_refused(content: str, code: str) -> None:
    assert refusal(content).code == code


def test_a_list_of_names_alone_has_no_rows() -> None:
    assert layout_of('[["a", "b"]]').header == ("a", "b")
    assert cells('[["a", "b"]]') == []


# What is in records.


def test_numbers_keep_their_digits() -> None:
    content = (
        '[{"n":1.50},{"n":-0.10},{"n":1e3},{"n":1.5E-3},{"n":123456789012345678.12345},'
        '{"n":1e999999999},{"n":-0},{"n":null}]'
    )

    assert column(content, "c0") == [
        *("1.50", "-0.10", "1000", "0.0015", "123456789012345678.12345"),
        *("1e999999999", "-0", None),
    ]


def test_a_column_of_many_kinds_says_which_is_which() -> None:
    content = '{"a":1}\n{"a":"1"}\n{"a":true}\n{"a":null}\n{"a":[1]}\n{"a":false}'

    assert column(content, "c0") == ["1", "1", "true", None, "[1]", "false"]
    # A row of texts and nothing else needs no kinds.
    assert column(content, KINDS) == ["n", None, "b", None, None, "b"]


def test_objects_in_a_record_are_dotted_columns_and_lists_are_json() -> None:
    content = (
        '[{"a":{"b":{"c":1},"d":"x"},"e":[1.50,"é\\n",{"f":null,"g":[true]}]},'
        '{"a":{"b":{}},"e":[]}]'
    )

    assert layout_of(content).header == ("a.b.c", "a.d", "e")
    assert cells(content) == [
        ("1", "x", '[1.50, "é\\n", {"f": null, "g": [true]}]'),
        (None, None, "[]"),
    ]


def test_an_object_that_is_lacking_makes_no_column() -> None:
    lacking = '[{"a":null},{"a":{"b":1}},{"a":null}]'
    other = '[{"a":"none"},{"a":{"b":1}}]'

    assert layout_of(lacking).header == ("a.b",)
    assert cells(lacking) == [(None,), ("1",), (None,)]
    assert cells(other) == [("none", None), (None, "1")]


def test_a_column_of_nulls_is_a_column() -> None:
    assert cells('[{"a":null,"b":1}]') == [(None, "1")]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        *[(name, "") for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-be")],
        *[
            (name, "\ufeff")
            for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")
        ],
    ],
)
@pytest.mark.parametrize("text", ['[{"é":"😀"}]', '{"é":"😀"}\n{"é":"😀"}'])
def test_every_utf_is_read(encoding: str, mark: str, text: str) -> None:
    content = f"{mark}{text}".encode(encoding)

    assert looks_like_json(content)
    assert layout_of(content).header == ("é",)
    assert set(cells(content)) == {("😀",)}


def test_another_encoding_can_be_stated() -> None:
    content = '[{"name":"Málaga"}]'.encode("cp1252")

    assert cells(content, encoding="cp1252") == [("Málaga",)]
    with pytest.raises(UsageError, match="'nonsense' can't be read"):
        layout_of(content, encoding="nonsense")


# Faults of a row.


def test_a_line_that_is_no_json_is_a_fault_of_that_row() -> None:
    content = '{"a":1}\n{"a":}\n\n{"a":"x\n{"a":3}{"a":4}\nnothing\n{"a":5}\n'

    found = faults(content)

    assert {
        row: [each.code for each in row_faults] for row, row_faults in found.items()
    }
    assert list(found) == [2, 4, 5, 6]
    assert {fault.code for (fault,) in found.values()} == {"invalid_json"}
    assert [fault.parameters for (fault,) in found.values()] == [
        {"column": 6},
        {"column": 6},
        {"column": 8},
        {"column": 1},
    ]
    assert found[2][0].value == '{"a":}'
    assert cells(content) == [("1",), (None,), (None,), (None,), (None,), ("5",)]


def test_blanks_before_a_record_count_for_its_columns() -> None:
    content = '{"a":1}\n  {"a":2} \n  {"a":x}\n'

    assert cells(content) == [("1",), ("2",), (None,)]
    assert faults(content)[3][0].parameters == {"column": 8}


def test_a_broken_first_line_does_not_hide_the_others() -> None:
    content = '{"a":1\n{"a":2}\n'

    assert list(faults(content)) == [1]
    assert cells(content) == [(None,), ("2",)]


def test_a_name_twice_is_a_fault_of_its_cell() -> None:
    content = (
        '[{"a":1,"b":2,"a":3},{"a":4},{"b":[{"c":1,"c":2}]},{"x":{"y":1},"x.y":2}]'
    )

    found = faults(content)

    assert {row: (f.code, f.column) for row, (f,) in found.items()} == {
        1: ("duplicate_key", 0),
        3: ("duplicate_key", 1),
        4: ("duplicate_key", 2),
    }
    assert cells(content)[0] == (None, "2", None)


def test_a_record_that_is_no_object_is_a_fault() -> None:
    found = faults('[{"a":1},5,"x",null,[1],{"a":2}]')

    assert {row: (f.code, f.value) for row, (f,) in found.items()} == {
        2: ("not_an_object", "5"),
        3: ("not_an_object", '"x"'),
        4: ("not_an_object", "null"),
        5: ("not_an_object", "[1]"),
    }


def test_what_is_no_finite_number_is_a_fault_of_its_cell() -> None:
    found = faults('[{"a":NaN,"b":1},{"a":-Infinity,"b":[Infinity]}]')

    assert [(f.code, f.column, f.value) for row in (1, 2) for f in found[row]] == [
        ("not_finite", 0, "NaN"),
        ("not_finite", 0, "-Infinity"),
        ("not_finite", 1, "[Infinity]"),
    ]


def test_half_a_character_and_undecodable_bytes_are_faults_of_their_cell() -> None:
    content = (
        rb'[{"a":"\ud800","b":"x"},{"a":"\ud83d\ude00","b":"' + b'\xff"},'
        b'{"b":"\xc3\xa4"}]'
    )

    found = faults(content)

    assert [(row, f.code, f.column) for row, (f,) in found.items()] == [
        (1, "encoding", 0),
        (2, "encoding", 1),
    ]
    assert cells(content) == [("\ufffd", "x"), ("😀", "\ufffd"), (None, "ä")]


def test_control_characters_are_faults_and_line_ends_are_text() -> None:
    content = rb'[{"a":"\u0000"},{"a":"\t\r\n"},{"a":"' + b'\x07"},{"a":"x\ty\nz"}]'

    found = faults(content)

    assert [f.code for (f,) in found.values()] == ["control_character"] * 2
    assert [f.parameters["character"] for (f,) in found.values()] == [
        "U+0000",
        "U+0007",
    ]
    assert cells(content) == [("\x00",), ("\t\r\n",), ("\x07",), ("x\ty\nz",)]


def test_a_list_of_the_wrong_length_is_a_fault() -> None:
    deep = "[" * 70 + "]" * 70
    content = f'[["a","b"],[1],[1,2,3],[1,2,null],7,[],[1,2],[{deep},1]]'

    found = faults(content)

    assert [(row, f.code) for row, (f,) in found.items()] == [
        (2, "field_count"),
        (3, "field_count"),
        (5, "not_a_list"),
        (8, "too_deep"),
    ]
    assert column(content, ROW) == [2, 3, 4, 5, 7, 8]


def test_a_name_that_is_half_a_character_is_shown_and_its_cells_are_read() -> None:
    content = b'[{"a":1,"\\ud800":2}]'

    assert layout_of(content).header == ("a", "\ufffd")
    assert cells(content) == [("1", "2")]


@pytest.mark.parametrize(
    "content",
    [b'[{"M\xe1laga":"\xc3\xa4\xc3\xa4"}]', b'[["M\xe1laga"],["\xc3\xa4\xc3\xa4"]]'],
)
def test_bytes_in_a_name_that_mean_nothing_are_told_of_the_file(content: bytes) -> None:
    error = refusal(content)

    assert (error.code, error.parameters) == ("encoding", {"columns": [1]})
    assert "'M\ufffdlaga'" in str(error)


@pytest.mark.parametrize("way", ["[{}]", "{}\n{}"])
def test_letters_before_unicode_are_guessed_and_told(way: str) -> None:
    record = '{"größe":"Köln"}'
    content = way.format(record, record).encode("cp1252")

    layout = layout_of(content)

    assert (layout.header, layout.settings["encoding"]) == (("größe",), "cp1252")
    assert [each.code for each in layout.warnings] == ["guessed_encoding"]
    assert set(cells(content)) == {("Köln",)}


def test_blank_lines_and_objects_without_members_are_counted() -> None:
    for content in ('{"a":1}\n\n{}\n{"a":2}\n\n', '[{},{"a":1},{},{"a":2},{}]'):
        source = as_file(content)
        blocks = list(read_json(source, layout_of(content), 1))

        assert [block.frame.height for block in blocks] == [1, 1]
        assert sum(block.blank for block in blocks) == 3


def test_blank_lines_at_the_beginning_are_counted() -> None:
    content = '\n \n{"a":1}\n{"a":2}\n'

    (block,) = read_json(as_file(content), layout_of(content), 5)

    assert (block.blank, block.frame[ROW].to_list()) == (2, [3, 4])


def test_a_file_without_a_good_line_says_what_is_wrong_with_the_first() -> None:
    error = refusal("\n{a:1}\n{b:2}\n")

    assert (error.code, error.parameters) == ("invalid_json", {"line": 2})
    assert "Line 2: This line is no JSON from column 2 on" in str(error)


# Where the text breaks.


@pytest.mark.parametrize(
    ("content", "code", "line", "column_"),
    [
        ('[{"a":1},\n{"a":2},\n{"a":3', "truncated", 3, 7),
        ('[{"a":1},\n{"a":2},\n{"a":"x', "truncated", 3, 6),
        ('[{"a":1},\n{"a":2}', "truncated", 2, 8),
        ('[{"a":1},\n{"a":2},', "truncated", 2, 9),
        ('[{"a":1},\n{"a":2},\n{"a":tr', "truncated", 3, 6),
        ('[{"a":1},\n{"a":2},\n{"a":}]', "invalid_json", 3, 6),
        ('[{"a":1},\n{"a":2}\n{"a":3}]', "invalid_json", 3, 1),
        ('[{"a":1},\n{"a":2},]', "invalid_json", 2, 9),
        ('[{"a":1},\n{"a":2}] more', "invalid_json", 2, 10),
        ('{"n":1,"r":[{"a":1},\n{"a":2}],"m":oops}', "invalid_json", 2, 14),
        ('{"n":1,"r":[{"a":1},\n{"a":2}],"m"', "truncated", 2, 13),
    ],
)
def test_records_before_a_break_are_read_and_nothing_is_invented(
    content: str, code: str, line: int, column_: int
) -> None:
    layout = layout_of(content)
    blocks = read_json(as_file(content), layout, 5)

    read = next(blocks).frame.rows()
    with pytest.raises(SourceError) as caught:
        next(blocks)

    assert [row[1] for row in read] == ["1", "2"]
    assert caught.value.code == code
    assert caught.value.parameters == {"line": line, "column": column_}
    assert layout.warnings[-1].code == code
    json.dumps(layout.settings)


def test_the_message_of_a_break_says_what_is_wrong_and_where() -> None:
    error = refusal('[{"a":1},\n{"a" 2}]')

    assert str(error) == (
        "The file is no JSON from line 2, column 6 on: a colon is missing behind a "
        "name. What follows can't be read. Correct it there, or export it again."
    )


# Telling JSON from other text.


@pytest.mark.parametrize(
    "head",
    [
        *(b"{", b"[", b' \n{"a"', b'{"a": 1}', b'[{"a', b"[[", b"[]", b"{}", b"[ {"),
        *(
            b'["a", "b"]\n[1, 2]',
            b"[1, 2]",
            b"{'a': 1}",
            b"{a: 1}",
            b'{"' + b"x" * 4094,
        ),
        *(b'["' + b"x" * 4094, b"[true]", b"\xef\xbb\xbf[{}"),
    ],
)
def test_the_beginning_of_json_is_told(head: bytes) -> None:
    assert looks_like_json(head)


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"a,b\n1,2\n", b"[id],[name]\n1,2\n", b"{id};{name}\n", b'"a","b"'),
        *(b"{\\rtf1", b"<html>", b"5", b"null", b'["a"];["b"]\n', b"[1];2\n"),
        *(b"[section]\nkey=1\n", b"{{ name }}", b'["a" b]', b"PK\x03\x04", b"\x00" * 9),
    ],
)
def test_other_text_is_not_taken_for_json(head: bytes) -> None:
    assert not looks_like_json(head)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"data":[]}', "data"),
        ('{"data":[],"total":0}', "data"),
        ('{"items":null}', "items"),
        ('{"orders":[],"page":1,"has_more":false}', "orders"),
        ('{"d":{"results":[]}}', "d.results"),
    ],
)
def test_an_answer_without_records_is_empty(content: str, where: str) -> None:
    error = refusal(content)

    assert (error.code, error.parameters) == ("empty_file", {"records": where})
    assert str(error) == (
        f"There are no records under '{where}': there is nothing to import."
    )


@pytest.mark.parametrize(
    "content",
    ['{"id":1,"tags":[]}', '{"a":null}', '{"id":1,"data":null}', '{"data":[],"n":"x"}'],
)
def test_a_record_may_have_empty_lists(content: str) -> None:
    (warning,) = layout_of(content).warnings

    assert warning.code == "single_record"
    assert len(cells(content)) == 1
